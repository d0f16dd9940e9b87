//! One claim per family of validations.

use muster_model::{ClusterStatus, HostStatus};

use super::{Fleet, good_cluster, minutes, vip};
use crate::StepType;

pub(super) fn outcome(found: Option<(String, String)>) -> String {
    found.map_or_else(|| "absent".to_owned(), |(status, _)| status)
}

#[test]
fn a_host_with_too_little_memory_is_insufficient_and_says_how_much_is_missing() {
    let mut fleet = Fleet::new(3, 3).edit(2, |m| m.memory_gib = 4);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.status(2), HostStatus::Insufficient);
    let (status, message) = fleet.check(2, "has-min-memory").unwrap();
    assert_eq!(status, "failure");
    assert!(
        message.contains("4096 MiB") && message.contains("add 4096 MiB"),
        "{message}"
    );
    assert!(fleet.host(2).status_info.contains(&message));
    assert_eq!(
        outcome(fleet.cluster_check("all-hosts-are-ready-to-install")),
        "failure"
    );
}

#[test]
fn a_disk_below_the_minimum_makes_the_host_insufficient() {
    let mut fleet = Fleet::new(3, 3).edit(1, |m| m.disk_gb = 60);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(outcome(fleet.check(1, "has-min-valid-disks")), "failure");
    assert_eq!(fleet.status(1), HostStatus::Insufficient);
    assert_eq!(fleet.host(1).installation_disk_id, None);
}

#[test]
fn two_hosts_of_one_name_fail_both_and_renaming_one_heals_both() {
    let mut fleet = Fleet::new(3, 3).edit(2, |m| m.hostname = "host-1".into());
    fleet.boot_all();
    fleet.settle();
    for number in [1, 2] {
        assert_eq!(fleet.status(number), HostStatus::Insufficient);
        assert_eq!(outcome(fleet.check(number, "hostname-unique")), "failure");
    }
    let index = fleet.index(2);
    fleet.hosts[index].requested_hostname = Some("other".into());
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    let fixed = |e: &&muster_model::Event| {
        e.name == "host_validation_fixed" && e.message.contains("hostname-unique")
    };
    assert_eq!(fleet.events.iter().filter(fixed).count(), 2);
}

#[test]
fn a_machine_called_localhost_needs_another_name() {
    let mut fleet = Fleet::new(3, 3).edit(1, |m| m.hostname = "localhost".into());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(outcome(fleet.check(1, "hostname-valid")), "failure");
}

#[test]
fn without_vips_hosts_and_cluster_wait_for_the_user() {
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = Some(Vec::new());
    fleet.cluster.ingress_vips = Some(Vec::new());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::PendingForInput);
    assert!(
        fleet
            .statuses()
            .iter()
            .all(|s| *s == HostStatus::PendingForInput)
    );
    assert_eq!(outcome(fleet.cluster_check("api-vips-defined")), "failure");
    assert_eq!(outcome(fleet.cluster_check("api-vips-valid")), "pending");
    fleet.cluster.api_vips = Some(vec![vip("192.0.2.200")]);
    fleet.cluster.ingress_vips = Some(vec![vip("192.0.2.201")]);
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
}

#[test]
fn a_vip_that_is_taken_outside_or_broadcast_is_refused_with_the_reason() {
    for (address, reason) in [
        ("192.0.2.11", "used by another"),
        ("198.51.100.7", "No host has a network"),
        ("192.0.2.255", "broadcast"),
    ] {
        let mut fleet = Fleet::new(3, 3);
        fleet.settings.disabled_steps.insert(StepType::VerifyVips);
        fleet.cluster.api_vips = Some(vec![vip(address)]);
        fleet.boot_all();
        fleet.settle();
        assert_ne!(fleet.cluster.status, ClusterStatus::Ready, "{address}");
        let found = fleet.cluster.validations_info.clone().unwrap();
        assert!(found.contains(reason), "{address}: {found}");
    }
}

#[test]
fn networks_that_overlap_keep_the_cluster_from_installing() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.networks.service = Some(vec!["10.130.0.0/16".into()]);
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    let (status, message) = fleet.cluster_check("no-cidrs-overlapping").unwrap();
    assert_eq!(status, "failure");
    assert!(message.contains("10.130.0.0/16"), "{message}");
    assert_eq!(fleet.event_count("cluster_validation_failed"), 1);
}

#[test]
fn garbage_in_the_networks_is_an_error_not_a_panic() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.networks.service = Some(vec!["not a range".into()]);
    fleet.cluster.networks.machine = Some(vec!["300.0.0.0/99".into()]);
    fleet.refresh();
    assert_eq!(
        outcome(fleet.cluster_check("no-cidrs-overlapping")),
        "error"
    );
    let healed = Some(vec!["192.0.2.0/24".to_owned()]);
    assert_eq!(
        fleet.cluster.networks.machine, healed,
        "it follows from the VIPs"
    );
}

#[test]
fn a_link_broken_in_one_direction_is_named_at_its_silent_end() {
    // The first three hear nothing of the fourth, which hears them all.
    let mut fleet = Fleet::new(3, 4);
    for number in 1..=3 {
        fleet = fleet.edit(number, |machine| machine.cut_off_from = vec![4]);
    }
    fleet.boot_all();
    fleet.settle();
    let (status, message) = fleet.check(4, "belongs-to-majority-group").unwrap();
    assert_eq!(status, "failure");
    for number in 1..=3 {
        let name = fleet.host(number).requested_hostname.clone();
        let name = name.unwrap_or_else(|| crate::inventory::hostname(fleet.host(number)));
        assert!(message.contains(&name), "{message}");
    }
    assert!(message.contains("no answer from here reached"), "{message}");
    let (status, _) = fleet.check(1, "belongs-to-majority-group").unwrap();
    assert_eq!(status, "success");
}

#[test]
fn without_a_majority_user_managed_hosts_name_who_does_not_reach_them() {
    let mut fleet = Fleet::ready(3, 3).edit(2, |machine| machine.cut_off_from = vec![1]);
    fleet.cluster.user_managed_networking = Some(true);
    fleet.settle();
    let (status, message) = fleet.check(1, "belongs-to-majority-group").unwrap();
    assert_eq!(status, "failure");
    let name = crate::inventory::hostname(fleet.host(2));
    assert!(message.contains(&format!("reached {name}")), "{message}");
}

#[test]
fn a_disabled_inventory_check_keeps_no_host_in_discovery() {
    let off = |ids: &[&str]| {
        let mut fleet = Fleet::ready(3, 3);
        fleet.settings.disabled_host_checks = ids.iter().map(|id| (*id).to_owned()).collect();
        let index = fleet.index(1);
        fleet.hosts[index].status = HostStatus::Discovering;
        fleet.hosts[index].reports.inventory = None;
        fleet.refresh();
        fleet.status(1)
    };
    assert_eq!(off(&[]), HostStatus::Discovering);
    assert_eq!(off(&["has-inventory"]), HostStatus::Discovering);
    let both = ["has-inventory", "inventory-not-fully-truncated"];
    assert_eq!(off(&both), HostStatus::Insufficient);
}

#[test]
fn a_host_cut_off_from_its_peers_is_outside_the_majority() {
    let mut fleet = Fleet::new(3, 4).edit(4, |m| m.cut_off_from = vec![1, 2, 3]);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(
        outcome(fleet.check(4, "belongs-to-majority-group")),
        "failure"
    );
    assert_eq!(
        outcome(fleet.check(1, "belongs-to-majority-group")),
        "success"
    );
    assert_eq!(fleet.status(4), HostStatus::Insufficient);
}

#[test]
fn two_hosts_are_too_few_to_determine_connectivity_groups() {
    let mut fleet = Fleet::new(3, 2);
    fleet.boot_all();
    fleet.settle();
    assert_eq!(
        outcome(fleet.check(1, "belongs-to-majority-group")),
        "pending"
    );
    assert_eq!(
        outcome(fleet.cluster_check("sufficient-masters-count")),
        "failure"
    );
}

#[test]
fn a_wrong_clock_is_reported_and_does_not_drift_while_the_host_is_silent() {
    let mut fleet = Fleet::ready(3, 3);
    let index = fleet.index(1);
    fleet.hosts[index].agent_clock = Some(fleet.now.unix_seconds() - 21 * 60);
    fleet.refresh();
    assert_eq!(
        outcome(fleet.check(1, "time-synced-between-host-and-service")),
        "failure"
    );
    assert_eq!(
        outcome(fleet.cluster_check("ntp-server-configured")),
        "failure"
    );
    fleet.hosts[index].agent_clock = Some(fleet.now.unix_seconds() - 19 * 60);
    fleet.now = fleet.now.plus(minutes(2));
    fleet.refresh();
    assert_eq!(
        outcome(fleet.check(1, "time-synced-between-host-and-service")),
        "success"
    );
}

#[test]
fn ignored_validations_open_the_gate_but_are_still_shown_and_some_cannot_be_ignored() {
    let mut fleet = Fleet::new(3, 3)
        .edit(1, |m| m.hostname = "localhost".into())
        .edit(2, |m| m.cores = 1);
    fleet.cluster.ignored_host_validations = Some(r#"["all"]"#.into());
    fleet.boot_all();
    fleet.settle();
    assert_eq!(fleet.status(2), HostStatus::Known);
    assert_eq!(outcome(fleet.check(2, "has-min-cpu-cores")), "failure");
    assert_eq!(fleet.status(1), HostStatus::Insufficient);
}

#[test]
fn a_disabled_validation_is_shown_as_such_unless_the_cluster_has_its_own_list() {
    let mut fleet = Fleet::new(3, 3).edit(1, |m| m.cores = 1);
    fleet.settings.disabled_host_checks =
        ["has-min-cpu-cores".into(), "has-cpu-cores-for-role".into()].into();
    fleet.boot_all();
    fleet.settle();
    assert_eq!(outcome(fleet.check(1, "has-min-cpu-cores")), "disabled");
    assert_eq!(fleet.status(1), HostStatus::Known);
    fleet.cluster.ignored_host_validations = Some("[]".into());
    fleet.refresh();
    assert_eq!(outcome(fleet.check(1, "has-min-cpu-cores")), "failure");
}

#[test]
fn a_fresh_cluster_shows_what_the_contract_shows() {
    let mut fleet = Fleet::new(3, 0);
    fleet.cluster = good_cluster(3);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.refresh();
    assert_eq!(fleet.cluster.status, ClusterStatus::PendingForInput);
    assert_eq!(fleet.cluster.ip_collisions.as_deref(), Some("{}"));
    assert_eq!(
        fleet.cluster.connectivity_majority_groups.as_deref(),
        Some(r#"{"majority_groups":{"IPv4":[],"IPv6":[]},"l3_connected_addresses":{}}"#)
    );
    for (id, status) in [
        ("sufficient-masters-count", "failure"),
        ("api-vips-defined", "failure"),
        ("ingress-vips-defined", "failure"),
        ("api-vips-valid", "pending"),
        ("machine-cidr-defined", "pending"),
        ("machine-cidr-equals-to-calculated-cidr", "pending"),
        ("networks-same-address-families", "pending"),
        ("no-cidrs-overlapping", "pending"),
        ("all-hosts-are-ready-to-install", "success"),
    ] {
        assert_eq!(outcome(fleet.cluster_check(id)), status, "{id}");
    }
}

#[test]
fn a_discovering_host_shows_what_the_contract_shows() {
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.boot_all();
    fleet.refresh();
    for (id, status) in [
        ("has-inventory", "failure"),
        ("hostname-valid", "failure"),
        ("machine-cidr-defined", "failure"),
        ("ntp-synced", "failure"),
        ("sufficient-installation-disk-speed", "error"),
        ("has-min-cpu-cores", "pending"),
        ("hostname-unique", "pending"),
        ("belongs-to-machine-cidr", "pending"),
        ("belongs-to-majority-group", "pending"),
        ("time-synced-between-host-and-service", "pending"),
        ("connected", "success"),
        ("ignition-downloadable", "absent"),
    ] {
        assert_eq!(outcome(fleet.check(1, id)), status, "{id}");
    }
}

#[test]
fn a_vmware_disk_without_uuid_makes_a_host_insufficient_before_input_is_asked_for() {
    let mut fleet = Fleet::new(3, 1);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.boot_all();
    fleet.refresh();
    let mut inventory = super::agent::inventory(&fleet.machines[0]);
    inventory["system_vendor"]["manufacturer"] = "VMware, Inc.".into();
    fleet.say(1, StepType::Inventory, 0, &inventory.to_string());
    assert_eq!(
        outcome(fleet.check(1, "vsphere-disk-uuid-enabled")),
        "failure"
    );
    assert_eq!(fleet.status(1), HostStatus::Insufficient);
    inventory["disks"][0]["has_uuid"] = true.into();
    fleet.say(1, StepType::Inventory, 0, &inventory.to_string());
    assert_eq!(fleet.status(1), HostStatus::PendingForInput);
}

#[test]
fn a_slow_link_between_masters_is_reported_with_the_peer_until_it_recovers() {
    let mut fleet = Fleet::ready(3, 3);
    let slow = |rtt: f64| {
        let peer = super::key(2).host;
        serde_json::json!({ "remote_hosts": [{ "host_id": peer, "l3_connectivity": [
            { "remote_ip_address": "192.0.2.12", "successful": true, "average_rtt_ms": rtt }
        ] }] })
        .to_string()
    };
    fleet.say(1, StepType::ConnectivityCheck, 0, &slow(250.5));
    let latency = "sufficient-network-latency-requirement-for-role";
    let (status, message) = fleet.check(1, latency).unwrap();
    assert_eq!(status, "failure", "{message}");
    assert!(message.contains("host-2"), "{message}");
    fleet.say(1, StepType::ConnectivityCheck, 0, &slow(0.5));
    assert_eq!(outcome(fleet.check(1, latency)), "success");
}
