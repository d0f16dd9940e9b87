//! Requests of users and controllers on hosts and clusters, from every status.

use muster_model::{ClusterKind, ClusterStatus, HostStage, HostStatus};

use super::{Fleet, heard_no, key, minutes};
use crate::{
    Job, RefusalKind, StepType,
    binding::{self, Release},
    cancel, install, reset,
};

use HostStatus::*;

pub(super) const SCENARIOS: &[fn()] = &[
    cancelling_leaves_alone_what_does_not_install,
    resetting_reaches_every_host_that_left_discovery,
    unbinding_leads_where_the_contract_says,
    a_hub_may_take_a_host_out_of_a_running_installation,
    a_node_is_taken_back_without_hands_or_asks_for_them,
    losing_the_medium_leads_where_the_contract_says,
    a_host_whose_cluster_is_deleted_goes_free,
    an_installed_cluster_is_opened_for_more_hosts_once,
    a_watched_day2_host_joins,
    pool_hosts_are_validated_by_what_any_cluster_needs,
    hosts_that_cannot_be_used_say_so,
    ignored_validations_are_reported_at_the_start,
    what_becomes_of_bootable_disks_is_reported_once_however_often_agents_ask,
];

/// The statuses a host with a cluster can have.
fn bound() -> impl Iterator<Item = HostStatus> {
    HostStatus::ALL
        .iter()
        .copied()
        .filter(|status| !pool().contains(status))
}

pub(super) const fn pool() -> &'static [HostStatus] {
    &[
        Unbinding,
        UnbindingPendingUserAction,
        KnownUnbound,
        DisconnectedUnbound,
        InsufficientUnbound,
        DisabledUnbound,
        DiscoveringUnbound,
        Reclaiming,
        ReclaimingRebooting,
    ]
}

/// A fleet whose first host is in this status.
pub(super) fn with(status: HostStatus) -> Fleet {
    let mut fleet = Fleet::ready(3, 3);
    fleet.force(1, status);
    fleet
}

#[test]
pub(super) fn cancelling_leaves_alone_what_does_not_install() {
    for status in bound() {
        let mut fleet = with(status);
        fleet.cluster.status = ClusterStatus::Installing;
        let decision = cancel::cancel(&fleet.view(), fleet.now).unwrap();
        fleet.store(decision);
        let expected = match status {
            InstallingPendingUserAction | Installing | InstallingInProgress | Installed | Error => {
                Cancelled
            }
            PreparingForInstallation | PreparingSuccessful | PreparingFailed => Known,
            other => other,
        };
        assert_eq!(fleet.status(1), expected, "{status}");
        assert_eq!(
            fleet.event_count("host_installation_cancelled"),
            usize::from(expected != status),
            "{status}"
        );
        assert_eq!(fleet.cluster.status, ClusterStatus::Cancelled);
    }
    for status in ClusterStatus::ALL {
        let mut fleet = Fleet::ready(3, 3);
        fleet.cluster.status = *status;
        let answer = cancel::cancel(&fleet.view(), fleet.now).inspect_err(heard_no);
        let begun = status.is_installing()
            || matches!(
                status,
                ClusterStatus::Error | ClusterStatus::PreparingForInstallation
            );
        assert_eq!(answer.is_ok(), begun, "{status}");
    }
}

#[test]
pub(super) fn resetting_reaches_every_host_that_left_discovery() {
    for status in bound() {
        let mut fleet = with(status);
        fleet.cluster.status = ClusterStatus::Error;
        let decision = reset::reset(&fleet.view(), fleet.now).unwrap();
        assert_eq!(decision.jobs, [Job::DeleteClusterFiles(fleet.cluster.id)]);
        fleet.store(decision);
        let expected = match status {
            Disconnected | Insufficient | Disabled | Binding => status,
            _ => ResettingPendingUserAction,
        };
        assert_eq!(fleet.status(1), expected, "{status}");
    }
    for status in ClusterStatus::ALL {
        let mut fleet = Fleet::ready(3, 3);
        fleet.cluster.status = *status;
        let answer = reset::reset(&fleet.view(), fleet.now).inspect_err(heard_no);
        let begun = status.is_installing()
            || matches!(
                status,
                ClusterStatus::Error
                    | ClusterStatus::Cancelled
                    | ClusterStatus::PreparingForInstallation
            );
        assert_eq!(answer.is_ok(), begun, "{status}");
    }
    let fleet = Fleet::ready(3, 3);
    let refusal = reset::reset_host(&fleet.view(), key(1), fleet.now).inspect_err(heard_no);
    assert_eq!(refusal.unwrap_err().kind, RefusalKind::Conflict);
    let refusal = reset::reset_host(&fleet.view(), key(9), fleet.now).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Missing);
}

#[test]
pub(super) fn unbinding_leads_where_the_contract_says() {
    for status in bound() {
        let fleet = with(status);
        let answer = binding::unbind(fleet.host(1), false, fleet.now).inspect_err(heard_no);
        let led = answer
            .map(|decision| decision.hosts[0].status)
            .map_err(|no| no.kind);
        let expected = match status {
            Known | Discovering | Disconnected | Insufficient | PendingForInput | Binding => {
                Ok(Unbinding)
            }
            Installed | AddedToExistingCluster | Error | Cancelled | ResettingPendingUserAction => {
                Ok(UnbindingPendingUserAction)
            }
            _ => Err(RefusalKind::Conflict),
        };
        assert_eq!(led, expected, "{status}");
    }
}

#[test]
pub(super) fn a_hub_may_take_a_host_out_of_a_running_installation() {
    for status in [
        PreparingForInstallation,
        Installing,
        InstallingInProgress,
        InstallingPendingUserAction,
    ] {
        let mut fleet = with(status);
        let decision = binding::release(fleet.host(1), Release::ByHand, fleet.now).unwrap();
        fleet.store(decision);
        assert_eq!(fleet.status(1), UnbindingPendingUserAction);
        assert_eq!(fleet.host(1).cluster, None);
        fleet.refresh();
        assert_eq!(
            fleet.status(1),
            UnbindingPendingUserAction,
            "it waits for hands"
        );
        assert!(binding::release(fleet.host(1), Release::ByHand, fleet.now).is_err());
    }
}

#[test]
pub(super) fn a_node_is_taken_back_without_hands_or_asks_for_them() {
    for status in bound() {
        let fleet = with(status);
        let answer =
            binding::release(fleet.host(1), Release::Reclaim, fleet.now).inspect_err(heard_no);
        let led = answer
            .map(|decision| decision.hosts[0].status)
            .map_err(|no| no.kind);
        let expected = match status {
            Installed | AddedToExistingCluster => Ok(Reclaiming),
            Known | Discovering | Disconnected | Insufficient | PendingForInput => Ok(Unbinding),
            Error | Cancelled => Ok(UnbindingPendingUserAction),
            _ => Err(RefusalKind::Conflict),
        };
        assert_eq!(led, expected, "{status}");
    }
    let mut fleet = with(Installed);
    let decision = binding::release(fleet.host(1), Release::Reclaim, fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
    assert_eq!(fleet.status(1), Reclaiming);
    let mut failed = fleet.clone();
    failed.say(1, StepType::DownloadBootArtifacts, 1, "");
    assert_eq!(failed.status(1), UnbindingPendingUserAction);
    fleet.say(1, StepType::DownloadBootArtifacts, 0, "");
    assert_eq!(fleet.status(1), ReclaimingRebooting);
    let welcome = fleet.boot(1);
    assert!(welcome.is_ok());
    assert_eq!(fleet.status(1), DiscoveringUnbound);
}

#[test]
pub(super) fn losing_the_medium_leads_where_the_contract_says() {
    for status in HostStatus::ALL {
        let mut fleet = with(*status);
        let index = fleet.index(1);
        if pool().contains(status) {
            fleet.hosts[index].cluster = None;
        }
        let reply = crate::replies::StepReply {
            step_type: StepType::NtpSynchronizer,
            exit_code: 256,
            output: String::new(),
            error: String::new(),
        };
        fleet.reply(index, &reply);
        let expected = match status {
            Discovering | Insufficient | Known | PendingForInput | Disconnected | Binding => {
                Disconnected
            }
            PreparingForInstallation
            | PreparingFailed
            | PreparingSuccessful
            | Installing
            | InstallingInProgress
            | Error => Error,
            DiscoveringUnbound | InsufficientUnbound | KnownUnbound | DisconnectedUnbound
            | Unbinding => DisconnectedUnbound,
            other => *other,
        };
        assert_eq!(fleet.status(1), expected, "{status}");
        let lost = fleet.event_count("host_media_disconnected") == 1;
        assert_eq!(lost, !fleet.host(1).media_connected, "{status}");
        fleet.refresh();
        fleet.reply(index, &reply);
        assert!(
            fleet.event_count("host_media_disconnected") <= 1,
            "{status}"
        );
    }
}

#[test]
pub(super) fn a_host_whose_cluster_is_deleted_goes_free() {
    for status in HostStatus::ALL {
        let mut host = with(*status).host(1).clone();
        let found = binding::orphan(&mut host, super::START);
        assert_eq!(host.cluster, None, "{status}");
        let free = [Unbinding, UnbindingPendingUserAction];
        assert!(
            free.contains(&host.status) || pool().contains(status),
            "{status}"
        );
        assert_eq!(found.is_empty(), host.status == *status, "{status}");
    }
}

#[test]
pub(super) fn an_installed_cluster_is_opened_for_more_hosts_once() {
    for status in ClusterStatus::ALL {
        let mut fleet = Fleet::ready(3, 3);
        fleet.cluster.status = *status;
        let answer = install::allow_add_hosts(&fleet.view(), fleet.now).map_err(|no| no.kind);
        assert_eq!(
            answer.is_ok(),
            *status == ClusterStatus::Installed,
            "{status}"
        );
        if let Ok(decision) = answer {
            fleet.store(decision);
            assert_eq!(
                (
                    fleet.cluster.kind,
                    fleet.cluster.status,
                    fleet.cluster.api_vip_dns_name.as_deref()
                ),
                (
                    ClusterKind::AddHostsCluster,
                    ClusterStatus::AddingHosts,
                    Some("192.0.2.200")
                )
            );
            let again = install::allow_add_hosts(&fleet.view(), fleet.now).unwrap_err();
            assert_eq!(again.kind, RefusalKind::Invalid);
        }
    }
    let mut fleet = Fleet::ready(1, 1);
    fleet.cluster.status = ClusterStatus::Installed;
    let decision = install::allow_add_hosts(&fleet.view(), fleet.now).unwrap();
    fleet.store(decision);
    let name = fleet.cluster.api_vip_dns_name.as_deref();
    assert_eq!(name, Some("api.muster.example.com"));
}

/// A day-2 host that is installing into a cluster that is watched.
fn day2_watched() -> Fleet {
    let mut fleet = Fleet::new(3, 1);
    fleet.cluster.kind = ClusterKind::AddHostsCluster;
    fleet.cluster.status = ClusterStatus::AddingHosts;
    fleet.cluster.api_vip_dns_name = Some("api.muster.example.com".into());
    fleet.boot_all();
    fleet.settle();
    let decision = install::start_host(&fleet.view(), key(1), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
    fleet.hosts[0].followed = true;
    fleet
}

#[test]
pub(super) fn a_watched_day2_host_joins() {
    let mut fleet = day2_watched();
    for stage in [HostStage::StartingInstallation, HostStage::Rebooting] {
        fleet.stage(1, stage).unwrap();
        assert_eq!(
            (fleet.status(1), fleet.host(1).progress.stage),
            (InstallingInProgress, Some(stage))
        );
    }
    fleet.stage(1, HostStage::Joined).unwrap();
    fleet.stage(1, HostStage::Done).unwrap();
    assert_eq!(fleet.status(1), AddedToExistingCluster);
    fleet.refresh();
    assert_eq!(fleet.status(1), AddedToExistingCluster);
}

#[test]
pub(super) fn pool_hosts_are_validated_by_what_any_cluster_needs() {
    let mut fleet = Fleet::ready(3, 3)
        .edit(1, |machine| machine.cores = 1)
        .edit(2, |machine| machine.alive = false);
    for number in 1..=3 {
        let decision = binding::unbind(fleet.host(number), false, fleet.now).unwrap();
        fleet.store(decision);
    }
    fleet.refresh();
    assert!(fleet.statuses().iter().all(|status| *status == Unbinding));
    fleet.pass(minutes(5));
    assert_eq!(fleet.status(1), InsufficientUnbound);
    assert_eq!(fleet.status(2), DisconnectedUnbound);
    assert_eq!(fleet.status(3), KnownUnbound);
    let refusal = binding::bind(
        fleet.host(1),
        fleet.cluster.id,
        Some(&fleet.cluster),
        fleet.now,
    )
    .inspect_err(heard_no)
    .unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Conflict);
}

#[test]
pub(super) fn hosts_that_cannot_be_used_say_so() {
    let mut fleet = Fleet::new(3, 3)
        .edit(1, |machine| machine.cores = 1)
        .edit(2, |machine| machine.hostname = "localhost".into());
    fleet.cluster.api_vips = Some(Vec::new());
    fleet.cluster.ingress_vips = Some(Vec::new());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.status(1), Insufficient);
    assert_eq!(fleet.status(3), PendingForInput);
    let index = fleet.index(3);
    let truncated = r#"{"hostname":"x","truncation":{"type":"full"}}"#;
    fleet.hosts[index].reports.inventory = Some(truncated.into());
    fleet.refresh();
    assert_eq!(fleet.status(3), Insufficient);
}

#[test]
pub(super) fn what_becomes_of_bootable_disks_is_reported_once_however_often_agents_ask() {
    let mut fleet = Fleet::ready(3, 3).edit(1, |machine| {
        machine.oddity = Some(|inventory| {
            let mut second = inventory["disks"][0].clone();
            second["name"] = "sdb".into();
            second["id"] = "/dev/disk/by-id/second".into();
            inventory["disks"].as_array_mut().unwrap().push(second);
        });
    });
    fleet.settle();
    let index = fleet.index(1);
    fleet.hosts[index].skip_formatting_disks = vec!["/dev/disk/by-id/second".into()];
    fleet.start();
    fleet.poll_all();
    assert_eq!(fleet.status(1), Installing);
    assert_eq!(fleet.event_count("quick_disk_format_performed"), 3);
    assert_eq!(fleet.event_count("quick_disk_format_skipped"), 1);
}

#[test]
pub(super) fn ignored_validations_are_reported_at_the_start() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.ignored_host_validations = Some(r#"["has-min-memory"]"#.into());
    fleet.start();
    assert_eq!(fleet.event_count("validations_ignored"), 1);
}
