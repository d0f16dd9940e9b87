//! What step replies change.

use muster_model::HostStatus;

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
    let around = Environment {
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
        StepType::UpgradeAgent,
    ] {
        for output in ["nonsense", "{\"", "7", "\u{fffd}"] {
            let bad = say(&fleet, step, 0, output).unwrap_err();
            assert!(matches!(bad, BadReply::Unreadable { .. }), "{bad}");
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
fn an_inventory_loses_virtual_cards_and_gets_its_disks_evaluated() {
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
    let bad = say(&fleet, StepType::Inventory, 0, "{}").unwrap_err();
    assert!(matches!(bad, BadReply::NotNow { .. }), "{bad}");
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
fn the_first_result_of_an_image_is_reported_and_later_ones_change_only_the_result() {
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
        r#"{"path":"/dev/sda","io_sync_duration":25}"#,
    )
    .unwrap();
    assert_eq!(slow.events[0].name, "disk_speed_slower_than_supported");
    let failed = say(
        &fleet,
        StepType::InstallationDiskSpeedCheck,
        255,
        r#"{"path":"/dev/sda"}"#,
    )
    .unwrap();
    assert_eq!(
        failed.host(key(1)).unwrap().reports.disks_info.as_deref(),
        Some(r#"{"/dev/sda":{"disk_speed":{"exit_code":255,"tested":true},"path":"/dev/sda"}}"#)
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
    let bad = say(&fleet, StepType::FreeNetworkAddresses, 0, "[]").unwrap_err();
    assert!(matches!(bad, BadReply::NotNow { .. }), "{bad}");
}

fn stored(decision: &Decision) -> &muster_model::Host {
    decision.host(key(1)).unwrap()
}

#[test]
fn the_same_answer_twice_changes_and_reports_nothing_the_second_time() {
    let answers = [
        (
            StepType::InstallationDiskSpeedCheck,
            r#"{"path":"/dev/sda","io_sync_duration":25}"#,
        ),
        (
            StepType::ContainerImageAvailability,
            r#"{"images":[{"name":"a","result":"success"}]}"#,
        ),
        (
            StepType::UpgradeAgent,
            r#"{"agent_image":"agent:2","result":"failure"}"#,
        ),
        (
            StepType::NtpSynchronizer,
            r#"{"ntp_sources":[{"source_name":"a","source_state":"error"}]}"#,
        ),
    ];
    for (step, output) in answers {
        let mut fleet = Fleet::ready(3, 3);
        let first = say(&fleet, step, 0, output).unwrap();
        assert!(!first.changes_nothing(), "{step}");
        fleet.store(first);
        assert!(
            say(&fleet, step, 0, output).unwrap().changes_nothing(),
            "{step}"
        );
    }
}

#[test]
fn results_of_strange_disks_and_made_up_images_do_not_get_into_the_record() {
    let fleet = Fleet::ready(3, 3);
    let bad = [
        (
            StepType::InstallationDiskSpeedCheck,
            r#"{"path":"/etc/passwd"}"#.to_owned(),
        ),
        (StepType::InstallationDiskSpeedCheck, "{}".to_owned()),
        (
            StepType::InstallationDiskSpeedCheck,
            r#"{"path":"/dev/sda","io_sync_duration":-1}"#.to_owned(),
        ),
        (
            StepType::ContainerImageAvailability,
            r#"{"images":[{"name":"a","result":"maybe"}]}"#.to_owned(),
        ),
        (
            StepType::ContainerImageAvailability,
            r#"{"images":[{"result":"success"}]}"#.to_owned(),
        ),
        (StepType::ContainerImageAvailability, {
            let names: Vec<String> = (0..100)
                .map(|n| format!(r#"{{"name":"i{n}","result":"success"}}"#))
                .collect();
            format!(r#"{{"images":[{}]}}"#, names.join(","))
        }),
    ];
    for (step, output) in bad {
        let refusal = say(&fleet, step, 0, &output).unwrap_err();
        assert!(refusal.to_string().len() < 400, "{refusal}");
        assert!(say(&fleet, step, 1, &output).unwrap().changes_nothing());
    }
}

#[test]
fn nul_characters_of_firmware_and_podman_reach_no_record() {
    let mut fleet = Fleet::ready(3, 3);
    let inventory = r#"{"hostname":"a\u0000b","disks":[{"name":"sda","serial":"7\u0000\u0000"}]}"#;
    let decision = say(&fleet, StepType::Inventory, 0, inventory).unwrap();
    let text = stored(&decision).reports.inventory.clone().unwrap();
    assert!(
        text.contains(r#""ab""#) && text.contains(r#""7""#),
        "{text}"
    );
    fleet.hosts[0].status = HostStatus::Installing;
    let reply = StepReply {
        step_type: StepType::Install,
        exit_code: 2,
        output: String::new(),
        error: "pull\0 failed".into(),
    };
    let around = Environment::default();
    let decision = apply(fleet.host(1), &around, &reply, &fleet.settings, fleet.now).unwrap();
    assert!(
        stored(&decision)
            .status_info
            .ends_with("(code 2): pull failed")
    );
    assert!(
        decision
            .events
            .iter()
            .all(|event| !event.message.contains('\0'))
    );
}

#[test]
fn late_results_for_virtual_addresses_do_not_count() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.status = muster_model::ClusterStatus::Installing;
    let output = r#"[{"vip":"192.0.2.200","vip_type":"api","verification":"failed"}]"#;
    let decision = say(&fleet, StepType::VerifyVips, 0, output).unwrap();
    assert!(decision.cluster.is_none());
}

#[test]
fn a_failed_installer_counts_only_while_the_host_installs() {
    let mut fleet = Fleet::ready(3, 3);
    for status in HostStatus::ALL {
        fleet.hosts[0].status = *status;
        let decision = say(&fleet, StepType::Install, 1, "").unwrap();
        let installing = matches!(
            status,
            HostStatus::Installing | HostStatus::InstallingInProgress
        );
        assert_eq!(!decision.changes_nothing(), installing, "{status}");
    }
    fleet.hosts[0].status = HostStatus::Installing;
    let reply = StepReply {
        step_type: StepType::Install,
        exit_code: 125,
        output: String::new(),
        error: format!("Error: creating container storage: {}", ALREADY_RUNNING.1),
    };
    let around = Environment::default();
    let decision = apply(fleet.host(1), &around, &reply, &fleet.settings, fleet.now).unwrap();
    assert!(decision.changes_nothing());
}

#[test]
fn a_node_that_fetched_the_discovery_image_reboots_and_one_that_could_not_needs_a_person() {
    let mut fleet = Fleet::ready(3, 3);
    let step = StepType::DownloadBootArtifacts;
    let bad = say(&fleet, step, 0, "").unwrap_err();
    assert!(matches!(bad, BadReply::NotNow { .. }), "{bad}");
    fleet.hosts[0].status = HostStatus::Reclaiming;
    let done = say(&fleet, step, 0, "downloaded").unwrap();
    assert_eq!(stored(&done).status, HostStatus::ReclaimingRebooting);
    let failed = say(&fleet, step, -1, "").unwrap();
    let host = stored(&failed);
    assert_eq!(host.status, HostStatus::UnbindingPendingUserAction);
    assert!(host.status_info.contains("broken"), "{}", host.status_info);
    assert_eq!(host.cluster, None);
    fleet.store(done);
    assert!(say(&fleet, step, 0, "").unwrap().changes_nothing());
}

#[test]
fn an_upgrade_is_reported_once_per_outcome_and_a_running_one_not_at_all() {
    let mut fleet = Fleet::ready(3, 3);
    let mut names = Vec::new();
    for result in ["", "failure", "failure", "success", "success"] {
        let output = format!(r#"{{"agent_image":"agent:2","result":"{result}"}}"#);
        let decision = say(&fleet, StepType::UpgradeAgent, 0, &output).unwrap();
        names.extend(decision.events.iter().map(|event| event.name.clone()));
        fleet.store(decision);
    }
    assert_eq!(names, ["upgrade_agent_failed", "upgrade_agent_finished"]);
}

#[test]
fn lost_media_are_remembered_after_they_came_back() {
    let mut fleet = Fleet::ready(3, 3);
    assert!(!fleet.host(1).media_recovered);
    fleet.store(say(&fleet, StepType::Inventory, 256, "").unwrap());
    assert!(!fleet.host(1).media_connected && !fleet.host(1).media_recovered);
    fleet.store(say(&fleet, StepType::StopInstallation, 0, "").unwrap());
    assert!(fleet.host(1).media_connected && fleet.host(1).media_recovered);
}

#[test]
fn network_cards_are_counted_for_figures_when_their_number_changes() {
    let mut fleet = Fleet::new(3, 1);
    fleet.boot_all();
    let cards = r#"{"interfaces":[{"type":"device"},{"type":"bridge"},{"type":"bond"}]}"#;
    let decision = say(&fleet, StepType::Inventory, 0, cards).unwrap();
    let figures: Vec<(&str, &str)> = decision
        .events
        .iter()
        .filter(|event| event.category == muster_model::Category::Metrics)
        .map(|event| (event.message.as_str(), event.props.as_deref().unwrap()))
        .collect();
    assert_eq!(
        figures,
        [
            (
                "nic.virtual_interfaces",
                r#"{"count":2,"types":["device","bridge"]}"#
            ),
            ("nic.physical_interfaces", r#"{"count":1}"#),
        ]
    );
    fleet.store(decision);
    let again = say(&fleet, StepType::Inventory, 0, cards).unwrap();
    assert!(again.changes_nothing());
}

#[test]
fn resetting_a_measurement_forgets_that_of_the_boot_disk_only() {
    use crate::reset::reset_validation;
    let mut fleet = Fleet::ready(3, 3);
    let id = "sufficient-installation-disk-speed";
    let unknown = reset_validation(fleet.host(1), id, fleet.now).unwrap();
    assert!(unknown.changes_nothing());
    fleet.hosts[0].reports.disks_info = Some(
        concat!(
            r#"{"/dev/disk/by-id/wwn-1":{"disk_speed":{"exit_code":1,"tested":true},"path":"/dev/disk/by-id/wwn-1"},"#,
            r#""/dev/sdb":{"disk_speed":{"speed_ms":3,"tested":true},"path":"/dev/sdb"}}"#
        )
        .into(),
    );
    fleet.hosts[0].reports.images_status = Some(r#"{"a":{"result":"failure"}}"#.into());
    let reset = reset_validation(fleet.host(1), id, fleet.now).unwrap();
    assert_eq!(
        stored(&reset).reports.disks_info.as_deref(),
        Some(concat!(
            r#"{"/dev/disk/by-id/wwn-1":{"path":"/dev/disk/by-id/wwn-1"},"#,
            r#""/dev/sdb":{"disk_speed":{"speed_ms":3,"tested":true},"path":"/dev/sdb"}}"#
        ))
    );
    assert!(stored(&reset).reports.images_status.is_some());
    let reset = reset_validation(fleet.host(1), "container-images-available", fleet.now).unwrap();
    assert!(stored(&reset).reports.images_status.is_none());
    assert!(stored(&reset).reports.disks_info.is_some());
}

#[test]
fn a_measurement_is_reported_once_and_a_failed_one_never() {
    use crate::Measured;
    let mut fleet = Fleet::ready(3, 3);
    let disk = r#"{"io_sync_duration":7,"path":"/dev/disk/by-id/wwn-1"}"#;
    let first = say(&fleet, StepType::InstallationDiskSpeedCheck, 0, disk).unwrap();
    assert_eq!(first.measured, [Measured::DiskSync { milliseconds: 7 }]);
    fleet.store(first);
    let again = say(&fleet, StepType::InstallationDiskSpeedCheck, 0, disk).unwrap();
    assert!(again.measured.is_empty());
    let failed = say(&fleet, StepType::InstallationDiskSpeedCheck, 1, disk).unwrap();
    assert!(failed.measured.is_empty());
    let images = r#"{"images":[{"name":"a","result":"success","download_rate":2.5},{"name":"b","result":"failure"}]}"#;
    let pulled = say(&fleet, StepType::ContainerImageAvailability, 0, images).unwrap();
    let pull = |image: &str, result: &str, rate| Measured::ImagePull {
        image: image.into(),
        result: result.into(),
        rate,
    };
    assert_eq!(
        pulled.measured,
        [pull("a", "success", 2.5), pull("b", "failure", 0.0)]
    );
    fleet.store(pulled);
    let again = say(&fleet, StepType::ContainerImageAvailability, 0, images).unwrap();
    assert!(again.measured.is_empty());
}

#[test]
fn a_report_that_differs_in_round_trips_alone_needs_no_refresh() {
    let mut fleet = Fleet::ready(3, 3);
    let report = |time: f64| {
        format!(
            r#"{{"remote_hosts":[{{"host_id":"h","l3_connectivity":[{{"average_rtt_ms":{time},"remote_ip_address":"192.0.2.1","successful":true}}]}}]}}"#
        )
    };
    let mut report = |time| {
        let decision = say(&fleet, StepType::ConnectivityCheck, 0, &report(time)).unwrap();
        let (stored, quiet) = (!decision.hosts.is_empty(), decision.needs_no_refresh);
        fleet.store(decision);
        (stored, quiet)
    };
    assert_eq!(report(1.0), (true, false), "other peers than before");
    assert_eq!(report(1.1), (true, true));
    assert_eq!(report(1.1), (false, true));
    assert_eq!(report(200.0), (true, false), "more than a master may have");
    assert_eq!(report(1.1), (true, false), "and back");
}

#[test]
fn a_firewall_between_hosts_is_reported_once_and_so_is_its_removal() {
    let mut fleet = Fleet::ready(3, 3);
    let report = |blocked: &str| {
        format!(
            r#"{{"remote_hosts":[{{"host_id":"h","l2_connectivity":null,"l3_connectivity":null,"mtu_report":null{blocked}}}]}}"#
        )
    };
    let dropped = r#","blocked_ports":[{"remote_ip_address":"192.0.2.7","ports":[6443,7]}]"#;
    let mut report = |blocked: &str| -> Vec<(String, String)> {
        let decision = say(&fleet, StepType::ConnectivityCheck, 0, &report(blocked)).unwrap();
        let events = decision.events.iter();
        let reported = events.map(|event| (event.name.clone(), event.message.clone()));
        let reported = reported
            .filter(|(name, _)| name.starts_with("host_ports"))
            .collect();
        fleet.store(decision);
        reported
    };
    assert_eq!(report(""), [], "agents that do not probe ports are fine");
    let first = report(dropped);
    assert_eq!(first[0].0, "host_ports_blocked");
    let words = "192.0.2.7 TCP 6443 (Kubernetes API of control-plane nodes), 7";
    assert!(first[0].1.contains(words), "{}", first[0].1);
    assert_eq!(report(dropped), [], "reported already");
    assert_eq!(report("")[0].0, "host_ports_reachable");
}
