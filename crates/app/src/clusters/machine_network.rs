//! The range of the machines, found from a virtual address and what hosts report.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_engine::inventory::Inventory;
use muster_model::Host;

/// The first range of any host's interfaces that holds the address.
#[must_use]
pub fn holding(address: IpAddr, hosts: &[Host]) -> Option<IpNet> {
    hosts
        .iter()
        .filter_map(Inventory::known)
        .find_map(|inventory| {
            inventory
                .addresses()
                .map(|(_, range)| range.trunc())
                .find(|range| range.contains(&address))
        })
}

#[cfg(test)]
mod tests {
    use muster_model::{HostId, HostKey, InfraEnvId, Timestamp};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn the_first_range_that_holds_the_address_is_taken() {
        let host = |addresses: &[&str]| {
            let key = HostKey {
                infra_env: InfraEnvId(Uuid::nil()),
                host: HostId(Uuid::nil()),
            };
            let mut host = Host::registered(key, None, "admin", Timestamp(0));
            let interfaces =
                serde_json::json!({"interfaces": [{"name": "eth0", "ipv4_addresses": addresses}]});
            host.reports.inventory = Some(interfaces.to_string().into());
            host
        };
        let silent = Host {
            reports: Default::default(),
            ..host(&[])
        };
        let hosts = [
            silent,
            host(&["198.51.100.7/24"]),
            host(&["192.0.2.7/25", "192.0.2.8/24"]),
        ];
        let found =
            |text: &str| holding(text.parse().unwrap(), &hosts).map(|range| range.to_string());
        assert_eq!(found("198.51.100.200").as_deref(), Some("198.51.100.0/24"));
        assert_eq!(found("192.0.2.5").as_deref(), Some("192.0.2.0/25"));
        assert_eq!(found("192.0.2.200").as_deref(), Some("192.0.2.0/24"));
        assert_eq!(found("203.0.113.1"), None);
    }
}
