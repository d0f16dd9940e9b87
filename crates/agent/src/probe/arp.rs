//! ARP requests for many addresses on a link.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::Ipv4Addr,
    time::Duration,
};

use super::{
    Pace,
    links::Nic,
    packet::{Mac, arp_reply, arp_request},
    socket::{ETHERTYPE_ARP, RawSocket},
};

/// Answers by address. Several hardware addresses for one mean that two machines claim it.
pub type Answers = BTreeMap<Ipv4Addr, BTreeSet<Mac>>;

/// How often and how long to ask.
#[derive(Clone, Copy, Debug)]
pub struct ArpOptions {
    /// Rounds of questions.
    pub rounds: u16,
    /// Between two rounds.
    pub gap: Duration,
    /// After the last round.
    pub wait: Duration,
}

/// Asks on one interface for all `targets`; `source` is our address there. An address that answered is
/// not asked again after the second round, so that collisions still show.
///
/// # Errors
/// The socket cannot be had.
pub async fn who_has(
    nic: &Nic,
    source: Ipv4Addr,
    targets: &[Ipv4Addr],
    how: ArpOptions,
) -> io::Result<Answers> {
    let Some(mac) = nic.mac else {
        return Ok(Answers::new());
    };
    let socket = RawSocket::frames(&nic.name, ETHERTYPE_ARP)?;
    let wanted: BTreeSet<Ipv4Addr> = targets.iter().copied().collect();
    let mut answers = Answers::new();
    let mut pace = Pace::default();
    for round in 0..how.rounds {
        let asked: Vec<Ipv4Addr> = wanted
            .iter()
            .filter(|target| round < 2 || !answers.contains_key(target))
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
                // A full queue loses a question; the next round asks again.
                let _ = socket.send(&arp_request(&mac, source, target)).await;
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
    wanted: &BTreeSet<Ipv4Addr>,
    answers: &mut Answers,
) -> io::Result<()> {
    let mut buffer = [0; 256];
    loop {
        let length = socket.receive(&mut buffer).await?;
        if let Some((ip, mac)) = arp_reply(&buffer[..length])
            && wanted.contains(&ip)
        {
            answers.entry(ip).or_default().insert(mac);
        }
    }
}
