//! What one re-evaluation of a cluster costs, and how it grows with the number of hosts.
//!
//! Four moments: right after a start (every report is read), nothing new, one host sent another
//! inventory, one host sent another connectivity report (hosts are compared again). All hosts
//! report that they reach all others, so reports grow with the square of the hosts; the last
//! column shows how far the cost per host is from standing still.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints what its clock says"
)]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use muster_engine::{ClusterView, HostView, Settings, refresh};
use muster_model::{
    Cluster, ClusterId, ClusterKind, ClusterNetwork, ClusterStatus, Host, HostId, HostKey,
    InfraEnvId, Platform, PlatformType, Secret, Timestamp, Vip,
};
use serde_json::{Value, json};
use uuid::Uuid;

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);

fn main() {
    println!("One re-evaluation of a cluster, median of several, one core");
    println!(
        "{:>6} {:>14} {:>14} {:>14} {:>14} {:>12} {:>9}",
        "hosts",
        "after a start",
        "nothing new",
        "one inventory",
        "one peer list",
        "per host",
        "growth"
    );
    let mut first = None;
    for size in [10, 30, 100, 300, 1000] {
        let row = measure(size);
        let per_host = row.idle.as_secs_f64() * 1e6 / f64::from(size);
        let base = *first.get_or_insert(per_host);
        println!(
            "{size:>6} {:>14} {:>14} {:>14} {:>14} {:>9.1} µs {:>8.1}x",
            show(row.cold),
            show(row.idle),
            show(row.inventory),
            show(row.peers),
            per_host,
            per_host / base,
        );
    }
}

struct Row {
    cold: Duration,
    idle: Duration,
    inventory: Duration,
    peers: Duration,
}

fn measure(size: u32) -> Row {
    let settings = Settings::default();
    let mut fleet = Fleet::of(size);
    let runs = (2000 / size).clamp(5, 50);
    let cold = {
        let began = Instant::now();
        fleet.refresh(&settings);
        began.elapsed()
    };
    // Until nothing moves any more.
    for _ in 0..5 {
        fleet.refresh(&settings);
    }
    type Change = Box<dyn FnMut(&mut Fleet, u32)>;
    let mut timed = |mut change: Change| {
        let mut times: Vec<Duration> = (0..runs)
            .map(|round| {
                change(&mut fleet, round);
                let began = Instant::now();
                fleet.refresh(&settings);
                began.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    Row {
        cold,
        idle: timed(Box::new(|_, _| {})),
        inventory: timed(Box::new(|fleet, round| {
            fleet.hosts[0].reports.inventory = Some(inventory(0, round).into());
        })),
        peers: timed(Box::new(move |fleet, round| {
            fleet.hosts[1].reports.connectivity = Some(peers(1, size, round).into());
        })),
    }
}

struct Fleet {
    cluster: Cluster,
    hosts: Vec<Host>,
}

impl Fleet {
    fn of(size: u32) -> Self {
        let id = ClusterId(Uuid::from_u128(0xC));
        let hosts = (0..size)
            .map(|n| {
                let key = HostKey {
                    infra_env: InfraEnvId(Uuid::from_u128(0xE)),
                    host: host_id(n),
                };
                let mut host = Host::registered(key, Some(id), "admin", NOW);
                host.agent_clock = Some(NOW.unix_seconds());
                host.reports.inventory = Some(inventory(n, 0).into());
                host.reports.connectivity = Some(peers(n, size, 0).into());
                host.reports.ntp_sources =
                    Some(r#"[{"source_name":"ntp.example.com","source_state":"synced"}]"#.into());
                host.installation_disk_id = Some("/dev/disk/by-id/wwn-1".into());
                host.installation_disk_path = Some("/dev/sda".into());
                host
            })
            .collect();
        Self {
            cluster: cluster(id),
            hosts,
        }
    }

    fn refresh(&mut self, settings: &Settings) {
        let decision = {
            let view = ClusterView {
                cluster: &self.cluster,
                hosts: self
                    .hosts
                    .iter()
                    .map(|host| HostView {
                        host,
                        last_seen: NOW,
                    })
                    .collect(),
            };
            black_box(refresh(&view, settings, NOW))
        };
        if let Some(cluster) = decision.cluster {
            self.cluster = cluster;
        }
        for host in decision.hosts {
            let slot = self.hosts.iter_mut().find(|h| h.id == host.id).unwrap();
            *slot = host;
        }
    }
}

fn host_id(n: u32) -> HostId {
    HostId(Uuid::from_u128(0x1000_0000 + u128::from(n)))
}

fn address(n: u32) -> String {
    format!("10.0.{}.{}", n / 250, n % 250 + 1)
}

fn mac(n: u32) -> String {
    format!("52:54:00:00:{:02x}:{:02x}", n / 256, n % 256)
}

fn cluster(id: ClusterId) -> Cluster {
    let status = ClusterStatus::Insufficient;
    let mut cluster = Cluster::blank(id, ClusterKind::Cluster, "bench", status, "admin", NOW);
    cluster.openshift_version = "4.16.3".into();
    cluster.cpu_architecture = Some("x86_64".into());
    cluster.base_dns_domain = Some("example.com".into());
    cluster.pull_secret = Secret::new("{}");
    cluster.control_plane_count = Some(3);
    cluster.network_type = Some("OVNKubernetes".into());
    cluster.networks.cluster = Some(vec![ClusterNetwork {
        cidr: "10.128.0.0/14".into(),
        host_prefix: 23,
    }]);
    cluster.networks.service = Some(vec!["172.30.0.0/16".into()]);
    cluster.platform = Some(Platform {
        kind: PlatformType::Baremetal,
        external_name: None,
        cloud_controller_manager: None,
    });
    cluster.user_managed_networking = Some(false);
    let vip = |ip: &str| Vip {
        ip: ip.parse().unwrap(),
        verification: None,
    };
    cluster.api_vips = Some(vec![vip("10.0.15.200")]);
    cluster.ingress_vips = Some(vec![vip("10.0.15.201")]);
    cluster
}

fn inventory(n: u32, serial: u32) -> String {
    let disk = |name: &str, gb: i64| {
        json!({
            "id": format!("/dev/disk/by-id/wwn-{name}"), "name": name, "path": format!("/dev/{name}"),
            "drive_type": "SSD", "size_bytes": gb * 1_000_000_000, "serial": format!("S{n}-{serial}"),
            "installation_eligibility": {"eligible": true, "not_eligible_reasons": []},
        })
    };
    json!({
        "hostname": format!("host-{n}"),
        "cpu": {"count": 16, "architecture": "x86_64", "model_name": "Xeon", "frequency": 2400.0,
            "flags": ["fpu", "vmx", "sse4_2", "avx2", "aes", "pdpe1gb"]},
        "memory": {"physical_bytes": 64_i64 << 30, "usable_bytes": 63_i64 << 30, "physical_bytes_method": "dmidecode"},
        "disks": [disk("sda", 480), disk("sdb", 960), disk("sdc", 960)],
        "interfaces": [
            {"name": "eno1", "type": "physical", "mac_address": mac(n), "mtu": 1500, "has_carrier": true,
             "speed_mbps": 25000, "ipv4_addresses": [format!("{}/20", address(n))], "ipv6_addresses": [], "flags": ["up"]},
            {"name": "eno2", "type": "physical", "mac_address": mac(n + 40_000), "mtu": 1500, "has_carrier": false,
             "ipv4_addresses": [], "ipv6_addresses": [], "flags": ["up"]},
        ],
        "routes": [{"destination": "0.0.0.0", "gateway": "10.0.15.254", "interface": "eno1", "family": 2, "metric": 100}],
        "system_vendor": {"manufacturer": "Maker", "product_name": "Server", "serial_number": format!("SN{n}")},
        "boot": {"current_boot_mode": "uefi", "secure_boot_state": "Enabled"},
    })
    .to_string()
}

fn peers(n: u32, size: u32, round: u32) -> String {
    let remote_hosts: Vec<Value> = (0..size)
        .filter(|&peer| peer != n)
        .map(|peer| {
            json!({
                "host_id": host_id(peer).to_string(),
                "l2_connectivity": [{"outgoing_ip_address": address(n), "outgoing_nic": "eno1",
                    "remote_ip_address": address(peer), "remote_mac": mac(peer), "successful": true}],
                "l3_connectivity": [{"average_rtt_ms": 0.2 + f64::from(round) / 1000.0, "outgoing_nic": "eno1",
                    "packet_loss_percentage": 0.0, "remote_ip_address": address(peer), "successful": true}],
                "mtu_report": null,
            })
        })
        .collect();
    json!({ "remote_hosts": remote_hosts }).to_string()
}

fn show(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 1000.0 {
        format!("{micros:.0} µs")
    } else {
        format!("{:.2} ms", micros / 1000.0)
    }
}
