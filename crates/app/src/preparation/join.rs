//! The Ignition config of a host that joins a running cluster.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_assets::host_configs::{HostConfig, RoleConfig, day2::Endpoint};
use muster_engine::{inventory, steps};
use muster_ignition::Config;
use muster_model::{Cluster, Host};

use super::hosts;
use crate::Error;

/// What the host boots with: where the cluster hands out configs, and what only this host is.
///
/// # Errors
/// The address of the cluster is unknown, or the host's override is invalid.
pub fn host_config(host: &Host, cluster: &Cluster) -> Result<String, Error> {
    let name = inventory::hostname(host);
    let refuse = |why: String| Error::conflict(format!("host {name}: {why}"));
    let source = steps::endpoint(host, cluster).ok_or_else(|| {
        refuse(format!(
            "it is not known where cluster {} serves its configs; set api_vip_dns_name or an ignition \
             endpoint",
            cluster.name
        ))
    })?;
    let mut authorities = Vec::new();
    let certificate = source.ca_certificate.as_deref();
    let decoded = certificate.and_then(|text| STANDARD.decode(text.trim()).ok());
    authorities.extend(decoded.and_then(|bytes| String::from_utf8(bytes).ok()));
    authorities.extend(first_authority(host.ignition_config_overrides.as_deref()));
    authorities.dedup_by(|one, other| one.trim() == other.trim());
    let headers = source
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()));
    let pointer = Endpoint {
        url: &source.url,
        headers: headers.collect(),
        authorities,
    };
    let role = RoleConfig::default()
        .over(&pointer.pointer())
        .map_err(|error| refuse(error.to_string()))?;
    let wanted = HostConfig {
        hostname: &name,
        overrides: host.ignition_config_overrides.as_deref(),
        clears_discovery: hosts::clears_discovery(host),
        ..HostConfig::default()
    };
    let config = wanted
        .over(&role)
        .map_err(|error| refuse(error.to_string()))?;
    Ok(config.to_text())
}

/// The first authority that a host's own config trusts, if it is in the config itself.
fn first_authority(overrides: Option<&str>) -> Option<String> {
    let config = Config::read(overrides?).ok()?;
    let list = config
        .json()
        .pointer("/ignition/security/tls/certificateAuthorities")?;
    let sources = list
        .as_array()?
        .iter()
        .filter_map(|one| one["source"].as_str());
    let data = sources
        .filter_map(|source| source.strip_prefix("data:"))
        .next()?;
    let (kind, body) = data.split_once(',')?;
    let bytes = if kind.ends_with(";base64") {
        STANDARD.decode(body).ok()?
    } else {
        percent_encoding::percent_decode_str(body).collect()
    };
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use muster_model::{
        ClusterId, ClusterKind, ClusterStatus, HostId, HostKey, HostRole, InfraEnvId, Secret,
        Timestamp,
    };
    use uuid::Uuid;

    use super::*;

    fn pair() -> (Host, Cluster) {
        let id = ClusterId(Uuid::from_u128(1));
        let (kind, status) = (ClusterKind::AddHostsCluster, ClusterStatus::AddingHosts);
        let mut cluster = Cluster::blank(id, kind, "old", status, "admin", Timestamp(0));
        cluster.api_vip_dns_name = Some("api.old.example.com".to_owned());
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(2)),
            host: HostId(Uuid::from_u128(3)),
        };
        let mut host = Host::registered(key, Some(id), "admin", Timestamp(0));
        host.role = HostRole::Worker;
        host.requested_hostname = Some("late-1".to_owned());
        (host, cluster)
    }

    #[test]
    fn a_late_host_knows_its_name_and_where_to_ask() {
        let (mut host, mut cluster) = pair();
        let text = host_config(&host, &cluster).unwrap();
        let config = Config::read(&text).unwrap();
        assert_eq!(config.file("/etc/hostname").unwrap().unwrap(), b"late-1");
        assert!(
            text.contains("http://api.old.example.com:22624/config/worker"),
            "{text}"
        );
        cluster.ignition_endpoint.ca_certificate = Some(STANDARD.encode("PEM"));
        host.ignition_endpoint_token = Some(Secret::new("word"));
        host.machine_config_pool_name = Some("infra".to_owned());
        let text = host_config(&host, &cluster).unwrap();
        assert!(
            text.contains("https://api-int.old.example.com:22623/config/infra"),
            "{text}"
        );
        assert!(text.contains("Bearer word"));
        assert!(text.contains(&STANDARD.encode("PEM")));
    }

    #[test]
    fn a_cluster_that_cannot_be_resolved_is_reported() {
        let (host, mut cluster) = pair();
        cluster.api_vip_dns_name = None;
        let refusal = host_config(&host, &cluster).unwrap_err().to_string();
        assert!(refusal.contains("api_vip_dns_name"), "{refusal}");
    }
}
