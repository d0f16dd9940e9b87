//! A VLAN for our side of a wire, whatever the kernel can: frames from our side get its tag, and
//! what comes with its tag reaches our side without.
//!
//! Two taps, one with our addresses and one on the bridge, are opened by a QEMU without a machine,
//! which hands their frames on in datagrams; between these we tag and strip. Kernels in containers
//! and clouds often have no VLANs of their own.

use std::{
    io,
    net::{Ipv4Addr, UdpSocket},
    path::Path,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result};

use crate::program::Background;

/// Both addresses of a frame; the tag comes behind them.
const ADDRESSES: usize = 12;
/// What a tag begins with.
const TAGGED: [u8; 2] = [0x81, 0x00];
/// The bits of a tag that name the VLAN.
const ID: u16 = 0x0fff;

/// Works until it goes away.
#[derive(Debug)]
pub(crate) struct Tagger {
    _adapter: Background,
    stopped: Arc<AtomicBool>,
}

impl Tagger {
    /// Joins two taps: `inner` without the tag and `outer` with it. Works only in the network
    /// namespace of this process; `qemu` is the command that starts QEMU there.
    pub fn between(
        inner: &str,
        outer: &str,
        vlan: u16,
        mut qemu: Command,
        log: &Path,
    ) -> Result<Self> {
        let (inside, inside_peer) = datagrams()?;
        let (outside, outside_peer) = datagrams()?;
        qemu.args(["-machine", "none", "-display", "none", "-nodefaults"]);
        for (hub, tap, ours, theirs) in [
            (1, inner, &inside, inside_peer),
            (2, outer, &outside, outside_peer),
        ] {
            let ours = ours.local_addr()?;
            for (port, netdev) in [
                ("tap", format!("tap,ifname={tap},script=no,downscript=no")),
                ("wire", format!("socket,udp={ours},localaddr={theirs}")),
            ] {
                let hubport = format!("hubport,id={port}-port{hub},hubid={hub},netdev={port}{hub}");
                qemu.args(["-netdev", &format!("{netdev},id={port}{hub}")]);
                qemu.args(["-netdev", &hubport]);
            }
        }
        let adapter = Background::start("the VLAN's adapter", &mut qemu, log)?;
        let stopped = Arc::new(AtomicBool::new(false));
        let (inside, outside) = (Arc::new(inside), Arc::new(outside));
        let tag = move |frame: &[u8]| tagged(frame, vlan);
        let strip = move |frame: &[u8]| stripped(frame, vlan);
        pass(&inside, &outside, outside_peer, tag, &stopped);
        pass(&outside, &inside, inside_peer, strip, &stopped);
        Ok(Self {
            _adapter: adapter,
            stopped,
        })
    }
}

impl Drop for Tagger {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// A socket of ours, and an address that is free for its peer.
fn datagrams() -> Result<(UdpSocket, std::net::SocketAddr)> {
    let here = (Ipv4Addr::LOCALHOST, 0);
    let bind = || UdpSocket::bind(here).context("a datagram socket on loopback");
    let (ours, peer) = (bind()?, bind()?.local_addr()?);
    ours.set_read_timeout(Some(Duration::from_millis(200)))?;
    Ok((ours, peer))
}

/// Passes frames on, each as `change` makes it, until it is stopped.
fn pass(
    from: &Arc<UdpSocket>,
    to: &Arc<UdpSocket>,
    peer: std::net::SocketAddr,
    change: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static,
    stopped: &Arc<AtomicBool>,
) {
    let (from, to, stopped) = (Arc::clone(from), Arc::clone(to), Arc::clone(stopped));
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while !stopped.load(Ordering::Relaxed) {
            match from.recv(&mut buffer) {
                Ok(length) => {
                    if let Some(frame) = change(&buffer[..length]) {
                        // A frame that cannot be delivered is lost, as on any wire.
                        let _ = to.send_to(&frame, peer);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The other side is not there yet, or no longer.
                Err(_) => thread::sleep(Duration::from_millis(20)),
            }
        }
    });
}

fn tagged(frame: &[u8], vlan: u16) -> Option<Vec<u8>> {
    let (addresses, rest) = frame.split_at_checked(ADDRESSES)?;
    Some([addresses, &TAGGED, &(vlan & ID).to_be_bytes(), rest].concat())
}

/// The frame without its tag, if it has the right one.
fn stripped(frame: &[u8], vlan: u16) -> Option<Vec<u8>> {
    let (addresses, rest) = frame.split_at_checked(ADDRESSES)?;
    let rest = rest.strip_prefix(&TAGGED)?;
    let (tag, rest) = rest.split_first_chunk()?;
    (u16::from_be_bytes(*tag) & ID == vlan).then(|| [addresses, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_frames_of_the_vlan_get_through_and_they_are_whole() {
        let frame: Vec<u8> = (0..60).collect();
        let with_tag = tagged(&frame, 44).unwrap();
        assert_eq!(with_tag[12..16], [0x81, 0, 0, 44]);
        assert_eq!(stripped(&with_tag, 44), Some(frame.clone()));
        let mut urgent = with_tag.clone();
        urgent[14] |= 0xe0;
        assert_eq!(stripped(&urgent, 44), Some(frame.clone()), "its priority");
        assert_eq!(stripped(&with_tag, 45), None);
        assert_eq!(stripped(&frame, 44), None);
        for length in 0..16 {
            assert_eq!(stripped(&with_tag[..length], 44), None);
        }
        assert_eq!(tagged(&frame[..11], 44), None);
    }
}
