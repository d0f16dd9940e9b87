//! From flags and answers to fields of an install-config.

use clap::ValueEnum;
use muster_catalog::PUBLIC_PULL_SECRET;
use muster_documents::install_config::Draft;
use serde_json::{Value, json};

/// Number and roles of the machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    /// One machine that is everything and bootstraps itself.
    SingleNode,
    /// Three control-plane machines that also run workloads.
    Compact,
    /// Three control-plane machines and workers.
    HighlyAvailable,
    /// Two control-plane machines and a small one that votes.
    Arbiter,
    /// Two control-plane machines that can switch each other off.
    TwoNode,
}

/// Platform of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Platform {
    /// No integration: load balancers and DNS are yours.
    None,
    /// An integration of another party.
    External,
    /// Bare metal hosts with virtual addresses.
    Baremetal,
    /// VMware vSphere.
    Vsphere,
    /// Nutanix AHV.
    Nutanix,
}

/// Which distribution is installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Product {
    /// Red Hat OpenShift; needs a pull secret.
    #[default]
    Openshift,
    /// The community distribution on CentOS Stream CoreOS; needs no pull secret.
    Okd,
}

impl Product {
    /// The product of the release that this pull secret can pull: the one without credentials is
    /// written for OKD only.
    pub fn of_pull_secret(secret: &str) -> Self {
        let same = |text: &str| serde_json::from_str::<Value>(text).ok();
        match same(secret).is_some() && same(secret) == same(PUBLIC_PULL_SECRET) {
            true => Self::Okd,
            false => Self::Openshift,
        }
    }
}

impl Topology {
    /// Control-plane machines, arbiters, and whether it has workers at all.
    pub const fn machines(self) -> (u32, u32, bool) {
        match self {
            Self::SingleNode => (1, 0, false),
            Self::Compact => (3, 0, false),
            Self::HighlyAvailable => (3, 0, true),
            Self::Arbiter => (2, 1, false),
            Self::TwoNode => (2, 0, false),
        }
    }
}

/// Sets the pools of a topology.
pub fn set_topology(draft: &mut Draft, topology: Topology, workers: u32) -> Result<(), String> {
    let (control_plane, arbiters, _) = topology.machines();
    draft.set("controlPlane.name", json!("master"))?;
    draft.set("controlPlane.replicas", json!(control_plane))?;
    if arbiters > 0 {
        draft.set("arbiter.name", json!("arbiter"))?;
        draft.set("arbiter.replicas", json!(arbiters))?;
    }
    draft.set("compute[0].name", json!("worker"))?;
    draft.set("compute[0].replicas", json!(workers))
}

/// Sets the platform, empty as far as nothing else was said about it.
pub fn set_platform(draft: &mut Draft, platform: Platform) -> Result<(), String> {
    draft.set(&format!("platform.{}", platform.word()), json!({}))
}

/// Sets mirrors from `source=mirror`; a source may come several times.
pub fn set_mirrors(draft: &mut Draft, mirrors: &[String]) -> Result<(), String> {
    let mut entries: Vec<(&str, Vec<&str>)> = Vec::new();
    for pair in mirrors {
        let Some((source, mirror)) = pair.split_once('=') else {
            return Err(format!("--mirror {pair:?} is not SOURCE=MIRROR"));
        };
        match entries.iter_mut().find(|(known, _)| *known == source) {
            Some((_, list)) => list.push(mirror),
            None => entries.push((source, vec![mirror])),
        }
    }
    let entries: Vec<Value> = entries
        .into_iter()
        .map(|(source, mirrors)| json!({ "source": source, "mirrors": mirrors }))
        .collect();
    draft.set("imageDigestSources", json!(entries))
}

/// Sets networks of pods from `cidr` or `cidr@hostPrefix`.
pub fn set_cluster_networks(draft: &mut Draft, networks: &[String]) -> Result<(), String> {
    let entries: Vec<Value> = networks
        .iter()
        .map(|network| {
            let (cidr, prefix) = network.split_once('@').unwrap_or((network, ""));
            let usual = if cidr.contains(':') { 64 } else { 23 };
            match prefix {
                "" => Ok(json!({ "cidr": cidr, "hostPrefix": usual })),
                prefix => prefix
                    .parse::<u8>()
                    .map(|prefix| json!({ "cidr": cidr, "hostPrefix": prefix }))
                    .map_err(|_| format!("--cluster-network {network:?} is not CIDR@PREFIX")),
            }
        })
        .collect::<Result<_, String>>()?;
    draft.set("networking.clusterNetwork", json!(entries))
}

impl Platform {
    /// The key in the file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::External => "external",
            Self::Baremetal => "baremetal",
            Self::Vsphere => "vsphere",
            Self::Nutanix => "nutanix",
        }
    }

    /// It holds virtual addresses for API and ingress.
    pub const fn has_vips(self) -> bool {
        matches!(self, Self::Baremetal | Self::Vsphere | Self::Nutanix)
    }
}
