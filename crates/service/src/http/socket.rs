//! The socket of a listener.

use std::{io, net::SocketAddr};

use socket2::{Domain, Protocol, Socket, Type};

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// A bound socket that listens. `[::]` stands for IPv4 as well.
///
/// # Errors
/// If the address is taken, not this machine's, or not allowed.
pub fn listening(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    open(&socket, address)?;
    Ok(socket.into())
}

fn open(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    if address.is_ipv6() {
        // The system decides otherwise (net.ipv6.bindv6only), and some leave IPv4 out.
        socket.set_only_v6(false)?;
    }
    // The port can be taken again while connections of an earlier process end.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_address_for_all_is_for_ipv4_too_whatever_the_system_says() {
        let socket = Socket::new(Domain::IPV6, Type::STREAM, None).unwrap();
        // What net.ipv6.bindv6only=1 makes of a new socket.
        socket.set_only_v6(true).unwrap();
        open(&socket, (Ipv6Addr::UNSPECIFIED, 0).into()).unwrap();
        let listener = TcpListener::from(socket);
        let port = listener.local_addr().unwrap().port();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        TcpStream::connect((Ipv6Addr::LOCALHOST, port)).unwrap();
    }

    #[test]
    fn a_port_in_use_is_refused() {
        let first = listening((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let second = listening(first.local_addr().unwrap()).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
    }
}
