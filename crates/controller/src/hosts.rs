//! What the service knows about the cluster and its hosts, reduced to what decisions need.
//!
//! Read leniently: a field that is missing, null or of an unknown value is a field without a
//! value, because services of other versions must be understood too.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use muster_model::{HostRole, HostStage};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::kube::{items, text};

/// The cluster as the service shows it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// For example `finalizing`.
    pub status: String,
    /// Why it has this status.
    pub status_info: String,
    /// For example `baremetal`.
    pub platform: String,
    /// Domain of the cluster, in lower case.
    pub domain: String,
    /// Stage of finalizing that the service has stored.
    pub finalizing_stage: String,
    /// The service says that this stage took too long.
    pub finalizing_timed_out: bool,
    /// One node is all there is.
    pub single_node: bool,
    /// Hosts that take part.
    pub hosts: Vec<Host>,
}

/// One host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its id.
    pub id: Uuid,
    /// The infra-env it booted.
    pub infra_env: Uuid,
    /// For example `installing-in-progress`.
    #[serde(default)]
    pub status: String,
    /// Its role.
    pub role: Option<HostRole>,
    /// It leads the installation.
    #[serde(default)]
    pub bootstrap: bool,
    /// Last stage that the service has stored.
    pub stage: Option<HostStage>,
    /// Names it may have in the cluster, in lower case.
    #[serde(default)]
    pub names: BTreeSet<String>,
    /// Addresses of its network cards.
    #[serde(default)]
    pub addresses: BTreeSet<IpAddr>,
    /// Labels that a user wants on its node.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Machine config pool that a user chose.
    #[serde(default)]
    pub pool: String,
}

/// Names that a host of this name may have as a node, in lower case.
#[must_use]
pub fn names(own: &str, domain: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let name = own.to_lowercase();
    if name.is_empty() {
        return names;
    }
    // Reverse DNS or DHCP may complete it, but only inside the cluster's own domain.
    if !name.contains('.') && !domain.is_empty() {
        names.insert(format!("{name}.{domain}"));
    }
    names.insert(name);
    names
}

impl Cluster {
    /// From the answer of the service.
    #[must_use]
    pub fn read(answer: &Value) -> Self {
        let domain = match (text(answer, "/name"), text(answer, "/base_dns_domain")) {
            ("", _) | (_, "") => String::new(),
            (name, base) => format!("{name}.{base}").to_lowercase(),
        };
        let count = answer["control_plane_count"].as_u64();
        Self {
            status: text(answer, "/status").to_owned(),
            status_info: text(answer, "/status_info").to_owned(),
            platform: text(answer, "/platform/type").to_owned(),
            finalizing_stage: text(answer, "/progress/finalizing_stage").to_owned(),
            finalizing_timed_out: answer["progress"]["finalizing_stage_timed_out"] == true,
            single_node: count == Some(1) || text(answer, "/high_availability_mode") == "None",
            hosts: items(answer, "/hosts")
                .filter(|host| text(host, "/status") != "disabled")
                .filter_map(|host| Host::read(host, &domain))
                .collect(),
            domain,
        }
    }

    /// Whether the service gave up this stage of finalizing.
    #[must_use]
    pub fn gave_up(&self, stage: &str) -> bool {
        self.finalizing_timed_out && self.finalizing_stage == stage
    }
}

impl Host {
    fn read(host: &Value, domain: &str) -> Option<Self> {
        // The inventory travels as text.
        let inventory: Value =
            serde_json::from_str(text(host, "/inventory")).unwrap_or(Value::Null);
        let own = [
            text(host, "/requested_hostname"),
            text(&inventory, "/hostname"),
        ];
        // A name that a user chose replaces the one the machine had before.
        let own = own.into_iter().find(|name| !name.is_empty());
        let names = own.map(|name| names(name, domain)).unwrap_or_default();
        let addresses = items(&inventory, "/interfaces")
            .flat_map(|card| items(card, "/ipv4_addresses").chain(items(card, "/ipv6_addresses")))
            .filter_map(|address| {
                let address = address.as_str()?.split('/').next()?;
                address.parse().ok()
            })
            .filter(|address: &IpAddr| !address.is_loopback() && !address.is_unspecified())
            .collect();
        Some(Self {
            id: text(host, "/id").parse().ok()?,
            infra_env: text(host, "/infra_env_id").parse().ok()?,
            status: text(host, "/status").to_owned(),
            role: text(host, "/role").parse().ok(),
            bootstrap: host["bootstrap"] == true,
            stage: text(host, "/progress/current_stage").parse().ok(),
            names,
            addresses,
            labels: serde_json::from_str(text(host, "/node_labels")).unwrap_or_default(),
            pool: text(host, "/machine_config_pool_name").to_owned(),
        })
    }

    /// Whether this host still has to become a node.
    #[must_use]
    pub fn is_underway(&self) -> bool {
        !matches!(
            self.status.as_str(),
            "installed" | "error" | "cancelled" | "added-to-existing-cluster"
        )
    }

    /// The stages it goes through.
    #[must_use]
    pub fn stages(&self, single_node: bool) -> &'static [HostStage] {
        let role = self.role.unwrap_or(HostRole::AutoAssign);
        HostStage::expected(role, self.bootstrap, single_node, false)
    }

    /// A name to show.
    #[must_use]
    pub fn name(&self) -> &str {
        self.names
            .iter()
            .min_by_key(|name| name.len())
            .map_or("", |name| name)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::json;

    use super::*;

    /// A host as the service shows it.
    pub(crate) fn shown(number: u8, name: &str, role: &str, stage: &str) -> Value {
        json!({
            "id": Uuid::from_u128(u128::from(number)),
            "infra_env_id": Uuid::from_u128(7),
            "status": "installing-in-progress",
            "role": role,
            "bootstrap": false,
            "requested_hostname": name,
            "progress": {"current_stage": stage},
            "inventory": json!({
                "hostname": "localhost",
                "interfaces": [{
                    "ipv4_addresses": [format!("10.0.0.{number}/24")],
                    "ipv6_addresses": [format!("fd00::{number}/64")],
                }],
            }).to_string(),
        })
    }

    pub(crate) fn host(number: u8, name: &str, role: &str, stage: &str) -> Host {
        Host::read(&shown(number, name, role, stage), "c.example.org").unwrap()
    }

    #[test]
    fn a_cluster_is_read_with_nulls_and_unknown_words() {
        let mut odd = shown(2, "B", "captain", "Pondering");
        odd["node_labels"] = Value::Null;
        odd["inventory"] = json!("not JSON");
        let mut gone = shown(3, "c", "worker", "Done");
        gone["status"] = json!("disabled");
        let cluster = Cluster::read(&json!({
            "status": "finalizing", "name": "C", "base_dns_domain": "example.org",
            "platform": {"type": "baremetal"}, "high_availability_mode": null,
            "progress": {"finalizing_stage": "Adding router ca", "finalizing_stage_timed_out": true},
            "hosts": [shown(1, "a", "master", "Rebooting"), odd, gone],
        }));
        assert_eq!(cluster.hosts.len(), 2);
        assert!(cluster.gave_up("Adding router ca") && !cluster.gave_up("Done"));
        let first = &cluster.hosts[0];
        assert_eq!(first.stage, Some(HostStage::Rebooting));
        assert_eq!(
            Vec::from_iter(&first.names),
            ["a", "a.c.example.org"],
            "the name before a user chose one does not count"
        );
        assert_eq!(first.addresses.len(), 2);
        let second = &cluster.hosts[1];
        assert!(second.role.is_none() && second.stage.is_none() && second.addresses.is_empty());
    }
}
