//! What the settings of the service add to every cluster it installs.

use std::time::Duration;

use muster_release::Mirrors;

use crate::App;

/// Settings of the service that end in files of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Site {
    /// PEM of the authority behind the service.
    pub service_ca: Option<String>,
    /// Who installs, as telemetry calls it.
    pub invoker: String,
    /// Cipher of encrypted disks; empty for the usual one.
    pub cipher: String,
    /// Single nodes answer for the names of their cluster.
    pub single_node_dnsmasq: bool,
    /// This machine runs in FIPS mode.
    pub fips_host: bool,
    /// When nodes count as unhealthy.
    pub health: NodeHealth,
    /// Disks smaller than this many GB carry no replicated storage.
    pub least_storage_gb: u32,
}

/// When the operator for node health steps in.
#[derive(Clone, Debug, Default)]
pub struct NodeHealth {
    /// How long a node was not ready.
    pub unready: Duration,
    /// How long its status was unknown.
    pub unknown: Duration,
    /// Share of nodes that must be healthy, or nothing is done.
    pub min_healthy: String,
    /// What is done.
    pub template: String,
}

impl Site {
    /// From the settings in force.
    pub fn of(app: &App) -> Self {
        let operators = &app.config.operators;
        let fips = std::fs::read_to_string("/proc/sys/crypto/fips_enabled");
        Self {
            service_ca: app.ca_certificate.clone(),
            invoker: app.config.cluster.install_invoker.clone(),
            cipher: app.config.cluster.disk_encryption_cipher.clone(),
            single_node_dnsmasq: app.config.features.single_node_dnsmasq,
            least_storage_gb: app.catalog.operators.odf.min_disk_gb,
            health: NodeHealth {
                unready: operators.node_unready_duration,
                unknown: operators.node_unknown_duration,
                min_healthy: operators.remediation_min_healthy.clone(),
                template: operators.self_node_remediation_template.clone(),
            },
            fips_host: fips.is_ok_and(|text| text.trim() == "1"),
        }
    }
}

/// Mirrors that every cluster uses, as source and mirrors, and the PEM of their authorities.
pub fn mirrors_of(app: &App) -> (Vec<(String, Vec<String>)>, String) {
    let Some(files) = &app.images.mirrors else {
        return (Vec::new(), String::new());
    };
    let files = files.as_mirrors();
    // The file was read at start; what it says stays what it says.
    let rules = Mirrors::parse(files.registries_conf).unwrap_or_default();
    let sources = rules
        .rules()
        .iter()
        .filter(|rule| !rule.mirrors.is_empty())
        .map(|rule| {
            let mirrors = rule.mirrors.iter().map(|mirror| mirror.location.clone());
            (rule.prefix.clone(), mirrors.collect())
        })
        .collect();
    (sources, files.ca_bundle.to_owned())
}
