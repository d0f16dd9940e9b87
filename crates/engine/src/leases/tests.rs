//! Addresses from DHCP, from the first request to the warning that no server answers.

use std::time::Duration;

use muster_model::{ClusterStatus, PlatformType};

use super::*;
use crate::{
    StepType, deadlines,
    replies::BadReply,
    testing::{Fleet, minutes},
    view::Environment,
};

/// A fleet that leases its addresses, with inventories and the one network known.
fn leasing() -> Fleet {
    let mut fleet = Fleet::new(3, 3);
    let cluster = &mut fleet.cluster;
    cluster.vip_dhcp_allocation = Some(true);
    cluster.network_type = Some("OpenShiftSDN".into());
    cluster.openshift_version = "4.14.8".into();
    cluster.api_vips = Some(Vec::new());
    cluster.ingress_vips = Some(Vec::new());
    fleet.boot_all();
    fleet
}

fn reply(api: &str, ingress: &str) -> LeaseReply {
    LeaseReply {
        api_vip_address: api.into(),
        ingress_vip_address: ingress.into(),
        api_vip_lease: String::new(),
        ingress_vip_lease: String::new(),
    }
}

fn reply_arrives(fleet: &mut Fleet, reply: &LeaseReply) {
    let output = crate::agent_json::text(reply);
    fleet.say(1, StepType::DhcpLeaseAllocate, 0, &output);
}

fn status(fleet: &Fleet, id: &str) -> String {
    fleet.cluster_check(id).unwrap().0
}

#[test]
fn the_only_network_of_the_hosts_becomes_the_machine_network_and_leases_make_the_cluster_ready() {
    let mut fleet = leasing();
    fleet.refresh();
    assert_eq!(status(&fleet, "api-vips-defined"), "pending");
    fleet.settle();
    let machine = fleet.cluster.networks.machine.clone();
    assert_eq!(machine, Some(vec!["192.0.2.0/24".to_owned()]));
    assert_eq!(status(&fleet, "api-vips-defined"), "failure");
    assert_eq!(fleet.cluster.status, ClusterStatus::Insufficient);
    reply_arrives(&mut fleet, &reply("192.0.2.77", "192.0.2.78"));
    assert_eq!(status(&fleet, "api-vips-defined"), "success");
    assert_eq!(status(&fleet, "ingress-vips-defined"), "success");
    assert_eq!(fleet.event_count("api_ingress_vip_updated"), 1);
    fleet.settle();
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    reply_arrives(&mut fleet, &reply("192.0.2.77", "192.0.2.78"));
    assert_eq!(
        fleet.event_count("api_ingress_vip_updated"),
        1,
        "nothing new"
    );
    let verified = fleet.cluster.api_vips.as_ref().unwrap()[0]
        .verification
        .clone();
    assert_eq!(verified.as_deref(), Some("succeeded"));
    reply_arrives(&mut fleet, &reply("192.0.2.79", "192.0.2.78"));
    assert_eq!(fleet.event_count("api_ingress_vip_updated"), 2);
    assert_eq!(fleet.event_count("api_ingress_vip_timed_out"), 0);
}

#[test]
fn hosts_in_the_network_are_asked_with_cards_of_the_cluster_and_the_leases_so_far() {
    let mut fleet = leasing();
    fleet.settle();
    let ask = |fleet: &Fleet| {
        let inventory = Inventory::of(fleet.host(1)).ok().unwrap();
        request(&fleet.cluster, &inventory)
    };
    let first = ask(&fleet).unwrap();
    assert_eq!(first.interface, "eth0");
    assert_ne!(first.api_vip_mac, first.ingress_vip_mac);
    assert!(first.api_vip_lease.is_empty());
    let mut with_lease = reply("192.0.2.77", "192.0.2.78");
    with_lease.api_vip_lease =
        "lease {\n  interface \"api\";\n  option domain-search \"a; b\";\n  renew 2 2030/10/25 14:48:38;\n}".into();
    reply_arrives(&mut fleet, &with_lease);
    let kept = "lease {\n  interface \"api\";\n  option domain-search \"a; b\";\n  renew never;\n}";
    assert_eq!(ask(&fleet).unwrap().api_vip_lease, kept);
    fleet.cluster.networks.machine = Some(vec!["198.51.100.0/24".into()]);
    assert_eq!(ask(&fleet), None, "the host is not in that network");
    fleet.cluster.networks.machine = None;
    assert_eq!(ask(&fleet), None, "the network is not known");
    fleet.cluster.networks.machine = Some(vec!["192.0.2.0/24".into()]);
    fleet.cluster.vip_dhcp_allocation = Some(false);
    assert_eq!(ask(&fleet), None, "the user sets the addresses");
}

#[test]
fn answers_that_cannot_be_true_are_refused_with_the_reason() {
    let mut fleet = leasing();
    fleet.settle();
    let refused =
        |fleet: &Fleet, reply: &LeaseReply| accept(&fleet.cluster, reply, fleet.now).unwrap_err();
    for (api, ingress, reason) in [
        ("192.0.2.77", "198.51.100.7", "outside machine network"),
        ("soon", "192.0.2.78", "not an address"),
        ("192.0.2.77", "192.0.2.77", "both"),
    ] {
        let why = refused(&fleet, &reply(api, ingress)).to_string();
        assert!(why.contains(reason), "{why}");
    }
    for bad in [
        "lease",
        "lease { renew",
        "lease { renew never }",
        "lease { renew; }",
        "lease { a { b c; } }",
        "lease { a \"b; }",
        "lease { }",
        "rm -rf",
    ] {
        let mut odd = reply("192.0.2.77", "192.0.2.78");
        odd.ingress_vip_lease = bad.into();
        assert_eq!(
            refused(&fleet, &odd),
            LeaseRefused::Malformed(Kind::Ingress),
            "{bad}"
        );
    }
    fleet.cluster.networks.machine = None;
    let good = reply("192.0.2.77", "192.0.2.78");
    assert_eq!(refused(&fleet, &good), LeaseRefused::NoNetwork);
    fleet.cluster.vip_dhcp_allocation = None;
    assert_eq!(refused(&fleet, &good), LeaseRefused::NotLeasing);
}

#[test]
fn a_reply_of_an_unbound_host_or_without_sense_is_a_bad_reply() {
    let fleet = leasing();
    let reply = |output: &str| crate::replies::StepReply {
        step_type: StepType::DhcpLeaseAllocate,
        exit_code: 0,
        output: output.into(),
        error: String::new(),
    };
    let apply = |around: &Environment<'_>, output: &str| {
        crate::replies::apply(
            fleet.host(1),
            around,
            &reply(output),
            &fleet.settings,
            fleet.now,
        )
    };
    let alone = Environment::default();
    assert!(matches!(apply(&alone, "{}"), Err(BadReply::NotNow { .. })));
    assert!(matches!(
        apply(&alone, "nonsense"),
        Err(BadReply::Unreadable { .. })
    ));
}

#[test]
fn during_an_installation_the_addresses_are_fixed() {
    let mut fleet = leasing();
    fleet.settle();
    reply_arrives(&mut fleet, &reply("192.0.2.77", "192.0.2.78"));
    for status in [
        ClusterStatus::PreparingForInstallation,
        ClusterStatus::Installing,
        ClusterStatus::Finalizing,
    ] {
        fleet.cluster.status = status;
        let same = accept(
            &fleet.cluster,
            &reply("192.0.2.77", "192.0.2.78"),
            fleet.now,
        );
        assert_eq!(same, Ok(None), "{status}");
        let other = accept(&fleet.cluster, &reply("192.0.2.1", "192.0.2.78"), fleet.now);
        assert!(matches!(other, Err(LeaseRefused::Fixed { .. })), "{status}");
    }
    fleet.cluster.status = ClusterStatus::Cancelled;
    let late = accept(&fleet.cluster, &reply("192.0.2.1", "192.0.2.78"), fleet.now);
    assert_eq!(late, Ok(None), "they are not needed any more");
}

#[test]
fn a_server_that_never_answers_is_reported_once_after_two_minutes() {
    let mut fleet = leasing();
    fleet.settle();
    let since = fleet.cluster.leases.awaited_since.unwrap();
    let deadline = deadlines::leases(&fleet.cluster, &fleet.settings);
    assert_eq!(deadline, Some(since.plus(minutes(2))));
    fleet.now = since.plus(minutes(2));
    fleet.refresh();
    assert_eq!(fleet.event_count("api_ingress_vip_timed_out"), 0);
    let (_, before) = fleet.cluster_check("api-vips-defined").unwrap();
    let decision = crate::refresh(&fleet.view(), &fleet.settings, fleet.now);
    assert_eq!(decision.wake_at, Some(Timestamp(fleet.now.0 + 1)));
    fleet.now = Timestamp(fleet.now.0 + 1);
    fleet.refresh();
    assert_eq!(fleet.event_count("api_ingress_vip_timed_out"), 1);
    let (status, after) = fleet.cluster_check("api-vips-defined").unwrap();
    assert_eq!(status, "failure");
    assert_ne!(before, after);
    assert!(after.contains("within 2 minutes"), "{after}");
    fleet.now = fleet.now.plus(Duration::from_secs(100));
    fleet.refresh();
    assert_eq!(fleet.event_count("api_ingress_vip_timed_out"), 1);
}

#[test]
fn another_network_or_another_way_makes_the_old_leases_worthless() {
    let mut fleet = leasing();
    fleet.settle();
    let mut with_lease = reply("192.0.2.77", "192.0.2.78");
    with_lease.api_vip_lease = "lease { fixed-address 192.0.2.77; }".into();
    reply_arrives(&mut fleet, &with_lease);
    assert!(fleet.cluster.leases.api.is_some());
    let mut moved = fleet.cluster.clone();
    moved.networks.machine = Some(vec!["198.51.100.0/24".into()]);
    let later = fleet.now.plus(minutes(9));
    assert_eq!(watch(&mut moved, &fleet.settings, later), None);
    assert_eq!(moved.leases.api, None);
    assert_eq!(moved.leases.awaited_since, Some(later));
    moved.vip_dhcp_allocation = Some(false);
    assert_eq!(watch(&mut moved, &fleet.settings, later), None);
    assert_eq!(moved.leases, Leases::default());
}

#[test]
fn a_cluster_on_bare_metal_without_dhcp_knows_no_leases() {
    let fleet = Fleet::ready(3, 3);
    assert_eq!(fleet.cluster.leases, Leases::default());
    let kind = fleet.cluster.platform.as_ref().unwrap().kind;
    assert_eq!(kind, PlatformType::Baremetal);
    assert_eq!(deadlines::leases(&fleet.cluster, &fleet.settings), None);
}
