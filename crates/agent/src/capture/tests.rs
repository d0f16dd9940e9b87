//! A capture shows the same machine; a scrubbed one the same kind of machine.

use muster_machine::{Link, Record};
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::inventory::{collect, tests::record};

const MACHINES: &[&str] = &[
    "server",
    "virtual",
    "arm-board",
    "fibre-channel",
    "iscsi",
    "mainframe",
];

fn saved(record: &Record) -> Record {
    let folder = tempfile::tempdir().unwrap();
    record.save(folder.path()).unwrap();
    Record::open(folder.path()).unwrap()
}

#[test]
fn the_inventory_of_a_capture_is_that_of_the_machine() {
    for machine in MACHINES {
        let original = record(machine).replay();
        let captured = saved(&capture(&original));
        assert_eq!(collect(&captured.replay()), collect(&original), "{machine}");
    }
}

/// Everything in a record as one text.
fn everything(record: &Record) -> String {
    let folder = tempfile::tempdir().unwrap();
    record.save(folder.path()).unwrap();
    ["tree.txt", "network.json", "machine.json"]
        .map(|file| std::fs::read_to_string(folder.path().join(file)).unwrap())
        .concat()
}

#[test]
fn a_scrubbed_capture_says_nothing_that_identifies() {
    let secrets: &[(&str, &[&str])] = &[
        (
            "server",
            &[
                "ABC1234",
                "4c4c4544-0042",
                "\"DELLB\"",
                "2F1D34B1",
                "A1-TAG",
                "S3Z8NB0K000001",
                "5002538000000001",
                "6a1b2c3d4e5f607182a3b4c5d6e7f809",
                "NV0001XYZ",
                "3634463052800001",
                "00:00:0a",
                "79:99:1c",
                "198.51.100.21",
                "2001:db8:100::21",
                "2001:db8:b0::121",
                "192.0.2.121",
                "00:0b:0c",
                "rack7",
                "volume-0001",
                "n4XJ0b7cPqRs",
            ],
        ),
        (
            "virtual",
            &[
                "aa-bb-cc",
                "aa:bb:cc",
                "abcd1234",
                "192.0.2.5",
                "disk-two",
                "2001:db8:7::1f",
            ],
        ),
        (
            "arm-board",
            &[
                "0a1b2c3d-0000",
                "10000000a1b2c3d4",
                "0x1a2b3c4d",
                "M20001",
                "board5",
            ],
        ),
        (
            "fibre-channel",
            &["60060160a1b2c3d4", "APM00123456789", "BL9-0042", "blade-9"],
        ),
        (
            "iscsi",
            &[
                "iqn.2024-01.com.example:boot",
                "198.51.100.30",
                "6d1b7c3e-0001",
                "11111111-2222",
            ],
        ),
        ("mainframe", &["ocp1", "203.0.113.40", "00:00:2b"]),
    ];
    for (machine, secrets) in secrets {
        let original = capture(&record(machine).replay());
        let plain = everything(&original);
        let scrubbed = everything(&Scrub::new(&original, 42).record(&original));
        for secret in *secrets {
            assert!(plain.contains(secret), "{secret} was never in {machine}");
            assert!(!scrubbed.contains(secret), "{secret} is still in {machine}");
        }
    }
}

/// The shape of an inventory: what is there and what is checked, without what identifies.
fn shape(inventory: &Value) -> Vec<String> {
    const KEPT: &[&str] = &[
        "drive_type",
        "type",
        "size_bytes",
        "physical_bytes",
        "eligible",
        "has_uuid",
        "bootable",
        "is_installation_media",
        "current_boot_mode",
        "secure_boot_state",
        "vendor",
        "product_name",
        "mtu",
        "metric",
    ];
    let mut shape = Vec::new();
    match inventory {
        Value::Object(members) => {
            for (key, value) in members {
                shape.push(match KEPT.contains(&key.as_str()) {
                    true => format!("{key}={value}"),
                    false => key.clone(),
                });
                shape.extend(self::shape(value));
            }
        }
        Value::Array(items) => shape.extend(items.iter().flat_map(self::shape)),
        _ => {}
    }
    shape
}

#[test]
fn a_scrubbed_capture_is_still_the_same_kind_of_machine() {
    for machine in MACHINES {
        let original = capture(&record(machine).replay());
        let scrubbed = saved(&Scrub::new(&original, 42).record(&original));
        let of = |record: Record| serde_json::to_value(collect(&record.replay())).unwrap();
        let (before, after) = (of(original), of(scrubbed));
        assert_ne!(before, after);
        assert_eq!(shape(&before), shape(&after), "{machine}");
    }
}

#[test]
fn equal_things_stay_equal() {
    let original = capture(&record("server").replay());
    let scrubbed = Scrub::new(&original, 42).record(&original);
    let found = collect(&scrubbed.clone().replay());
    let disk = |name: &str| {
        let disks = found.disks.clone().unwrap();
        disks
            .into_iter()
            .find(|disk| disk.name.as_deref() == Some(name))
            .unwrap()
    };
    // The number of a disk is in udev's record and in the name of a link that leads to it.
    let sda = disk("sda");
    let wwn = sda.wwn.unwrap();
    assert_eq!(sda.by_id, Some(format!("/dev/disk/by-id/wwn-{wwn}")));
    // Gateway and address are in one network, as they were.
    let gateway = scrubbed.network.routes[0].gateway.unwrap().to_string();
    let network = scrubbed.network.routes[1].destination.to_string();
    assert!(
        gateway.starts_with(network.trim_end_matches('0')),
        "{gateway} {network}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn anything_can_be_scrubbed(
        mac in "\\PC{0,30}", hostname in "\\PC{0,20}", text in "\\PC{0,60}",
        bytes in proptest::collection::vec(any::<u8>(), 0..90), salt: u128,
    ) {
        let mut record = Record::default();
        record.about.kernel.hostname = hostname;
        record.network.links.push(Link { mac: Some(mac), ..Link::default() });
        for path in ["/run/udev/data/b8:0", "/sys/block/sda/serial", "/proc/cmdline"] {
            record.tree.insert(path, Node::File(format!("E:ID_SERIAL={text}\n").into_bytes()));
        }
        for path in ["/sys/firmware/dmi/tables/DMI", "/sys/block/sda/device/vpd_pg80", "/sys/x/wwid"] {
            record.tree.insert(path, Node::File(bytes.clone()));
        }
        record.tree.insert("/dev/sda", Node::Block(bytes));
        let scrubbed = Scrub::new(&record, salt).record(&record);
        prop_assert_eq!(scrubbed.tree.nodes().count(), record.tree.nodes().count());
    }
}
