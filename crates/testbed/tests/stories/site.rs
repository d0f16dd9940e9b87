//! A place where clusters are installed: a registry with the release, a service that offers it, a
//! cluster with its image, and the names under which its nodes find the API.

use std::{cell::RefCell, fs, net::IpAddr, path::PathBuf};

use anyhow::{Context, Result};
use muster_testbed::{Registry, evidence_of, release};
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer, program::Background};
use serde_json::{Value, json};

use crate::{
    lab::{Lab, offering},
    scene::Scene,
};

/// The cluster and its domain.
pub const DOMAIN: &str = "lab.example.com";
/// Kernel argument of the stand-in: the programs of a bootstrap run without containers.
pub const QUICK_PODMAN: &str = "standin.quick_podman";

/// What a story needs before its first machine is switched on. Machines go away before it.
pub struct Site {
    _web: Background,
    pub scene: Scene,
    pub image: PathBuf,
    cluster: String,
    infra_env: String,
    without_dhcp: bool,
    registry: RefCell<Registry>,
}

/// How a site differs from others.
#[derive(Default)]
pub struct Plan {
    /// Further settings of the service.
    pub settings: Vec<String>,
    /// Further fields of the cluster.
    pub cluster: Value,
    /// Further fields of the infra-env.
    pub infra_env: Value,
    /// Whether machines must know their addresses themselves.
    pub without_dhcp: bool,
    /// Whether bootkube.sh runs the programs of the release without podman.
    pub quick_bootstrap: bool,
    /// Whether the bootstrap needs an image that no host has pulled before.
    pub late_image: bool,
}

impl Site {
    pub fn build(story: &str, plan: Plan) -> Result<Self> {
        let evidence = evidence_of(story)?;
        let network = Network::new(&evidence)?;
        let registry = Registry::start(&network, &evidence)?;
        let release = match plan.late_image {
            true => release::push_with_late_image(&registry, &network)?,
            false => release::push(&registry, &network)?,
        };
        // Nothing of ours is pulled: installer and controller are in the image and on the disk.
        let setup = offering(&registry, release::VERSION, &release, &plan.settings);
        let scene = Scene::on(network, evidence, setup)?;
        let mut fields = json!({
            "user_managed_networking": true,
            "machine_networks": [{"cidr": "192.168.77.0/24"}],
            "additional_ntp_source": Network::GATEWAY,
            "pull_secret": registry.pull_secret(),
        });
        extend(&mut fields, &plan.cluster);
        let cluster = scene.service.new_cluster("lab", &fields)?;
        let cluster = cluster["id"].as_str().context("a cluster has an id")?;
        let mut fields = json!({
            "cluster_id": cluster,
            "pull_secret": registry.pull_secret(),
            "additional_trust_bundle": fs::read_to_string(registry.authority())?,
            "ssh_authorized_key": scene.key()?,
        });
        extend(&mut fields, &plan.infra_env);
        if plan.quick_bootstrap {
            fields["kernel_arguments"] = json!([{"operation": "append", "value": QUICK_PODMAN}]);
        }
        let (infra_env, image) = scene.image(&fields)?;
        let web = scene.serve_disk_image()?;
        Ok(Self {
            cluster: cluster.to_owned(),
            infra_env,
            image,
            without_dhcp: plan.without_dhcp,
            scene,
            _web: web,
            registry: RefCell::new(registry),
        })
    }

    pub fn lab(&self) -> Lab<'_> {
        Lab {
            scene: &self.scene,
            cluster: &self.cluster,
            infra_env: &self.infra_env,
        }
    }

    /// A machine that starts from its disk or, as long as that is empty, from the image. Names begin with
    /// the role: `master-1`.
    pub fn node(&self, name: &str, number: u8) -> Machine {
        let mut machine = Machine::numbered(name, number, Boot::DiskThenCd(self.image.clone()));
        machine.memory_mib = 4096;
        machine.disks = vec![Disk::new(
            Bus::Virtio,
            120,
            &format!("MUSTER-ROOT-{number}"),
        )];
        machine
    }

    /// Ends the registry; what it holds is kept.
    pub fn stop_registry(&self) {
        self.registry.borrow_mut().go_away();
    }

    pub fn start_registry(&self) -> Result<()> {
        self.registry.borrow_mut().come_back(&self.scene.network)
    }

    /// Puts these machines and the names of the cluster into DHCP and DNS.
    pub fn expect(&mut self, machines: &[&Machine]) -> Result<()> {
        let offer = Offer {
            dhcp: !self.without_dhcp,
            ..cluster_names()
        };
        self.scene.network.serve(&offer, machines)
    }
}

fn extend(fields: &mut Value, more: &Value) {
    if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
        fields.extend(more.clone());
    }
}

/// The disk check measures for minutes where several machines share two cores, and the story of the
/// cluster covers it; it is left out where partitions are kept.
pub const KEPT_PARTITIONS: &[&str] = &["--save-partlabel", "none-of-these"];

/// The setting of [`small_requirements`].
pub fn small_machines() -> String {
    format!("catalog.hardware_requirements={}", small_requirements())
}

/// Requirements that machines of one processor and little memory meet: a cluster that runs no pods
/// needs no more, and more processors than the machine has make all of them slower.
pub fn small_requirements() -> Value {
    let small = json!({
        "cpu_cores": 1, "ram_mib": 2048, "disk_size_gb": 100,
        "installation_disk_speed_threshold_ms": 1000,
        "network_latency_threshold_ms": 10_000, "packet_loss_percentage": 100,
    });
    json!([{
        "version": "default",
        "master": small, "arbiter": small, "worker": small, "sno": small, "edge-worker": small,
    }])
}

/// Puts these machines and the names of the cluster into DHCP and DNS.
pub fn expect(network: &mut Network, machines: &[&Machine]) -> Result<()> {
    network.serve(&cluster_names(), machines)
}

/// What a wire offers where a cluster is installed: addresses, and the names of the cluster.
pub fn cluster_names() -> Offer {
    let address = IpAddr::from(Network::GATEWAY);
    Offer {
        names: ["api", "api-int", "apps"]
            .map(|name| (format!("{name}.{DOMAIN}"), address))
            .into(),
        ..Offer::default()
    }
}

/// Puts the names of the cluster into DNS, on a wire without DHCP.
pub fn offer_names(network: &mut Network) -> Result<()> {
    let offer = Offer {
        dhcp: false,
        ..cluster_names()
    };
    network.serve(&offer, &[])
}
