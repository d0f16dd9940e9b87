//! Echoes of ICMP from many addresses at once.

use std::{
    io,
    net::IpAddr,
    time::{Duration, Instant},
};

use rand::Rng;

use super::{
    Pace,
    packet::{Mark, echo_reply, echo_request},
    socket::RawSocket,
};

/// How to ping.
#[derive(Clone, Copy, Debug)]
pub struct PingOptions<'a> {
    /// Packets to each target.
    pub count: u16,
    /// Between two of them.
    pub gap: Duration,
    /// After the last.
    pub wait: Duration,
    /// Bytes behind the ICMP header.
    pub payload: usize,
    /// Over this interface only.
    pub nic: Option<&'a str>,
    /// Refuse to cut packets into pieces.
    pub whole: bool,
}

/// What came back from one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Echoes {
    /// Packets that the kernel let go, or that should have gone.
    pub sent: u32,
    /// Round-trip times of those that came back, one for each.
    pub times: Vec<Duration>,
}

impl Echoes {
    /// At least one came back.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.times.is_empty()
    }

    /// In percent.
    #[must_use]
    pub fn loss(&self) -> f64 {
        let back = self.times.len() as f64;
        (100.0 - back * 100.0 / f64::from(self.sent.max(1))).max(0.0)
    }

    /// Mean round-trip time in milliseconds.
    #[must_use]
    pub fn average_ms(&self) -> f64 {
        let total: Duration = self.times.iter().sum();
        total.as_secs_f64() * 1000.0 / self.times.len().max(1) as f64
    }
}

/// Pings all targets of one family side by side; the answers are in their order.
///
/// # Errors
/// The socket cannot be had.
pub async fn ping(v6: bool, targets: &[IpAddr], how: PingOptions<'_>) -> io::Result<Vec<Echoes>> {
    let socket = RawSocket::icmp(v6, how.nic)?;
    if how.whole {
        socket.never_fragment(v6)?;
    }
    let mut round = Round {
        v6,
        nonce: rand::rng().random(),
        sent_at: vec![vec![None; usize::from(how.count)]; targets.len()],
        echoes: vec![Echoes::default(); targets.len()],
    };
    let mut pace = Pace::default();
    let mut buffer = vec![0; 65_536];
    for number in 0..how.count {
        for (index, target) in targets.iter().enumerate() {
            round
                .send(&socket, number, index, *target, how.payload)
                .await;
            pace.step().await;
            round.drain(&socket, &mut buffer, Duration::ZERO).await?;
        }
        let last = number + 1 == how.count;
        let pause = if last { how.wait } else { how.gap };
        round.drain(&socket, &mut buffer, pause).await?;
    }
    Ok(round.echoes)
}

struct Round {
    v6: bool,
    nonce: u64,
    sent_at: Vec<Vec<Option<Instant>>>,
    echoes: Vec<Echoes>,
}

impl Round {
    async fn send(
        &mut self,
        socket: &RawSocket,
        number: u16,
        index: usize,
        target: IpAddr,
        payload: usize,
    ) {
        let mark = Mark {
            nonce: self.nonce,
            target: index as u32,
            round: number,
        };
        let message = echo_request(self.v6, mark, payload);
        self.sent_at[index][usize::from(number)] = Some(Instant::now());
        self.echoes[index].sent += 1;
        // What the kernel does not let go is lost, too: no route, too large, unreachable.
        let _ = socket.send_to(&message, target, 0).await;
    }

    /// Takes in answers for that long, or until all are in.
    async fn drain(
        &mut self,
        socket: &RawSocket,
        buffer: &mut [u8],
        pause: Duration,
    ) -> io::Result<()> {
        let end = tokio::time::Instant::now() + pause;
        loop {
            if pause > Duration::ZERO && self.is_complete() {
                return Ok(());
            }
            let received = tokio::time::timeout_at(end, socket.receive(buffer)).await;
            match received {
                Ok(length) => self.take(&buffer[..length?]),
                Err(_) => return Ok(()),
            }
        }
    }

    fn is_complete(&self) -> bool {
        let full = |(echoes, sent): (&Echoes, &Vec<_>)| echoes.times.len() == sent.len();
        self.echoes.iter().zip(&self.sent_at).all(full)
    }

    fn take(&mut self, packet: &[u8]) {
        let Some((mark, _)) = echo_reply(self.v6, packet) else {
            return;
        };
        if mark.nonce != self.nonce {
            return;
        }
        let sent = self
            .sent_at
            .get_mut(mark.target as usize)
            .and_then(|rounds| rounds.get_mut(usize::from(mark.round)))
            // Taking it out makes a duplicate count once.
            .and_then(Option::take);
        if let Some(sent) = sent {
            self.echoes[mark.target as usize].times.push(sent.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_and_average_are_those_of_what_came_back() {
        let ms = Duration::from_millis;
        let echoes = Echoes {
            sent: 10,
            times: vec![ms(1), ms(3)],
        };
        assert!(echoes.any());
        assert!((echoes.loss() - 80.0).abs() < 1e-9);
        assert!((echoes.average_ms() - 2.0).abs() < 1e-9);
        let none = Echoes {
            sent: 3,
            times: vec![],
        };
        assert!(!none.any() && (none.loss() - 100.0).abs() < 1e-9);
    }

    #[tokio::test]
    async fn the_loopback_answers_every_packet_and_a_duplicate_counts_once() {
        let how = PingOptions {
            count: 3,
            gap: Duration::from_millis(10),
            wait: Duration::from_secs(5),
            payload: 56,
            nic: None,
            whole: false,
        };
        let target: IpAddr = "127.0.0.1".parse().unwrap();
        let echoes = ping(false, &[target, target], how).await.unwrap();
        for one in echoes {
            assert_eq!((one.sent, one.times.len()), (3, 3));
        }
    }
}
