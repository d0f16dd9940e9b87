//! Who has these IPv6 addresses? Asked through the groups their owners listen to.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::Ipv6Addr,
};

use super::{
    Pace,
    arp::ArpOptions,
    links::Nic,
    packet::{Mac, neighbour_advertisement, neighbour_solicitation, solicited_node},
    socket::RawSocket,
};

/// Answers by address.
pub type Answers = BTreeMap<Ipv6Addr, BTreeSet<Mac>>;

/// Asks on one interface for all `targets`.
///
/// # Errors
/// The socket cannot be had.
pub async fn who_has(nic: &Nic, targets: &[Ipv6Addr], how: ArpOptions) -> io::Result<Answers> {
    let Some(mac) = nic.mac else {
        return Ok(Answers::new());
    };
    let socket = RawSocket::icmp(true, Some(&nic.name))?;
    socket.stay_on_link()?;
    let wanted: BTreeSet<Ipv6Addr> = targets.iter().copied().collect();
    let mut answers = Answers::new();
    let mut pace = Pace::default();
    for round in 0..how.rounds {
        let asked: Vec<Ipv6Addr> = wanted
            .iter()
            .filter(|target| !answers.contains_key(target))
            .copied()
            .collect();
        if asked.is_empty() {
            break;
        }
        let pause = if round + 1 == how.rounds {
            how.wait
        } else {
            how.gap
        };
        let ask = async {
            for target in asked {
                let question = neighbour_solicitation(&mac, target);
                let group = solicited_node(target).into();
                // A full queue loses a question; the next round asks again.
                let _ = socket.send_to(&question, group, nic.index).await;
                pace.step().await;
            }
            tokio::time::sleep(pause).await;
        };
        tokio::select! {
            () = ask => {}
            end = listen(&socket, &wanted, &mut answers) => { end?; }
        }
    }
    Ok(answers)
}

async fn listen(
    socket: &RawSocket,
    wanted: &BTreeSet<Ipv6Addr>,
    answers: &mut Answers,
) -> io::Result<()> {
    let mut buffer = [0; 2048];
    loop {
        let length = socket.receive(&mut buffer).await?;
        if let Some((ip, mac)) = neighbour_advertisement(&buffer[..length])
            && wanted.contains(&ip)
        {
            answers.entry(ip).or_default().insert(mac);
        }
    }
}
