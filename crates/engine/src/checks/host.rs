//! The table of host validations and how a host is judged by it.

use std::collections::BTreeMap;

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostRole, HostStage, Timestamp};

use super::{Findings, Outcome, Verdict, host_hardware as hw, host_network as net, operators};
use crate::{
    inventory::Inventory,
    majority::Groups,
    networks::BadRange,
    settings::{Requirements, Settings},
    wire,
};

pub(crate) use super::host_hardware::fits;

/// What a check holds back while it is not true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Talking to the host at all.
    Connection,
    /// Knowing what it is.
    Inventory,
    /// Being of any use.
    MinimumHardware,
    /// The user's own input.
    Input,
    /// Being ready to install.
    Install,
    /// The end of preparation.
    Preparation,
    /// Nothing: good to know.
    Nothing,
}

/// One validation.
pub(crate) struct HostCheck {
    pub(crate) id: &'static str,
    category: &'static str,
    pub(crate) gate: Gate,
    /// After the reboot nobody answers for it any more, so it is not shown.
    quiet_after_reboot: bool,
    run: fn(&HostContext<'_>) -> Verdict,
}

const fn hardware(id: &'static str, gate: Gate, run: fn(&HostContext<'_>) -> Verdict) -> HostCheck {
    HostCheck {
        id,
        category: "hardware",
        gate,
        quiet_after_reboot: false,
        run,
    }
}

const fn network(id: &'static str, gate: Gate, run: fn(&HostContext<'_>) -> Verdict) -> HostCheck {
    HostCheck {
        id,
        category: "network",
        gate,
        quiet_after_reboot: false,
        run,
    }
}

const fn live(id: &'static str, gate: Gate, run: fn(&HostContext<'_>) -> Verdict) -> HostCheck {
    HostCheck {
        id,
        category: "network",
        gate,
        quiet_after_reboot: true,
        run,
    }
}

/// Every host validation, in the order clients see them.
pub(crate) static HOST_CHECKS: &[HostCheck] = &[
    live("connected", Gate::Connection, net::connected),
    live("media-connected", Gate::Connection, net::media_connected),
    hardware("has-inventory", Gate::Inventory, hw::has_inventory),
    hardware(
        "inventory-not-partially-truncated",
        Gate::Nothing,
        hw::inventory_whole,
    ),
    hardware(
        "inventory-not-fully-truncated",
        Gate::Inventory,
        hw::inventory_usable,
    ),
    hardware(
        "has-min-cpu-cores",
        Gate::MinimumHardware,
        hw::has_min_cpu_cores,
    ),
    hardware("has-min-memory", Gate::MinimumHardware, hw::has_min_memory),
    hardware(
        "has-min-valid-disks",
        Gate::MinimumHardware,
        hw::has_min_valid_disks,
    ),
    network(
        "machine-cidr-defined",
        Gate::Input,
        net::machine_cidr_defined,
    ),
    hardware(
        "has-cpu-cores-for-role",
        Gate::Install,
        hw::has_cpu_cores_for_role,
    ),
    hardware(
        "has-memory-for-role",
        Gate::Install,
        hw::has_memory_for_role,
    ),
    hardware("hostname-unique", Gate::Install, hw::hostname_unique),
    network(
        "belongs-to-machine-cidr",
        Gate::Install,
        net::belongs_to_machine_cidr,
    ),
    hardware("hostname-valid", Gate::Install, hw::hostname_valid),
    network(
        "ignition-downloadable",
        Gate::Install,
        net::ignition_downloadable,
    ),
    network(
        "belongs-to-majority-group",
        Gate::Install,
        net::belongs_to_majority_group,
    ),
    network(
        "valid-platform-network-settings",
        Gate::Install,
        net::valid_platform_network_settings,
    ),
    live("ntp-synced", Gate::Nothing, net::ntp_synced),
    live(
        "time-synced-between-host-and-service",
        Gate::Install,
        net::time_synced,
    ),
    network(
        "container-images-available",
        Gate::Preparation,
        net::container_images_available,
    ),
    hardware(
        "sufficient-installation-disk-speed",
        Gate::Install,
        hw::sufficient_disk_speed,
    ),
    network("has-default-route", Gate::Install, net::has_default_route),
    hardware(
        "compatible-with-cluster-platform",
        Gate::MinimumHardware,
        hw::compatible_with_platform,
    ),
    network(
        "non-overlapping-subnets",
        Gate::Install,
        net::non_overlapping_subnets,
    ),
    hardware("compatible-agent", Gate::Install, hw::compatible_agent),
    hardware(
        "no-skip-installation-disk",
        Gate::Install,
        hw::no_skip_installation_disk,
    ),
    hardware(
        "no-skip-missing-disk",
        Gate::Install,
        hw::no_skip_missing_disk,
    ),
    network(
        "no-ip-collisions-in-network",
        Gate::Install,
        net::no_ip_collisions,
    ),
];

/// What can never be ignored: without it the rest means nothing.
pub const NEVER_IGNORED: &[&str] = &[
    "connected",
    "has-inventory",
    "inventory-not-fully-truncated",
    "machine-cidr-defined",
    "hostname-unique",
    "hostname-valid",
];

/// Everything a check may look at.
pub(crate) struct HostContext<'a> {
    pub(crate) host: &'a Host,
    pub(crate) last_seen: Timestamp,
    pub(crate) inventory: Option<&'a Inventory>,
    /// There is a text, but it cannot be read.
    pub(crate) inventory_broken: bool,
    pub(crate) cluster: Option<&'a Cluster>,
    pub(crate) around: &'a Neighbourhood,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

/// What the hosts of a cluster have in common; made once per refresh.
#[derive(Debug)]
pub(crate) struct Neighbourhood {
    pub(crate) machine: Result<Vec<IpNet>, BadRange>,
    pub(crate) groups: Option<Groups>,
    /// Addresses used twice.
    pub(crate) collisions: BTreeMap<String, Vec<String>>,
    /// How many hosts with an inventory go by a name.
    pub(crate) names: BTreeMap<String, usize>,
    pub(crate) host_count: usize,
    /// The operators of the cluster and the roles they go by.
    pub(crate) operators: operators::Scene,
}

impl Default for Neighbourhood {
    fn default() -> Self {
        Self {
            machine: Ok(Vec::new()),
            groups: None,
            collisions: BTreeMap::new(),
            names: BTreeMap::new(),
            host_count: 0,
            operators: operators::Scene::default(),
        }
    }
}

impl HostContext<'_> {
    pub(crate) fn no_inventory(&self) -> Verdict {
        Verdict::wait("The host has not sent its inventory yet")
    }

    /// What its role and the operators of its cluster ask for.
    pub(crate) fn needs(&self) -> Requirements {
        let role = needs_of_host(self.host, self.cluster, self.settings);
        let (scene, settings) = (&self.around.operators, &self.settings.operators);
        let on = operators::OnHost::new(scene, self.host, self.inventory, settings);
        operators::total(role, &on)
    }

    /// The host has rebooted into its installed system, where no agent polls.
    pub(crate) fn past_reboot(&self) -> bool {
        past_reboot(self.host.progress.stage)
    }
}

/// What a host must have: a pool host need only be good enough for the humblest role.
pub(crate) fn needs_of_host<'s>(
    host: &Host,
    cluster: Option<&Cluster>,
    settings: &'s Settings,
) -> &'s Requirements {
    let table = &settings.requirements;
    if host.cluster.is_none() {
        let roles = [&table.worker, &table.master, &table.arbiter];
        return roles
            .into_iter()
            .min_by_key(|needs| needs.disk_size_gb)
            .unwrap_or(&table.worker);
    }
    needs_of(
        host.effective_role(),
        cluster.is_some_and(Cluster::is_single_node),
        settings,
    )
}

/// Requirements of a role; an open role asks for what a worker needs.
pub(crate) fn needs_of(role: HostRole, single_node: bool, settings: &Settings) -> &Requirements {
    let table = &settings.requirements;
    match role {
        HostRole::Master | HostRole::Bootstrap if single_node => &table.single_node,
        HostRole::Master | HostRole::Bootstrap => &table.master,
        HostRole::Arbiter => &table.arbiter,
        HostRole::Worker | HostRole::AutoAssign => &table.worker,
    }
}

/// Stages in which no agent polls any more.
pub(crate) const fn past_reboot(stage: Option<HostStage>) -> bool {
    use HostStage::*;
    match stage {
        None
        | Some(
            StartingInstallation
            | Installing
            | WritingImageToDisk
            | CopyingRegistryDataToDisk
            | WaitingForControlPlane
            | WaitingForBootkube
            | WaitingForController,
        ) => false,
        Some(Rebooting | WaitingForIgnition | Configuring | Joined | Done | Failed) => true,
    }
}

/// Runs the whole table.
pub(crate) fn judge(context: &HostContext<'_>) -> Findings {
    let mut findings = Findings::default();
    let override_list = context
        .cluster
        .and_then(|c| c.ignored_host_validations.as_deref());
    // A list on the cluster replaces the service-wide one, even if it is empty.
    let disabled = |id: &str| {
        override_list.unwrap_or_default().is_empty()
            && context.settings.disabled_host_checks.contains(id)
    };
    for check in HOST_CHECKS {
        let verdict = if disabled(check.id) {
            Verdict::new(
                Outcome::Disabled,
                "Switched off by the configuration of the service",
            )
        } else {
            (check.run)(context)
        };
        let pointless = match check.id {
            "compatible-agent" => context.host.progress.stage.is_some(),
            _ => check.quiet_after_reboot && context.past_reboot(),
        };
        findings.note(check.id, check.category, verdict, !pointless);
    }
    operators::judge_host(context, disabled, &mut findings);
    findings.ignore(
        override_list,
        NEVER_IGNORED,
        HOST_CHECKS
            .iter()
            .map(|check| check.id)
            .chain(operators::ids()),
    );
    findings
}

/// Tells which host validations do not count for a cluster: the user ignores them, or they are
/// switched off (unless the cluster has a list of its own).
pub(crate) fn excused(cluster: &Cluster, settings: &Settings) -> impl Fn(&str) -> bool {
    let list = cluster.ignored_host_validations.as_deref();
    let ignored: Vec<String> = wire::stored(list).ok().unwrap_or_default();
    let override_list = !list.unwrap_or_default().is_empty();
    move |id| {
        let switched_off = !override_list && settings.disabled_host_checks.contains(id);
        let waived = ignored.iter().any(|one| one == id || one == "all");
        switched_off || (waived && !NEVER_IGNORED.contains(&id))
    }
}

/// Whether every check behind a gate passes.
pub(crate) fn open(findings: &Findings, gate: Gate) -> bool {
    HOST_CHECKS
        .iter()
        .filter(|check| check.gate == gate)
        .all(|check| findings.passes(check.id))
        && (gate != Gate::Install || operators::open(findings))
}
