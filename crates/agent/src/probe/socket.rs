//! Raw sockets of the kernel, without waiting in a thread. All need the rights of root.

use std::{
    io,
    net::{IpAddr, SocketAddr, SocketAddrV6},
    os::fd::{AsFd, AsRawFd},
};

use nix::{
    ifaddrs::getifaddrs,
    sys::socket::{AddressFamily, SockaddrLike},
};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::net::UdpSocket;

/// Answers of a whole network may arrive at once.
const RECEIVE_BUFFER: usize = 1 << 20;

/// Frames of one kind on one interface.
pub const ETHERTYPE_ARP: u16 = 0x0806;
/// IPv4.
pub const ETHERTYPE_IP: u16 = 0x0800;

/// A raw socket. The runtime knows no such thing, but it sends and receives datagrams exactly
/// like one of UDP, so it travels under that name.
#[derive(Debug)]
pub struct RawSocket(UdpSocket);

impl RawSocket {
    /// Ethernet frames of one kind on one interface.
    ///
    /// # Errors
    /// The interface is not there, or we are not root.
    pub fn frames(nic: &str, ethertype: u16) -> io::Result<Self> {
        let protocol = i32::from(ethertype.to_be());
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(protocol)))?;
        // The kernel itself knows the address to bind to; it names the interface only, so the
        // kind of frames stays as chosen above.
        let address = getifaddrs()?
            .filter(|entry| entry.interface_name == nic)
            .filter_map(|entry| entry.address)
            .find(|address| address.family() == Some(AddressFamily::Packet))
            .and_then(|address| address.as_link_addr().copied())
            .ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("no interface {nic}"))
            })?;
        nix::sys::socket::bind(socket.as_raw_fd(), &address)?;
        Self::ready(socket)
    }

    /// ICMP of one family, over one interface if it is named.
    ///
    /// # Errors
    /// The interface is not there, or we are not root.
    pub fn icmp(v6: bool, nic: Option<&str>) -> io::Result<Self> {
        let (domain, protocol) = if v6 {
            (Domain::IPV6, Protocol::ICMPV6)
        } else {
            (Domain::IPV4, Protocol::ICMPV4)
        };
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        if let Some(nic) = nic {
            socket.bind_device(Some(nic.as_bytes()))?;
        }
        Self::ready(socket)
    }

    fn ready(socket: Socket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // Best effort: the default holds the answers of a few hundred.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
        UdpSocket::from_std(socket.into()).map(Self)
    }

    /// Packets too large for the path are refused instead of cut into pieces. What the kernel
    /// remembers of the path does not count: it would hold for ten minutes after a repair.
    ///
    /// # Errors
    /// The kernel does not know how.
    pub fn never_fragment(&self, v6: bool) -> io::Result<()> {
        use rustix::net::sockopt::{
            Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover,
        };
        let socket = self.0.as_fd();
        if v6 {
            set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::PROBE)?;
        } else {
            set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::PROBE)?;
        }
        Ok(())
    }

    /// Neighbour discovery is only believed if it cannot have passed a router.
    ///
    /// # Errors
    /// The kernel does not know how.
    pub fn stay_on_link(&self) -> io::Result<()> {
        let socket = SockRef::from(&self.0);
        socket.set_multicast_hops_v6(255)?;
        socket.set_unicast_hops_v6(255)
    }

    /// Sends a frame on the interface of this socket.
    ///
    /// # Errors
    /// As the kernel says.
    pub async fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.0.send(frame).await.map(|_| ())
    }

    /// Sends a message to an address; `scope` is the number of the interface for those that are
    /// the same on every link.
    ///
    /// # Errors
    /// As the kernel says.
    pub async fn send_to(&self, message: &[u8], to: IpAddr, scope: u32) -> io::Result<()> {
        let to: SocketAddr = match to {
            IpAddr::V4(ip) => (ip, 0).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, 0, 0, scope).into(),
        };
        self.0.send_to(message, to).await.map(|_| ())
    }

    /// The next packet that arrives.
    ///
    /// # Errors
    /// As the kernel says.
    pub async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer).await
    }
}
