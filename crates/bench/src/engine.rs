//! The rules alone: how long one evaluation of a cluster takes, without server or database.
//!
//! Clusters of growing size, every host with an inventory and a report that it reaches all the
//! others. First until nothing changes any more, then again and again with the inventory of one
//! host changed, which is what a running service does all day.

use std::{io::Write, time::Instant};

use muster_engine::{ClusterView, HostView, Settings, refresh};
use muster_model::{
    Cluster, ClusterId, ClusterKind, ClusterStatus, Host, HostId, HostKey, InfraEnvId, Timestamp,
};
use serde_json::{Value, json};
use uuid::Uuid;

const SIZES: [usize; 5] = [3, 10, 30, 100, 300];
/// Evaluations per size; the median counts.
const ROUNDS: usize = 15;
/// More than any cluster needs to come to rest.
const MOST_STEPS: usize = 50;

/// Measures and prints.
pub fn run() -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{:>6} {:>14} {:>14}   one evaluation of a cluster, full mesh",
        "hosts", "first", "one changed"
    )?;
    for size in SIZES {
        let mut scene = Scene::new(size);
        let began = Instant::now();
        scene.evaluate();
        let first = began.elapsed();
        for _ in 0..MOST_STEPS {
            if !scene.evaluate() {
                break;
            }
        }
        let mut times: Vec<_> = (0..ROUNDS)
            .map(|round| {
                scene.report_inventory(round % size, round as u64 + 1);
                let began = Instant::now();
                scene.evaluate();
                began.elapsed()
            })
            .collect();
        times.sort();
        writeln!(out, "{size:>6} {first:>14.1?} {:>14.1?}", times[ROUNDS / 2])?;
    }
    Ok(())
}

struct Scene {
    cluster: Cluster,
    hosts: Vec<Host>,
    settings: Settings,
    now: Timestamp,
}

impl Scene {
    fn new(size: usize) -> Self {
        let now = Timestamp::now();
        let id = ClusterId(Uuid::from_u128(1));
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Insufficient);
        let cluster = Cluster::blank(id, kind, "bench", status, "admin", now);
        let mut scene = Self {
            cluster,
            hosts: (0..size)
                .map(|n| Host::registered(key(n), Some(id), "admin", now))
                .collect(),
            settings: Settings::default(),
            now,
        };
        for n in 0..size {
            scene.report_inventory(n, 0);
            scene.report_connectivity(n, size);
        }
        scene
    }

    #[allow(
        clippy::useless_conversion,
        reason = "whatever type the model keeps reports in"
    )]
    fn report_connectivity(&mut self, n: usize, size: usize) {
        let report = connectivity(n, size).to_string();
        self.hosts[n].reports.connectivity = Some(report.into());
    }

    #[allow(
        clippy::useless_conversion,
        reason = "whatever type the model keeps reports in"
    )]
    fn report_inventory(&mut self, n: usize, change: u64) {
        let report = inventory(n, change).to_string();
        self.hosts[n].reports.inventory = Some(report.into());
    }

    /// Runs the rules and takes over what they decide; false if that is nothing.
    fn evaluate(&mut self) -> bool {
        let view = ClusterView {
            cluster: &self.cluster,
            hosts: self
                .hosts
                .iter()
                .map(|host| HostView {
                    host,
                    last_seen: self.now,
                })
                .collect(),
        };
        let decision = refresh(&view, &self.settings, self.now);
        let mut changed = false;
        if let Some(cluster) = decision.cluster {
            changed |= cluster != self.cluster;
            self.cluster = cluster;
        }
        for host in decision.hosts {
            if let Some(known) = self.hosts.iter_mut().find(|known| known.id == host.id) {
                changed |= *known != host;
                *known = host;
            }
        }
        changed
    }
}

fn key(n: usize) -> HostKey {
    HostKey {
        infra_env: InfraEnvId(Uuid::from_u128(2)),
        host: HostId(Uuid::from_u128(1000 + n as u128)),
    }
}

fn address(n: usize) -> String {
    format!("10.{}.{}.10", n / 200, n % 200)
}

fn mac(n: usize) -> String {
    format!("52:54:00:00:{:02x}:{:02x}", n / 256, n % 256)
}

fn inventory(n: usize, change: u64) -> Value {
    json!({
        "hostname": format!("host-{n}"),
        "cpu": {"architecture": "x86_64", "count": 16, "model_name": "bench"},
        "memory": {"physical_bytes": 64_u64 << 30, "usable_bytes": (64_u64 << 30) - change},
        "disks": [{"id": "/dev/sda", "name": "sda", "path": "/dev/sda", "drive_type": "SSD",
                   "size_bytes": 256_u64 << 30, "installation_eligibility": {"eligible": true}}],
        "interfaces": [{"name": "eth0", "mac_address": mac(n), "mtu": 1500, "has_carrier": true,
                        "flags": ["up"], "ipv4_addresses": [format!("{}/8", address(n))]}],
        "routes": [{"destination": "0.0.0.0", "family": 2, "gateway": "10.0.0.1", "interface": "eth0"}],
        "system_vendor": {"manufacturer": "bench", "product_name": "bench"},
        "boot": {"current_boot_mode": "uefi"},
    })
}

fn connectivity(n: usize, size: usize) -> Value {
    let remotes: Vec<_> = (0..size)
        .filter(|other| *other != n)
        .map(|other| {
            json!({
                "host_id": key(other).host,
                "l2_connectivity": [{"outgoing_nic": "eth0", "outgoing_ip_address": address(n),
                                     "remote_ip_address": address(other), "remote_mac": mac(other),
                                     "successful": true}],
                "l3_connectivity": [{"outgoing_nic": "eth0", "remote_ip_address": address(other),
                                     "successful": true, "average_rtt_ms": 0.3}],
            })
        })
        .collect();
    json!({ "remote_hosts": remotes })
}
