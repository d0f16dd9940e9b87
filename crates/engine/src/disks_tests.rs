//! Which disks are eligible, why not, and which one is selected.

use super::*;
use crate::{
    inventory::{Cpu, Interface, Iscsi, Route},
    settings::RequirementTable,
};

fn disk(name: &str, gb: i64) -> Disk {
    Disk {
        name: name.into(),
        drive_type: "HDD".into(),
        size_bytes: gb * 1_000_000_000,
        ..Disk::default()
    }
}

fn of_type(name: &str, kind: &str, holders: &str) -> Disk {
    Disk {
        drive_type: kind.into(),
        holders: holders.into(),
        ..disk(name, 200)
    }
}

fn iscsi(name: &str, holders: &str, from: Option<&str>) -> Disk {
    Disk {
        iscsi: from.map(|from| Iscsi {
            host_ip_address: from.into(),
        }),
        ..of_type(name, "iSCSI", holders)
    }
}

/// An x86 machine: eth0 holds the default route, eth1 is for storage.
fn machine(disks: Vec<Disk>) -> Inventory {
    let nic = |name: &str, address: &str| Interface {
        name: name.into(),
        ipv4_addresses: vec![address.to_owned()].into(),
        ..Interface::default()
    };
    let route = |interface: &str, metric| Route {
        destination: "0.0.0.0".into(),
        gateway: "192.0.2.1".into(),
        interface: interface.into(),
        metric,
        ..Route::default()
    };
    Inventory {
        disks: disks.into(),
        cpu: Some(Cpu {
            architecture: "x86_64".into(),
            ..Cpu::default()
        }),
        interfaces: vec![
            nic("eth0", "192.0.2.11/24"),
            nic("eth1", "198.51.100.11/24"),
        ]
        .into(),
        routes: vec![route("eth1", 200), route("eth9", 100), route("eth0", 100)].into(),
        ..Inventory::default()
    }
}

fn evaluated_for(mut inventory: Inventory, version: &str) -> Inventory {
    evaluate(&mut inventory, &RequirementTable::default().worker, version);
    inventory
}

fn evaluated(disks: Vec<Disk>) -> Inventory {
    evaluated_for(machine(disks), "4.16.0")
}

fn reasons(inventory: &Inventory, name: &str) -> String {
    let mut disks = inventory.disks.items().iter();
    let disk = disks.find(|disk| disk.name == name).unwrap();
    let eligibility = &disk.installation_eligibility;
    let reasons = eligibility.not_eligible_reasons.items();
    assert_eq!(eligibility.eligible, reasons.is_empty());
    assert!(eligibility.not_eligible_reasons.0.is_some() != eligibility.eligible);
    reasons.join("; ")
}

fn fit(inventory: &Inventory) -> Vec<&str> {
    let fit = candidates(inventory).into_iter();
    fit.map(|disk| disk.name.as_str()).collect()
}

#[test]
fn a_small_an_odd_and_the_boot_disk_are_refused_with_reasons() {
    let inventory = evaluated(vec![
        disk("sda", 99),
        Disk {
            drive_type: "ODD".into(),
            ..disk("sr0", 200)
        },
        Disk {
            is_installation_media: true,
            ..disk("sdb", 200)
        },
        disk("sdc", 100),
        Disk {
            removable: true,
            ..disk("sdd", 200)
        },
    ]);
    assert_eq!(fit(&inventory), ["sdc", "sdd"]);
    assert!(reasons(&inventory, "sda").contains("100 GB"));
    assert!(reasons(&inventory, "sr0").contains("ODD"));
    assert!(reasons(&inventory, "sdb").contains("booted"));
    let ids: Vec<&str> = inventory
        .disks
        .items()
        .iter()
        .map(|d| d.id.as_str())
        .collect();
    assert_eq!(
        ids[..2],
        ["/dev/sda", "/dev/sr0"],
        "missing ids are filled in"
    );
}

#[test]
fn a_boot_medium_the_agent_refused_already_has_no_second_reason() {
    let mut medium = Disk {
        is_installation_media: true,
        ..disk("sda", 200)
    };
    medium.installation_eligibility.not_eligible_reasons = vec!["it is the ISO".to_owned()].into();
    let once = evaluated(vec![medium]);
    assert_eq!(reasons(&once, "sda"), "it is the ISO");
    let mut marked = evaluated(vec![Disk {
        is_installation_media: true,
        ..disk("sda", 200)
    }]);
    let first = reasons(&marked, "sda");
    evaluate(&mut marked, &RequirementTable::default().worker, "4.16.0");
    assert_eq!(
        reasons(&marked, "sda"),
        first,
        "evaluating again adds nothing"
    );
}

#[test]
fn drive_types_depend_on_release_and_architecture() {
    for (kind, version, architecture, expected) in [
        ("HDD", "", "", true),
        ("SSD", "4.9", "arm64", true),
        ("Multipath", "", "ppc64le", true),
        ("RAID", "4.13.9", "x86_64", false),
        ("RAID", "4.14.0-rc.1", "x86_64", true),
        ("iSCSI", "4.14.9", "x86_64", false),
        ("iSCSI", "4.15", "aarch64", true),
        ("FC", "4.16", "x86_64", true),
        ("FC", "4.16", "s390x", true),
        ("FC", "4.16", "aarch64", false),
        ("ECKD", "4.16", "s390x", true),
        ("ECKD (ESE)", "4.16", "s390x", true),
        ("FBA", "4.16", "s390x", true),
        ("FBA", "4.16", "x86_64", false),
        ("LVM", "4.16", "x86_64", false),
        ("FDD", "4.16", "x86_64", false),
        ("", "4.16", "x86_64", false),
    ] {
        assert_eq!(
            type_is_supported(kind, version, architecture.parse().ok()),
            expected,
            "{kind} {version} {architecture}"
        );
    }
    let old = evaluated_for(machine(vec![of_type("md0", "RAID", "")]), "4.12.1");
    assert!(reasons(&old, "md0").contains("RAID"));
    let unknown = evaluated(vec![of_type("sda", "", "")]);
    assert!(reasons(&unknown, "sda").contains("Unknown"));
}

#[test]
fn a_path_of_a_multipath_disk_is_refused_in_favour_of_the_whole() {
    let inventory = evaluated(vec![
        of_type("dm-1", "Multipath", ""),
        of_type("sda", "FC", "dm-1"),
        of_type("sdb", "FC", "dm-7,dm-1"),
        of_type("sdc", "FC", "dm-10"),
    ]);
    assert_eq!(fit(&inventory), ["sdc", "dm-1"]);
    assert!(reasons(&inventory, "sdb").contains("dm-1"));
}

#[test]
fn the_paths_of_a_multipath_disk_must_be_of_one_good_kind() {
    let over = |paths: Vec<Disk>| {
        let mut disks = vec![of_type("dm-1", "Multipath", "")];
        disks.extend(paths);
        evaluated(disks)
    };
    let none = over(vec![
        of_type("sda", "SSD", "dm-1"),
        of_type("sdb", "FC", "dm-10"),
    ]);
    assert!(reasons(&none, "dm-1").contains("FC or iSCSI only"));
    let mixed = over(vec![
        of_type("sda", "FC", "dm-1"),
        iscsi("sdb", "dm-1", Some("198.51.100.11")),
    ]);
    assert!(reasons(&mixed, "dm-1").contains("different kinds"));
    let good = over(vec![iscsi("sda", "dm-1", Some("198.51.100.11"))]);
    assert_eq!(fit(&good), ["dm-1"]);
    let bad_network = over(vec![
        iscsi("sda", "dm-1", Some("198.51.100.11")),
        iscsi("sdb", "dm-1", None),
    ]);
    assert!(reasons(&bad_network, "dm-1").contains("path sdb"));
    let too_old = machine(vec![
        of_type("dm-1", "Multipath", ""),
        iscsi("sda", "dm-1", Some("198.51.100.11")),
    ]);
    assert!(reasons(&evaluated_for(too_old, "4.14.1"), "dm-1").contains("path sda"));
}

#[test]
fn iscsi_must_not_run_over_the_way_out() {
    let from = |address: Option<&str>| evaluated(vec![iscsi("sda", "", address)]);
    let said = |address| reasons(&from(address), "sda");
    assert_eq!(said(Some("198.51.100.11")), "");
    assert!(
        said(Some("192.0.2.11")).contains("eth0"),
        "the last of the best routes"
    );
    assert!(said(None).contains("not known"));
    assert!(said(Some("")).contains("not known"));
    assert!(said(Some("here")).contains("not an IP address"));
    assert_eq!(said(Some("2001:db8::1")), "", "no way out in that family");
    let mut odd = machine(vec![iscsi("sda", "", Some("198.51.100.11"))]);
    odd.routes.0.as_mut().unwrap().pop();
    assert!(reasons(&evaluated_for(odd, "4.16"), "sda").contains("eth9"));
}

#[test]
fn evaluating_twice_adds_no_reason_twice_and_keeps_the_agents_own() {
    let mut bad = disk("sda", 1);
    bad.installation_eligibility.not_eligible_reasons = vec!["in use".to_owned()].into();
    let once = evaluated(vec![bad]);
    assert_eq!(evaluated_for(once.clone(), "4.16.0"), once);
    assert_eq!(reasons(&once, "sda").matches("; ").count(), 1);
    let mut grown = once;
    grown.disks.0.as_mut().unwrap()[0].size_bytes = 1 << 50;
    assert_eq!(reasons(&evaluated_for(grown, "4.16.0"), "sda"), "in use");
}

#[test]
fn an_agent_that_says_no_without_a_reason_is_overruled() {
    assert_eq!(fit(&evaluated(vec![disk("sda", 200)])), ["sda"]);
}

#[test]
fn bootable_disks_come_first_then_by_type_then_the_smallest_and_nvme_last() {
    let ssd = |disk: Disk| Disk {
        drive_type: "SSD".into(),
        ..disk
    };
    let at = |hctl: &str, disk: Disk| Disk {
        hctl: hctl.into(),
        ..disk
    };
    let inventory = evaluated(vec![
        ssd(disk("nvme0n1", 120)),
        ssd(disk("sdz", 110)),
        at("1:0:0:2", disk("sda", 300)),
        at("1:0:0:1", disk("sdd", 300)),
        disk("sdb", 200),
        Disk {
            bootable: true,
            ..disk("sdc", 900)
        },
    ]);
    assert_eq!(
        fit(&inventory),
        ["sdc", "sdb", "sdd", "sda", "sdz", "nvme0n1"]
    );
}

#[test]
fn a_fit_choice_stays_by_any_of_its_names_and_an_unfit_one_is_replaced() {
    let named = Disk {
        id: "/dev/disk/by-id/a".into(),
        by_path: "/dev/disk/by-path/a".into(),
        ..disk("sda", 300)
    };
    let inventory = evaluated(vec![named, disk("sdb", 200), disk("sdc", 10)]);
    let chosen = |present: &[&str]| choose(&inventory, present).unwrap().name.clone();
    for name in ["/dev/sda", "/dev/disk/by-id/a", "/dev/disk/by-path/a"] {
        assert_eq!(chosen(&["", name]), "sda");
    }
    assert_eq!(chosen(&["/dev/sdc"]), "sdb");
    assert_eq!(chosen(&["", ""]), "sdb");
    assert_eq!(choose(&evaluated(vec![]), &["/dev/sda"]), None);
}

#[test]
fn only_local_bootable_disks_that_stay_lose_their_boot_sector() {
    let bootable = |name: &str| Disk {
        bootable: true,
        ..disk(name, 100)
    };
    let disks = vec![
        bootable("sda"),
        disk("sdb", 100),
        Disk {
            removable: true,
            ..bootable("sdc")
        },
        Disk {
            is_installation_media: true,
            ..bootable("sdd")
        },
        Disk {
            by_path: "/dev/disk/by-path/x-mmcblk0".into(),
            ..bootable("sde")
        },
        Disk {
            drive_type: "LVM".into(),
            ..bootable("sdf")
        },
    ];
    assert_eq!(to_be_formatted(&evaluated(disks)), ["/dev/sda"]);
}

#[test]
fn versions_compare_by_number() {
    assert!(at_least("4.15.0-rc.1", MinorVersion::new(4, 15)));
    assert!(at_least("4.100.3", MinorVersion::new(4, 15)));
    assert!(!at_least("4.9.0", MinorVersion::new(4, 15)));
    assert!(!at_least("", MinorVersion::new(4, 15)));
}
