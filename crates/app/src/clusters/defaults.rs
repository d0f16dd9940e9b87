//! What a new cluster gets when its owner does not say, for pages that show it beforehand.

use muster_api::wire;
use muster_config::Config;

/// Names that hosts give themselves when they have none; no node may be called so.
pub const FORBIDDEN_HOSTNAMES: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

/// The answer of `GET /v2/clusters/default-config`.
#[must_use]
pub fn document(config: &Config) -> wire::ClusterDefaultConfig {
    let usual = &config.cluster;
    let pods = |cidr: String, prefix: u16| wire::ClusterNetwork {
        cidr: Some(cidr),
        host_prefix: Some(i64::from(prefix)),
        ..Default::default()
    };
    let service = |cidr: String| wire::ServiceNetwork {
        cidr: Some(cidr),
        ..Default::default()
    };
    let pods4 = pods(
        usual.cluster_network_cidr.to_string(),
        usual.cluster_network_host_prefix,
    );
    let pods6 = pods(
        usual.cluster_network_cidr_ipv6.to_string(),
        usual.cluster_network_host_prefix_ipv6,
    );
    let service4 = service(usual.service_network_cidr.to_string());
    let service6 = service(usual.service_network_cidr_ipv6.to_string());
    wire::ClusterDefaultConfig {
        cluster_network_cidr: pods4.cidr.clone(),
        cluster_network_host_prefix: pods4.host_prefix,
        cluster_networks_ipv4: Some(vec![pods4.clone()]),
        cluster_networks_dualstack: Some(vec![pods4, pods6]),
        service_network_cidr: service4.cidr.clone(),
        service_networks_ipv4: Some(vec![service4.clone()]),
        service_networks_dualstack: Some(vec![service4, service6]),
        forbidden_hostnames: Some(
            FORBIDDEN_HOSTNAMES
                .iter()
                .map(ToString::to_string)
                .collect(),
        ),
        inactive_deletion_hours: i64::try_from(config.housekeeping.inactive_after.as_secs() / 3600)
            .ok(),
        ntp_source: Some(usual.ntp_default_server.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_the_configuration_in_force() {
        let mut config = Config::default();
        config.cluster.ntp_default_server = "clock.example".into();
        let shown = serde_json::to_value(document(&config)).unwrap();
        assert_eq!(shown["cluster_network_cidr"], "10.128.0.0/14");
        assert_eq!(shown["cluster_networks_dualstack"][1]["cidr"], "fd01::/48");
        assert_eq!(
            shown["service_networks_ipv4"],
            serde_json::json!([{"cidr": "172.30.0.0/16"}])
        );
        assert_eq!(shown["inactive_deletion_hours"], 480);
        assert_eq!(shown["ntp_source"], "clock.example");
        assert_eq!(shown.as_object().unwrap().len(), 10);
    }

    #[test]
    fn the_time_source_is_there_even_if_none_is_configured() {
        let shown = serde_json::to_value(document(&Config::default())).unwrap();
        assert_eq!(shown["ntp_source"], "");
    }
}
