//! What agents' answers become.

use super::*;
use crate::testing::{Fleet, key};

fn say(
    fleet: &Fleet,
    step_type: StepType,
    exit_code: i64,
    output: &str,
) -> Result<Decision, BadReply> {
    let reply = StepReply {
        step_type,
        exit_code,
        output: output.into(),
        error: "broken".into(),
    };
    let around = Surroundings {
        cluster: Some(&fleet.cluster),
        peers: &[],
        infra_env: None,
    };
    apply(fleet.host(1), &around, &reply, &fleet.settings, fleet.now)
}

#[test]
fn garbage_is_refused_where_a_report_was_expected_and_nothing_is_stored() {
    let fleet = Fleet::ready(3, 3);
    for step in [
        StepType::Inventory,
        StepType::ConnectivityCheck,
        StepType::FreeNetworkAddresses,
        StepType::NtpSynchronizer,
        StepType::DomainResolution,
        StepType::VerifyVips,
        StepType::ApiVipConnectivityCheck,
        StepType::InstallationDiskSpeedCheck,
        StepType::ContainerImageAvailability,
    ] {
        for output in ["nonsense", "{\"", "7", "\u{fffd}"] {
            let bad = say(&fleet, step, 0, output).unwrap_err();
            assert_eq!(bad.http_status(), 400, "{step}: {output}");
            assert!(bad.to_string().contains(step.as_str()), "{bad}");
        }
    }
}

#[test]
fn a_failed_step_is_never_an_error_of_the_request() {
    let fleet = Fleet::ready(3, 3);
    for step in StepType::ALL {
        let decision = say(&fleet, *step, 1, "nonsense").unwrap();
        assert!(decision.cluster.is_none(), "{step}");
    }
}

#[test]
fn an_inventory_loses_virtual_cards_and_gets_its_disks_judged() {
    let fleet = Fleet::ready(3, 3);
    let stored = fleet.host(1).reports.inventory.clone().unwrap();
    let inventory = crate::inventory::Inventory::parse(&stored).unwrap();
    assert_eq!(
        inventory.interfaces.items().len(),
        1,
        "the loopback is gone"
    );
    assert!(inventory.disks.items()[0].installation_eligibility.eligible);
    assert_eq!(
        fleet.host(1).disks_to_be_formatted,
        ["/dev/disk/by-id/wwn-1"]
    );
    let bare = say(&fleet, StepType::Inventory, 0, "{}").unwrap();
    let host = bare.host(key(1)).unwrap();
    assert_eq!(
        host.reports.inventory.as_deref(),
        Some(r#"{"disks":null,"gpus":null,"interfaces":[],"routes":null}"#)
    );
    assert_eq!(host.installation_disk_id, None);
}

#[test]
fn an_inventory_during_preparation_is_not_taken() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.hosts[0].status = HostStatus::PreparingForInstallation;
    assert_eq!(
        say(&fleet, StepType::Inventory, 0, "{}")
            .unwrap_err()
            .http_status(),
        400
    );
}

#[test]
fn time_sources_are_stored_as_a_list() {
    let fleet = Fleet::ready(3, 3);
    let output = r#"{"ntp_sources":[{"source_state":"synced","source_name":"a","x":1}]}"#;
    let decision = say(&fleet, StepType::NtpSynchronizer, 0, output).unwrap();
    assert_eq!(
        decision
            .host(key(1))
            .unwrap()
            .reports
            .ntp_sources
            .as_deref(),
        Some(r#"[{"source_name":"a","source_state":"synced"}]"#)
    );
}

#[test]
fn the_first_result_of_an_image_is_told_and_later_ones_change_only_the_result() {
    let mut fleet = Fleet::ready(3, 3);
    let first = r#"{"images":[{"name":"a","result":"failure","size_bytes":4.1e8,"time":2.5,"download_rate":33.4}]}"#;
    let decision = say(&fleet, StepType::ContainerImageAvailability, 2, first).unwrap();
    assert_eq!(decision.events[0].name, "image_status_updated");
    fleet.store(decision);
    let decision = say(
        &fleet,
        StepType::ContainerImageAvailability,
        0,
        r#"{"images":[{"name":"a","result":"success"}]}"#,
    )
    .unwrap();
    assert!(decision.events.is_empty());
    let stored = decision
        .host(key(1))
        .unwrap()
        .reports
        .images_status
        .clone()
        .unwrap();
    assert!(
        stored.contains(r#""result":"success""#) && stored.contains("33.4"),
        "{stored}"
    );
}

#[test]
fn a_slow_disk_is_warned_about_and_a_failed_check_is_kept() {
    let fleet = Fleet::ready(3, 3);
    let slow = say(
        &fleet,
        StepType::InstallationDiskSpeedCheck,
        0,
        r#"{"path":"/dev/x","io_sync_duration":25}"#,
    )
    .unwrap();
    assert_eq!(slow.events[0].name, "disk_speed_slower_than_supported");
    let failed = say(
        &fleet,
        StepType::InstallationDiskSpeedCheck,
        255,
        r#"{"path":"/dev/x"}"#,
    )
    .unwrap();
    assert_eq!(
        failed.host(key(1)).unwrap().reports.disks_info.as_deref(),
        Some(r#"{"/dev/x":{"disk_speed":{"exit_code":255,"tested":true},"path":"/dev/x"}}"#)
    );
    let timed_out = say(&fleet, StepType::InstallationDiskSpeedCheck, 124, "").unwrap();
    assert!(timed_out.changes_nothing());
    assert!(
        say(&fleet, StepType::InstallationDiskSpeedCheck, 0, "")
            .unwrap()
            .changes_nothing()
    );
}

#[test]
fn what_a_host_says_about_virtual_addresses_is_kept_as_its_own_word() {
    let fleet = Fleet::ready(3, 3);
    let output = r#"[{"vip":"192.0.2.200","vip_type":"api","verification":"failed","mood":"bad"}]"#;
    let decision = say(&fleet, StepType::VerifyVips, 0, output).unwrap();
    assert!(decision.cluster.is_none(), "conclusions are for a refresh");
    assert_eq!(
        decision.host(key(1)).unwrap().reports.vips.as_deref(),
        Some(r#"[{"verification":"failed","vip":"192.0.2.200","vip_type":"api"}]"#)
    );
}

#[test]
fn failed_tang_keeps_the_complaint_and_an_empty_scan_is_refused() {
    let fleet = Fleet::ready(3, 3);
    let decision = say(&fleet, StepType::TangConnectivityCheck, -1, "").unwrap();
    assert_eq!(
        decision
            .host(key(1))
            .unwrap()
            .reports
            .tang_connectivity
            .as_deref(),
        Some("broken")
    );
    assert_eq!(
        say(&fleet, StepType::FreeNetworkAddresses, 0, "[]")
            .unwrap_err()
            .http_status(),
        400
    );
}
