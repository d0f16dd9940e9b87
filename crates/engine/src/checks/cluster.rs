//! The table of cluster validations and how a cluster is evaluated by it.

use std::sync::Arc;

use muster_model::{Cluster, Host, Timestamp};

use super::{
    CheckResult, Findings, Outcome, cluster_hosts as hosts, cluster_manifests as manifests,
    cluster_network as net, cluster_vips as vips, operators,
};
use crate::{
    inventory::Inventory,
    networks::{self, Ranges},
    settings::Settings,
    vips::Evidence,
};

/// What a check holds back while it is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The user's own input.
    Input,
    /// The virtual addresses, which may also come by DHCP.
    Vips,
    /// Everything else an installation needs.
    Install,
    /// Nothing: good to know.
    Nothing,
}

impl Gate {
    /// What happens while the check is not true, for people.
    pub(crate) const fn about(self) -> &'static str {
        match self {
            Self::Input => "the cluster is pending-for-input",
            Self::Vips => {
                "the cluster is pending-for-input, or insufficient if DHCP leases the addresses"
            }
            Self::Install => "the cluster is insufficient",
            Self::Nothing => "nothing (warning)",
        }
    }
}

/// One validation.
pub(crate) struct ClusterCheck {
    pub(crate) id: &'static str,
    pub(crate) category: &'static str,
    pub(crate) gate: Gate,
    /// What is asked and why, for people.
    pub(crate) asks: &'static str,
    run: fn(&ClusterContext<'_>) -> CheckResult,
}

impl ClusterCheck {
    /// The user cannot decide to live without it.
    pub(crate) fn never_ignored(&self) -> bool {
        NEVER_IGNORED.contains(&self.id)
    }
}

const fn row(
    id: &'static str,
    category: &'static str,
    gate: Gate,
    asks: &'static str,
    run: fn(&ClusterContext<'_>) -> CheckResult,
) -> ClusterCheck {
    ClusterCheck {
        id,
        category,
        gate,
        asks,
        run,
    }
}

/// Every cluster validation, sorted by id inside its category, as clients see them.
#[rustfmt::skip]
pub(crate) static CLUSTER_CHECKS: &[ClusterCheck] = &[
    row("platform-requirements-satisfied", "configuration", Gate::Nothing,
        "Does a cluster on Oracle Cloud include the manifests of its cloud controller, without which its nodes stay unready?",
        manifests::platform_requirements),
    row("pull-secret-set", "configuration", Gate::Input,
        "Is there a pull secret, so that the release can be fetched?",
        hosts::pull_secret_set),

    row("all-hosts-are-ready-to-install", "hosts-data", Gate::Install,
        "Is every host of the cluster known and healthy?",
        hosts::all_hosts_ready),
    row("sufficient-masters-count", "hosts-data", Gate::Install,
        "Do roles and hardware give exactly the requested number of control plane hosts, with an arbiter or fencing if there are two?",
        hosts::sufficient_masters),

    row("api-vips-defined", "network", Gate::Vips,
        "Is the virtual address of the API set or leased, if the cluster needs one?",
        vips::api_vips_defined),
    row("api-vips-valid", "network", Gate::Install,
        "Is the virtual address of the API in the machine network, and do the hosts confirm that it is unused?",
        vips::api_vips_valid),
    row("cluster-cidr-defined", "network", Gate::Input,
        "Is the cluster network (pods) set?",
        net::cluster_cidr_defined),
    row("custom-manifests-requirements-satisfied", "network", Gate::Install,
        "If the network plugin is not part of the release, has the user added its manifests?",
        manifests::custom_manifests),
    row("dns-domain-defined", "network", Gate::Input,
        "Is the base domain of the cluster's names set?",
        hosts::dns_domain_defined),
    row("ingress-vips-defined", "network", Gate::Vips,
        "Is the virtual address of ingress set or leased, if the cluster needs one?",
        vips::ingress_vips_defined),
    row("ingress-vips-valid", "network", Gate::Install,
        "Is the virtual address of ingress in the machine network, and do the hosts confirm that it is unused?",
        vips::ingress_vips_valid),
    row("machine-cidr-defined", "network", Gate::Input,
        "Is the network known in which the hosts communicate?",
        net::machine_cidr_defined),
    row("machine-cidr-equals-to-calculated-cidr", "network", Gate::Install,
        "Is the machine network the host network that contains the virtual addresses?",
        vips::machine_cidr_as_calculated),
    row("network-prefix-valid", "network", Gate::Install,
        "Is the cluster network large enough for a subnet per host?",
        net::network_prefix_valid),
    row("network-type-valid", "network", Gate::Install,
        "Does the network plugin support what the cluster needs (IPv6, single node, leased addresses)?",
        net::network_type_valid),
    row("networks-same-address-families", "network", Gate::Install,
        "Do cluster, service and machine networks use the same address families?",
        net::same_families),
    row("no-cidrs-overlapping", "network", Gate::Install,
        "Are the cluster, service and machine networks disjoint?",
        net::no_overlap),
    row("ntp-server-configured", "network", Gate::Install,
        "Are the clocks of the hosts in sync, so that certificates are valid everywhere?",
        hosts::clocks_agree),
    row("service-cidr-defined", "network", Gate::Input,
        "Is the service network set?",
        net::service_cidr_defined),
];

/// What can never be ignored.
pub const NEVER_IGNORED: &[&str] = &[
    "api-vips-defined",
    "ingress-vips-defined",
    "all-hosts-are-ready-to-install",
    "sufficient-masters-count",
    "pull-secret-set",
];

/// Everything a check may look at.
pub(crate) struct ClusterContext<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) hosts: &'a [Host],
    pub(crate) inventories: &'a [Option<Arc<Inventory>>],
    /// Its networks, read once.
    pub(crate) ranges: &'a Ranges,
    /// What hosts found out about its virtual addresses.
    pub(crate) evidence: &'a Evidence,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl ClusterContext<'_> {
    pub(super) fn needs_machine_network(&self) -> bool {
        !networks::user_managed(self.cluster) || self.cluster.is_single_node()
    }

    pub(super) fn has_inventory(&self) -> bool {
        self.inventories.iter().any(Option::is_some)
    }

    pub(super) fn needs_vips(&self) -> bool {
        !networks::user_managed(self.cluster) && !self.cluster.is_single_node()
    }
}

/// Runs the whole table.
pub(crate) fn evaluate(context: &ClusterContext<'_>) -> Findings {
    let mut findings = Findings::default();
    let override_list = context.cluster.ignored_cluster_validations.as_deref();
    let disabled = |id: &str| {
        override_list.unwrap_or_default().is_empty()
            && context.settings.disabled_cluster_checks.contains(id)
    };
    for check in CLUSTER_CHECKS {
        let result = if disabled(check.id) {
            CheckResult::new(
                Outcome::Disabled,
                "Disabled by the configuration of the service",
            )
        } else {
            (check.run)(context)
        };
        findings.note(check.id, check.category, result, true);
    }
    operators::evaluate_cluster(context, disabled, &mut findings);
    findings.ignore(
        override_list,
        NEVER_IGNORED,
        CLUSTER_CHECKS
            .iter()
            .map(|check| check.id)
            .chain(operators::ids()),
    );
    findings
}

/// Whether every check behind a gate passes.
pub(crate) fn open(findings: &Findings, gate: Gate) -> bool {
    CLUSTER_CHECKS
        .iter()
        .filter(|check| check.gate == gate)
        .all(|check| findings.passes(check.id))
        && (gate != Gate::Install || operators::open(findings))
}
