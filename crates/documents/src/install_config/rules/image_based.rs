//! Rules for a single node that is restored from a seed image.

use super::{Diagnostics, Facts, Rule};
use crate::install_config::{
    Method,
    types::{Hyperthreading, MachinePool, PlatformName},
};

const READS: &[&str] = &[
    "platform",
    "featureSet",
    "controlPlane",
    "compute",
    "arbiter",
    "networking",
];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "image-based-platform", path: "platform", reads: READS, text: "When a node is restored from a seed: platform none.", check: platform },
    Rule { name: "image-based-features", path: "featureSet", reads: READS, text: "When a node is restored from a seed: the default feature set.", check: features },
    Rule { name: "image-based-replicas", path: "controlPlane.replicas", reads: READS, text: "When a node is restored from a seed: one control-plane machine, no worker, no arbiter.", check: replicas },
    Rule { name: "image-based-network-type", path: "networking.networkType", reads: READS, text: "When a node is restored from a seed: OVNKubernetes.", check: network_type },
    Rule { name: "image-based-machine-network", path: "networking.machineNetwork", reads: READS, text: "When a node is restored from a seed: one or two networks, one for each address of the node; there is no default.", check: machine_network },
    Rule { name: "image-based-ignored", path: "controlPlane", reads: READS, text: "A warning for fields that a restored node takes from its seed.", check: ignored },
    Rule { name: "image-based-trust-policy", path: "additionalTrustBundlePolicy", reads: &["additionalTrustBundlePolicy"], text: "A warning for a bundle and a proxy without a policy: the proxy would not trust the bundle.", check: trust_policy },
];

fn is_image_based(facts: &Facts<'_>) -> bool {
    facts.around.method == Method::ImageBased
}

fn platform(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let name = facts.config.platform.name();
    if let (true, Some(name)) = (is_image_based(facts), name)
        && name != PlatformName::None
    {
        diagnostics.fault(
            "platform",
            format!("platform {name} is not possible for a node that is restored from a seed"),
            "use `platform: {none: {}}`",
        );
    }
}

fn features(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if is_image_based(facts) && facts.config.feature_set.is_some() {
        diagnostics.fault(
            "featureSet",
            "a restored node has the feature set of its seed",
            "remove `featureSet`",
        );
    }
}

fn replicas(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !is_image_based(facts) {
        return;
    }
    let config = facts.config;
    let machines = config.control_plane_replicas();
    if machines != 1 {
        let default = !facts.was_written("controlPlane.replicas");
        diagnostics.fault(
            "controlPlane.replicas",
            format!(
                "{machines} control-plane machines{}",
                if default { ", the default" } else { "" }
            ),
            "write `controlPlane: {name: master, replicas: 1}`",
        );
    }
    let workers = config.compute_replicas();
    if workers != 0 {
        let index = config
            .compute
            .iter()
            .position(|pool| pool.replica_count() != 0)
            .unwrap_or(0);
        let default = !facts.was_written(&format!("compute[{index}].replicas"));
        diagnostics.fault(
            format!("compute[{index}].replicas"),
            format!(
                "{workers} workers{} beside a restored node",
                if default { ", the default," } else { "" }
            ),
            "write `compute: [{name: worker, replicas: 0}]`",
        );
    }
    if config.arbiter_replicas() > 0 {
        diagnostics.fault(
            "arbiter.replicas",
            "an arbiter beside a restored node",
            "remove `arbiter`",
        );
    }
}

fn network_type(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let networking = facts.config.networking.as_ref();
    if is_image_based(facts) && networking.is_some_and(|networking| !networking.is_ovn_kubernetes())
    {
        diagnostics.fault(
            "networking.networkType",
            "a restored node runs OVNKubernetes",
            "write `OVNKubernetes`, or leave it out",
        );
    }
}

fn machine_network(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !is_image_based(facts) {
        return;
    }
    let path = "networking.machineNetwork";
    let written = facts.was_written(path) || facts.was_written("networking.machineCIDR");
    let networks = facts.config.networking.as_ref();
    let networks = networks.map_or(&[][..], |networking| &networking.machine_network);
    if !written || networks.is_empty() {
        // The reference makes an image that never deploys: the node compares the networks with
        // its addresses.
        diagnostics.fault(
            path,
            "this is missing, and a default would not match the addresses of the node",
            "write the network the node has its address in: `machineNetwork: [{cidr: 192.168.10.0/24}]`",
        );
        return;
    }
    if networks.len() > 2 {
        diagnostics.fault(
            path,
            format!("too many: {}, must have at most 2 items", networks.len()),
            "keep one network per address of the node: one, or one IPv4 and one IPv6",
        );
    } else if let [first, second] = networks
        && first.cidr.addr().is_ipv4() == second.cidr.addr().is_ipv4()
    {
        diagnostics.warn(
            path,
            "both networks are of the same family; a node has one address per family",
            "write one IPv4 and one IPv6 network, in the order of the seed",
        );
    }
}

fn ignored(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if !is_image_based(facts) {
        return;
    }
    let config = facts.config;
    let control = config
        .control_plane
        .iter()
        .map(|pool| ("controlPlane".to_owned(), pool));
    let compute = config.compute.iter().enumerate();
    let compute = compute.map(|(index, pool)| (format!("compute[{index}]"), pool));
    for (path, pool) in control.chain(compute) {
        warn_about(&path, pool, facts, diagnostics);
    }
    if !config.image_content_sources.is_empty() {
        diagnostics.warn(
            "imageContentSources",
            "the image does not carry these mirrors",
            "move all entries to imageDigestSources",
        );
    }
}

fn warn_about(path: &str, pool: &MachinePool, facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if pool.hyperthreading == Some(Hyperthreading::Disabled) {
        diagnostics.warn(
            format!("{path}.hyperthreading"),
            "a restored node takes this from its seed",
            "remove it",
        );
    }
    let platform = format!("{path}.platform");
    if facts.was_written(&platform) {
        diagnostics.warn(
            platform,
            "a restored node takes this from its seed",
            "remove it",
        );
    }
}

fn trust_policy(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    let path = "additionalTrustBundlePolicy";
    if !is_image_based(facts) || config.additional_trust_bundle.trim().is_empty() {
        return;
    }
    if !facts.was_written(path) && config.proxy.is_some() {
        diagnostics.warn(
            path,
            "without a policy the node trusts the bundle, but its proxy settings do not name it",
            "write `Proxyonly` if the proxy's certificate is signed by it, as in the seed",
        );
    }
}
