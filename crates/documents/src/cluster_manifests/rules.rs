//! What must hold in the cluster manifests.

use std::collections::HashSet;

use ipnet::IpNet;
use muster_model::Arch;

use super::{
    Expected, topologies,
    types::{
        AgentClusterInstall, ClusterDeployment, ClusterImageSet, InfraEnv, Named, NmStateConfig,
        Object, PullSecret,
    },
};
use crate::{
    schema::wording::{one_of, shown},
    validation::{
        Diagnostics, RuleSummary,
        checks::{is_subdomain, mac_bytes},
        credentials,
    },
};

/// One thing that must hold of an object.
pub struct Rule<T> {
    pub summary: RuleSummary,
    check: fn(&Facts<'_, T>, &mut Diagnostics),
}

/// What rules look at.
pub struct Facts<'a, T> {
    pub object: &'a T,
    pub expected: &'a Expected<'a>,
    /// The InfraEnv of the same folder, if it could be read.
    pub infra_env: Option<&'a InfraEnv>,
}

const fn rule<T>(
    name: &'static str,
    path: &'static str,
    text: &'static str,
    check: fn(&Facts<'_, T>, &mut Diagnostics),
) -> Rule<T> {
    Rule {
        summary: RuleSummary { name, path, text },
        check,
    }
}

#[rustfmt::skip]
pub static AGENT_CLUSTER_INSTALL: &[Rule<AgentClusterInstall>] = &[
    rule("object-kind", "kind", "`apiVersion` and `kind` are those of the kind.", kind),
    rule("platform-type", "spec.platformType", "BareMetal, None, VSphere, Nutanix, External or empty.", platform_type),
    rule("user-managed", "spec.networking.userManagedNetworking", "Platforms None and External have user-managed networking.", user_managed),
    rule("sdn-family", "spec.networking", "OpenShiftSDN has no IPv6.", sdn_family),
    rule("host-prefix", "spec.networking.clusterNetwork.hostPrefix", "Each node gets at least 128 addresses, and there is a share for each host.", host_prefix),
    rule("control-plane", "spec.provisionRequirements.controlPlaneAgents", "One to five; more than three not on VSphere and Nutanix.", topologies::control_plane),
    rule("arbiter", "spec.provisionRequirements.arbiterAgents", "Beside two hosts of the control plane or more, one beside two; on BareMetal and None.", topologies::arbiter),
    rule("single-node", "spec.provisionRequirements", "One host of the control plane alone has no workers, and platform None or External.", topologies::single_node),
    rule("encryption", "spec.diskEncryption", "`enableOn` is none, all, masters or workers; `mode` is tpmv2 or tang.", encryption),
    rule("overrides", "metadata.annotations", "Overrides of the install-config are a JSON object.", overrides),
];

#[rustfmt::skip]
pub static CLUSTER_DEPLOYMENT: &[Rule<ClusterDeployment>] = &[
    rule("object-kind", "kind", "`apiVersion` and `kind` are those of the kind.", kind),
    rule("cluster-name", "spec.clusterName", "A DNS name.", cluster_name),
    rule("base-domain", "spec.baseDomain", "A DNS name.", base_domain),
];

#[rustfmt::skip]
pub static CLUSTER_IMAGE_SET: &[Rule<ClusterImageSet>] = &[
    rule("object-kind", "kind", "`apiVersion` and `kind` are those of the kind.", kind),
    rule("release-image", "spec.releaseImage", "The release that this command installs.", release_image),
];

#[rustfmt::skip]
pub static INFRA_ENV: &[Rule<InfraEnv>] = &[
    rule("object-kind", "kind", "`apiVersion` and `kind` are those of the kind.", kind),
    rule("architecture", "spec.cpuArchitecture", "x86_64, aarch64, ppc64le, s390x or empty.", architecture),
];

#[rustfmt::skip]
pub static NM_STATE_CONFIG: &[Rule<NmStateConfig>] = &[
    rule("object-kind", "kind", "`apiVersion` and `kind` are those of the kind.", kind),
    rule("network-labels", "metadata.labels", "Exactly the labels that the InfraEnv selects.", network_labels),
    rule("network-cards", "spec.interfaces", "At least one; names and addresses are unique.", network_cards),
    rule("network-config", "spec.config", "nmstate accepts it.", network_config),
];

#[rustfmt::skip]
pub static PULL_SECRET: &[Rule<PullSecret>] = &[
    rule("pull-secret", "stringData", "`.dockerconfigjson` holds JSON with a non-empty `auths`.", pull_secret),
    rule("credentials", "stringData", "`auth` of each registry is base64 of user:password.", user_and_password),
];

/// Asks every rule.
pub(super) fn run<T>(rules: &[Rule<T>], facts: &Facts<'_, T>, diagnostics: &mut Diagnostics) {
    for rule in rules {
        diagnostics.under(rule.summary.name);
        (rule.check)(facts, diagnostics);
    }
}

fn kind<S: Named>(facts: &Facts<'_, Object<S>>, diagnostics: &mut Diagnostics) {
    for (path, found, known) in [
        ("apiVersion", &facts.object.api_version, S::API_VERSION),
        ("kind", &facts.object.kind, S::KIND),
    ] {
        if !found.is_empty() && found != known {
            diagnostics.warn(
                path,
                format!("{} instead of `{known}`; reading it anyway", shown(found)),
                format!("write `{known}`"),
            );
        }
    }
}

/// Names of platforms as the kind has them, and how the install-config writes them.
pub(super) const PLATFORMS: &[(&str, &str)] = &[
    ("BareMetal", "baremetal"),
    ("External", "external"),
    ("None", "none"),
    ("VSphere", "vsphere"),
    ("Nutanix", "nutanix"),
];

fn platform_type(facts: &Facts<'_, AgentClusterInstall>, diagnostics: &mut Diagnostics) {
    let found = &*facts.object.spec.platform_type;
    let known = |(name, legacy): &(&str, &str)| found == *name || found == *legacy;
    if !found.is_empty() && !PLATFORMS.iter().any(known) {
        let names: Vec<&str> = PLATFORMS.iter().map(|(name, _)| *name).collect();
        diagnostics.fault(
            "spec.platformType",
            format!("{} is not supported", shown(found)),
            format!("it can be {}", one_of(&names)),
        );
    }
}

fn user_managed(facts: &Facts<'_, AgentClusterInstall>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    let is_plain = ["none", "external"]
        .iter()
        .any(|name| spec.platform_type.eq_ignore_ascii_case(name));
    if is_plain && spec.networking.user_managed_networking == Some(false) {
        diagnostics.fault(
            "spec.networking.userManagedNetworking",
            format!(
                "platform {} has no networking of its own",
                spec.platform_type
            ),
            "write `true`, or leave it out",
        );
    }
}

fn sdn_family(facts: &Facts<'_, AgentClusterInstall>, diagnostics: &mut Diagnostics) {
    let networking = &facts.object.spec.networking;
    if networking.network_type != "OpenShiftSDN" {
        return;
    }
    let mut check = |path: String, network: &IpNet| {
        if matches!(network, IpNet::V6(_)) {
            let message = format!("{network} is IPv6, which OpenShiftSDN does not have");
            diagnostics.fault(path, message, "use OVNKubernetes, or an IPv4 network");
        }
    };
    for (index, entry) in networking.cluster_network.iter().enumerate() {
        let path = format!("spec.networking.clusterNetwork[{index}].cidr");
        check(path, &entry.cidr);
    }
    for (index, network) in networking.service_network.iter().enumerate() {
        check(format!("spec.networking.serviceNetwork[{index}]"), network);
    }
}

fn host_prefix(facts: &Facts<'_, AgentClusterInstall>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    if !matches!(&*spec.networking.network_type, "" | "OVNKubernetes") {
        return;
    }
    let required = spec.provision_requirements;
    let hosts = required.control_plane_agents + required.worker_agents;
    for (index, entry) in spec.networking.cluster_network.iter().enumerate() {
        let path = format!("spec.networking.clusterNetwork[{index}].hostPrefix");
        let (bits, size) = match entry.cidr {
            IpNet::V4(net) => (32, i32::from(net.prefix_len())),
            IpNet::V6(net) => (128, i32::from(net.prefix_len())),
        };
        let prefix = entry.host_prefix;
        if prefix > bits - 7 {
            diagnostics.fault(
                path,
                format!("/{prefix} is too small a share for a node"),
                format!("write at most {}", bits - 7),
            );
        } else if hosts > 0 && i64::from(hosts) > 1_i64 << (prefix - size).clamp(0, 62) {
            diagnostics.fault(
                path,
                format!(
                    "{} holds {} shares of /{prefix}, and there are {hosts} hosts",
                    entry.cidr,
                    1_i64 << (prefix - size).clamp(0, 62)
                ),
                "use a larger network, or smaller shares",
            );
        }
    }
}

fn encryption(facts: &Facts<'_, AgentClusterInstall>, diagnostics: &mut Diagnostics) {
    let Some(encryption) = &facts.object.spec.disk_encryption else {
        return;
    };
    for (name, found, known) in [
        (
            "enableOn",
            &encryption.enable_on,
            &["none", "all", "masters", "workers"][..],
        ),
        ("mode", &encryption.mode, &["tpmv2", "tang"][..]),
    ] {
        if !found.is_empty() && !known.contains(&&**found) {
            diagnostics.fault(
                format!("spec.diskEncryption.{name}"),
                format!("{} is not supported", shown(found)),
                format!("it can be {}", one_of(known)),
            );
        }
    }
}

fn overrides(facts: &Facts<'_, AgentClusterInstall>, diagnostics: &mut Diagnostics) {
    let Some(overrides) = facts.object.install_config_overrides() else {
        return;
    };
    let is_object = serde_json::from_str::<serde_json::Map<_, _>>(overrides)
        .is_ok_and(|_: serde_json::Map<String, serde_json::Value>| true);
    if !is_object {
        diagnostics.fault(
            format!("metadata.annotations.{}", AgentClusterInstall::OVERRIDES),
            "this is not a JSON object",
            "write for example '{\"fips\":true}', in quotes",
        );
    }
}

fn cluster_name(facts: &Facts<'_, ClusterDeployment>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    dns_name("spec.clusterName", &spec.cluster_name, diagnostics);
}

fn base_domain(facts: &Facts<'_, ClusterDeployment>, diagnostics: &mut Diagnostics) {
    let spec = &facts.object.spec;
    dns_name("spec.baseDomain", &spec.base_domain, diagnostics);
}

fn dns_name(path: &str, name: &str, diagnostics: &mut Diagnostics) {
    if name.is_empty() {
        diagnostics.fault(path, "this is missing", "add it");
    } else if !is_subdomain(name) {
        diagnostics.fault(
            path,
            format!("{} is not a DNS name", shown(name)),
            "use lower case letters, digits, dashes and dots",
        );
    }
}

fn release_image(facts: &Facts<'_, ClusterImageSet>, diagnostics: &mut Diagnostics) {
    let found = &*facts.object.spec.release_image;
    if found.is_empty() {
        diagnostics.fault(
            "spec.releaseImage",
            "this is missing",
            "add the pull spec of the release image",
        );
    } else if let Some(own) = facts.expected.release_image.filter(|own| *own != found) {
        diagnostics.fault(
            "spec.releaseImage",
            format!("{} is not the release that is installed", shown(found)),
            format!("write `{own}`, or choose the other release on the command line"),
        );
    }
}

/// Architectures that hosts can have.
const ARCHITECTURES: [Arch; 4] = [Arch::X86_64, Arch::Arm64, Arch::Ppc64le, Arch::S390x];

fn architecture(facts: &Facts<'_, InfraEnv>, diagnostics: &mut Diagnostics) {
    let found = &*facts.object.spec.cpu_architecture;
    let is_known = found
        .parse()
        .is_ok_and(|arch| ARCHITECTURES.contains(&arch));
    if !found.is_empty() && !is_known {
        let names = ARCHITECTURES.map(Arch::rpm);
        diagnostics.fault(
            "spec.cpuArchitecture",
            format!("{} is not supported", shown(found)),
            format!("it can be {}", one_of(&names)),
        );
    }
}

fn network_labels(facts: &Facts<'_, NmStateConfig>, diagnostics: &mut Diagnostics) {
    let labels = &facts.object.metadata.labels;
    if labels.is_empty() {
        diagnostics.fault(
            "metadata.labels",
            "this is missing",
            "add the labels of `spec.nmStateConfigLabelSelector.matchLabels` in infraenv.yaml",
        );
        return;
    }
    let selected = facts
        .infra_env
        .map(|infra_env| &infra_env.spec.nm_state_config_label_selector.match_labels);
    if selected.is_some_and(|selected| selected != labels) {
        diagnostics.fault(
            "metadata.labels",
            "these are not the labels that the InfraEnv selects",
            "make them equal to `spec.nmStateConfigLabelSelector.matchLabels` in infraenv.yaml",
        );
    }
}

fn network_cards(facts: &Facts<'_, NmStateConfig>, diagnostics: &mut Diagnostics) {
    let cards = &facts.object.spec.interfaces;
    if cards.is_empty() {
        diagnostics.fault(
            "spec.interfaces",
            "this is missing",
            "name a card by which the host is recognised: `- {name: eno1, macAddress: …}`",
        );
    }
    let (mut names, mut addresses) = (HashSet::new(), HashSet::new());
    for (index, card) in cards.iter().enumerate() {
        let at = |field: &str| format!("spec.interfaces[{index}].{field}");
        if card.name.is_empty() {
            diagnostics.fault(
                at("name"),
                "this is missing",
                "add the name that `config` uses",
            );
        } else if !names.insert(&card.name) {
            let message = format!("{} is the name of another card too", shown(&card.name));
            diagnostics.fault(at("name"), message, "give each card its own");
        }
        // Colons only, as the pattern of the kind has it.
        match mac_bytes(&card.mac_address).filter(|_| !card.mac_address.contains('-')) {
            None => diagnostics.fault(
                at("macAddress"),
                format!(
                    "{} is not the address of a network card",
                    shown(&card.mac_address)
                ),
                "write six bytes such as `52:54:00:12:34:56`",
            ),
            Some(address) if !addresses.insert(address) => diagnostics.fault(
                at("macAddress"),
                format!("{} stands at another card too", shown(&card.mac_address)),
                "give each card its own",
            ),
            Some(_) => {}
        }
    }
}

fn network_config(facts: &Facts<'_, NmStateConfig>, diagnostics: &mut Diagnostics) {
    let config = &facts.object.spec.config;
    if !config.is_object() {
        diagnostics.fault(
            "spec.config",
            "this is not a mapping",
            "write nmstate: `interfaces:` and so on",
        );
        return;
    }
    let cards = &facts.object.spec.interfaces;
    let cards: Vec<(&str, &str)> = cards
        .iter()
        .map(|card| (&*card.name, &*card.mac_address))
        .collect();
    for fault in (facts.expected.network_faults)(config, &cards) {
        diagnostics.fault("spec.config", fault, "correct the nmstate document");
    }
}

fn user_and_password(facts: &Facts<'_, PullSecret>, diagnostics: &mut Diagnostics) {
    let secret = &facts.object.string_data.docker_config;
    credentials::user_and_password("stringData..dockerconfigjson", secret, diagnostics);
}

fn pull_secret(facts: &Facts<'_, PullSecret>, diagnostics: &mut Diagnostics) {
    credentials::pull_secret(
        "stringData..dockerconfigjson",
        &facts.object.string_data.docker_config,
        "add `stringData:` with `.dockerconfigjson: '…'`; `data` is not read",
        "put the JSON text that `podman login --authfile` writes in single quotes",
        diagnostics,
    );
}
