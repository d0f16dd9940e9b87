//! The table of cluster validations and how a cluster is judged by it.

use std::sync::Arc;

use muster_model::{Cluster, Host};

use super::{
    Findings, Outcome, Verdict, cluster_hosts as hosts, cluster_network as net,
    cluster_vips as vips,
};
use crate::{inventory::Inventory, networks, settings::Settings};

/// What a check holds back while it is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The user's own input.
    Input,
    /// The virtual addresses, which may also come by DHCP.
    Vips,
    /// Everything else an installation needs.
    Install,
}

/// One validation.
pub(crate) struct ClusterCheck {
    id: &'static str,
    category: &'static str,
    gate: Gate,
    run: fn(&ClusterContext<'_>) -> Verdict,
}

const fn row(
    id: &'static str,
    category: &'static str,
    gate: Gate,
    run: fn(&ClusterContext<'_>) -> Verdict,
) -> ClusterCheck {
    ClusterCheck {
        id,
        category,
        gate,
        run,
    }
}

/// Every cluster validation, sorted by id inside its category, as clients see them.
pub(crate) static CLUSTER_CHECKS: &[ClusterCheck] = &[
    row(
        "pull-secret-set",
        "configuration",
        Gate::Input,
        hosts::pull_secret_set,
    ),
    row(
        "all-hosts-are-ready-to-install",
        "hosts-data",
        Gate::Install,
        hosts::all_hosts_ready,
    ),
    row(
        "sufficient-masters-count",
        "hosts-data",
        Gate::Install,
        hosts::sufficient_masters,
    ),
    row(
        "api-vips-defined",
        "network",
        Gate::Vips,
        vips::api_vips_defined,
    ),
    row(
        "api-vips-valid",
        "network",
        Gate::Install,
        vips::api_vips_valid,
    ),
    row(
        "cluster-cidr-defined",
        "network",
        Gate::Input,
        net::cluster_cidr_defined,
    ),
    row(
        "dns-domain-defined",
        "network",
        Gate::Input,
        hosts::dns_domain_defined,
    ),
    row(
        "ingress-vips-defined",
        "network",
        Gate::Vips,
        vips::ingress_vips_defined,
    ),
    row(
        "ingress-vips-valid",
        "network",
        Gate::Install,
        vips::ingress_vips_valid,
    ),
    row(
        "machine-cidr-defined",
        "network",
        Gate::Input,
        net::machine_cidr_defined,
    ),
    row(
        "machine-cidr-equals-to-calculated-cidr",
        "network",
        Gate::Install,
        vips::machine_cidr_as_calculated,
    ),
    row(
        "network-prefix-valid",
        "network",
        Gate::Install,
        net::network_prefix_valid,
    ),
    row(
        "network-type-valid",
        "network",
        Gate::Install,
        net::network_type_valid,
    ),
    row(
        "networks-same-address-families",
        "network",
        Gate::Install,
        net::same_families,
    ),
    row(
        "no-cidrs-overlapping",
        "network",
        Gate::Install,
        net::no_overlap,
    ),
    row(
        "ntp-server-configured",
        "network",
        Gate::Install,
        hosts::clocks_agree,
    ),
    row(
        "service-cidr-defined",
        "network",
        Gate::Input,
        net::service_cidr_defined,
    ),
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
    pub(crate) settings: &'a Settings,
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
pub(crate) fn judge(context: &ClusterContext<'_>) -> Findings {
    let mut findings = Findings::default();
    let override_list = context.cluster.ignored_cluster_validations.as_deref();
    let disabled = |id: &str| {
        override_list.unwrap_or_default().is_empty()
            && context.settings.disabled_cluster_checks.contains(id)
    };
    for check in CLUSTER_CHECKS {
        let verdict = if disabled(check.id) {
            Verdict::new(
                Outcome::Disabled,
                "Switched off by the configuration of the service",
            )
        } else {
            (check.run)(context)
        };
        findings.note(check.id, check.category, verdict, true);
    }
    findings.ignore(
        override_list,
        NEVER_IGNORED,
        CLUSTER_CHECKS.iter().map(|check| check.id),
    );
    findings
}

/// Whether every check behind a gate passes.
pub(crate) fn open(findings: &Findings, gate: Gate) -> bool {
    CLUSTER_CHECKS
        .iter()
        .filter(|check| check.gate == gate)
        .all(|check| findings.passes(check.id))
}
