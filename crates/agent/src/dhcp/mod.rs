//! A small DHCP client that leases an address for a link without giving it to the link: the
//! address is for a virtual machine of the cluster, not for us.

mod lease;
mod message;

use std::{
    io,
    net::Ipv4Addr,
    time::{Duration, Instant},
};

pub use lease::{address_in, lease_text};
pub use message::Offer;
use message::{Kind, frame, parse};
use tracing::debug;

use crate::probe::{
    packet::Mac,
    socket::{ETHERTYPE_IP, RawSocket},
};

/// First wait for an answer; each next is twice as long.
const FIRST_WAIT: Duration = Duration::from_secs(2);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// What to lease.
#[derive(Clone, Debug)]
pub struct LeaseRequest {
    /// The link that speaks for us.
    pub link: String,
    /// Its hardware address.
    pub mac: Mac,
    /// The name we give.
    pub hostname: String,
    /// An address we had before.
    pub known: Option<Ipv4Addr>,
}

/// Leases an address, or says why not before `limit` is over.
///
/// # Errors
/// No server answered, or the link cannot be used.
pub async fn lease(request: &LeaseRequest, limit: Duration) -> io::Result<Offer> {
    let exchange = Exchange {
        socket: RawSocket::frames(&request.link, ETHERTYPE_IP)?,
        request,
        transaction: rand::random(),
        begun: Instant::now(),
    };
    tokio::time::timeout(limit, exchange.run())
        .await
        .unwrap_or_else(|_| {
            let text = format!(
                "no DHCP server gave an address on {} in {} s",
                request.link,
                limit.as_secs()
            );
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        })
}

struct Exchange<'a> {
    socket: RawSocket,
    request: &'a LeaseRequest,
    transaction: u32,
    begun: Instant,
}

impl Exchange<'_> {
    async fn run(&self) -> io::Result<Offer> {
        let mut wait = FIRST_WAIT;
        // An address we had is asked for once; its server may know nothing of it any more.
        if let Some(known) = self.request.known {
            let answer = self.say(Kind::Request, Some(known), None, wait).await?;
            if let Some(offer) = answer.filter(|offer| offer.kind == Kind::Ack) {
                return Ok(offer);
            }
        }
        loop {
            let offer = self
                .say(Kind::Discover, self.request.known, None, wait)
                .await?;
            if let Some(offer) = offer.filter(|offer| offer.kind == Kind::Offer) {
                let server = offer.server;
                let answer = self
                    .say(Kind::Request, Some(offer.address), server, wait)
                    .await?;
                match answer {
                    Some(offer) if offer.kind == Kind::Ack => return Ok(offer),
                    Some(_) => debug!("the DHCP server took its offer back"),
                    None => {}
                }
            }
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    /// Says something and waits for the first answer that fits.
    async fn say(
        &self,
        kind: Kind,
        address: Option<Ipv4Addr>,
        server: Option<Ipv4Addr>,
        wait: Duration,
    ) -> io::Result<Option<Offer>> {
        let seconds = self.begun.elapsed().as_secs() as u16;
        let hostname = &self.request.hostname;
        let bytes = frame(
            kind,
            &self.request.mac,
            self.transaction,
            seconds,
            hostname,
            address,
            server,
        );
        self.socket.send(&bytes).await?;
        let listen = async {
            let mut buffer = [0; 2048];
            loop {
                let length = self.socket.receive(&mut buffer).await?;
                let Some(offer) = parse(&buffer[..length], &self.request.mac, self.transaction)
                else {
                    continue;
                };
                let fits = match kind {
                    Kind::Discover => offer.kind == Kind::Offer,
                    Kind::Request | Kind::Offer | Kind::Ack | Kind::Nak => {
                        matches!(offer.kind, Kind::Ack | Kind::Nak)
                    }
                };
                if fits {
                    return Ok(offer);
                }
            }
        };
        match tokio::time::timeout(wait, listen).await {
            Ok(offer) => offer.map(Some),
            Err(_) => Ok(None),
        }
    }
}
