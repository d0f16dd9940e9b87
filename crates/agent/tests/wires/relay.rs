//! A bad cable: passes frames on late, or not at all. What `tc netem` does on kernels that have
//! it, for those that have not.

use std::{
    io::ErrorKind,
    os::fd::AsRawFd,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    ifaddrs::getifaddrs,
    sys::socket::{AddressFamily, LinkAddr, SockaddrLike, bind, recvfrom},
};
use socket2::{Domain, Protocol, Socket, Type};

/// Every kind of frame.
const ETH_P_ALL: u16 = 3;
/// What the kernel says of frames that we sent ourselves.
const PACKET_OUTGOING: u8 = 4;

#[derive(Clone, Copy, Debug, Default)]
struct Quality {
    delay: Duration,
    /// One frame of this many is lost; 0 loses none.
    lost_of: u32,
}

/// Joins two interfaces of the room.
#[derive(Debug)]
pub struct Relay {
    quality: Arc<Mutex<Quality>>,
    stopped: Arc<AtomicBool>,
}

impl Relay {
    /// Passes frames between two interfaces that are up.
    pub fn between(one: &str, other: &str) -> Self {
        let relay = Self {
            quality: Arc::default(),
            stopped: Arc::default(),
        };
        let (one, other) = (Arc::new(frames(one)), Arc::new(frames(other)));
        relay.pass(Arc::clone(&one), Arc::clone(&other));
        relay.pass(other, one);
        relay
    }

    /// From now on each frame takes this time longer, in each direction.
    pub fn delay(&self, delay: Duration) {
        self.set(Quality {
            delay,
            ..Quality::default()
        });
    }

    /// From now on one frame of this many is lost.
    pub fn lose_one_of(&self, lost_of: u32) {
        self.set(Quality {
            lost_of,
            ..Quality::default()
        });
    }

    /// From now on it is a good cable.
    pub fn repair(&self) {
        self.set(Quality::default());
    }

    fn set(&self, quality: Quality) {
        *self.quality.lock().expect("no holder panics") = quality;
    }

    fn pass(&self, from: Arc<Socket>, to: Arc<Socket>) {
        let (queue, waiting) = mpsc::channel::<(Instant, Vec<u8>)>();
        let (quality, stopped) = (Arc::clone(&self.quality), Arc::clone(&self.stopped));
        thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            let mut seen = 0_u32;
            while !stopped.load(Ordering::Relaxed) {
                let Some(length) = next(&from, &mut buffer) else {
                    continue;
                };
                let now = *quality.lock().expect("no holder panics");
                seen = seen.wrapping_add(1);
                if now.lost_of > 0 && seen.is_multiple_of(now.lost_of) {
                    continue;
                }
                let frame = buffer[..length].to_vec();
                if queue.send((Instant::now() + now.delay, frame)).is_err() {
                    return;
                }
            }
        });
        thread::spawn(move || {
            for (due, frame) in waiting {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                // A cable that is down loses frames; that is what it is for.
                let _ = to.send(&frame);
            }
        });
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// The next frame that arrives from the other side, if one does soon.
fn next(socket: &Socket, buffer: &mut [u8]) -> Option<usize> {
    match recvfrom::<LinkAddr>(socket.as_raw_fd(), buffer) {
        Ok((length, from)) => {
            let ours = from.is_some_and(|from| from.pkttype() == PACKET_OUTGOING);
            (!ours).then_some(length)
        }
        Err(Errno::EAGAIN | Errno::EINTR) => None,
        Err(_) => {
            // The interface is down or gone; it may come back.
            thread::sleep(Duration::from_millis(50));
            None
        }
    }
}

fn frames(nic: &str) -> Socket {
    let protocol = Protocol::from(i32::from(ETH_P_ALL.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(protocol));
    let socket = socket.expect("raw sockets need root");
    let address = getifaddrs()
        .expect("the kernel lists its interfaces")
        .filter(|entry| entry.interface_name == nic)
        .filter_map(|entry| entry.address)
        .find(|address| address.family() == Some(AddressFamily::Packet))
        .and_then(|address| address.as_link_addr().copied())
        .unwrap_or_else(|| panic!("{}: no interface {nic}", ErrorKind::NotFound));
    bind(socket.as_raw_fd(), &address).expect("an interface can be listened to");
    let soon = Some(Duration::from_millis(200));
    socket.set_read_timeout(soon).expect("a socket can wait");
    socket
}
