//! What must hold in an image-based-config.

use std::net::IpAddr;

use super::SiteConfig;
use crate::{
    image_based_installation_config as installation,
    install_config::InstallConfig,
    schema::wording::shown,
    validation::{
        Diagnostics, RuleSummary,
        checks::{host_of, is_subdomain},
        image_based::{check_kind, check_network},
    },
};

/// One thing that must hold.
pub struct Rule {
    pub summary: RuleSummary,
    check: fn(&Facts<'_>, &mut Diagnostics),
}

/// What rules look at.
pub struct Facts<'a> {
    pub config: &'a SiteConfig,
    /// The cluster it belongs to, if that is known.
    pub cluster: Option<&'a InstallConfig>,
    pub network: &'a dyn Fn(&str) -> Result<(), String>,
}

const fn rule(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    check: fn(&Facts<'_>, &mut Diagnostics),
) -> Rule {
    Rule {
        summary: RuleSummary { name, path, text },
        check,
    }
}

/// What the kind is called.
pub const KIND: &str = "ImageBasedConfig";

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    rule("kind", "kind", "`ImageBasedConfig`, in version `v1beta1`; other words are a warning.", kind),
    rule("time-sources", "additionalNTPSources", "Addresses or DNS names.", time_sources),
    rule("hostname", "hostname", "A DNS name; not `localhost`.", hostname),
    rule("network-config", "networkConfig", "An nmstate document from which NetworkManager profiles can be made.", network_config),
    rule("node-address", "networkConfig", "A warning where no static address lies in a machine network of the install-config.", node_address),
    rule("release-registry", "releaseRegistry", "A registry, with its port if it has one; no path.", release_registry),
    rule("cluster-id", "cluster_id", "A UUID.", cluster_id),
    rule("infra-id", "infra_id", "At most 27 letters, digits and dashes.", infra_id),
    rule("node-labels", "nodeLabels", "Keys and values as Kubernetes takes them; a warning for labels that the node sets itself.", node_labels),
];

/// Runs every rule.
pub(super) fn run(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for rule in RULES {
        diagnostics.under(rule.summary.name);
        (rule.check)(facts, diagnostics);
    }
}

fn kind(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    let other = ("ImageBasedInstallationConfig", installation::FILE);
    check_kind(&config.api_version, &config.kind, KIND, other, diagnostics);
}

fn time_sources(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, source) in facts.config.additional_ntp_sources.iter().enumerate() {
        let name = source.strip_suffix('.').unwrap_or(source);
        if source.parse::<IpAddr>().is_err() && !is_subdomain(name) {
            diagnostics.fault(
                format!("additionalNTPSources[{index}]"),
                format!("{} is neither an IP address nor a DNS name", shown(source)),
                "write the address or the name of a time server, without scheme or port",
            );
        }
    }
}

fn hostname(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let name = facts.config.hostname.as_str();
    if name.is_empty() {
        return;
    }
    if name == "localhost" || name.starts_with("localhost.") {
        diagnostics.fault(
            "hostname",
            "the node refuses this name",
            "write a name of its own, or leave it out if DHCP or DNS gives one",
        );
    } else if !is_subdomain(name) {
        diagnostics.fault(
            "hostname",
            format!("{} is not a DNS name", shown(name)),
            "use lower case letters, digits, dashes and dots",
        );
    }
}

fn network_config(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let yaml = facts.config.network_yaml();
    check_network(yaml.as_deref(), facts.network, diagnostics);
}

fn node_address(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let networking = facts
        .cluster
        .and_then(|cluster| cluster.networking.as_ref());
    let networks = networking.map_or(&[][..], |networking| &networking.machine_network);
    let addresses = facts.config.addresses();
    if addresses.is_empty() {
        return;
    }
    for network in networks {
        if !addresses
            .iter()
            .any(|address| network.cidr.contains(address))
        {
            // Another interface may get its address by DHCP, so this is no error.
            diagnostics.warn(
                "networkConfig",
                format!("no static address lies in the machine network {}", network.cidr),
                "the node needs one address in each machine network of the install-config, in their order",
            );
        }
    }
}

fn release_registry(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let registry = facts.config.release_registry.as_str();
    let host = host_of(registry);
    let is_host = host.parse::<IpAddr>().is_ok() || is_subdomain(host);
    if !registry.is_empty() && !is_host {
        diagnostics.fault(
            "releaseRegistry",
            format!("{} is not a registry", shown(registry)),
            "write its name, and its port if it has one: `registry.example.com:5000`",
        );
    }
}

fn cluster_id(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let id = facts.config.cluster_id.as_str();
    let parts: Vec<&str> = id.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    let hex = parts
        .iter()
        .all(|part| part.bytes().all(|b| b.is_ascii_hexdigit()));
    let is_uuid = hex && lengths == [8, 4, 4, 4, 12];
    if !id.is_empty() && !is_uuid {
        diagnostics.fault(
            "cluster_id",
            format!("{} is not a UUID", shown(id)),
            "write one such as `0f8b9d6e-6f0a-4c57-9d5c-6f1f0f3a2b11`, or leave it out",
        );
    }
}

fn infra_id(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let id = facts.config.infra_id.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.is_empty() {
        return;
    }
    if id.len() > 27 || !id.bytes().all(plain) || id.starts_with('-') || id.ends_with('-') {
        diagnostics.fault(
            "infra_id",
            format!("{} cannot be a prefix of names", shown(id)),
            "use at most 27 letters, digits and dashes, or leave it out",
        );
    }
}

/// Labels a node sets itself; those of a file are ignored.
const OWN_LABELS: &[&str] = &[
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    "node.openshift.io/os_id",
];

fn is_label_part(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= 63
        && text.bytes().all(inner)
        && edge(text.bytes().next())
        && edge(text.bytes().last())
}

fn node_labels(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (key, value) in &facts.config.node_labels {
        let (prefix, name) = match key.split_once('/') {
            Some((prefix, name)) => (Some(prefix), name),
            None => (None, key.as_str()),
        };
        let good_key = prefix.is_none_or(is_subdomain) && is_label_part(name);
        if !good_key || !(value.is_empty() || is_label_part(value)) {
            diagnostics.fault(
                "nodeLabels",
                format!("{} with {} cannot be a label", shown(key), shown(value)),
                "names and values have at most 63 letters, digits, `-`, `_` and `.`, and begin and end with a letter or digit; a prefix is a DNS name",
            );
        } else if OWN_LABELS.contains(&key.as_str()) {
            diagnostics.warn(
                "nodeLabels",
                format!("{} is set by the node itself", shown(key)),
                "remove it",
            );
        }
    }
}
