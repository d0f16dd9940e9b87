//! Every result of the network, time and download validations.

use std::{collections::BTreeMap, time::Duration};

use muster_model::{HostStage, HostStatus};
use serde_json::{Value, json};

use super::super::{
    host::Gate,
    testbed::{Bed, address, report, text},
};
use crate::{
    agent_json::Stored,
    inventory::{Disk, Interface, Iscsi, Route},
    testing::{START, minutes},
};

#[test]
fn silence_disconnects_later_for_the_bootstrap_host_and_never_after_the_reboot() {
    let after = |time: Duration| Bed::known().with(|bed| bed.now = START.plus(time));
    after(minutes(3)).expect("connected", "success");
    let silent = after(minutes(3) + Duration::from_secs(1));
    silent.expect_message("connected", "failure", &["180 seconds"]);
    assert!(!silent.is_open(Gate::Connection));
    let leading = |time| after(time).with_host(|host| host.bootstrap = true);
    leading(minutes(5)).expect("connected", "success");
    leading(minutes(6)).expect_message("connected", "failure", &["300 seconds"]);
    let staged = |stage| after(minutes(60)).with_host(|host| host.progress.stage = Some(stage));
    staged(HostStage::WritingImageToDisk).expect("connected", "failure");
    staged(HostStage::Failed).expect("connected", "success");
    for stage in [
        HostStage::Rebooting,
        HostStage::WaitingForIgnition,
        HostStage::Configuring,
        HostStage::Joined,
        HostStage::Done,
    ] {
        let bed = staged(stage);
        for id in [
            "connected",
            "media-connected",
            "ntp-synced",
            "time-synced-between-host-and-service",
        ] {
            bed.expect(id, "absent");
        }
    }
}

#[test]
fn a_lost_medium_is_reported() {
    Bed::known().expect("media-connected", "success");
    let lost = Bed::known().with_host(|host| host.media_connected = false);
    lost.expect("media-connected", "failure");
    assert!(!lost.is_open(Gate::Connection));
}

#[test]
fn the_machine_network_is_asked_of_the_user_where_the_service_needs_it() {
    let id = "machine-cidr-defined";
    let without = || Bed::known().with_cluster(|cluster| cluster.networks.machine = None);
    Bed::known().expect(id, "success");
    without().expect(id, "failure");
    assert!(!without().is_open(Gate::Input));
    without()
        .with_cluster(|c| c.networks.machine = Some(vec![String::new()]))
        .expect(id, "failure");
    without().user_managed().expect(id, "success");
    without().day2().expect(id, "success");
    without().unbound().expect(id, "absent");
}

#[test]
fn a_host_needs_an_address_in_the_machine_networks() {
    let id = "belongs-to-machine-cidr";
    let inside = |networks: &[&str]| {
        let networks: Vec<String> = networks.iter().map(ToString::to_string).collect();
        Bed::known().with_cluster(|cluster| cluster.networks.machine = Some(networks))
    };
    let (here, elsewhere) = ("192.0.2.0/24", "198.51.100.0/24");
    inside(&[here]).expect(id, "success");
    inside(&[elsewhere]).expect_message(id, "failure", &[elsewhere]);
    inside(&[here, elsewhere]).expect(id, "failure");
    inside(&["odd"]).expect(id, "error");
    inside(&[]).expect(id, "pending");
    Bed::discovering().expect(id, "pending");
    let balanced = |networks: &[&str]| {
        inside(networks).with_cluster(|c| c.load_balancer = Some("user-managed".into()))
    };
    balanced(&[here, elsewhere]).expect(id, "success");
    balanced(&[elsewhere]).expect(id, "failure");
    inside(&[elsewhere]).user_managed().expect(id, "success");
    let leading = |networks: &[&str]| {
        inside(networks)
            .user_managed()
            .with_host(|host| host.bootstrap = true)
    };
    leading(&[elsewhere]).expect(id, "failure");
    leading(&[]).expect(id, "success");
    inside(&[elsewhere]).single_node().expect(id, "failure");
    inside(&[elsewhere]).day2().expect(id, "success");
    inside(&[elsewhere]).unbound().expect(id, "absent");
}

#[test]
fn a_host_that_joins_must_fetch_its_ignition() {
    let id = "ignition-downloadable";
    let answered = |answer: &str| {
        Bed::known()
            .day2()
            .with_host(|host| host.reports.api_vip_connectivity = Some(text(answer)))
    };
    Bed::known().expect(id, "absent");
    Bed::known().unbound().expect(id, "absent");
    Bed::known().day2().expect(id, "pending");
    answered("garbage").expect(id, "error");
    answered(r#"{"is_success":true}"#).expect(id, "success");
    answered(r#"{"url":"http://api:22624/config/worker","download_error":"no route"}"#)
        .expect_message(id, "failure", &["http://api:22624", "no route"]);
    answered("{}").expect(id, "failure");
    assert!(!answered("{}").is_open(Gate::Install));
}

#[test]
fn openstack_machines_need_a_network_of_the_users() {
    let id = "valid-platform-network-settings";
    let on = |product: &str| {
        Bed::known().with_inventory(|inventory| {
            inventory.system_vendor.as_mut().unwrap().product_name = product.into();
        })
    };
    on("Box").expect(id, "success");
    on("OpenStack Compute").expect(id, "failure");
    on("OpenStack Compute").user_managed().expect(id, "success");
    on("OpenStack Compute").unbound().expect(id, "absent");
    Bed::known()
        .with_inventory(|i| i.system_vendor = None)
        .expect(id, "error");
    Bed::discovering().expect(id, "pending");
}

#[test]
fn a_clock_should_follow_a_time_source() {
    let answered = |answer: Option<&str>| {
        Bed::known().with_host(|host| host.reports.ntp_sources = answer.map(text))
    };
    answered(Some(
        r#"[{"source_state":"error"},{"source_state":"synced"}]"#,
    ))
    .expect("ntp-synced", "success");
    answered(Some(r#"[{"source_state":"unreachable"}]"#)).expect("ntp-synced", "failure");
    answered(Some("[]")).expect("ntp-synced", "failure");
    answered(None).expect("ntp-synced", "failure");
    answered(Some("garbage")).expect("ntp-synced", "error");
    assert!(answered(None).is_open(Gate::Install), "it is advice");
    let pool = |source| answered(None).unbound().booted_with_ntp(source);
    pool(None).expect("ntp-synced", "absent");
    pool(Some(" ")).expect("ntp-synced", "absent");
    pool(Some("ntp.example.com")).expect("ntp-synced", "failure");
    let binding = pool(None).with_host(|host| host.status = HostStatus::Binding);
    binding.expect("ntp-synced", "failure");
}

#[test]
fn host_and_service_must_agree_about_the_time() {
    let id = "time-synced-between-host-and-service";
    let behind = |seconds: i64| {
        Bed::known().with_host(|host| host.agent_clock = Some(START.unix_seconds() - seconds))
    };
    behind(20 * 60).expect(id, "success");
    behind(20 * 60 + 1).expect_message(id, "failure", &["20 minutes behind"]);
    behind(-60 * 60).expect(id, "success");
    behind(-60 * 60 - 1).expect_message(id, "failure", &["60 minutes ahead"]);
    behind(20 * 60 + 1).unbound().expect(id, "failure");
    Bed::known()
        .with_host(|host| host.agent_clock = None)
        .expect(id, "pending");
}

#[test]
fn images_must_be_pulled_and_not_too_slowly() {
    let id = "container-images-available";
    let image = |details: Value| {
        let all = json!({ "release": details });
        Bed::known().with_host(|host| host.reports.images_status = report(&all))
    };
    Bed::known().expect(id, "success");
    image(json!({ "result": "success", "size_bytes": 0, "download_rate": 0 }))
        .expect(id, "success");
    image(json!({ "result": "success", "size_bytes": 9, "download_rate": 0.001 }))
        .expect(id, "success");
    let slow = image(json!({ "result": "success", "size_bytes": 9, "download_rate": 0.0009 }));
    slow.expect_message(id, "failure", &["release"]);
    assert!(!slow.is_open(Gate::Preparation) && slow.is_open(Gate::Install));
    image(json!({ "result": "failure" })).expect(id, "failure");
    Bed::known()
        .with_host(|host| host.reports.images_status = Some(text("garbage")))
        .expect(id, "error");
}

#[test]
fn a_host_needs_a_way_out() {
    let id = "has-default-route";
    let routed = |destination: &str, gateway: &str| {
        Bed::known().with_inventory(|inventory| {
            inventory.routes = vec![Route {
                destination: destination.into(),
                gateway: gateway.into(),
                ..Route::default()
            }]
            .into();
        })
    };
    routed("0.0.0.0", "192.0.2.1").expect(id, "success");
    routed("::", "fe80::1").expect(id, "success");
    routed("0.0.0.0", "0.0.0.0").expect(id, "failure");
    routed("0.0.0.0", "").expect(id, "failure");
    routed("10.0.0.0", "192.0.2.1").expect(id, "failure");
    routed("", "192.0.2.1").unbound().expect(id, "failure");
    Bed::known()
        .with_inventory(|i| i.routes = Vec::new().into())
        .expect(id, "failure");
    Bed::discovering().expect(id, "pending");
}

fn with_nics(nics: &[(&str, &[&str])]) -> Bed {
    let nics: Vec<Interface> = nics
        .iter()
        .map(|(name, addresses)| Interface {
            name: (*name).into(),
            ipv4_addresses: addresses
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .into(),
            ..Interface::default()
        })
        .collect();
    Bed::known().with_inventory(|inventory| inventory.interfaces = nics.into())
}

#[test]
fn each_interface_needs_a_network_of_its_own() {
    let id = "non-overlapping-subnets";
    let good = with_nics(&[
        ("eth0", &["192.0.2.11/24", "192.0.2.12/24"]),
        ("eth1", &["10.0.0.1/8"]),
    ]);
    good.expect(id, "success");
    let same = with_nics(&[("eth0", &["192.0.2.11/24"]), ("eth1", &["192.0.2.12/24"])]);
    same.expect_message(id, "failure", &["eth0", "eth1", "192.0.2.0/24"]);
    let nested = || {
        with_nics(&[
            ("eth0", &["10.0.0.1/8"]),
            ("eth1", &["10.9.0.1/16", "10.1.2.3/32"]),
        ])
    };
    nested().expect(id, "failure");
    let other_family = nested().with_cluster(|cluster| {
        cluster.networks.cluster = None;
        cluster.networks.service = Some(vec!["fd02::/112".into()]);
    });
    other_family.expect(id, "success");
    let link_local = with_nics(&[("eth0", &["fe80::1/64"]), ("eth1", &["fe80::2/64"])])
        .with_cluster(|cluster| cluster.networks.service = Some(vec!["fd02::/112".into()]));
    link_local.expect(id, "success");
    with_nics(&[("eth0", &["odd"])]).expect_message(id, "error", &["odd"]);
    Bed::known()
        .with_cluster(|cluster| cluster.networks.service = Some(vec!["odd".into()]))
        .expect(id, "error");
    Bed::discovering().expect(id, "pending");
    nested().unbound().expect(id, "absent");
}

#[test]
fn an_address_answered_by_another_card_collides_however_it_is_spelled() {
    let id = "no-ip-collisions-in-network";
    let colliding = |ip: &str| {
        let cards = vec![
            "52:54:00:00:00:01".to_owned(),
            "52:54:00:00:00:02".to_owned(),
        ];
        let found = BTreeMap::from([(ip.to_owned(), cards)]);
        Bed::known().with(|bed| bed.collisions = Stored::Here(found))
    };
    colliding(&address(1)).expect_message(id, "failure", &["192.0.2.11", "52:54:00:00:00:02"]);
    assert!(!colliding(&address(1)).is_open(Gate::Install));
    colliding(&address(9)).expect(id, "success");
    let v6 = |bed: Bed| {
        bed.with_inventory(|inventory| {
            let nic = &mut inventory.interfaces.0.as_mut().unwrap()[0];
            nic.ipv6_addresses = vec!["2001:db8:0:0::1/64".to_owned()].into();
        })
    };
    v6(colliding("2001:db8::1")).expect(id, "failure");
    colliding(&address(1)).day2().expect(id, "success");
    colliding(&address(1)).unbound().expect(id, "success");
    Bed::discovering().expect(id, "success");
    Bed::known()
        .with(|bed| bed.collisions = Stored::Broken)
        .expect(id, "error");
    let odd = |bed: Bed| {
        bed.with_inventory(|inventory| {
            let nic = &mut inventory.interfaces.0.as_mut().unwrap()[0];
            nic.ipv6_addresses = vec!["odd".to_owned()].into();
        })
    };
    odd(colliding(&address(9))).expect(id, "error");
    odd(Bed::known()).expect(id, "success");
}

/// The installation disk is replaced by these; the first is the chosen one.
fn with_disks(disks: Vec<Disk>) -> Bed {
    let chosen = disks[0].name.clone();
    with_nics(&[
        ("eth0", &["192.0.2.11/24"]),
        ("eth1", &["198.51.100.11/24"]),
    ])
    .with_inventory(|inventory| inventory.disks = disks.into())
    .with_host(|host| {
        host.installation_disk_id = None;
        host.installation_disk_path = Some(format!("/dev/{chosen}"));
    })
}

fn iscsi(name: &str, from: Option<&str>) -> Disk {
    Disk {
        name: name.into(),
        drive_type: "iSCSI".into(),
        holders: "dm-1,dm-2".into(),
        iscsi: from.map(|from| Iscsi {
            host_ip_address: from.into(),
        }),
        ..Disk::default()
    }
}

#[test]
fn iscsi_needs_an_interface_outside_the_machine_network() {
    let id = "no-iscsi-nic-belongs-to-machine-cidr";
    let on = |from: Option<&str>| with_disks(vec![iscsi("sdb", from)]);
    on(Some("198.51.100.11")).expect(id, "success");
    let mixed = on(Some("192.0.2.11"));
    mixed.expect_message(id, "failure", &["sdb"]);
    assert!(!mixed.is_open(Gate::Install));
    on(None).expect(id, "error");
    on(Some("nowhere")).expect(id, "error");
    on(Some("203.0.113.1")).expect_message(id, "error", &["203.0.113.1"]);
    let without_network = on(None).with_cluster(|cluster| cluster.networks.machine = None);
    without_network.expect(id, "pending");
    on(None)
        .with_cluster(|cluster| cluster.networks.machine = Some(vec!["odd".into()]))
        .expect(id, "error");
    for silent in [
        on(None).unbound(),
        on(None).user_managed(),
        on(None).day2(),
        on(None).with_cluster(|cluster| cluster.imported = true),
        on(None).with_host(|host| host.installation_disk_path = None),
        Bed::known(),
    ] {
        silent.expect(id, "absent");
    }
    on(Some("192.0.2.11")).single_node().expect(id, "failure");
}

#[test]
fn every_iscsi_path_of_a_multipath_disk_counts() {
    let id = "no-iscsi-nic-belongs-to-machine-cidr";
    let over = |paths: Vec<Disk>| {
        let whole = Disk {
            name: "dm-1".into(),
            drive_type: "Multipath".into(),
            ..Disk::default()
        };
        with_disks(std::iter::once(whole).chain(paths).collect())
    };
    let (good, bad) = (Some("198.51.100.11"), Some("192.0.2.11"));
    over(vec![iscsi("sda", good), iscsi("sdb", good)]).expect(id, "success");
    over(vec![
        iscsi("sda", bad),
        iscsi("sdb", good),
        iscsi("sdc", bad),
    ])
    .expect_message(id, "failure", &["sda, sdc"]);
    over(vec![iscsi("sda", bad), iscsi("sdb", None)]).expect(id, "error");
    let stranger = Disk {
        holders: "dm-10".into(),
        ..iscsi("sda", bad)
    };
    over(vec![stranger]).expect(id, "success");
}

#[test]
fn ignoring_and_switching_off_open_gates_but_not_all() {
    let lost = || {
        Bed::known().with(|bed| {
            bed.host.media_connected = false;
            bed.now = START.plus(minutes(9));
        })
    };
    let ignoring =
        |list: &str| lost().with_cluster(|c| c.ignored_host_validations = Some(list.into()));
    assert!(
        !ignoring(r#"["all"]"#).is_open(Gate::Connection),
        "silence is never ignored"
    );
    let present = |bed: Bed| bed.with(|bed| bed.now = START);
    assert!(present(ignoring(r#"["all"]"#)).is_open(Gate::Connection));
    assert!(present(ignoring(r#"["media-connected"]"#)).is_open(Gate::Connection));
    assert!(!present(ignoring(r#"["ALL"]"#)).is_open(Gate::Connection));
    assert!(!present(ignoring("garbage")).is_open(Gate::Connection));
    present(ignoring(r#"["all"]"#)).expect("media-connected", "failure");
    let off = || {
        present(lost())
            .with(|bed| bed.settings.disabled_host_checks = ["media-connected".to_owned()].into())
    };
    off().expect("media-connected", "disabled");
    assert!(off().is_open(Gate::Connection));
    off().unbound().expect("media-connected", "disabled");
    let own_list = off().with_cluster(|c| c.ignored_host_validations = Some("[]".into()));
    own_list.expect("media-connected", "failure");
}
