//! A host to be evaluated: valid until a test breaks something.

use std::{collections::BTreeMap, sync::Arc};

use muster_model::{
    Cluster, ClusterKind, DiskEncryption, Host, HostKind, HostRole, HostStatus, ImageType,
    InfraEnv, Ntp, Proxy, Secret, Timestamp,
};
use serde_json::{Value, json};

use super::{
    Findings,
    host::{self, Gate, HOST_CHECKS, HostContext, Neighbourhood},
};
use crate::{
    agent_json::Stored,
    inventory::Inventory,
    majority::{Groups, Web},
    settings::Settings,
    testing::{START, good_cluster, key},
};

/// A host of the cluster with what was read of its inventory.
pub(super) struct Neighbour {
    pub(super) host: Host,
    pub(super) inventory: Option<Inventory>,
    pub(super) broken: bool,
}

/// Everything the evaluate looks at.
pub(super) struct Bed {
    pub(super) host: Host,
    pub(super) inventory: Option<Inventory>,
    pub(super) broken: bool,
    pub(super) cluster: Option<Cluster>,
    pub(super) infra_env: Option<InfraEnv>,
    pub(super) others: Vec<Neighbour>,
    pub(super) groups: Stored<Groups>,
    pub(super) collisions: Stored<BTreeMap<String, Vec<String>>>,
    pub(super) settings: Settings,
    pub(super) last_seen: Timestamp,
    pub(super) now: Timestamp,
}

pub(super) fn inventory(number: u128) -> Inventory {
    let value = json!({
        "hostname": format!("host-{number}"),
        "cpu": { "architecture": "x86_64", "count": 8 },
        "memory": { "physical_bytes": 32_i64 << 30, "usable_bytes": 32_i64 << 30 },
        "disks": [{
            "name": "sda", "id": "/dev/disk/by-id/sda", "drive_type": "SSD", "has_uuid": true,
            "size_bytes": 120_000_000_000_i64, "installation_eligibility": { "eligible": true },
        }],
        "interfaces": [{ "name": "eth0", "ipv4_addresses": [format!("{}/24", address(number))] }],
        "routes": [{ "destination": "0.0.0.0", "gateway": "192.0.2.1", "interface": "eth0" }],
        "system_vendor": { "manufacturer": "Acme", "product_name": "Box" },
        "tpm_version": "2.0",
    });
    serde_json::from_value(value).unwrap()
}

/// The stored form of what an agent says.
pub(super) fn report<T: From<String>>(reported_text: &Value) -> Option<T> {
    Some(text(&reported_text.to_string()))
}

/// Any text where a report is expected.
pub(super) fn text<T: From<String>>(text: &str) -> T {
    text.to_owned().into()
}

pub(super) fn address(number: u128) -> String {
    format!("192.0.2.{}", 10 + number)
}

/// What host 1 reports about peers: per peer its number, the round trip and the loss.
pub(super) fn connectivity(peers: &[(u128, f64, f64)]) -> Value {
    let remote: Vec<Value> = peers
        .iter()
        .map(|(peer, rtt, loss)| {
            json!({
                "host_id": key(*peer).host,
                "l2_connectivity": [{ "outgoing_nic": "eth0", "remote_ip_address": address(*peer), "successful": true }],
                "l3_connectivity": [{
                    "outgoing_nic": "eth0", "remote_ip_address": address(*peer), "successful": true,
                    "average_rtt_ms": rtt, "packet_loss_percentage": loss,
                }],
                "mtu_report": [{ "outgoing_nic": "eth0", "remote_ip_address": address(*peer), "mtu_successful": true }],
            })
        })
        .collect();
    json!({ "remote_hosts": remote })
}

/// Answers for the names of the test cluster.
pub(super) fn resolutions(known: &[&str], wild: bool) -> Value {
    let one = |name: &str, known: bool| {
        let found: &[&str] = if known { &["192.0.2.250"] } else { &[] };
        json!({ "domain_name": name, "ipv4_addresses": found, "ipv6_addresses": [], "cnames": [] })
    };
    let mut list: Vec<Value> = ["api", "api-int", "console-openshift-console.apps"]
        .iter()
        .map(|label| {
            one(
                &format!("{label}.muster.example.com"),
                known.contains(label),
            )
        })
        .collect();
    list.push(one("validateNoWildcardDNS.muster.example.com.", wild));
    list.push(one("validateNoWildcardDNS.muster.example.com", wild));
    json!({ "resolutions": list })
}

fn all_healthy(groups: &mut Groups) {
    let all_hosts = (1..=3).map(|n| key(n).host).collect();
    let network = "192.0.2.0/24".to_owned();
    groups.majority_groups.insert(network, all_hosts);
    for n in 1..=3 {
        let addresses = vec![address(n)];
        groups.l3_connected_addresses.insert(key(n).host, addresses);
    }
}

impl Bed {
    /// Host 1 of 3 masters, with all reports in and nothing to complain about.
    pub(super) fn known() -> Self {
        let mut bed = Self::discovering();
        bed.inventory = Some(inventory(1));
        for (other, n) in bed.others.iter_mut().zip(2..) {
            other.inventory = Some(inventory(n));
        }
        let cluster = bed.cluster.as_mut().unwrap();
        cluster.networks.machine = Some(vec!["192.0.2.0/24".into()]);
        let host = &mut bed.host;
        host.status = HostStatus::Known;
        host.agent_clock = Some(START.unix_seconds());
        host.installation_disk_id = Some("/dev/disk/by-id/sda".into());
        host.installation_disk_path = Some("/dev/sda".into());
        host.reports.ntp_sources = report(&json!([{ "source_state": "synced" }]));
        host.reports.connectivity = report(&connectivity(&[(2, 0.4, 0.0), (3, 0.4, 0.0)]));
        host.reports.domain_name_resolutions = report(&resolutions(&[], false));
        let mut groups = Groups::default();
        all_healthy(&mut groups);
        bed.groups = Stored::Here(groups);
        bed
    }

    /// Host 1 of 3 that have just registered with a cluster without machine network.
    pub(super) fn discovering() -> Self {
        let cluster = good_cluster(3);
        let registered = |n| {
            let mut host = Host::registered(key(n), Some(cluster.id), "admin", START);
            host.role = HostRole::Master;
            host
        };
        let others = [2, 3].map(|n| Neighbour {
            host: registered(n),
            inventory: None,
            broken: false,
        });
        Self {
            host: registered(1),
            inventory: None,
            broken: false,
            others: others.into(),
            cluster: Some(cluster),
            infra_env: None,
            groups: Stored::Here(Groups::default()),
            collisions: Stored::Missing,
            settings: Settings::default(),
            last_seen: START,
            now: START,
        }
    }

    /// A host of the pool, good or fresh.
    pub(super) fn unbound(mut self) -> Self {
        self.host.cluster = None;
        self.host.role = HostRole::AutoAssign;
        self.host.status = match self.inventory {
            Some(_) => HostStatus::KnownUnbound,
            None => HostStatus::DiscoveringUnbound,
        };
        self.cluster = None;
        self.others.clear();
        self
    }

    /// A host that joins a cluster that was installed elsewhere.
    pub(super) fn day2(mut self) -> Self {
        self.host.kind = HostKind::AddToExistingClusterHost;
        self.others.clear();
        self.with_cluster(|cluster| {
            cluster.kind = ClusterKind::AddHostsCluster;
            cluster.imported = true;
            cluster.networks.machine = None;
        })
    }

    /// The user brings network, names and load balancer.
    pub(super) fn user_managed(self) -> Self {
        self.with_cluster(|cluster| cluster.user_managed_networking = Some(true))
    }

    pub(super) fn single_node(mut self) -> Self {
        self.others.clear();
        self.with_cluster(|cluster| {
            cluster.control_plane_count = Some(1);
            cluster.user_managed_networking = Some(true);
        })
    }

    pub(super) fn with_cluster(mut self, change: impl FnOnce(&mut Cluster)) -> Self {
        change(self.cluster.as_mut().unwrap());
        self
    }

    pub(super) fn with_inventory(mut self, change: impl FnOnce(&mut Inventory)) -> Self {
        change(self.inventory.as_mut().unwrap());
        self
    }

    pub(super) fn with_host(mut self, change: impl FnOnce(&mut Host)) -> Self {
        change(&mut self.host);
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn encrypted(self, enable_on: &str, mode: &str) -> Self {
        self.with_cluster(|cluster| {
            cluster.disk_encryption = Some(DiskEncryption {
                enable_on: enable_on.into(),
                mode: mode.into(),
                tang_servers: None,
            });
        })
    }

    /// It booted an infra-env with this time source.
    pub(super) fn booted_with_ntp(mut self, source: Option<&str>) -> Self {
        let key = self.host.key();
        self.infra_env = Some(InfraEnv {
            id: key.infra_env,
            name: "env".into(),
            cluster: None,
            cpu_architecture: "x86_64".into(),
            openshift_version: "4.16".into(),
            image_type: ImageType::FullIso,
            download_url: None,
            expires_at: None,
            pull_secret: Secret::default(),
            ssh_authorized_key: None,
            proxy: Proxy::default(),
            ntp: Ntp {
                additional: source.map(str::to_owned),
                sources: None,
            },
            ignition_config_override: None,
            static_network: Vec::new(),
            kernel_arguments: None,
            additional_trust_bundle: None,
            rendezvous_ip: None,
            network_discovery_delay_seconds: None,
            image_token_key: Secret::default(),
            agent_token_generation: 0,
            user_name: "admin".into(),
            created_at: START,
            updated_at: START,
        });
        self
    }

    fn around(&self) -> Neighbourhood {
        let Some(cluster) = &self.cluster else {
            return Neighbourhood::default();
        };
        let others = || self.others.iter();
        let hosts: Vec<Host> = std::iter::once(&self.host)
            .chain(others().map(|other| &other.host))
            .cloned()
            .collect();
        let inventories: Vec<Option<Arc<Inventory>>> = std::iter::once(&self.inventory)
            .chain(others().map(|other| &other.inventory))
            .map(|inventory| inventory.clone().map(Arc::new))
            .collect();
        let broken: Vec<bool> = std::iter::once(self.broken)
            .chain(others().map(|other| other.broken))
            .collect();
        let mut around = Neighbourhood::of(cluster, &hosts, &inventories, &broken);
        if let (Stored::Here(groups), Stored::Here(collisions)) = (&self.groups, &self.collisions) {
            let web = Web::of(&around.witnesses, around.least_group);
            around.compared(web, groups.clone(), collisions);
        } else {
            around.groups = self.groups.clone();
            if matches!(self.collisions, Stored::Broken) {
                around.collisions = Stored::Broken;
            }
        }
        around
    }

    pub(super) fn evaluated(&self) -> Findings {
        host::evaluate(&HostContext {
            host: &self.host,
            last_seen: self.last_seen,
            inventory: self.inventory.as_ref(),
            inventory_broken: self.broken,
            cluster: self.cluster.as_ref(),
            infra_env: self.infra_env.as_ref(),
            around: &self.around(),
            settings: &self.settings,
            now: self.now,
        })
    }

    /// Status and message of a validation; its own success shows as absence.
    pub(super) fn found(&self, id: &str) -> Option<(String, String)> {
        assert!(HOST_CHECKS.iter().any(|check| check.id == id), "{id}");
        let findings = self.evaluated();
        let mut entries = findings.shown.values().flatten();
        let entry = entries.find(|entry| entry.id == id)?;
        Some((entry.status.clone(), entry.message.clone()))
    }

    /// Asserts how a validation ends; `absent` stands for one that is not shown but passes.
    #[track_caller]
    pub(super) fn expect(&self, id: &str, status: &str) -> String {
        let Some((found, message)) = self.found(id) else {
            assert_eq!("absent", status, "{id}");
            assert!(self.evaluated().passes(id), "{id} is hidden but holds back");
            return String::new();
        };
        assert_eq!(found, status, "{id}: {message}");
        assert!(!message.is_empty(), "{id} has nothing to say");
        message
    }

    /// The same, and that the message names all of these.
    #[track_caller]
    pub(super) fn expect_message(&self, id: &str, status: &str, words: &[&str]) {
        let message = self.expect(id, status);
        for word in words {
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
    }

    pub(super) fn is_open(&self, gate: Gate) -> bool {
        host::open(&self.evaluated(), gate)
    }
}
