//! What the nodes of the new cluster and the log of its config server say about the hosts.

use std::{collections::BTreeSet, net::IpAddr};

use muster_model::{HostStage, MinorVersion};
use regex::Regex;
use serde_json::{Value, json};
use uuid::Uuid;

const MASTER: &str = "node-role.kubernetes.io/master";
const ARBITER: &str = "node-role.kubernetes.io/arbiter";
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// A node as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenNode {
    name: String,
    addresses: Vec<String>,
    is_ready: bool,
    is_master: bool,
    is_arbiter: bool,
}

impl SeenNode {
    /// The nodes of a list.
    #[must_use]
    pub fn all(list: &Value) -> Vec<Self> {
        list["items"]
            .as_array()
            .into_iter()
            .flatten()
            .map(Self::of)
            .collect()
    }

    fn of(node: &Value) -> Self {
        let labels = &node["metadata"]["labels"];
        let status = &node["status"];
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let addresses = status["addresses"].as_array().into_iter().flatten();
        Self {
            name: node["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_lowercase(),
            addresses: addresses
                .filter(|address| address["type"] == "InternalIP")
                .filter_map(|address| address["address"].as_str().map(str::to_owned))
                .collect(),
            is_ready: conditions
                .into_iter()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True"),
            is_master: !labels[MASTER].is_null(),
            is_arbiter: !labels[ARBITER].is_null(),
        }
    }
}

/// What the hosts of a cluster may be called as nodes, for scripts that approve certificate requests:
/// their names, as they are and completed by the domain of the cluster, and their addresses as
/// `openssl` prints them.
#[must_use]
pub fn identities(cluster: &Value, hosts: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_lowercase();
    let domain = format!(
        "{}.{}",
        text(&cluster["name"]),
        text(&cluster["base_dns_domain"])
    );
    let mut identities = Vec::new();
    for host in hosts {
        let Some(name) = name_of(host).map(|name| name.to_lowercase()) else {
            continue;
        };
        if !name.contains('.') {
            identities.push(format!("{name}.{domain}"));
        }
        identities.push(name);
        identities.extend(addresses_of(host).into_iter().map(printed));
    }
    identities
}

/// An address as `openssl` prints it.
fn printed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let groups = address.segments().map(|group| format!("{group:X}"));
            groups.join(":")
        }
    }
}

/// How many nodes must be ready before the bootstrap host may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    masters: u64,
    arbiters: u64,
}

/// From the install-config in the cluster. The bootstrap host will be one of the control plane.
#[must_use]
pub fn needed(config_map: &Value) -> Needed {
    let text = config_map["data"]["install-config"]
        .as_str()
        .unwrap_or_default();
    let replicas = replicas(text, "controlPlane").unwrap_or(3);
    Needed {
        masters: replicas.saturating_sub(1).min(2),
        arbiters: u64::from(replicas_of_arbiter(text) > 0),
    }
}

fn replicas_of_arbiter(text: &str) -> u64 {
    replicas(text, "arbiter").unwrap_or(0)
}

/// `replicas` of a section at the top of an install-config, in JSON or in block YAML.
fn replicas(text: &str, section: &str) -> Option<u64> {
    if let Ok(config) = serde_json::from_str::<Value>(text) {
        return config[section]["replicas"].as_u64();
    }
    let mut inside = false;
    for line in text.lines() {
        if !line.starts_with([' ', '#', '-']) {
            inside = line.trim_end().strip_suffix(':') == Some(section);
        } else if inside && let Some(number) = line.strip_prefix("  replicas:") {
            return number.trim().parse().ok();
        }
    }
    None
}

impl Needed {
    /// What is still missing; none if there are enough.
    #[must_use]
    pub fn missing(self, nodes: &[SeenNode]) -> Option<String> {
        let ready = |which: fn(&SeenNode) -> bool| {
            nodes
                .iter()
                .filter(|node| which(node) && node.is_ready)
                .count() as u64
        };
        let masters = ready(|node| node.is_master);
        let arbiters = ready(|node| node.is_arbiter);
        if masters >= self.masters && arbiters >= self.arbiters {
            return None;
        }
        let waiting: Vec<&str> = nodes
            .iter()
            .filter(|node| !node.is_ready)
            .map(|node| node.name.as_str())
            .collect();
        let mut text = format!(
            "{masters} of {} control-plane nodes are ready",
            self.masters
        );
        if self.arbiters > 0 {
            text += &format!(", {arbiters} of {} arbiters", self.arbiters);
        }
        if !waiting.is_empty() {
            text += &format!("; joined but not ready: {}", waiting.join(", "));
        }
        Some(text)
    }
}

/// Names of workers that still talk to the service.
#[must_use]
pub fn dependent_workers(hosts: &[Value]) -> Vec<String> {
    use HostStage::{Installing, StartingInstallation, WaitingForControlPlane, WritingImageToDisk};
    let depends = |host: &&Value| {
        let stage = host["progress"]["current_stage"].as_str();
        let stage = stage.and_then(|stage| stage.parse::<HostStage>().ok());
        let early = matches!(
            stage,
            Some(StartingInstallation | Installing | WritingImageToDisk | WaitingForControlPlane)
        );
        let given_up = ["error", "cancelled", "disabled"];
        let status = host["status"].as_str().unwrap_or_default();
        host["role"] == "worker" && early && !given_up.contains(&status)
    };
    let hosts = hosts.iter().filter(depends);
    hosts
        .map(|host| name_of(host).unwrap_or_else(|| "a host without a name".to_owned()))
        .collect()
}

/// Why the configs of the control plane are not settled; none if every node is to have the same
/// one, and it exists.
#[must_use]
pub fn unsettled(nodes: &Value, configs: &Value) -> Option<String> {
    let items = |list: &'_ Value| list["items"].as_array().cloned().unwrap_or_default();
    let known: BTreeSet<String> = items(configs)
        .iter()
        .filter_map(|config| config["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    let mut desired = BTreeSet::new();
    let mut count = 0;
    for node in items(nodes) {
        let metadata = &node["metadata"];
        if metadata["labels"][MASTER].is_null() {
            continue;
        }
        count += 1;
        let name = metadata["name"].as_str().unwrap_or_default();
        for which in ["currentConfig", "desiredConfig"] {
            let key = format!("machineconfiguration.openshift.io/{which}");
            match metadata["annotations"][&key].as_str() {
                None => return Some(format!("node {name} has no {which} yet")),
                Some(config) if !known.contains(config) => {
                    return Some(format!("{which} {config} of node {name} does not exist"));
                }
                Some(config) if which == "desiredConfig" => {
                    desired.insert(config.to_owned());
                }
                Some(_) => {}
            }
        }
    }
    match (count, desired.len()) {
        (0, _) => Some("no control-plane node is there".to_owned()),
        (_, 1) => None,
        _ => {
            let configs: Vec<String> = desired.into_iter().collect();
            Some(format!(
                "control-plane nodes are to have different configs: {}",
                configs.join(", ")
            ))
        }
    }
}

/// Whether the platform has a cloud provider that is not configured during the installation.
#[must_use]
pub fn has_unconfigured_provider(config_map: &Value) -> bool {
    matches!(
        platform(install_config(config_map)).as_deref(),
        Some("vsphere" | "nutanix")
    )
}

/// Whether the provider of vSphere was configured by the agent-based installer.
#[must_use]
pub fn has_credentials(config_map: &Value, version: &str) -> bool {
    let text = install_config(config_map);
    let version = MinorVersion::parse(version);
    platform(text).as_deref() == Some("vsphere")
        && !text.contains("vcenterplaceholder")
        && version >= Some(MinorVersion::new(4, 15))
}

fn install_config(config_map: &Value) -> &str {
    config_map["data"]["install-config"]
        .as_str()
        .unwrap_or_default()
}

/// The key under `platform` of an install-config, in JSON or in block YAML.
fn platform(text: &str) -> Option<String> {
    if let Ok(config) = serde_json::from_str::<Value>(text) {
        return config["platform"].as_object()?.keys().next().cloned();
    }
    let mut lines = text
        .lines()
        .skip_while(|line| line.trim_end() != "platform:");
    let below = lines.nth(1)?.strip_prefix("  ")?;
    let (key, _) = below.split_once(':')?;
    Some(key.to_owned())
}

/// Nodes that wait for a cloud provider, with the patch that ends it.
#[must_use]
pub fn tainted(nodes: &Value) -> Vec<(String, Value)> {
    let items = nodes["items"].as_array().into_iter().flatten();
    items
        .filter(|node| !SeenNode::of(node).is_ready)
        .filter_map(|node| {
            let taints = node["spec"]["taints"].as_array()?;
            let index = taints
                .iter()
                .position(|taint| taint["key"] == UNINITIALIZED)?;
            let path = format!("/spec/taints/{index}");
            let patch = json!([
                // Fails if the list changed since it was read, rather than removing another.
                {"op": "test", "path": format!("{path}/key"), "value": UNINITIALIZED},
                {"op": "remove", "path": path},
            ]);
            Some((node["metadata"]["name"].as_str()?.to_owned(), patch))
        })
        .collect()
}

/// What was reported for other hosts already.
#[derive(Debug, Default)]
pub struct Reported {
    configuring: BTreeSet<Uuid>,
    joined: BTreeSet<Uuid>,
}

impl Reported {
    /// Hosts whose nodes have become ready since the last call.
    pub fn joined(
        &mut self,
        nodes: &[SeenNode],
        hosts: &[Value],
        own: Uuid,
    ) -> Vec<(Uuid, HostStage)> {
        let mut news = Vec::new();
        for node in nodes.iter().filter(|node| node.is_ready) {
            let Some(host) = host_of(node, hosts) else {
                continue;
            };
            let Some(id) = id_of(host).filter(|id| *id != own) else {
                continue;
            };
            if host["status"] != "installed" && self.joined.insert(id) {
                news.push((id, HostStage::Joined));
            }
        }
        news
    }

    /// A report did not arrive; it is due again.
    pub fn forget(&mut self, host: Uuid, stage: HostStage) {
        if stage == HostStage::Joined {
            self.joined.remove(&host);
        } else {
            self.configuring.remove(&host);
        }
    }

    /// Hosts that have fetched their config since the last call, by the log of its server.
    pub fn configuring(&mut self, log: &str, hosts: &[Value], own: Uuid) -> Vec<(Uuid, HostStage)> {
        let mut news = Vec::new();
        for host in hosts {
            let Some(id) = id_of(host).filter(|id| *id != own) else {
                continue;
            };
            let over = matches!(
                host["progress"]["current_stage"].as_str(),
                Some("Configuring" | "Joined" | "Done" | "Waiting for ignition")
            );
            if over || self.configuring.contains(&id) || !has_fetched(log, &addresses_of(host)) {
                continue;
            }
            self.configuring.insert(id);
            let stage = match host["role"].as_str() {
                Some("worker") => HostStage::WaitingForIgnition,
                Some(_) | None => HostStage::Configuring,
            };
            news.push((id, stage));
        }
        news
    }
}

/// Whether one of these addresses has asked for a config with Ignition.
fn has_fetched(log: &str, addresses: &[IpAddr]) -> bool {
    if addresses.is_empty() {
        return false;
    }
    let addresses: Vec<String> = addresses
        .iter()
        .map(|address| regex::escape(&address.to_string()))
        .collect();
    let pattern = format!(
        r#"(?:^|[^0-9A-Fa-f.:])(?:{})(?:%\w+)?\]?:\d+"? User-Agent:"Ignition"#,
        addresses.join("|")
    );
    Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(log))
}

fn id_of(host: &Value) -> Option<Uuid> {
    host["id"].as_str()?.parse().ok()
}

/// By name, or else by address.
fn host_of<'a>(node: &SeenNode, hosts: &'a [Value]) -> Option<&'a Value> {
    let named = |host: &&Value| name_of(host).is_some_and(|name| name.to_lowercase() == node.name);
    let addressed = |host: &&Value| {
        addresses_of(host)
            .iter()
            .any(|address| node.addresses.contains(&address.to_string()))
    };
    hosts
        .iter()
        .find(named)
        .or_else(|| hosts.iter().find(addressed))
}

/// The name that a host will have: the one asked for, or else the one it reported. A service lists the
/// first only if a user did ask.
fn name_of(host: &Value) -> Option<String> {
    let filled = |name: &Value| {
        name.as_str()
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
    };
    filled(&host["requested_hostname"]).or_else(|| filled(&inventory_of(host)["hostname"]))
}

fn inventory_of(host: &Value) -> Value {
    host["inventory"]
        .as_str()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

fn addresses_of(host: &Value) -> Vec<IpAddr> {
    let inventory = inventory_of(host);
    let interfaces = inventory["interfaces"].as_array().into_iter().flatten();
    interfaces
        .flat_map(|interface| {
            ["ipv4_addresses", "ipv6_addresses"]
                .into_iter()
                .flat_map(|kind| interface[kind].as_array().into_iter().flatten())
        })
        .filter_map(|address| address.as_str()?.split('/').next()?.parse().ok())
        .collect()
}

/// Why a pod does not run.
#[must_use]
pub fn pod_reason(pod: &Value) -> String {
    let status = &pod["status"];
    let waiting = status["containerStatuses"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|container| &container["state"]["waiting"])
        .find(|waiting| !waiting.is_null());
    let condition = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|condition| condition["status"] == "False");
    let found = waiting.or(condition).unwrap_or(&Value::Null);
    let words = ["reason", "message"].map(|key| found[key].as_str().unwrap_or_default());
    words.join(" ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, role: &str, ready: &str) -> Value {
        json!({
            "metadata": {"name": name, "labels": {(format!("node-role.kubernetes.io/{role}")): ""}},
            "status": {
                "conditions": [{"type": "Ready", "status": ready}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.5"}],
            },
        })
    }

    fn config(text: &str) -> Value {
        json!({"data": {"install-config": text}})
    }

    #[test]
    fn nodes_are_known_by_the_names_and_addresses_of_their_hosts() {
        let cluster = json!({"name": "lab", "base_dns_domain": "example.com"});
        let inventory = json!({"hostname": "Master-0", "interfaces": [
            {"ipv4_addresses": ["10.0.0.5/24"], "ipv6_addresses": ["fd00::a5/64"]},
        ]});
        let silent = json!({"interfaces": [{"ipv4_addresses": ["10.0.0.9/24"]}]});
        let hosts = [
            json!({"requested_hostname": "Master-1", "inventory": inventory.to_string()}),
            json!({"requested_hostname": "worker.other.org"}),
            json!({"requested_hostname": "", "inventory": inventory.to_string()}),
            json!({"id": "without a name yet", "inventory": silent.to_string()}),
        ];
        let expected = [
            "master-1.lab.example.com",
            "master-1",
            "10.0.0.5",
            "FD00:0:0:0:0:0:0:A5",
            "worker.other.org",
            "master-0.lab.example.com",
            "master-0",
            "10.0.0.5",
            "FD00:0:0:0:0:0:0:A5",
        ];
        assert_eq!(identities(&cluster, &hosts), expected);
    }

    #[test]
    fn one_control_plane_node_less_than_asked_for_is_enough_and_never_more_than_two() {
        for (text, masters, arbiters) in [
            (r#"{"controlPlane":{"replicas":3}}"#, 2, 0),
            ("controlPlane:\n  name: master\n  replicas: 5\n", 2, 0),
            (
                "arbiter:\n  replicas: 1\ncontrolPlane:\n  replicas: 2\ncompute:\n- replicas: 4\n",
                1,
                1,
            ),
            ("controlPlane:\n  replicas: 1\n", 0, 0),
        ] {
            assert_eq!(
                needed(&config(text)),
                Needed { masters, arbiters },
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_told_with_names() {
        let needed = needed(&config(r#"{"controlPlane":{"replicas":3}}"#));
        let list = json!({"items": [node("a", "master", "True"), node("b", "master", "False")]});
        let missing = needed.missing(&SeenNode::all(&list)).unwrap();
        assert_eq!(
            missing,
            "1 of 2 control-plane nodes are ready; joined but not ready: b"
        );
        let list = json!({"items": [node("a", "master", "True"), node("b", "master", "True")]});
        assert_eq!(needed.missing(&SeenNode::all(&list)), None);
    }

    #[test]
    fn workers_that_still_talk_to_the_service_are_named() {
        let host = |name: &str, role: &str, status: &str, stage: &str| {
            json!({"requested_hostname": name,
            "role": role, "status": status, "progress": {"current_stage": stage}})
        };
        let hosts = [
            host(
                "a",
                "worker",
                "installing-in-progress",
                "Waiting for control plane",
            ),
            host("b", "worker", "installing-in-progress", "Rebooting"),
            host("c", "worker", "error", "Writing image to disk"),
            host("d", "master", "installing-in-progress", "Installing"),
            host(
                "e",
                "worker",
                "installing-in-progress",
                "Writing image to disk",
            ),
        ];
        assert_eq!(dependent_workers(&hosts), ["a", "e"]);
    }

    #[test]
    fn configs_are_settled_when_all_nodes_are_to_have_one_that_exists() {
        let with = |current: &str, desired: &str| {
            let mut node = node("a", "master", "True");
            node["metadata"]["annotations"] = json!({
                "machineconfiguration.openshift.io/currentConfig": current,
                "machineconfiguration.openshift.io/desiredConfig": desired,
            });
            node
        };
        let known = json!({"items": [{"metadata": {"name": "x"}}, {"metadata": {"name": "y"}}]});
        let why = |nodes: &[Value]| unsettled(&json!({"items": nodes}), &known);
        assert_eq!(
            why(&[with("x", "x"), with("x", "x"), node("w", "worker", "True")]),
            None
        );
        for (nodes, reason) in [
            (vec![], "no control-plane node"),
            (
                vec![with("x", "x"), with("x", "y")],
                "different configs: x, y",
            ),
            (
                vec![with("x", "z")],
                "desiredConfig z of node a does not exist",
            ),
            (
                vec![node("a", "master", "True")],
                "node a has no currentConfig",
            ),
        ] {
            let why = why(&nodes).unwrap();
            assert!(why.contains(reason), "{why}");
        }
    }

    #[test]
    fn only_nodes_that_wait_for_an_unconfigured_provider_lose_their_taint() {
        let yaml = "metadata:\n  name: a\nplatform:\n  vsphere:\n    vcenters: []\n";
        assert!(has_unconfigured_provider(&config(yaml)));
        assert!(has_unconfigured_provider(&config(
            r#"{"platform":{"nutanix":{}}}"#
        )));
        assert!(!has_unconfigured_provider(&config(
            "platform:\n  baremetal: {}\n"
        )));
        assert!(has_credentials(&config(yaml), "4.15.0"));
        assert!(!has_credentials(&config(yaml), "4.14.9"));
        let placeholder = format!("{yaml}    server: vcenterplaceholder\n");
        assert!(!has_credentials(&config(&placeholder), "4.20.0"));
        let mut waiting = node("b", "master", "False");
        waiting["spec"]["taints"] = json!([{"key": "other"}, {"key": UNINITIALIZED}]);
        let mut ready = node("c", "master", "True");
        ready["spec"]["taints"] = json!([{"key": UNINITIALIZED}]);
        let found = tainted(&json!({"items": [node("a", "master", "False"), waiting, ready]}));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].0, "b");
        assert_eq!(found[0].1[1]["path"], "/spec/taints/1");
    }

    const A: &str = "0d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607";
    const B: &str = "1d2f1c3a-5b6e-4f70-8a91-b2c3d4e5f607";

    fn host(id: &str, role: &str, address: &str) -> Value {
        let inventory = json!({"interfaces": [{"ipv4_addresses": [format!("{address}/24")]}]});
        json!({"id": id, "role": role, "requested_hostname": format!("host-{id}"),
               "inventory": inventory.to_string(), "progress": {}})
    }

    #[test]
    fn a_ready_node_is_reported_once_by_name_or_address_and_never_the_own_host() {
        let hosts = [host(A, "master", "10.0.0.5"), host(B, "master", "10.0.0.6")];
        let nodes = SeenNode::all(&json!({"items": [node("other", "master", "True")]}));
        let (a, b) = (A.parse().unwrap(), B.parse().unwrap());
        let mut reported = Reported::default();
        assert_eq!(reported.joined(&nodes, &hosts, a), []);
        assert_eq!(reported.joined(&nodes, &hosts, b), [(a, HostStage::Joined)]);
        assert_eq!(reported.joined(&nodes, &hosts, b), []);
        reported.forget(a, HostStage::Joined);
        assert_eq!(reported.joined(&nodes, &hosts, b), [(a, HostStage::Joined)]);
    }

    #[test]
    fn an_address_in_the_log_is_not_mistaken_for_a_longer_one() {
        let hosts = [host(A, "master", "10.0.0.5"), host(B, "worker", "10.0.0.6")];
        let other = Uuid::from_u128(1);
        let line = |address: &str| {
            format!(
                r#"Pool master requested by address:"{address}:4711" User-Agent:"Ignition/2.14""#
            )
        };
        let mut reported = Reported::default();
        for address in ["110.0.0.5", "10.0.0.51", "10a0.0.5"] {
            assert_eq!(reported.configuring(&line(address), &hosts, other), []);
        }
        let log = line("10.0.0.5") + "\n" + &line("10.0.0.6");
        let news = reported.configuring(&log, &hosts, other);
        let (a, b) = (A.parse().unwrap(), B.parse().unwrap());
        assert_eq!(
            news,
            [
                (a, HostStage::Configuring),
                (b, HostStage::WaitingForIgnition)
            ]
        );
        assert_eq!(reported.configuring(&log, &hosts, other), []);
    }
}
