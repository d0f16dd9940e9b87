//! Failures during an installation, and how it ends.

use muster_model::{ClusterStatus, HostRole, HostStage, HostStatus, Severity};

use super::Fleet;
use crate::{Job, RefusalKind, StepType, cancel, install, reset};

#[test]
pub(super) fn a_failed_image_pull_brings_cluster_and_host_back_and_a_second_try_succeeds() {
    let mut fleet = Fleet::ready(3, 3).edit(2, |m| m.bad_image = Some("installer".into()));
    fleet.start();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert!(
        fleet.statuses().iter().all(|s| *s == HostStatus::Known),
        "{:?}",
        fleet.statuses()
    );
    assert!(
        fleet
            .events
            .iter()
            .any(|e| e.message.contains("preparing-failed"))
    );
    let mut fleet = fleet.edit(2, |m| m.bad_image = None);
    fleet.start();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
}

#[test]
fn images_of_a_release_that_is_read_late_are_waited_for() {
    const LATE: &str = "registry.example.com/machine-config-operator@sha256:0";
    let mut fleet = Fleet::ready(3, 3);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    let installer = &fleet.settings.images.installer;
    let early = format!(r#"{{"images":[{{"name":"{installer}","result":"success"}}]}}"#);
    for number in 1..=3 {
        fleet.say(number, StepType::ContainerImageAvailability, 0, &early);
    }
    fleet.settings.images.machine_config_operator = Some(LATE.to_owned());
    for number in 1..=3 {
        let disk = format!(r#"{{"path":"/dev/disk/by-id/wwn-{number}","io_sync_duration":1}}"#);
        fleet.say(number, StepType::InstallationDiskSpeedCheck, 0, &disk);
        assert_eq!(fleet.status(number), HostStatus::PreparingForInstallation);
    }
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    for host in &fleet.hosts {
        let found = host.reports.images_status.as_deref().unwrap_or_default();
        assert!(found.contains(LATE), "{found}");
    }
}

#[test]
pub(super) fn a_failed_disk_check_makes_the_host_insufficient_and_says_which_disk() {
    let mut fleet = Fleet::ready(3, 3).edit(3, |m| m.disk_check_exit_code = 255);
    fleet.start();
    assert_eq!(fleet.status(3), HostStatus::Insufficient);
    assert!(
        fleet.host(3).status_info.contains("/dev/disk/by-id/wwn-3"),
        "{}",
        fleet.host(3).status_info
    );
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    assert_eq!(fleet.status(1), HostStatus::Known);
}

#[test]
pub(super) fn files_that_cannot_be_made_bring_the_cluster_back_to_ready_with_the_reason() {
    let mut fleet = Fleet::ready(3, 3);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    assert!(
        decision
            .jobs
            .contains(&Job::MakeClusterFiles(fleet.cluster.id))
    );
    fleet.store(decision);
    fleet.jobs.clear();
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::PreparingForInstallation)
    );
    let decision = install::files_failed(&fleet.view(), "no room for keys", fleet.now);
    fleet.store(decision);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert_eq!(
        fleet.cluster.preparation.reason.as_deref(),
        Some("no room for keys")
    );
    assert_eq!(fleet.event_count("prepare_installation_failed"), 1);
}

#[test]
pub(super) fn a_failed_master_fails_the_cluster_and_a_failed_spare_worker_does_not() {
    let mut fleet = Fleet::ready(3, 6);
    fleet.start();
    let worker = fleet
        .hosts
        .iter()
        .find(|h| h.role == HostRole::Worker)
        .unwrap()
        .id
        .0
        .as_u128();
    fleet.stage(worker, HostStage::Failed).unwrap();
    assert_eq!(fleet.status(worker), HostStatus::Error);
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    let master = fleet
        .hosts
        .iter()
        .find(|h| h.role == HostRole::Master)
        .unwrap()
        .id
        .0
        .as_u128();
    fleet.stage(master, HostStage::Failed).unwrap();
    assert_eq!(fleet.cluster.status, ClusterStatus::Error);
    assert!(fleet.statuses().iter().all(|s| *s == HostStatus::Error));
    let failure = fleet
        .events
        .iter()
        .find(|e| e.name == "cluster_installation_failed")
        .unwrap();
    assert_eq!(failure.severity, Severity::Critical);
}

#[test]
pub(super) fn a_failed_installer_step_fails_its_host_unless_the_installer_runs_already() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    let mut reply = crate::replies::StepReply {
        step_type: StepType::Install,
        exit_code: 125,
        output: String::new(),
        error: "Error: the container name \"assisted-installer\" is already in use by 12ab".into(),
    };
    fleet.reply(0, &reply);
    assert_eq!(fleet.status(1), HostStatus::Installing);
    reply.exit_code = 2;
    fleet.reply(0, &reply);
    assert_eq!(fleet.status(1), HostStatus::Error);
}

#[test]
pub(super) fn cancel_then_reset_then_reboot_leads_back_to_ready() {
    let mut fleet = Fleet::ready(3, 3);
    assert_eq!(
        cancel::cancel(&fleet.view(), fleet.now).unwrap_err().kind,
        RefusalKind::Conflict
    );
    fleet.start();
    let decision = cancel::cancel(&fleet.view(), fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Cancelled);
    assert!(fleet.statuses().iter().all(|s| *s == HostStatus::Cancelled));
    let refusal = fleet.boot(1).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Invalid);
    assert_eq!(refusal.events[0].name, "host_registration_failed");

    let decision = reset::reset(&fleet.view(), fleet.now).unwrap();
    assert!(
        decision
            .jobs
            .contains(&Job::DeleteClusterFiles(fleet.cluster.id))
    );
    fleet.store(decision);
    fleet.refresh();
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::ResettingPendingUserAction)
    );
    assert_eq!(fleet.cluster.progress.total, 0);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::Ready,
        "{:?}",
        fleet.statuses()
    );
    fleet.start();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
}

#[test]
pub(super) fn cancelling_a_preparation_makes_everything_ready_again() {
    let mut fleet = Fleet::ready(3, 3);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    let decision = cancel::cancel(&fleet.view(), fleet.now).unwrap();
    fleet.store(decision);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    assert!(fleet.statuses().iter().all(|s| *s == HostStatus::Known));
}

#[test]
pub(super) fn a_silent_host_is_disconnected_at_the_moment_the_engine_asked_to_be_woken() {
    let mut fleet = Fleet::ready(3, 3).edit(2, |m| m.alive = false);
    let decision = crate::refresh(&fleet.view(), &fleet.settings, fleet.now);
    let wake_at = decision.wake_at.unwrap();
    fleet.now = muster_model::Timestamp(wake_at.0 - 1);
    fleet.refresh();
    assert_eq!(fleet.status(2), HostStatus::Known);
    fleet.now = wake_at;
    fleet.poll_all();
    assert_eq!(fleet.status(2), HostStatus::Disconnected);
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    let mut fleet = fleet.edit(2, |m| m.alive = true);
    fleet.settle();
    assert_eq!(fleet.status(2), HostStatus::Known);
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}

#[test]
pub(super) fn a_host_that_boots_the_image_again_needs_the_user_and_can_go_on() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    let number = fleet
        .hosts
        .iter()
        .find(|h| !h.bootstrap)
        .unwrap()
        .id
        .0
        .as_u128();
    for stage in [HostStage::StartingInstallation, HostStage::Rebooting] {
        fleet.stage(number, stage).unwrap();
    }
    fleet.boot(number).unwrap();
    fleet.refresh();
    assert_eq!(
        fleet.status(number),
        HostStatus::InstallingPendingUserAction
    );
    assert!(
        fleet.host(number).status_info.contains("sda"),
        "{}",
        fleet.host(number).status_info
    );
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::InstallingPendingUserAction
    );
    // Not a conflict: the agent must try again until the boot order is corrected.
    assert_eq!(fleet.boot(number).unwrap_err().kind, RefusalKind::Invalid);
    fleet.stage(number, HostStage::Joined).unwrap();
    assert_eq!(fleet.status(number), HostStatus::InstallingInProgress);
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
}

#[test]
pub(super) fn an_installed_host_that_boots_the_image_is_asked_to_wait() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.start();
    fleet.install_all();
    assert_eq!(fleet.boot(1).unwrap_err().kind, RefusalKind::Conflict);
    assert_eq!(fleet.status(1), HostStatus::Installed);
}

#[test]
pub(super) fn losing_the_boot_medium_disconnects_a_known_host_and_finding_it_again_heals_it() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.say(1, StepType::NtpSynchronizer, 256, "");
    assert_eq!(fleet.status(1), HostStatus::Disconnected);
    fleet.say(1, StepType::NtpSynchronizer, 256, "");
    assert_eq!(fleet.event_count("host_media_disconnected"), 1);
    fleet.say(1, StepType::NtpSynchronizer, 0, r#"{"ntp_sources":[]}"#);
    assert_eq!(fleet.status(1), HostStatus::Known);
}

#[test]
pub(super) fn a_host_that_restarts_while_preparing_is_prepared_again_and_the_files_stay() {
    let mut fleet = Fleet::ready(3, 3);
    let decision = install::start(&fleet.view(), &fleet.settings, fleet.now).unwrap();
    fleet.store(decision);
    let decision = install::files_ready(&fleet.view(), None, fleet.now);
    fleet.store(decision);
    fleet.boot(1).unwrap();
    assert_eq!(fleet.status(1), HostStatus::Known);
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
}

#[test]
pub(super) fn a_failed_disk_check_can_be_forgotten_and_taken_again() {
    let mut fleet = Fleet::ready(3, 3).edit(3, |m| m.disk_check_exit_code = 255);
    fleet.start();
    assert_eq!(fleet.status(3), HostStatus::Insufficient);
    let disk = "sufficient-installation-disk-speed";
    let decision = reset::reset_validation(fleet.host(3), disk, fleet.now).unwrap();
    fleet.store(decision);
    let mut fleet = fleet.edit(3, |m| m.disk_check_exit_code = 0);
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    fleet.start();
    assert_eq!(fleet.cluster.status, ClusterStatus::Installing);
    let refusal = reset::reset_validation(fleet.host(3), "connected", fleet.now).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Invalid);
}
