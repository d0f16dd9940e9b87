//! What becomes of a bound host when time passes or its cluster or checks change.

use muster_model::{ClusterStatus, Host, HostStage, HostStatus, LogsState, Timestamp};

pub(crate) use super::host_facts::HostFacts;
use crate::{
    checks::host::{Gate, open},
    deadlines,
    inventory::Inventory,
    reports,
    wire::Stored,
};

/// One row: in these statuses, when this holds, do that.
pub(crate) struct HostRule {
    pub(crate) name: &'static str,
    pub(crate) from: &'static [HostStatus],
    pub(crate) when: fn(&HostFacts<'_>) -> bool,
    pub(crate) then: fn(&HostFacts<'_>) -> Option<Next>,
}

/// Where a host goes.
pub(crate) struct Next {
    pub(crate) status: HostStatus,
    pub(crate) info: String,
    /// What else changes; most moves change nothing else.
    pub(crate) also: Option<fn(&mut Host, Timestamp)>,
}

pub(crate) fn go(status: HostStatus, info: impl Into<String>) -> Option<Next> {
    Some(Next {
        status,
        info: info.into(),
        also: None,
    })
}

use HostStatus::*;

const COLLECTING: &[HostStatus] = &[
    Disconnected,
    Discovering,
    Insufficient,
    Known,
    PendingForInput,
];
const INSTALLING: &[HostStatus] = &[
    Installing,
    InstallingInProgress,
    Installed,
    ResettingPendingUserAction,
    InstallingPendingUserAction,
];

/// The table.
pub(crate) static HOST_RULES: &[HostRule] = &[
    HostRule {
        name: "the cluster prepares",
        from: &[Known],
        when: |on| on.has_fixed_role() && on.reachable() && on.preparing(),
        then: |_| {
            Some(Next {
                status: PreparingForInstallation,
                info: "The host checks disk and images before the installation".into(),
                also: Some(begin_preparing),
            })
        },
    },
    HostRule {
        name: "prepared",
        from: &[PreparingForInstallation],
        when: |on| on.reachable() && on.disk_proven() && on.images_proven() && on.preparing(),
        then: |_| {
            go(
                PreparingSuccessful,
                "The host is prepared for the installation",
            )
        },
    },
    HostRule {
        name: "prepared, the cluster still prepares",
        from: &[PreparingSuccessful],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "the cluster installs",
        from: &[PreparingSuccessful],
        when: |on| on.reachable() && on.cluster == ClusterStatus::Installing,
        then: |_| go(Installing, "The installation has begun"),
    },
    HostRule {
        name: "the cluster stopped preparing",
        from: &[PreparingForInstallation],
        when: |on| on.reachable() && on.disk_not_bad() && on.images_not_bad() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "the disk failed its check",
        from: &[PreparingForInstallation, PreparingFailed, Known],
        when: |on| on.reachable() && !on.disk_not_bad(),
        then: failing,
    },
    HostRule {
        name: "preparation took too long",
        from: &[PreparingForInstallation],
        when: |on| {
            on.reachable()
                && on.in_status_longer_than(on.settings.timeouts.host_preparing)
                && !(on.disk_proven() && on.images_proven())
                && on.disk_not_bad()
                && on.images_not_bad()
        },
        then: |on| {
            let mut missing = Vec::new();
            if !on.disk_proven() {
                missing.push("the disk speed");
            }
            if !on.images_proven() {
                missing.push("the image availability");
            }
            go(
                PreparingFailed,
                format!(
                    "Preparation timed out waiting for {}",
                    missing.join(" and ")
                ),
            )
        },
    },
    HostRule {
        name: "images cannot be pulled",
        from: &[PreparingForInstallation],
        when: |on| on.reachable() && !on.images_not_bad(),
        then: |on| go(PreparingFailed, on.why("The host could not be prepared")),
    },
    HostRule {
        name: "preparation goes on",
        from: &[PreparingForInstallation],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "failed to prepare, the cluster gave up",
        from: &[PreparingFailed],
        when: |on| on.reachable() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "prepared for nothing",
        from: &[PreparingSuccessful],
        when: |on| on.reachable(),
        then: |_| ready(),
    },
    HostRule {
        name: "silent before the installation",
        from: &[
            Discovering,
            Insufficient,
            Known,
            PendingForInput,
            Disconnected,
            PreparingFailed,
        ],
        when: |on| !on.reachable(),
        then: |on| {
            go(
                Disconnected,
                on.silence("The host stopped talking to the service"),
            )
        },
    },
    HostRule {
        name: "the cluster failed",
        from: INSTALLING,
        when: |on| on.cluster == ClusterStatus::Error && !on.host.is_day2(),
        then: |_| {
            go(
                Error,
                "The installation of the cluster failed, and this host with it",
            )
        },
    },
    HostRule {
        name: "told to install, but nothing happens",
        from: &[Installing],
        when: |on| on.in_status_longer_than(on.settings.timeouts.host_installing),
        then: |on| {
            let minutes = on.settings.timeouts.host_installing.as_secs() / 60;
            go(
                Error,
                format!("The host did not start to install within {minutes} minutes"),
            )
        },
    },
    HostRule {
        name: "silent while preparing",
        from: &[PreparingForInstallation, PreparingSuccessful],
        when: |on| !on.reachable(),
        then: |on| {
            go(
                Disconnected,
                on.silence("The host stopped talking while it prepared"),
            )
        },
    },
    HostRule {
        name: "silent while installing",
        from: &[Installing, InstallingInProgress],
        when: |on| !on.findings.passes("connected"),
        then: |_| {
            go(
                Error,
                "The host stopped talking to the service during the installation",
            )
        },
    },
    HostRule {
        name: "stage clock stands still while another host needs the user",
        from: &[InstallingInProgress],
        when: |on| on.waits_for_the_user_elsewhere(),
        then: |on| {
            let last = deadlines::stage_moved(on.host);
            (on.now.since(last) > deadlines::FROZEN_CLOCK_STEP).then(|| Next {
                status: InstallingInProgress,
                info: on.host.status_info.clone(),
                also: Some(|host, now| host.progress.stage_updated_at = Some(now)),
            })
        },
    },
    HostRule {
        name: "did not come back from its reboot",
        from: &[InstallingInProgress],
        when: |on| on.host.progress.stage == Some(HostStage::Rebooting) && on.stage_overdue(),
        then: |on| {
            go(
                InstallingPendingUserAction,
                format!(
                    "The host did not fetch its configuration within {} minutes after its reboot; \
                     make it boot from {} and check its way to the API of the cluster",
                    on.stage_limit().as_secs() / 60,
                    on.disk(),
                ),
            )
        },
    },
    HostRule {
        name: "stage took too long",
        from: &[InstallingInProgress],
        when: |on| on.stage_overdue(),
        then: |on| {
            let stage = on.host.progress.stage.map_or("unknown", HostStage::as_str);
            go(
                Error,
                format!(
                    "Stage {stage:?} made no progress for {} minutes; collect the logs of the host, then reset the cluster",
                    on.stage_limit().as_secs() / 60
                ),
            )
        },
    },
    HostRule {
        name: "the others are done without it",
        from: &[InstallingPendingUserAction],
        when: |on| {
            on.in_status_longer_than(on.settings.timeouts.host_pending_user_action)
                && on.others_suffice()
                && !matches!(
                    on.cluster,
                    ClusterStatus::Installed | ClusterStatus::AddingHosts
                )
        },
        then: |on| {
            go(
                Error,
                format!("The host was not booted from {} in time", on.disk()),
            )
        },
    },
    HostRule {
        name: "installation goes on",
        from: INSTALLING,
        when: |_| true,
        then: |_| None,
    },
    HostRule {
        name: "no inventory yet",
        from: &[Disconnected, Discovering],
        when: |on| on.reachable() && on.inventory.is_none_or(Inventory::is_useless),
        then: |_| go(Discovering, "Waiting for the host to describe its hardware"),
    },
    HostRule {
        name: "inventory useless",
        from: &[Insufficient, Known, PendingForInput],
        when: |on| on.reachable() && on.inventory.is_none_or(Inventory::is_useless),
        then: failing,
    },
    HostRule {
        name: "hardware below the minimum",
        from: COLLECTING,
        when: |on| {
            on.reachable()
                && !(open(on.findings, Gate::MinimumHardware)
                    && open(on.findings, Gate::VsphereDisks))
        },
        then: |on| {
            go(
                Insufficient,
                on.why("The machine is too small or does not fit"),
            )
        },
    },
    HostRule {
        name: "the user must decide",
        from: COLLECTING,
        when: |on| on.reachable() && !open(on.findings, Gate::Input),
        then: |_| {
            go(
                PendingForInput,
                "Waiting for input: the machine network is not known yet",
            )
        },
    },
    HostRule {
        name: "some check fails",
        from: COLLECTING,
        when: |on| on.reachable() && !open(on.findings, Gate::Install),
        then: failing,
    },
    HostRule {
        name: "all checks pass",
        from: COLLECTING,
        when: |on| on.reachable(),
        then: |_| ready(),
    },
    HostRule {
        name: "logs did not arrive in time",
        from: &[Error, Cancelled],
        when: |on| on.logs_overdue(),
        then: |on| {
            Some(Next {
                status: on.host.status,
                info: on.host.status_info.clone(),
                also: Some(|host, _| host.logs_info = Some(LogsState::Timeout)),
            })
        },
    },
];

fn ready() -> Option<Next> {
    go(Known, "The host is ready to be installed")
}

fn failing(on: &HostFacts<'_>) -> Option<Next> {
    go(
        Insufficient,
        on.why("The host is not ready to be installed"),
    )
}

fn begin_preparing(host: &mut Host, _: Timestamp) {
    let failed = matches!(reports::images_of(host), Stored::Here(images) if images.values().any(reports::ImageStatus::is_bad));
    if failed {
        host.reports.images_status = None;
    }
    host.logs_info = None;
    host.logs_started_at = None;
    host.logs_collected_at = None;
}
