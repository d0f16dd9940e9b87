//! A cluster with hosts that behave like agents.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::Context;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::connection::Connection;

/// A pull secret of the right form for public images.
const PULL_SECRET: &str = r#"{"auths":{"cloud.openshift.com":{"auth":"dXNlcjpwYXNzd29yZA=="},"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="},"registry.redhat.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#;

/// One cluster, its infra-env and the hosts in it.
#[derive(Debug)]
pub struct Fleet {
    cluster: String,
    infra_env: String,
    hosts: Vec<Uuid>,
    changes: AtomicU64,
}

impl Fleet {
    /// Creates them, every host with an inventory.
    pub async fn create(connection: &mut Connection, hosts: usize) -> anyhow::Result<Self> {
        let name = format!("bench-{}", &Uuid::new_v4().simple().to_string()[..8]);
        let cluster = json!({"name": name, "openshift_version": "4.19", "pull_secret": PULL_SECRET, "base_dns_domain": "example.com"});
        let cluster = id_of(&post(connection, "/clusters", &cluster).await?)?;
        let infra_env = json!({"name": name, "pull_secret": PULL_SECRET, "cluster_id": cluster, "openshift_version": "4.19"});
        let infra_env = id_of(&post(connection, "/infra-envs", &infra_env).await?)?;
        let mut fleet = Self {
            cluster,
            infra_env,
            hosts: Vec::new(),
            changes: AtomicU64::new(0),
        };
        for turn in 0..hosts {
            let host = Uuid::new_v4();
            fleet.register(connection, host).await?;
            fleet.hosts.push(host);
            fleet.inventory(connection, turn).await?;
        }
        Ok(fleet)
    }

    /// Registers a new host.
    pub async fn register_new(&self, connection: &mut Connection) -> anyhow::Result<u64> {
        self.register(connection, Uuid::new_v4()).await
    }

    async fn register(&self, connection: &mut Connection, host: Uuid) -> anyhow::Result<u64> {
        let body = json!({"host_id": host, "discovery_agent_version": "bench"});
        let answer = post(
            connection,
            &format!("/infra-envs/{}/hosts", self.infra_env),
            &body,
        )
        .await?;
        Ok(answer.len() as u64)
    }

    /// Sends an inventory that differs from the last one, so that it must be stored.
    pub async fn inventory(&self, connection: &mut Connection, turn: usize) -> anyhow::Result<u64> {
        let index = turn % self.hosts.len().max(1);
        let change = self.changes.fetch_add(1, Ordering::Relaxed);
        let reply = json!({
            "step_type": "inventory",
            "step_id": format!("inventory-{change:08x}"),
            "exit_code": 0,
            "error": "",
            "output": inventory(index, change).to_string(),
        });
        let path = format!(
            "/infra-envs/{}/hosts/{}/instructions",
            self.infra_env, self.hosts[index]
        );
        post(connection, &path, &reply).await?;
        Ok(reply.to_string().len() as u64)
    }

    /// Asks for work.
    pub async fn poll(&self, connection: &mut Connection, turn: usize) -> anyhow::Result<u64> {
        let host = self.hosts[turn % self.hosts.len()];
        let clock = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let path = format!(
            "/infra-envs/{}/hosts/{host}/instructions?timestamp={clock}",
            self.infra_env
        );
        Ok(connection
            .call(Method::GET, &path, None, false)
            .await?
            .len() as u64)
    }

    /// Reads the whole cluster.
    pub async fn read(&self, connection: &mut Connection, gzip: bool) -> anyhow::Result<u64> {
        Ok(connection
            .call(
                Method::GET,
                &format!("/clusters/{}", self.cluster),
                None,
                gzip,
            )
            .await?
            .len() as u64)
    }

    /// Waits until the rules have seen the last change.
    pub async fn settle(&self, connection: &mut Connection) -> anyhow::Result<()> {
        self.read(connection, false).await.map(|_| ())
    }
}

async fn post(connection: &mut Connection, path: &str, body: &Value) -> anyhow::Result<Bytes> {
    connection
        .call(Method::POST, path, Some(body.to_string().into()), false)
        .await
}

fn id_of(answer: &[u8]) -> anyhow::Result<String> {
    let value: Value = serde_json::from_slice(answer)?;
    Ok(value["id"]
        .as_str()
        .context("the answer has no id")?
        .to_owned())
}

/// A two-socket server with four disks and four cards; `change` makes each one new.
fn inventory(index: usize, change: u64) -> Value {
    let (high, low) = (index / 250, index % 250 + 2);
    let disks: Vec<Value> = (0..4)
        .map(|disk| {
            json!({
                "id": format!("/dev/disk/by-id/wwn-0x5000c5{index:06x}{disk:04x}"),
                "by_id": format!("/dev/disk/by-id/wwn-0x5000c5{index:06x}{disk:04x}"),
                "by_path": format!("/dev/disk/by-path/pci-0000:3b:00.0-scsi-0:0:{disk}:0"),
                "drive_type": "SSD", "name": format!("sd{}", char::from(b'a' + disk)), "path": format!("/dev/sd{}", char::from(b'a' + disk)),
                "hctl": format!("0:0:{disk}:0"), "model": "Bench SSD 960", "vendor": "Bench", "serial": format!("S{index:05}{disk}"),
                "wwn": format!("0x5000c5{index:06x}{disk:04x}"), "size_bytes": 960_197_124_096_u64, "bootable": disk == 0,
                "installation_eligibility": {"eligible": true, "not_eligible_reasons": null},
                "smart": "{\"json_format_version\":[1,0],\"smart_status\":{\"passed\":true},\"temperature\":{\"current\":31}}",
            })
        })
        .collect();
    let interfaces: Vec<Value> = (0..4)
        .map(|card| {
            json!({
                "name": format!("ens{}f{}", 1 + card / 2, card % 2), "mac_address": format!("52:54:00:{high:02x}:{low:02x}:{card:02x}"),
                "ipv4_addresses": if card == 0 { json!([format!("192.168.{high}.{low}/16")]) } else { json!([]) }, "ipv6_addresses": [],
                "has_carrier": true, "mtu": 1500, "speed_mbps": 25000, "type": "physical", "flags": ["up", "broadcast", "multicast"],
                "product": "0x158b", "vendor": "0x8086", "biosdevname": "", "client_id": "",
            })
        })
        .collect();
    let flags = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss ht syscall nx pdpe1gb rdtscp lm constant_tsc arch_perfmon rep_good nopl xtopology cpuid pni pclmulqdq vmx ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand hypervisor lahf_lm abm 3dnowprefetch avx2 avx512f avx512dq";
    json!({
        "hostname": format!("host-{index}"), "bmc_address": "0.0.0.0", "bmc_v6address": "::/0",
        "boot": {"current_boot_mode": "uefi", "secure_boot_state": "Disabled"},
        "cpu": {"architecture": "x86_64", "count": 64, "frequency": 3400.0, "model_name": "Bench CPU 6330", "flags": flags.split(' ').collect::<Vec<_>>()},
        "disks": disks, "interfaces": interfaces, "gpus": [],
        "memory": {"physical_bytes": 274_877_906_944_u64, "usable_bytes": 270_000_000_000_u64 + change, "physical_bytes_method": "dmidecode"},
        "routes": [{"destination": "0.0.0.0", "family": 2, "gateway": "192.168.0.1", "interface": "ens1f0", "metric": 100}],
        "system_vendor": {"manufacturer": "Bench", "product_name": "Rack Server", "serial_number": format!("SN{index:06}"), "virtual": false},
        "tpm_version": "2.0",
    })
}
