//! Whatever a machine says, its inventory can be taken.

use std::path::{Path, PathBuf};

use muster_machine::{Link, Network, Node, Record};
use proptest::prelude::*;

use super::*;

const MACHINES: &[&str] = &[
    "server",
    "virtual",
    "arm-board",
    "fibre-channel",
    "iscsi",
    "mainframe",
];

/// One of the machines of the tests.
pub fn record(machine: &str) -> Record {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines");
    Record::open(&folder.join(machine)).unwrap()
}

/// What can happen to a file.
#[derive(Clone, Debug)]
enum Mishap {
    Garbage(Vec<u8>),
    Number(String),
    Cut(usize),
    Flip(usize, u8),
    Unreadable(i32),
    Folder,
    Circle,
}

fn mishap() -> impl Strategy<Value = Mishap> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..80).prop_map(Mishap::Garbage),
        "[-+]?[0-9a-fx:.,/-]{0,24}".prop_map(Mishap::Number),
        (0usize..2000).prop_map(Mishap::Cut),
        (0usize..2000, any::<u8>()).prop_map(|(at, byte)| Mishap::Flip(at, byte)),
        prop_oneof![Just(1), Just(2), Just(5), Just(13), Just(22)].prop_map(Mishap::Unreadable),
        Just(Mishap::Folder),
        Just(Mishap::Circle),
    ]
}

fn befall(record: &mut Record, path: PathBuf, mishap: Mishap) {
    let content = record.tree.read(&path).unwrap_or_default();
    let node = match mishap {
        Mishap::Garbage(bytes) => Node::File(bytes),
        Mishap::Number(text) => Node::File(text.into_bytes()),
        Mishap::Cut(length) => Node::File(content.into_iter().take(length).collect()),
        Mishap::Flip(at, byte) => {
            let mut content = content;
            let length = content.len().max(1);
            if let Some(old) = content.get_mut(at % length) {
                *old = byte;
            }
            Node::File(content)
        }
        Mishap::Unreadable(number) => Node::Unreadable(number),
        Mishap::Folder => Node::Directory,
        Mishap::Circle => Node::Link(path.clone()),
    };
    record.tree.insert(path, node);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn garbage_in_any_file_only_leaves_fields_empty(
        machine in proptest::sample::select(MACHINES),
        mishaps in proptest::collection::vec((any::<proptest::sample::Index>(), mishap()), 1..30),
    ) {
        let mut record = record(machine);
        let paths: Vec<PathBuf> = record.tree.nodes()
            .filter(|(path, node)| **node != Node::Directory && path.parent().is_some())
            .map(|(path, _)| path.to_owned())
            .collect();
        for (index, mishap) in mishaps {
            befall(&mut record, index.get(&paths).clone(), mishap);
        }
        let found = collect(&record.replay());
        let text = to_json(found, Limits::default()).unwrap();
        let read: wire::Inventory = serde_json::from_str(&text).unwrap();
        prop_assert!(read.disks.is_some() && read.system_vendor.is_some());
    }

    #[test]
    fn garbage_in_the_firmware_tables_costs_nothing_but_memory_size(
        at in 0usize..1000, bytes in proptest::collection::vec(any::<u8>(), 1..40),
    ) {
        let mut record = record("server");
        let path = Path::new("/sys/firmware/dmi/tables/DMI");
        let mut tables = record.tree.read(path).unwrap();
        let at = at % tables.len();
        tables.splice(at..(at + bytes.len()).min(tables.len()), bytes);
        record.tree.insert(path, Node::File(tables));
        let broken = collect(&record.replay());
        let whole = collect(&super::tests::record("server").replay());
        prop_assert_eq!(broken.disks, whole.disks);
        prop_assert_eq!(broken.interfaces.map(|all| all.len()), whole.interfaces.map(|all| all.len()));
    }

    #[test]
    fn unusual_networks_are_reported_too(
        name in "\\PC{1,15}", mac in "[0-9a-f:]{0,59}", flags: u32, mtu: u32, hardware: u16, prefix: u8,
    ) {
        let network = Network {
            links: vec![Link { index: 1, name, mac: Some(mac), flags, mtu, hardware, ..Link::default() }],
            addresses: vec![muster_machine::Address { index: 1, ip: "2001:db8::1".parse().unwrap(), prefix }],
            routes: vec![muster_machine::Route {
                index: Some(1), destination: "2001:db8::".parse().unwrap(), prefix, gateway: None,
                metric: flags, table: 254, protocol: 9,
            }],
            ..Network::default()
        };
        let machine = muster_machine::Simulated::default();
        machine.set_network(network);
        let found = collect(&machine);
        prop_assert_eq!(found.interfaces.map(|all| all.len()), Some(1));
    }
}

#[test]
fn a_machine_that_says_nothing_has_an_inventory() {
    let found = collect(&muster_machine::Simulated::default());
    let text = to_json(found, Limits::default()).unwrap();
    assert_eq!(
        text,
        r#"{"bmc_address":"0.0.0.0","bmc_v6address":"::/0","boot":{"current_boot_mode":"bios","secure_boot_state":"NotSupported"},"cpu":{"flags":[]},"disks":[],"gpus":[],"hostname":"","interfaces":[],"memory":{"physical_bytes_method":"meminfo"},"routes":[],"system_vendor":{"manufacturer":"unknown","product_name":"unknown","serial_number":"unknown"},"tpm_version":"none"}"#
    );
}

#[test]
fn an_appliance_is_reported_as_its_one_device() {
    let mut record = record("server");
    record
        .tree
        .line("/sys/devices/virtual/block/dm-0/dm/name", "agentboot");
    let disks = collect(&record.replay()).disks.unwrap();
    assert_eq!(disks.len(), 1);
    assert_eq!(disks[0].name.as_deref(), Some("dm-0"));
    assert_eq!(disks[0].size_bytes, Some(100 << 30));
    assert_eq!((disks[0].has_uuid, &disks[0].id), (Some(true), &None));
}

#[test]
fn partitions_of_an_appliance_may_be_mounted() {
    let mut record = record("server");
    let label = |text: &str| Node::File(format!("E:ID_PART_ENTRY_NAME={text}\n").into_bytes());
    let reasons = |record: &Record| {
        let disks = collect(&record.clone().replay()).disks.unwrap();
        let disk = disks
            .into_iter()
            .find(|disk| disk.name.as_deref() == Some("nvme1n1"));
        disk.unwrap()
            .installation_eligibility
            .unwrap()
            .not_eligible_reasons
    };
    record.tree.insert("/run/udev/data/b259:2", label("root"));
    assert_eq!(reasons(&record).map(|reasons| reasons.len()), Some(1));
    record
        .tree
        .insert("/run/udev/data/b259:2", label("agentdata"));
    assert_eq!(reasons(&record), None);
}
