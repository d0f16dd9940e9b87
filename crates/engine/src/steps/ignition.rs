//! Arguments of the steps about Ignition of a running cluster and about Tang servers.

use std::net::IpAddr;

use muster_model::{Cluster, Host, HostRole};
use serde::Serialize;

use super::json;
use crate::{ignition::Ignition, networks, tang};

#[derive(Serialize)]
struct Source<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    ca_certificate: Option<&'a str>,
    /// Older agents read the token only from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignition_endpoint_token: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    request_headers: Vec<Header<'a>>,
    url: String,
}

#[derive(Serialize)]
struct Header<'a> {
    key: &'a str,
    value: String,
}

/// Where a day-2 host fetches its Ignition. Headers hold credentials, so `Debug` shows none.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The whole address, with the pool.
    pub url: String,
    /// Base64 of the PEM certificates to trust.
    pub ca_certificate: Option<String>,
    /// Headers to send.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// Where a day-2 host fetches its Ignition, and with which credentials; nothing while the
/// address of the cluster's API is unknown.
#[must_use]
pub fn endpoint(host: &Host, cluster: &Cluster) -> Option<Endpoint> {
    let endpoint = &cluster.ignition_endpoint;
    let certificate = endpoint.ca_certificate.clone().filter(|c| !c.is_empty());
    let own = endpoint.url.as_deref().filter(|url| !url.is_empty());
    let pool = pool(host);
    let url = match own {
        Some(url) => format!("{}/{pool}", url.trim_end_matches('/')),
        None => config_server(&api_host(cluster)?, &pool, certificate.is_some()),
    };
    let authorization =
        token(host).map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
    let extra = host.ignition_endpoint_http_headers.iter().flatten();
    let extra = extra.map(|(key, value)| (key.clone(), value.clone()));
    Some(Endpoint {
        url,
        ca_certificate: certificate,
        headers: authorization.into_iter().chain(extra).collect(),
    })
}

fn token(host: &Host) -> Option<&str> {
    let token = host.ignition_endpoint_token.as_ref();
    token.map(|token| token.reveal()).filter(|t| !t.is_empty())
}

/// The same as the argument of a step.
pub(super) fn source(host: &Host, cluster: &Cluster) -> Option<String> {
    let endpoint = endpoint(host, cluster)?;
    let headers = endpoint.headers.iter().map(|(key, value)| Header {
        key,
        value: value.clone(),
    });
    Some(json(&Source {
        ca_certificate: endpoint.ca_certificate.as_deref(),
        ignition_endpoint_token: token(host),
        request_headers: headers.collect(),
        url: endpoint.url.clone(),
    }))
}

fn pool(host: &Host) -> String {
    let named = host.machine_config_pool_name.clone();
    named
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| match host.effective_role() {
            HostRole::AutoAssign => HostRole::Worker.to_string(),
            role => role.to_string(),
        })
}

/// The name of the API, else its address.
fn api_host(cluster: &Cluster) -> Option<String> {
    let name = cluster.api_vip_dns_name.clone();
    name.filter(|name| !name.is_empty()).or_else(|| {
        networks::vips(&cluster.api_vips)
            .first()
            .map(|vip| vip.ip.to_string())
    })
}

/// The machine config server: over TLS it is known by the internal name of the API.
fn config_server(api: &str, pool: &str, tls: bool) -> String {
    if !tls {
        return format!("http://{}:22624/config/{pool}", in_url(api));
    }
    let internal = api
        .strip_prefix("api.")
        .map(|rest| format!("api-int.{rest}"));
    let name = internal.as_deref().unwrap_or(api);
    format!("https://{}:22623/config/{pool}", in_url(name))
}

/// IPv6 addresses need brackets inside a URL.
fn in_url(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(_)) | Err(_) => host.to_owned(),
    }
}

#[derive(Serialize)]
struct Tang<'a> {
    /// JSON inside JSON.
    tang_servers: &'a str,
}

/// The servers that will unlock the disk: day 1 as the user said, day 2 as the Ignition of the
/// running cluster says.
pub(super) fn tang(host: &Host, cluster: &Cluster) -> Option<String> {
    if host.is_day2() {
        let ignition = Ignition::fetched_by(host)?;
        let servers = ignition.clevis()?.tang.items();
        return (!servers.is_empty()).then(|| {
            json(&Tang {
                tang_servers: &json(&servers),
            })
        });
    }
    let encryption = cluster.disk_encryption.as_ref()?;
    let servers = encryption
        .tang_servers
        .as_deref()
        .filter(|text| !text.is_empty())?;
    let covered = |group: &str| {
        let mut groups = encryption.enable_on.split(',').map(str::trim);
        groups.any(|item| item == group || item == "all")
    };
    let wanted = match host.effective_role() {
        HostRole::Master | HostRole::Bootstrap => covered("masters"),
        HostRole::Arbiter => covered("arbiters"),
        HostRole::Worker => covered("workers"),
        HostRole::AutoAssign => covered("all"),
    };
    (encryption.mode == "tang" && wanted).then(|| {
        json(&Tang {
            tang_servers: &tang::spelled(servers),
        })
    })
}
