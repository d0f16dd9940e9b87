//! DNS resolution with the servers in `/etc/resolv.conf`.
//!
//! A small resolver of our own: a static binary has no resolver of the system to lean on, and
//! the steps want to know things `getaddrinfo` does not return (the name at the end of a chain of
//! aliases, whether a name does not exist or no server answered). The rules are those of the
//! system: search list, `ndots`, servers in order, UDP first and TCP for what does not fit.
//!
//! [`Forgiving`] is for HTTP clients: musl, which our static programs are linked with, takes a server
//! that refuses to speak of IPv6 addresses for one that knows no address at all. Such servers are
//! common in laboratories, and other programs on the same machine do not notice.

mod config;
mod http;
mod message;

use std::{
    io,
    net::{IpAddr, SocketAddr},
    path::Path,
    time::Duration,
};

pub use config::Config;
pub use http::{Forgiving, for_http};
use message::{Answer, Record};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
};

/// What a name means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// The name they belong to in the end, with its last dot; none if there are no addresses.
    pub canonical: Option<String>,
}

/// Asks servers.
#[derive(Clone, Debug)]
pub struct Resolver {
    config: Config,
    hosts: Vec<(IpAddr, Vec<String>)>,
    port: u16,
}

impl Resolver {
    /// With the current configuration of this machine.
    #[must_use]
    pub fn of_system() -> Self {
        let read = |path: &str| std::fs::read_to_string(Path::new(path)).unwrap_or_default();
        Self::with(&read("/etc/resolv.conf"), &read("/etc/hosts"))
    }

    /// With the content of `/etc/resolv.conf` and of `/etc/hosts`.
    #[must_use]
    pub fn with(resolv_conf: &str, hosts: &str) -> Self {
        Self {
            config: Config::parse(resolv_conf),
            hosts: config::hosts(hosts),
            port: 53,
        }
    }

    /// The addresses of a name. A name that does not exist means nothing, which is no error.
    ///
    /// # Errors
    /// No server gave an answer.
    pub async fn addresses(&self, name: &str) -> io::Result<Meaning> {
        if let Some(known) = self.in_hosts(name) {
            return Ok(known);
        }
        let mut last = Ok(Meaning::default());
        for full in self.config.candidates(name) {
            let (v4, v6) =
                tokio::join!(self.ask(&full, message::A), self.ask(&full, message::AAAA));
            let meaning = match (v4, v6) {
                (Err(cause), Err(_)) => Err(cause),
                (v4, v6) => Ok(meaning(&full, v4.ok(), v6.ok())),
            };
            if meaning
                .as_ref()
                .is_ok_and(|found| !found.addresses.is_empty())
            {
                return meaning;
            }
            last = meaning;
        }
        last
    }

    /// The first name of an address, without its last dot.
    pub async fn name_of(&self, address: IpAddr) -> Option<String> {
        let answer = self
            .ask(&message::reverse(address), message::PTR)
            .await
            .ok()?;
        let name = answer.records.into_iter().find_map(|record| match record {
            Record::Pointer(name) => Some(name),
            Record::Address(..) | Record::Alias(..) => None,
        })?;
        Some(name.trim_end_matches('.').to_owned())
    }

    fn in_hosts(&self, name: &str) -> Option<Meaning> {
        let wanted = name.trim_end_matches('.');
        let addresses: Vec<IpAddr> = self
            .hosts
            .iter()
            .filter(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(wanted)))
            .map(|(address, _)| *address)
            .collect();
        (!addresses.is_empty()).then(|| Meaning {
            addresses,
            canonical: Some(format!("{wanted}.")),
        })
    }

    async fn ask(&self, name: &str, kind: u16) -> io::Result<Answer> {
        let mut problem = io::Error::new(io::ErrorKind::NotFound, "no name server is configured");
        for _ in 0..self.config.attempts {
            for server in &self.config.servers {
                let server = SocketAddr::new(*server, self.port);
                match tokio::time::timeout(self.config.timeout, query(server, name, kind)).await {
                    Ok(Ok(answer)) if answer.is_final() => return Ok(answer),
                    Ok(Ok(answer)) => {
                        let text = format!("{server} answers with code {}", answer.code);
                        problem = io::Error::other(text);
                    }
                    Ok(Err(cause)) => problem = cause,
                    Err(_) => {
                        let text = format!("{server} does not answer");
                        problem = io::Error::new(io::ErrorKind::TimedOut, text);
                    }
                }
            }
        }
        Err(problem)
    }
}

fn meaning(full: &str, v4: Option<Answer>, v6: Option<Answer>) -> Meaning {
    let mut found = Meaning::default();
    let mut canonical = full.to_owned();
    for answer in [v4, v6].into_iter().flatten() {
        let (addresses, end) = answer.follow(full);
        if !addresses.is_empty() {
            canonical = end;
        }
        found.addresses.extend(addresses);
    }
    if !found.addresses.is_empty() {
        found.canonical = Some(format!("{}.", canonical.trim_end_matches('.')));
    }
    found
}

/// One question to one server.
async fn query(server: SocketAddr, name: &str, kind: u16) -> io::Result<Answer> {
    let id: u16 = rand::random();
    let question = message::question(id, name, kind)?;
    let any: SocketAddr = if server.is_ipv4() {
        (IpAddr::from([0; 4]), 0).into()
    } else {
        (IpAddr::from([0; 16]), 0).into()
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    socket.send(&question).await?;
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer).await?;
        // Whatever is not an answer to this question is not for us.
        if let Some(answer) = message::answer(&buffer[..length], id, name, kind) {
            if answer.truncated {
                return over_tcp(server, &question, id, name, kind).await;
            }
            return Ok(answer);
        }
    }
}

async fn over_tcp(
    server: SocketAddr,
    question: &[u8],
    id: u16,
    name: &str,
    kind: u16,
) -> io::Result<Answer> {
    let mut stream = TcpStream::connect(server).await?;
    let mut framed = (question.len() as u16).to_be_bytes().to_vec();
    framed.extend(question);
    stream.write_all(&framed).await?;
    let length = stream.read_u16().await?;
    let mut buffer = vec![0; usize::from(length)];
    stream.read_exact(&mut buffer).await?;
    message::answer(&buffer, id, name, kind)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer cannot be read"))
}

/// How long one server is given at most, whatever the configuration says.
const LONGEST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
