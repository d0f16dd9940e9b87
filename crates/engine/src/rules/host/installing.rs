//! While the installer runs, and what is left to do after it failed.

use muster_model::{ClusterStatus, HostStatus, LogsState};

use super::{HostRule, Next, go, note};
use crate::{deadlines, events::HOST_STAGE_TIMED_OUT, history, inventory};

use HostStatus::*;

const INSTALLING: &[HostStatus] = &[
    Installing,
    InstallingInProgress,
    Installed,
    ResettingPendingUserAction,
    InstallingPendingUserAction,
];

/// The installer runs or should run.
const UNDER_WAY: &[HostStatus] = &[Installing, InstallingInProgress];

pub(super) static ROWS: &[HostRule] = &[
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
        name: "instructed to install, but nothing happens",
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
        name: "silent while installing",
        from: UNDER_WAY,
        to: &[Error],
        when: |on| !on.connected() && !on.soft,
        then: |_| {
            go(
                Error,
                "The host stopped polling the service during the installation",
            )
        },
    },
    HostRule {
        name: "silent while installing, and the cluster waits",
        from: UNDER_WAY,
        to: &[],
        when: |on| !on.connected() && on.soft && !on.host.connection_timed_out,
        then: |on| {
            note(
                on,
                "The host has stopped polling the service; the installation continues in case it returns, so check its power and network",
                |host, _| host.connection_timed_out = true,
            )
        },
    },
    HostRule {
        name: "polls again while installing",
        from: UNDER_WAY,
        to: &[],
        when: |on| on.connected() && on.soft && on.host.connection_timed_out,
        then: |on| {
            note(on, "The host polls the service again", |host, _| {
                host.connection_timed_out = false;
            })
        },
    },
    HostRule {
        name: "stage timeout paused while another host needs the user",
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
        name: "writing to disk is stuck",
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
        name: "stage takes long, and the cluster waits",
        from: &[InstallingInProgress],
        to: &[],
        when: |on| {
            on.soft && on.stage_overdue() && !on.reboots() && !on.host.progress.stage_timed_out
        },
        then: |on| {
            let text = format!(
                "Stage {:?} takes longer than {} minutes; the installation continues, but check the console and the logs of the host",
                on.stage(),
                on.stage_minutes()
            );
            let message = format!("Host {}: {text}", inventory::hostname(on.host));
            Some(Next {
                status: InstallingInProgress,
                info: text,
                also: Some(|host, _| host.progress.stage_timed_out = true),
                events: vec![history::about_host(
                    HOST_STAGE_TIMED_OUT,
                    on.host,
                    on.now,
                    message,
                )],
            })
        },
    },
    HostRule {
        name: "did not return from its reboot",
        from: &[InstallingInProgress],
        to: &[InstallingPendingUserAction],
        when: |on| on.reboots() && on.stage_overdue(),
        then: |on| {
            go(
                InstallingPendingUserAction,
                format!(
                    "The host did not fetch its configuration within {} minutes after its reboot; \
                     make it boot from {} and check its connection to the cluster's API",
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
];
