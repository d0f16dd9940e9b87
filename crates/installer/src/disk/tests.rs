//! Disks that look alike, disks in use, and random piles of devices.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use muster_machine::{Node, Simulated};
use proptest::prelude::*;

use super::*;

/// A machine whose block devices are described one by one.
#[derive(Default)]
struct Bench {
    machine: Simulated,
    count: usize,
}

impl Bench {
    fn device(&mut self, folder: &str, name: &str) {
        self.count += 1;
        let number = format!("8:{}", self.count);
        self.machine.change(|tree| {
            tree.line(format!("{folder}/dev"), &number);
            tree.insert(format!("/dev/{name}"), Node::Block(vec![]));
        });
    }

    fn disk(mut self, name: &str) -> Self {
        self.device(&format!("/sys/block/{name}"), name);
        self
    }

    fn partition(mut self, disk: &str, name: &str, number: u32) -> Self {
        let folder = format!("/sys/block/{disk}/{name}");
        self.device(&folder, name);
        self.machine
            .change(|tree| tree.line(format!("{folder}/partition"), &number.to_string()));
        self
    }

    /// A mapped device or an array (`md…`) on some folders of sysfs.
    fn on(mut self, name: &str, below: &[&str]) -> Self {
        self.device(&format!("/sys/block/{name}"), name);
        self.machine.change(|tree| {
            if name.starts_with("md") {
                tree.insert(format!("/sys/block/{name}/md"), Node::Directory);
            } else {
                tree.line(format!("/sys/block/{name}/dm/name"), &format!("map-{name}"));
            }
            for folder in below {
                tree.line(format!("/sys/block/{folder}/holders/{name}"), "");
            }
        });
        self
    }

    /// A mapped device with its identifier, which says what it is.
    fn mapped(self, name: &str, uuid: &str, below: &[&str]) -> Self {
        self.on(name, below)
            .file(&format!("/sys/block/{name}/dm/uuid"), uuid)
    }

    fn file(self, path: &str, line: &str) -> Self {
        self.machine.change(|tree| tree.line(path, line));
        self
    }

    fn claim(&self, path: &str) -> Result<Claim, Refused> {
        let devices = Devices::read(&self.machine);
        Claim::of(&self.machine, &devices, Path::new(path))
    }

    fn cleanup(&self, path: &str) -> Vec<Action> {
        let devices = Devices::read(&self.machine);
        cleanup(&devices, &self.claim(path).unwrap())
    }
}

fn wipe(path: &str) -> Action {
    Action::Wipe(path.into())
}

fn unmap(name: &str) -> Action {
    Action::Unmap(format!("map-{name}"))
}

#[test]
fn a_disk_whose_name_begins_like_another_s_is_another_disk() {
    let bench = Bench::default()
        .disk("sda")
        .partition("sda", "sda1", 1)
        .on("dm-0", &["sda/sda1"])
        .disk("sdaa")
        .partition("sdaa", "sdaa1", 1)
        .on("dm-1", &["sdaa/sdaa1"])
        .on("md127", &["sdaa"])
        .disk("nvme0n1")
        .disk("nvme0n10")
        .partition("nvme0n10", "nvme0n10p1", 1);
    assert_eq!(
        bench.cleanup("/dev/sda"),
        [unmap("dm-0"), wipe("/dev/sda1"), wipe("/dev/sda")]
    );
    assert_eq!(bench.cleanup("/dev/nvme0n1"), [wipe("/dev/nvme0n1")]);
}

#[test]
fn a_volume_over_two_disks_is_switched_off_and_the_other_disk_keeps_its_bytes() {
    let bench = Bench::default()
        .disk("sda")
        .partition("sda", "sda1", 1)
        .disk("sdb")
        .partition("sdb", "sdb1", 1)
        .on("md0", &["sda/sda1", "sdb/sdb1"])
        .on("dm-0", &["md0"])
        .on("dm-1", &["dm-0", "sdb"]);
    let actions = bench.cleanup("/dev/sda");
    assert_eq!(
        actions,
        [
            unmap("dm-1"),
            unmap("dm-0"),
            Action::StopArray("/dev/md0".into()),
            wipe("/dev/sda1"),
            wipe("/dev/sda"),
        ]
    );
}

#[test]
fn a_link_names_the_disk_it_leads_to() {
    let bench = Bench::default().disk("sda").disk("sdb");
    bench.machine.change(|tree| {
        tree.insert("/dev/disk/by-id/wwn-1", Node::Link("../../sdb".into()));
    });
    let claim = bench.claim("/dev/disk/by-id/wwn-1").unwrap();
    assert_eq!(claim.path(), Path::new("/dev/sdb"));
    assert_eq!(bench.cleanup("/dev/disk/by-id/wwn-1"), [wipe("/dev/sdb")]);
}

#[test]
fn what_is_no_whole_disk_is_refused_with_the_reason() {
    let bench = Bench::default()
        .disk("sda")
        .partition("sda", "sda1", 1)
        .file("/dev/notes", "precious");
    for path in ["/dev/missing", "/dev/notes", "/etc/passwd"] {
        let refused = bench.claim(path).unwrap_err();
        assert!(matches!(refused, Refused::NotADisk { .. }), "{path}");
    }
    let refused = bench.claim("/dev/sda1").unwrap_err().to_string();
    assert!(
        refused.contains("choose the disk it is on (sda)"),
        "{refused}"
    );
}

#[test]
fn a_disk_in_use_is_refused_wherever_on_it_the_use_is() {
    let stacked = || {
        Bench::default()
            .disk("sda")
            .partition("sda", "sda1", 1)
            .on("dm-0", &["sda/sda1"])
    };
    let mounted =
        |number: &str, source: &str| format!("36 25 {number} / /var/data rw - xfs {source} rw");
    // Numbers are given in order: sda, sda1, dm-0.
    for number in ["8:1", "8:2", "8:3"] {
        let bench = stacked().file("/proc/1/mountinfo", &mounted(number, "none"));
        let refused = bench.claim("/dev/sda").unwrap_err();
        assert!(refused.to_string().contains("/var/data"), "{refused}");
    }
    let by_path = stacked().file("/proc/1/mountinfo", &mounted("0:44", "/dev/sda1"));
    assert!(matches!(
        by_path.claim("/dev/sda"),
        Err(Refused::Mounted { .. })
    ));
    let swap = stacked().file("/proc/swaps", "Filename Type\n/dev/dm-0 partition 1 0 -2");
    assert!(matches!(swap.claim("/dev/sda"), Err(Refused::Swap { .. })));
    let elsewhere = stacked().file("/proc/1/mountinfo", &mounted("8:9", "/dev/sdaa"));
    assert!(elsewhere.claim("/dev/sda").is_ok());
}

#[test]
fn the_medium_of_the_live_system_is_refused() {
    let bench = Bench::default()
        .disk("sda")
        .disk("loop0")
        .file(
            "/sys/block/loop0/loop/backing_file",
            "/run/media/iso/images/rootfs.img",
        )
        .file(
            "/proc/1/mountinfo",
            "36 25 8:1 / /run/media/iso ro - iso9660 /dev/sda ro",
        );
    let refused = bench.claim("/dev/sda").unwrap_err().to_string();
    assert!(
        refused.contains("rootfs.img on it backs /dev/loop0"),
        "{refused}"
    );
}

/// A disk on two paths, with two mapped partitions and a volume on the second; the kernel found
/// partitions on the first path as well. Numbers: sda 1, sda1 2, sda2 3, sdb 4, dm-0 5, dm-1 6, dm-2 7, dm-3 8.
fn multipath() -> Bench {
    Bench::default()
        .disk("sda")
        .partition("sda", "sda1", 1)
        .partition("sda", "sda2", 2)
        .disk("sdb")
        .mapped("dm-0", "mpath-3600a", &["sda", "sdb"])
        .mapped("dm-1", "part2-mpath-3600a", &["dm-0"])
        .mapped("dm-2", "part1-mpath-3600a", &["dm-0"])
        .mapped("dm-3", "LVM-abc", &["dm-1"])
}

#[test]
fn partitions_of_a_multipath_disk_are_the_mapped_ones_by_number() {
    let bench = multipath().file("/run/udev/data/b8:6", "E:ID_PART_ENTRY_NAME=root");
    let devices = Devices::read(&bench.machine);
    let parts: Vec<_> = devices.partitions("dm-0").collect();
    let names: Vec<_> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["dm-2", "dm-1"]);
    assert_eq!(parts[1].number_in_table(), 2);
    assert_eq!(parts[1].label.as_deref(), Some("root"));
    assert_eq!(parts[1].folder(), "/sys/block/dm-1");
    let refused = bench.claim("/dev/dm-1").unwrap_err();
    assert!(
        matches!(&refused, Refused::Partition { whole, .. } if whole == "dm-0"),
        "{refused}"
    );
}

#[test]
fn a_path_to_a_multipath_disk_is_that_disk() {
    let bench = multipath();
    for named in ["/dev/dm-0", "/dev/sda", "/dev/sdb"] {
        assert_eq!(
            bench.claim(named).unwrap().path(),
            Path::new("/dev/dm-0"),
            "{named}"
        );
        assert_eq!(
            bench.cleanup(named),
            [
                unmap("dm-3"),
                wipe("/dev/dm-2"),
                wipe("/dev/dm-1"),
                wipe("/dev/dm-0")
            ],
            "{named}"
        );
        // Whatever is used: the disk, a path to it, a partition that the kernel found on a path, a
        // mapped one, a volume on that.
        for number in 1..=8 {
            let line = format!("36 25 8:{number} / /var/data rw - xfs none rw");
            let used = multipath().file("/proc/1/mountinfo", &line);
            let refused = used.claim(named);
            assert!(
                matches!(refused, Err(Refused::Mounted { .. })),
                "{named} {number}: {refused:?}"
            );
        }
    }
}

#[test]
fn a_volume_on_a_path_to_a_multipath_disk_is_switched_off_before_the_disk_is_wiped() {
    let bench = multipath().on("dm-4", &["sda/sda2"]);
    let actions = bench.cleanup("/dev/dm-0");
    assert_eq!(actions.first(), Some(&unmap("dm-4")));
    assert!(!actions.contains(&unmap("dm-0")), "{actions:?}");
    assert!(!actions.contains(&wipe("/dev/sda2")), "{actions:?}");
}

#[test]
fn partitions_of_a_volume_are_unmapped_before_it() {
    let bench = Bench::default()
        .disk("sda")
        .mapped("dm-0", "LVM-abc", &["sda"])
        .mapped("dm-1", "part1-LVM-abc", &["dm-0"]);
    let expected = [unmap("dm-1"), unmap("dm-0"), wipe("/dev/sda")];
    assert_eq!(bench.cleanup("/dev/sda"), expected);
}

/// Disks whose names are beginnings of each other.
const DISKS: &[&str] = &["sda", "sdaa", "sdab", "nvme0n1", "nvme0n10", "nvme0n1000"];

proptest! {
    /// Random partitions, and devices built on random others. What the emptying of one disk
    /// touches is compared with what the pile was made from.
    #[test]
    fn only_what_is_built_on_the_disk_is_touched(
        partitions in proptest::collection::vec(0_u32..4, DISKS.len()),
        layers in proptest::collection::vec(
            (any::<bool>(), proptest::collection::vec(any::<prop::sample::Index>(), 1..4)), 0..12),
        chosen in 0..DISKS.len(),
    ) {
        let mut bench = Bench::default();
        // Every device: its folder in sysfs, and the disks it reaches.
        let mut folders: Vec<(String, String)> = Vec::new();
        let mut reaches: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        let mut built_on: Vec<(String, String)> = Vec::new();
        for (&disk, &count) in DISKS.iter().zip(&partitions) {
            bench = bench.disk(disk);
            folders.push((disk.to_owned(), disk.to_owned()));
            reaches.insert(disk.to_owned(), BTreeSet::from([disk]));
            for number in 1..=count {
                let digit = disk.ends_with(|c: char| c.is_ascii_digit());
                let part = format!("{disk}{}{number}", if digit { "p" } else { "" });
                bench = bench.partition(disk, &part, number);
                folders.push((part.clone(), format!("{disk}/{part}")));
                reaches.insert(part.clone(), BTreeSet::from([disk]));
                built_on.push((part, disk.to_owned()));
            }
        }
        for (index, (array, below)) in layers.iter().enumerate() {
            let name = format!("{}{index}", if *array { "md" } else { "dm-" });
            let below: BTreeSet<_> = below.iter().map(|at| at.get(&folders).clone()).collect();
            let paths: Vec<&str> = below.iter().map(|(_, folder)| folder.as_str()).collect();
            bench = bench.on(&name, &paths);
            let disks = below.iter().flat_map(|(name, _)| reaches[name].clone()).collect();
            reaches.insert(name.clone(), disks);
            built_on.extend(below.iter().map(|(under, _)| (name.clone(), under.clone())));
            folders.push((name.clone(), name));
        }
        let disk = DISKS[chosen];
        let mut order = Vec::new();
        for action in bench.cleanup(&format!("/dev/{disk}")) {
            match action {
                Action::Unmap(name) => {
                    let name = name.strip_prefix("map-").unwrap().to_owned();
                    prop_assert!(reaches[&name].contains(disk), "{name} is not on {disk}");
                    order.push(name);
                }
                Action::StopArray(path) => {
                    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                    prop_assert!(reaches[&name].contains(disk), "{name} is not on {disk}");
                    order.push(name);
                }
                Action::Wipe(path) => {
                    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                    let own = name == disk || built_on.contains(&(name.clone(), disk.to_owned()));
                    prop_assert!(own && !name.starts_with("md"), "{name} is not of {disk}");
                    order.push(name);
                }
            }
        }
        let all: BTreeSet<_> = reaches
            .iter()
            .filter(|(_, disks)| disks.contains(disk))
            .map(|(name, _)| name.clone())
            .collect();
        prop_assert_eq!(order.iter().cloned().collect::<BTreeSet<_>>(), all, "something was left");
        for (upper, lower) in &built_on {
            let place = |name: &String| order.iter().position(|other| other == name);
            if let (Some(upper), Some(lower)) = (place(upper), place(lower)) {
                prop_assert!(upper < lower, "what is built on a device goes before it");
            }
        }
    }
}
