//! How the service is reached, and what it must reach.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, TcpListener},
    time::Duration,
};

use muster_config::Config;
use muster_release::Mirrors;
use tokio::net::{TcpStream, lookup_host};

use super::Finding;

/// A registry that takes longer than this to accept a connection is not reachable.
const CONNECT: Duration = Duration::from_secs(5);

/// Hosts call the URL that is baked into their image.
pub(super) async fn address(config: &Config) -> Finding {
    let url = config.server.base_url.as_str();
    let host = config.server.url_hosts().next().unwrap_or_default();
    let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    if host == "localhost" || ip.is_some_and(|ip| ip.is_loopback()) {
        return Finding::warning(
            format!("hosts are given {url}, which is each host itself"),
            "set server.listen to 0.0.0.0:8090 and server.base_url to a name or address of this machine",
        );
    }
    if config.server.on_loopback_only() {
        return Finding::warning(
            format!(
                "hosts are given {url}, but the service listens on {}",
                config.server.listen
            ),
            "set server.listen to 0.0.0.0:8090, unless a proxy on this machine passes requests on",
        );
    }
    Finding::ok(format!("hosts are given {url}"))
}

/// The name in that URL must lead here.
pub(super) async fn name(config: &Config) -> Finding {
    let mut hosts: BTreeSet<String> = config.server.url_hosts().collect();
    hosts.retain(|host| host.trim_matches(['[', ']']).parse::<IpAddr>().is_err());
    for host in &hosts {
        let found = lookup_host((host.as_str(), 0)).await.ok();
        if found.and_then(|mut found| found.next()).is_none() {
            return Finding::problem(
                format!("{host} has no address"),
                "add it to the DNS that hosts ask, or use an address in server.base_url",
            );
        }
    }
    match hosts.len() {
        0 => Finding::ok("addresses, no names"),
        _ => Finding::ok(format!(
            "{} can be looked up",
            hosts.into_iter().collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The port must be free, or ours.
pub(super) async fn port(config: &Config) -> Finding {
    let listen = config.server.listen;
    match TcpListener::bind(listen) {
        Ok(_) => Finding::ok(format!("{listen} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            match muster_store::in_use(config.database.url.reveal()) {
                true => Finding::ok(format!("{listen} is taken, and the service runs")),
                false => Finding::problem(
                    format!("{listen} is used by another program"),
                    format!(
                        "`ss -ltnp sport = :{}` names it; stop it, or set server.listen",
                        listen.port()
                    ),
                ),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Finding::problem(
            format!("{listen}: only root may listen on this port"),
            "use a port above 1023, or AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit",
        ),
        Err(error) => Finding::problem(
            format!("{listen}: {error}"),
            "set server.listen to an address of this machine, or to 0.0.0.0",
        ),
    }
}

/// Releases are read from their registry, or from its mirrors.
pub(super) async fn registry(config: &Config) -> Finding {
    let hosts = match mirrors(config) {
        Ok(hosts) if hosts.is_empty() => BTreeSet::from(["quay.io:443".to_owned()]),
        Ok(hosts) => hosts,
        Err(_) => return Finding::skipped("the list of mirrors cannot be read"),
    };
    let mut away = Vec::new();
    for host in &hosts {
        match tokio::time::timeout(CONNECT, TcpStream::connect(host)).await {
            Ok(Ok(_)) => {}
            Ok(Err(_)) | Err(_) => away.push(host.as_str()),
        }
    }
    let listed: Vec<&str> = hosts.iter().map(String::as_str).collect();
    match away.is_empty() {
        true => Finding::ok(format!("{} can be reached", listed.join(", "))),
        false => Finding::warning(
            format!("{} cannot be reached", away.join(", ")),
            "open the port, set a proxy (HTTPS_PROXY), or configure other mirrors \
             (images.mirrors_file, images.registry_mirrors_file)",
        ),
    }
}

/// Hosts and ports of the mirrors that are configured.
fn mirrors(config: &Config) -> Result<BTreeSet<String>, muster_release::Error> {
    let images = &config.images;
    let mut hosts = BTreeSet::new();
    for file in [&images.mirrors_file, &images.registry_mirrors_file]
        .into_iter()
        .flatten()
    {
        let list = Mirrors::read(file)?;
        let mirrors = list.rules().iter().flat_map(|rule| &rule.mirrors);
        hosts.extend(mirrors.map(|mirror| host_and_port(&mirror.location)));
    }
    Ok(hosts)
}

fn host_and_port(location: &str) -> String {
    let host = location.split('/').next().unwrap_or(location);
    match host.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => host.to_owned(),
        _ => format!("{host}:443"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_reached_at_its_own_port() {
        for (location, expected) in [
            (
                "mirror.example.com:5000/ocp/release",
                "mirror.example.com:5000",
            ),
            ("mirror.example.com/ocp", "mirror.example.com:443"),
            ("[2001:db8::1]:5000/x", "[2001:db8::1]:5000"),
            ("[2001:db8::1]/x", "[2001:db8::1]:443"),
        ] {
            assert_eq!(host_and_port(location), expected);
        }
    }
}
