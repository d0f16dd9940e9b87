//! How the service is reached, and what it must reach.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, TcpListener},
    time::Duration,
};

use muster_config::Config;
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

/// Releases are read from their registry, unless everything is mirrored.
pub(super) async fn registry(config: &Config) -> Finding {
    if config.images.mirrors_file.is_some() || config.images.registry_mirrors_file.is_some() {
        return Finding::skipped("mirrors are configured");
    }
    let registry = "quay.io";
    match tokio::time::timeout(CONNECT, TcpStream::connect((registry, 443))).await {
        Ok(Ok(_)) => Finding::ok(format!("{registry} can be reached")),
        Ok(Err(_)) | Err(_) => Finding::warning(
            format!("{registry} cannot be reached"),
            "open port 443 to it, set a proxy (HTTPS_PROXY), or configure mirrors \
             (images.mirrors_file, images.registry_mirrors_file)",
        ),
    }
}
