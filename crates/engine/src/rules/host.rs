//! What becomes of a bound host when time passes or its cluster or checks change.

use muster_model::{ClusterStatus, Event, Host, HostStatus, LogsState, Timestamp};

pub(crate) use super::host_facts::HostFacts;
use super::triggers::register::forget_logs;
use crate::{
    checks::host::{Gate, open},
    deadlines,
    events::HOST_STAGE_TIMED_OUT,
    history,
    inventory::{self, Inventory},
    reports,
    wire::Stored,
};

/// One row: in these statuses, when this holds, do that.
pub(crate) struct HostRule {
    pub(crate) name: &'static str,
    pub(crate) from: &'static [HostStatus],
    /// Where it may lead; nowhere if empty.
    pub(crate) to: &'static [HostStatus],
    pub(crate) when: fn(&HostFacts<'_>) -> bool,
    pub(crate) then: fn(&HostFacts<'_>) -> Option<Next>,
}

/// Where a host goes.
pub(crate) struct Next {
    pub(crate) status: HostStatus,
    pub(crate) info: String,
    /// What else changes; most moves change nothing else.
    pub(crate) also: Option<fn(&mut Host, Timestamp)>,
    /// What else is told.
    pub(crate) told: Vec<Event>,
}

pub(crate) fn go(status: HostStatus, info: impl Into<String>) -> Option<Next> {
    Some(Next {
        status,
        info: info.into(),
        also: None,
        told: Vec::new(),
    })
}

/// The status stays; something else changes, and perhaps the reason shown.
fn note(
    on: &HostFacts<'_>,
    info: impl Into<String>,
    also: fn(&mut Host, Timestamp),
) -> Option<Next> {
    Some(Next {
        status: on.host.status,
        info: info.into(),
        also: Some(also),
        told: Vec::new(),
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

/// The installer runs or should run.
const UNDER_WAY: &[HostStatus] = &[Installing, InstallingInProgress];

/// The table.
pub(crate) static HOST_RULES: &[HostRule] = &[
    HostRule {
        name: "the cluster prepares",
        from: &[Known],
        to: &[PreparingForInstallation],
        when: |on| on.has_fixed_role() && on.reachable() && on.preparing(),
        then: |_| {
            Some(Next {
                status: PreparingForInstallation,
                info: "The host checks disk and images before the installation".into(),
                also: Some(begin_preparing),
                told: Vec::new(),
            })
        },
    },
    HostRule {
        name: "prepared",
        from: &[PreparingForInstallation],
        to: &[PreparingSuccessful],
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
        to: &[],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "the cluster installs",
        from: &[PreparingSuccessful],
        to: &[Installing],
        when: |on| on.reachable() && on.cluster == ClusterStatus::Installing,
        then: |on| {
            Some(Next {
                status: Installing,
                info: "The installation has begun".into(),
                also: None,
                told: history::disk_formats(on.host, on.now),
            })
        },
    },
    HostRule {
        name: "the cluster stopped preparing",
        from: &[PreparingForInstallation],
        to: &[Known],
        when: |on| on.reachable() && on.disk_not_bad() && on.images_not_bad() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "the disk failed its check",
        from: &[PreparingForInstallation, PreparingFailed, Known],
        to: &[Insufficient],
        when: |on| on.reachable() && !on.disk_not_bad(),
        then: failing,
    },
    HostRule {
        name: "preparation took too long",
        from: &[PreparingForInstallation],
        to: &[PreparingFailed],
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
        to: &[PreparingFailed],
        when: |on| on.reachable() && !on.images_not_bad(),
        then: |on| go(PreparingFailed, on.why("The host could not be prepared")),
    },
    HostRule {
        name: "preparation goes on",
        from: &[PreparingForInstallation],
        to: &[],
        when: |on| on.reachable() && on.preparing(),
        then: |_| None,
    },
    HostRule {
        name: "failed to prepare, the cluster gave up",
        from: &[PreparingFailed],
        to: &[Known],
        when: |on| on.reachable() && !on.preparing(),
        then: |_| ready(),
    },
    HostRule {
        name: "failed to prepare, the cluster still prepares",
        from: &[PreparingFailed],
        to: &[],
        when: |on| on.reachable(),
        then: |_| None,
    },
    HostRule {
        name: "prepared for nothing",
        from: &[PreparingSuccessful],
        to: &[Known],
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
        to: &[Disconnected],
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
        to: &[Error],
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
        to: &[Error],
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
        to: &[Disconnected],
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
        from: UNDER_WAY,
        to: &[Error],
        when: |on| !on.connected() && !on.soft,
        then: |_| {
            go(
                Error,
                "The host stopped talking to the service during the installation",
            )
        },
    },
    HostRule {
        name: "silent while installing, and waited for",
        from: UNDER_WAY,
        to: &[],
        when: |on| !on.connected() && on.soft && !on.host.connection_timed_out,
        then: |on| {
            note(
                on,
                "The host has stopped talking to the service; the installation goes on in case it comes back, so check its power and network",
                |host, _| host.connection_timed_out = true,
            )
        },
    },
    HostRule {
        name: "talks again while installing",
        from: UNDER_WAY,
        to: &[],
        when: |on| on.connected() && on.soft && on.host.connection_timed_out,
        then: |on| {
            note(on, "The host talks to the service again", |host, _| {
                host.connection_timed_out = false;
            })
        },
    },
    HostRule {
        name: "stage clock stands still while another host needs the user",
        from: &[InstallingInProgress],
        to: &[],
        when: |on| on.waits_for_the_user_elsewhere(),
        then: |on| {
            let last = deadlines::stage_moved(on.host);
            if on.now.since(last) <= deadlines::FROZEN_CLOCK_STEP {
                return None;
            }
            note(on, on.host.status_info.clone(), |host, now| {
                host.progress.stage_updated_at = Some(now);
            })
        },
    },
    HostRule {
        name: "stage took too long",
        from: &[InstallingInProgress],
        to: &[Error],
        when: |on| !on.soft && on.stage_overdue() && !on.writes_to_disk() && !on.reboots(),
        then: |on| {
            go(
                Error,
                format!(
                    "Stage {:?} did not end within {} minutes; collect the logs of the host, then reset the cluster",
                    on.stage(),
                    on.stage_minutes()
                ),
            )
        },
    },
    HostRule {
        name: "writing to disk stands still",
        from: &[InstallingInProgress],
        to: &[Error],
        when: |on| !on.soft && on.stage_overdue() && on.writes_to_disk(),
        then: |on| {
            go(
                Error,
                format!(
                    "Stage {:?} made no progress for {} minutes; check {} and its controller, then reset the cluster",
                    on.stage(),
                    on.stage_minutes(),
                    on.disk()
                ),
            )
        },
    },
    HostRule {
        name: "stage takes long, and is waited for",
        from: &[InstallingInProgress],
        to: &[],
        when: |on| {
            on.soft && on.stage_overdue() && !on.reboots() && !on.host.progress.stage_timed_out
        },
        then: |on| {
            let text = format!(
                "Stage {:?} takes longer than {} minutes; the installation goes on, but look at the console and the logs of the host",
                on.stage(),
                on.stage_minutes()
            );
            let message = format!("Host {}: {text}", inventory::hostname(on.host));
            Some(Next {
                status: InstallingInProgress,
                info: text,
                also: Some(|host, _| host.progress.stage_timed_out = true),
                told: vec![history::about_host(
                    HOST_STAGE_TIMED_OUT,
                    on.host,
                    on.now,
                    message,
                )],
            })
        },
    },
    HostRule {
        name: "did not come back from its reboot",
        from: &[InstallingInProgress],
        to: &[InstallingPendingUserAction],
        when: |on| on.reboots() && on.stage_overdue(),
        then: |on| {
            go(
                InstallingPendingUserAction,
                format!(
                    "The host did not fetch its configuration within {} minutes after its reboot; \
                     make it boot from {} and check its way to the API of the cluster",
                    on.stage_minutes(),
                    on.disk(),
                ),
            )
        },
    },
    HostRule {
        name: "the others are done without it",
        from: &[InstallingPendingUserAction],
        to: &[Error],
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
        to: &[],
        when: |_| true,
        then: |_| None,
    },
    HostRule {
        name: "no inventory yet",
        from: &[Disconnected, Discovering],
        to: &[Discovering],
        when: |on| on.reachable() && on.inventory.is_none_or(Inventory::is_useless),
        then: |_| go(Discovering, "Waiting for the host to describe its hardware"),
    },
    HostRule {
        name: "inventory useless",
        from: &[Insufficient, Known, PendingForInput],
        to: &[Insufficient],
        when: |on| on.reachable() && on.inventory.is_none_or(Inventory::is_useless),
        then: failing,
    },
    HostRule {
        name: "hardware below the minimum",
        from: COLLECTING,
        to: &[Insufficient],
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
        to: &[PendingForInput],
        when: |on| on.reachable() && on.disk_uuids_enabled() && !open(on.findings, Gate::Input),
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
        to: &[Insufficient],
        when: |on| on.reachable() && !(on.disk_uuids_enabled() && open(on.findings, Gate::Install)),
        then: failing,
    },
    HostRule {
        name: "all checks pass",
        from: COLLECTING,
        to: &[Known],
        when: |on| on.reachable(),
        then: |_| ready(),
    },
    HostRule {
        name: "logs did not arrive in time",
        from: &[Error, Cancelled],
        to: &[],
        when: |on| on.logs_overdue(),
        then: |on| {
            note(on, on.host.status_info.clone(), |host, _| {
                host.logs_info = Some(LogsState::Timeout);
            })
        },
    },
    HostRule {
        name: "did not come back to join its cluster",
        from: &[Binding],
        to: &[Disconnected],
        when: |on| !on.reachable() && on.in_status_longer_than(on.settings.timeouts.binding),
        then: |on| {
            let minutes = on.settings.timeouts.binding.as_secs() / 60;
            go(
                Disconnected,
                format!(
                    "The host did not join the cluster within {minutes} minutes after it was bound; boot it from the discovery image again or unbind it"
                ),
            )
        },
    },
    HostRule {
        name: "rests until somebody acts",
        from: &[
            Error,
            Cancelled,
            Resetting,
            AddedToExistingCluster,
            Binding,
            Disabled,
        ],
        to: &[],
        when: |_| true,
        then: |_| None,
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
    forget_logs(host);
}
