//! Nodes of the cluster and the hosts they are: which stages follow from what is seen.

use std::{collections::BTreeMap, net::IpAddr};

use muster_model::HostStage;
use serde_json::{Value, json};

use crate::{
    hosts::Host,
    kube::{condition, items, text},
};

const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const CONTROL_PLANE: &[&str] = &[
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/control-plane",
];

/// What matters of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Whether its kubelet says it is ready.
    pub ready: bool,
    /// Its internal addresses.
    pub addresses: Vec<IpAddr>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// A patch that takes the taint of missing cloud providers away, if it has that taint.
    pub untaint: Option<Value>,
}

impl Node {
    /// From the object.
    #[must_use]
    pub fn read(object: &Value) -> Self {
        let labels = object.pointer("/metadata/labels").cloned();
        let internal = |address: &&Value| address["type"] == "InternalIP";
        Self {
            name: text(object, "/metadata/name").to_owned(),
            ready: condition(object, "Ready", "True"),
            addresses: items(object, "/status/addresses")
                .filter(internal)
                .filter_map(|address| text(address, "/address").parse().ok())
                .collect(),
            labels: labels
                .and_then(|labels| serde_json::from_value(labels).ok())
                .unwrap_or_default(),
            untaint: items(object, "/spec/taints")
                .position(|taint| taint["key"] == UNINITIALIZED)
                .map(|index| {
                    let path = format!("/spec/taints/{index}");
                    json!([
                        // Fails if the list changed since it was read, rather than removing another.
                        {"op": "test", "path": format!("{path}/key"), "value": UNINITIALIZED},
                        {"op": "remove", "path": path},
                    ])
                }),
        }
    }

    /// Whether it belongs to the control plane.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        CONTROL_PLANE
            .iter()
            .any(|label| self.labels.contains_key(*label))
    }
}

/// The host that a node is: by name, else by an internal address.
#[must_use]
pub fn host_of<'a>(node: &Node, hosts: &'a [Host]) -> Option<&'a Host> {
    let name = node.name.to_lowercase();
    let named = hosts.iter().find(|host| host.names.contains(&name));
    named.or_else(|| {
        let mut at = hosts.iter().filter(|host| {
            let mut addresses = node.addresses.iter();
            addresses.any(|address| host.addresses.contains(address))
        });
        // An address that two hosts claim proves nothing.
        at.next().filter(|_| at.next().is_none())
    })
}

/// Stages to report, oldest first for each host.
#[must_use]
pub fn due<'a>(hosts: &'a [Host], nodes: &[Node], single_node: bool) -> Vec<(&'a Host, HostStage)> {
    let mut due = Vec::new();
    for node in nodes {
        let Some(host) = host_of(node, hosts).filter(|host| host.is_underway()) else {
            continue;
        };
        let stages = host.stages(single_node);
        let place = |stage| stages.iter().position(|one| *one == stage);
        let reached = host.stage.and_then(place);
        let left_live_system = reached >= place(HostStage::Rebooting);
        if left_live_system && reached < place(HostStage::Joined) {
            due.push((host, HostStage::Joined));
        }
        if node.ready && host.stage != Some(HostStage::Done) {
            due.push((host, HostStage::Done));
        }
    }
    due
}

/// Whether the taint of a missing cloud provider must be taken off nodes by hand: these platforms
/// have a provider that is not configured during an assisted installation.
#[must_use]
pub fn untaints(platform: &str, agent_based: bool, version: &str, credentials: bool) -> bool {
    let configured = || {
        let mut parts = version
            .split(['.', '-'])
            .map(|part| part.parse::<u32>().ok());
        let version = (parts.next().flatten(), parts.next().flatten());
        agent_based && credentials && version >= (Some(4), Some(15))
    };
    match platform {
        "nutanix" => true,
        "vsphere" => !configured(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::tests::host;

    fn node(name: &str, ready: bool, address: &str) -> Node {
        Node {
            name: name.to_owned(),
            ready,
            addresses: vec![address.parse().unwrap()],
            ..Node::default()
        }
    }

    fn stages(hosts: &[Host], nodes: &[Node]) -> Vec<(String, HostStage)> {
        let due = due(hosts, nodes, false);
        due.into_iter()
            .map(|(host, stage)| (host.name().to_owned(), stage))
            .collect()
    }

    #[test]
    fn stages_follow_from_nodes_in_order() {
        let hosts = [
            host(1, "a", "master", "Rebooting"),
            host(2, "b", "worker", "Waiting for ignition"),
            host(3, "c", "worker", "Joined"),
            host(4, "d", "worker", "Done"),
            host(5, "e", "worker", "Writing image to disk"),
        ];
        let nodes = [
            node("a", true, "10.0.0.1"),
            node("b", false, "10.0.0.2"),
            node("c", true, "10.0.0.3"),
            node("d", true, "10.0.0.4"),
            node("e", false, "10.0.0.5"),
            node("stranger", true, "10.9.9.9"),
        ];
        let expected = [
            ("a", HostStage::Joined),
            ("a", HostStage::Done),
            ("b", HostStage::Joined),
            ("c", HostStage::Done),
        ];
        let expected = expected.map(|(name, stage)| (name.to_owned(), stage));
        assert_eq!(stages(&hosts, &nodes), expected);
    }

    #[test]
    fn a_failed_host_is_left_alone() {
        let mut failed = host(1, "a", "master", "Rebooting");
        failed.status = "error".to_owned();
        assert!(stages(&[failed], &[node("a", true, "10.0.0.1")]).is_empty());
    }

    #[test]
    fn the_name_goes_before_the_address_and_a_shared_address_proves_nothing() {
        let mut hosts = vec![host(1, "a", "master", ""), host(2, "b", "master", "")];
        let by_name = host_of(&node("B", true, "10.0.0.1"), &hosts).unwrap();
        assert_eq!(by_name.name(), "b");
        let by_address = host_of(&node("x", true, "10.0.0.2"), &hosts).unwrap();
        assert_eq!(by_address.name(), "b");
        hosts[0].addresses.insert("10.0.0.2".parse().unwrap());
        assert!(host_of(&node("x", true, "10.0.0.2"), &hosts).is_none());
    }

    #[test]
    fn the_taint_is_tested_before_it_is_removed() {
        let object = json!({"spec": {"taints": [{"key": "other"}, {"key": UNINITIALIZED}]}});
        let patch = Node::read(&object).untaint.unwrap();
        assert_eq!(patch[1]["path"], "/spec/taints/1");
        assert!(Node::read(&json!({})).untaint.is_none());
        let rows = [
            ("nutanix", true, "4.20.1", true, true),
            ("vsphere", false, "4.20.1", true, true),
            ("vsphere", true, "4.14.9", true, true),
            ("vsphere", true, "4.15.0", true, false),
            ("vsphere", true, "4.15.0", false, true),
            ("baremetal", false, "4.20.1", false, false),
        ];
        for (platform, agent_based, version, credentials, expected) in rows {
            let got = untaints(platform, agent_based, version, credentials);
            assert_eq!(got, expected, "{platform} {agent_based} {version}");
        }
    }
}
