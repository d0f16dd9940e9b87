//! Whether a firewall drops what the nodes of a cluster say to each other.
//!
//! Nothing listens on these ports yet, so the other machine refuses the connection: that is an
//! answer, and the way is free. No answer, or word from a router that it may not, means that
//! something in between drops packets. A firewall that refuses in the other machine's name cannot be
//! distinguished from it; see docs/ports.md.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{net::TcpStream, task::JoinSet, time::timeout};

/// TCP ports that nodes need among each other.
pub const PORTS: [u16; 5] = [2379, 2380, 6443, 10250, 22623];

/// A lost packet is sent again after a second; a dropped one never arrives.
const WAIT: Duration = Duration::from_millis(2500);

/// Connections side by side; more would only wait for each other.
const TARGETS: usize = 64;

/// The ports of each address that cannot be reached. Of many addresses some are tried, by each
/// machine others, so that all together try them all.
pub async fn blocked(own: &[IpAddr], targets: &[IpAddr]) -> BTreeMap<IpAddr, Vec<u16>> {
    let mut tries = JoinSet::new();
    for address in chosen(own, targets) {
        for port in PORTS {
            tries.spawn(async move { (address, port, is_dropped(address, port).await) });
        }
    }
    let mut found: BTreeMap<IpAddr, Vec<u16>> = BTreeMap::new();
    while let Some(tried) = tries.join_next().await {
        if let Ok((address, port, true)) = tried {
            found.entry(address).or_default().push(port);
        }
    }
    for ports in found.values_mut() {
        ports.sort_unstable();
    }
    found
}

/// The same ones in every check, or reports would differ without a reason.
fn chosen(own: &[IpAddr], targets: &[IpAddr]) -> Vec<IpAddr> {
    let place = |address: &IpAddr| {
        let mut digest = DefaultHasher::new();
        (own, address).hash(&mut digest);
        digest.finish()
    };
    let mut targets = targets.to_vec();
    if targets.len() > TARGETS {
        targets.sort_by_key(place);
        targets.truncate(TARGETS);
    }
    targets
}

async fn is_dropped(address: IpAddr, port: u16) -> bool {
    for _ in 0..2 {
        let attempt = timeout(WAIT, TcpStream::connect(SocketAddr::new(address, port)));
        match attempt.await {
            Ok(Ok(_)) => return false,
            Ok(Err(error)) if !is_drop(&error) => return false,
            Ok(Err(_)) | Err(_) => {}
        }
    }
    true
}

/// Whether an error says that something in between is in the way.
fn is_drop(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::TimedOut
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_machine_that_refuses_is_reached() {
        let here: IpAddr = [127, 0, 0, 1].into();
        assert_eq!(blocked(&[], &[here]).await, BTreeMap::new());
    }

    #[test]
    fn words_of_a_router_are_a_drop_and_those_of_the_machine_are_not() {
        for (kind, dropped) in [
            (io::ErrorKind::ConnectionRefused, false),
            (io::ErrorKind::ConnectionReset, false),
            (io::ErrorKind::HostUnreachable, true),
            (io::ErrorKind::PermissionDenied, true),
        ] {
            assert_eq!(is_drop(&io::Error::from(kind)), dropped, "{kind:?}");
        }
    }

    #[test]
    fn machines_of_a_large_cluster_share_the_work_and_keep_their_part() {
        let all: Vec<IpAddr> = (0..=255).map(|n| [10, 0, 0, n].into()).collect();
        let part = |own: u8| chosen(&[[10, 0, 0, own].into()], &all);
        assert_eq!(part(1).len(), TARGETS);
        assert_eq!(part(1), part(1));
        assert_ne!(part(1), part(2));
        assert_eq!(chosen(&[], &all[..3]), all[..3]);
    }
}
