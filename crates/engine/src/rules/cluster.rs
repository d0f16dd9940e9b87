//! How a cluster changes when time passes or its hosts, operators or checks change.

use muster_model::{Cluster, ClusterStatus, Event, HostStatus, LogsState};

use super::cluster_effects::{begin_installing, completed, restart_stage_clock};
pub(crate) use super::cluster_facts::ClusterFacts;
use crate::{
    checks::cluster::{Gate, open},
    events,
};

/// One row: in these statuses, when this holds, do that.
pub(crate) struct ClusterRule {
    pub(crate) name: &'static str,
    pub(crate) from: &'static [ClusterStatus],
    /// Where it may lead; nowhere if empty.
    pub(crate) to: &'static [ClusterStatus],
    pub(crate) when: fn(&ClusterFacts<'_>) -> bool,
    pub(crate) then: fn(&ClusterFacts<'_>) -> Option<Next>,
}

/// Where a cluster goes, what else changes and which events follow.
pub(crate) struct Next {
    pub(crate) status: ClusterStatus,
    pub(crate) info: String,
    pub(crate) also: fn(&mut Cluster, &ClusterFacts<'_>),
    pub(crate) events: Vec<Event>,
}

use ClusterStatus::*;

/// Statuses in which settings may change and validations are evaluated.
pub(crate) const EDITABLE: &[ClusterStatus] = &[PendingForInput, Ready, Insufficient];

fn go(status: ClusterStatus, info: impl Into<String>) -> Option<Next> {
    Some(Next {
        status,
        info: info.into(),
        also: |_, _| {},
        events: Vec::new(),
    })
}

/// The table.
pub(crate) static CLUSTER_RULES: &[ClusterRule] = &[
    ClusterRule {
        name: "the user must decide",
        from: EDITABLE,
        to: &[PendingForInput],
        when: |on| {
            !open(on.findings, Gate::Input) || (!on.dhcp() && !open(on.findings, Gate::Vips))
        },
        then: |_| {
            go(
                PendingForInput,
                "Settings are missing; see the validations of the cluster",
            )
        },
    },
    ClusterRule {
        name: "some check fails",
        from: EDITABLE,
        to: &[Insufficient],
        when: |on| !open(on.findings, Gate::Install) || !open(on.findings, Gate::Vips),
        then: |_| {
            go(
                Insufficient,
                "The cluster cannot be installed yet; see the validations of cluster and hosts",
            )
        },
    },
    ClusterRule {
        name: "all checks pass",
        from: EDITABLE,
        to: &[Ready],
        when: |_| true,
        then: |_| go(Ready, "The cluster is ready to be installed"),
    },
    ClusterRule {
        name: "preparation took too long",
        from: &[PreparingForInstallation],
        to: &[Ready],
        when: |on| {
            on.in_status_longer_than(on.settings.timeouts.cluster_preparing)
                && !on.some_host(HostStatus::PreparingFailed)
        },
        then: |on| {
            let reason = "The installation could not be prepared in time; see the hosts, then start it again";
            Some(Next {
                status: Ready,
                info: reason.to_owned(),
                also: |cluster, _| {
                    cluster.preparation.status = Some("failed".to_owned());
                    cluster.preparation.reason = Some("The preparation timed out".to_owned());
                },
                events: vec![on.event(events::INSTALLATION_PREPARING_TIMED_OUT, reason)],
            })
        },
    },
    ClusterRule {
        name: "all hosts and files are prepared",
        from: &[PreparingForInstallation],
        to: &[Installing],
        when: |on| {
            !on.hosts.is_empty()
                && on
                    .hosts
                    .iter()
                    .all(|host| host.status == HostStatus::PreparingSuccessful)
                && on.preparation("success")
        },
        then: |_| {
            Some(Next {
                status: Installing,
                info: "The installation has begun".to_owned(),
                also: begin_installing,
                events: Vec::new(),
            })
        },
    },
    ClusterRule {
        name: "a host stopped preparing",
        from: &[PreparingForInstallation],
        to: &[Insufficient],
        when: |on| on.hosts.is_empty() || !on.hosts.iter().all(|host| is_preparing(host.status)),
        then: |_| {
            go(
                Insufficient,
                "The preparation was aborted: at least one host left it",
            )
        },
    },
    ClusterRule {
        name: "preparation failed",
        from: &[PreparingForInstallation],
        to: &[Ready],
        when: |on| on.some_host(HostStatus::PreparingFailed) || on.preparation("failed"),
        then: |on| {
            let reason = on
                .cluster
                .preparation
                .reason
                .as_deref()
                .filter(|_| on.preparation("failed"));
            go(
                Ready,
                format!(
                    "The installation could not be prepared: {}",
                    reason.unwrap_or("a host failed to prepare")
                ),
            )
        },
    },
    ClusterRule {
        name: "too few hosts are left while one needs the user",
        from: &[InstallingPendingUserAction],
        to: &[Error],
        when: |on| !on.enough_installing() && !on.enough_installed(),
        then: |on| failed(on, "Too many hosts failed for the cluster to work"),
    },
    ClusterRule {
        name: "waited too long for the user",
        from: &[InstallingPendingUserAction],
        to: &[Error],
        when: |on| on.installation_overdue(),
        then: |on| {
            failed(
                on,
                "The installation took too long while a host waited for the user",
            )
        },
    },
    ClusterRule {
        name: "the installation took too long",
        from: &[Installing, Finalizing],
        to: &[Error],
        when: |on| on.soft() && on.installation_overdue(),
        then: |on| {
            let minutes = on.settings.timeouts.installation.as_secs() / 60;
            failed(
                on,
                format!("The installation did not end within {minutes} minutes"),
            )
        },
    },
    ClusterRule {
        name: "finalizing took too long",
        from: &[Finalizing],
        to: &[Error],
        when: |on| !on.soft() && on.in_status_longer_than(on.settings.timeouts.finalizing),
        then: |on| {
            let minutes = on.settings.timeouts.finalizing.as_secs() / 60;
            failed(
                on,
                format!("The cluster did not come up within {minutes} minutes"),
            )
        },
    },
    ClusterRule {
        name: "a finalizing stage took too long",
        from: &[Finalizing],
        to: &[Error],
        when: |on| !on.soft() && on.stage_overdue() && !on.stage_may_fail(),
        then: |on| {
            let (stage, minutes) = on.stage();
            failed(
                on,
                format!("Stage {stage:?} did not end within {minutes} minutes"),
            )
        },
    },
    ClusterRule {
        name: "a finalizing stage takes long, and the cluster waits",
        from: &[Finalizing],
        to: &[],
        when: |on| on.stage_overdue() && !on.cluster.progress.finalizing_stage_timed_out,
        then: |on| {
            let (stage, minutes) = on.stage();
            let consequence = if on.stage_may_fail() {
                "operators that are not available yet count as failed"
            } else {
                "waiting for the cluster; check its operators"
            };
            let text =
                format!("Stage {stage:?} takes longer than {minutes} minutes; {consequence}");
            Some(Next {
                status: Finalizing,
                info: text.clone(),
                also: |cluster, _| cluster.progress.finalizing_stage_timed_out = true,
                events: vec![on.event(events::FINALIZING_STAGE_TIMED_OUT, text)],
            })
        },
    },
    ClusterRule {
        name: "a host still needs the user",
        from: &[InstallingPendingUserAction],
        to: &[],
        when: |on| on.some_host(HostStatus::InstallingPendingUserAction),
        then: |_| None,
    },
    ClusterRule {
        name: "the user acted, the cluster continues finalizing",
        from: &[InstallingPendingUserAction],
        to: &[Finalizing],
        when: |on| on.enough_installed(),
        then: |_| {
            Some(Next {
                status: Finalizing,
                info: "Finalizing the installation".to_owned(),
                also: restart_stage_clock,
                events: Vec::new(),
            })
        },
    },
    ClusterRule {
        name: "the user acted, the cluster continues installing",
        from: &[InstallingPendingUserAction],
        to: &[Installing],
        when: |_| true,
        then: |_| go(Installing, "The installation continues"),
    },
    ClusterRule {
        name: "a host needs the user",
        from: &[Installing, Finalizing],
        to: &[InstallingPendingUserAction],
        when: |on| {
            on.some_host(HostStatus::InstallingPendingUserAction)
                && (on.enough_installing() || on.enough_installed())
        },
        then: |_| {
            go(
                InstallingPendingUserAction,
                "A host waits for the user; see the hosts",
            )
        },
    },
    ClusterRule {
        name: "enough hosts are installed",
        from: &[Installing],
        to: &[Finalizing],
        when: |on| on.enough_installed(),
        then: |_| go(Finalizing, "Finalizing the installation"),
    },
    ClusterRule {
        name: "installation goes on",
        from: &[Installing],
        to: &[],
        when: |on| on.enough_installing(),
        then: |_| None,
    },
    ClusterRule {
        name: "everything is there",
        from: &[Finalizing],
        to: &[Installed],
        when: |on| on.all_hosts_settled() && on.complete(),
        then: completed,
    },
    ClusterRule {
        name: "too few hosts are left",
        from: &[Installing],
        to: &[Error],
        when: |_| true,
        then: |on| failed(on, "Too many hosts failed for the cluster to work"),
    },
    ClusterRule {
        name: "logs did not arrive in time",
        from: &[Error, Cancelled],
        to: &[],
        when: |on| on.logs_overdue(),
        then: |on| {
            Some(Next {
                status: on.cluster.status,
                info: on.cluster.status_info.clone(),
                also: |cluster, _| cluster.logs_info = Some(LogsState::Timeout),
                events: Vec::new(),
            })
        },
    },
    ClusterRule {
        name: "waits for an action or an event",
        from: &[
            PreparingForInstallation,
            Finalizing,
            Installed,
            Error,
            Cancelled,
            AddingHosts,
            Unmonitored,
        ],
        to: &[],
        when: |_| true,
        then: |_| None,
    },
];

fn failed(on: &ClusterFacts<'_>, reason: impl Into<String>) -> Option<Next> {
    let reason = reason.into();
    let events = vec![on.event(
        events::CLUSTER_INSTALLATION_FAILED,
        format!(
            "The installation of cluster {} failed: {reason}",
            on.cluster.name
        ),
    )];
    Some(Next {
        status: Error,
        info: reason,
        also: |_, _| {},
        events,
    })
}

const fn is_preparing(status: HostStatus) -> bool {
    matches!(
        status,
        HostStatus::PreparingForInstallation
            | HostStatus::PreparingSuccessful
            | HostStatus::PreparingFailed
            | HostStatus::Known
    )
}
