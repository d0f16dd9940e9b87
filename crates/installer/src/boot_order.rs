//! Making the firmware start the installed disk.
//!
//! Only UEFI keeps a list that can be changed. An entry for the disk's boot loader is added in
//! front (the vendor's directory, or the fallback path every firmware knows), older entries of
//! the same label are removed, and the list is read back: a firmware that ignores the change is
//! reported, because the machine would boot the installation medium again.

use std::path::{Path, PathBuf};

use muster_machine::{Machine, Task};

use crate::{
    disk::Claim,
    error::InstallError,
    installed_disk::InstalledDisk,
    tasks::{flushing, run},
};

/// What the entry is called; the reference uses the same, so that its entries are replaced.
const LABEL: &str = "Red Hat Enterprise Linux";
const MOUNT_POINT: &str = "/run/muster-installer/esp";
/// Directories of boot loaders on the EFI partition, the preferred one first.
const VENDORS: &[&str] = &["redhat", "centos", "fedora"];

/// Sets the boot order, if this machine has one.
///
/// # Errors
/// What went wrong; the machine may then boot from what it booted from before.
pub fn set(machine: &dyn Machine, disk: &Claim) -> Result<(), InstallError> {
    if machine.exists("/usr/sbin/bootlist") {
        let task = Task::new("bootlist", "make the firmware start the installed disk")
            .args(["-m", "normal", "-o"])
            .arg(disk.path().display().to_string());
        run(machine, &task)?;
        return Ok(());
    }
    if !machine.exists("/sys/firmware/efi") {
        return Ok(());
    }
    let installed = InstalledDisk::read(machine, disk);
    let partition = installed.efi()?;
    let loader = loader(machine, &partition.path())?;
    let before = listing(machine)?;
    let number = partition.number_in_table().to_string();
    add(machine, &installed.nodes(), &number, &loader)?;
    for old in before.entries.iter().filter(|entry| entry.label == LABEL) {
        let remove = Task::new("efibootmgr", "remove an older entry of the firmware").args([
            "-B",
            "-b",
            &old.number,
        ]);
        run(machine, &remove)?;
    }
    let after = listing(machine)?;
    if after.starts_ours() {
        return Ok(());
    }
    // Some firmwares put new entries behind their own.
    let Some(ours) = after.ours() else {
        return Err(InstallError::Firmware(
            "the firmware did not keep the entry of the installed disk".to_owned(),
        ));
    };
    let others = after.order.iter().filter(|number| **number != ours);
    let order: Vec<&str> = std::iter::once(ours.as_str())
        .chain(others.map(String::as_str))
        .collect();
    let reorder =
        Task::new("efibootmgr", "put the installed disk first").args(["-o", &order.join(",")]);
    run(machine, &reorder)?;
    let after = listing(machine)?;
    if after.starts_ours() {
        return Ok(());
    }
    // The next boot is the one that matters most; from then on the node is what it should be.
    let next = Task::new("efibootmgr", "start the installed disk next").args(["-n", &ours]);
    let next = run(machine, &next)
        .map_err(InstallError::from)
        .and_then(|_| listing(machine));
    let first = after.order.first().map_or("nothing", String::as_str);
    let kept = format!("the firmware did not keep the new boot order (it starts {first} first)");
    Err(InstallError::Firmware(match next {
        Ok(listing) if listing.next.as_ref() == Some(&ours) => format!(
            "{kept}; the next boot starts the installed disk, later ones may not: set the order in \
             the firmware"
        ),
        Ok(_) | Err(_) => format!("{kept}; set the order in the firmware, or take the medium out"),
    }))
}

/// Adds an entry. Not every version of the program can describe a multipath disk by its own node; the
/// entry is the same when it is described by one of the paths to it.
fn add(
    machine: &dyn Machine,
    nodes: &[PathBuf],
    partition: &str,
    loader: &str,
) -> Result<(), InstallError> {
    let mut problems = Vec::new();
    for node in nodes {
        let add = Task::new("efibootmgr", "make the firmware start the installed disk")
            .args(["-c", "-d"])
            .arg(node.display().to_string())
            .args(["-p", partition, "-L", LABEL, "-l", loader]);
        match run(machine, &add) {
            Ok(_) => return Ok(()),
            Err(cause) => problems.push(cause.into()),
        }
    }
    InstallError::several(problems)
}

/// The path of the boot loader on the EFI partition, as the firmware writes it.
fn loader(machine: &dyn Machine, partition: &Path) -> Result<String, InstallError> {
    let (arch, shim) = match machine.kernel().architecture.as_str() {
        "aarch64" => ("AA64", "shimaa64.efi"),
        _ => ("X64", "shimx64.efi"),
    };
    let make = Task::new("mkdir", "look at the EFI partition").args(["-p", MOUNT_POINT]);
    run(machine, &make)?;
    let mount = flushing("mount", "look at the EFI partition")
        .args(["-o", "ro"])
        .arg(partition.display().to_string())
        .arg(MOUNT_POINT);
    run(machine, &mount)?;
    let vendor = VENDORS
        .iter()
        .find(|vendor| machine.exists(format!("{MOUNT_POINT}/EFI/{vendor}/{shim}")));
    let unmount = flushing("umount", "leave the EFI partition").arg(MOUNT_POINT);
    run(machine, &unmount)?;
    Ok(match vendor {
        Some(vendor) => format!("\\EFI\\{vendor}\\{shim}"),
        None => format!("\\EFI\\BOOT\\BOOT{arch}.EFI"),
    })
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Listing {
    order: Vec<String>,
    /// What the next boot starts, whatever the order.
    next: Option<String>,
    entries: Vec<Entry>,
}

impl Listing {
    /// The number of our entry.
    fn ours(&self) -> Option<String> {
        let mut ours = self.entries.iter().filter(|entry| entry.label == LABEL);
        ours.next().map(|entry| entry.number.clone())
    }

    fn starts_ours(&self) -> bool {
        let first = self.order.first();
        let mut ours = self.entries.iter().filter(|entry| entry.label == LABEL);
        ours.any(|entry| Some(&entry.number) == first)
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    number: String,
    label: String,
}

fn listing(machine: &dyn Machine) -> Result<Listing, InstallError> {
    let list = Task::new("efibootmgr", "read the boot order of the firmware");
    Ok(parse(&run(machine, &list)?.out()))
}

/// Reads what `efibootmgr` prints. Newer versions print the path of an entry behind a tab.
fn parse(text: &str) -> Listing {
    let mut listing = Listing::default();
    for line in text.lines() {
        if let Some(order) = line.strip_prefix("BootOrder: ") {
            listing.order = order.split(',').map(|n| n.trim().to_owned()).collect();
        } else if let Some(next) = line.strip_prefix("BootNext: ") {
            listing.next = Some(next.trim().to_owned());
        } else if let Some((number, label)) = line.strip_prefix("Boot").and_then(entry) {
            listing.entries.push(Entry { number, label });
        }
    }
    listing
}

fn entry(rest: &str) -> Option<(String, String)> {
    let (number, label) = rest.split_at_checked(4)?;
    let is_number = number.bytes().all(|digit| digit.is_ascii_hexdigit());
    let label = label.strip_prefix(['*', ' '])?.trim_start();
    let label = label.split('\t').next().unwrap_or_default();
    is_number.then(|| (number.to_owned(), label.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Kernel, Node, Simulated};

    use super::*;
    use crate::{disk::Devices, tasks::tests::assert_slow_disks_have_time};

    const LIST: &str = "BootCurrent: 0002\nTimeout: 0 seconds\nBootOrder: 0002,0001,0000\n\
        Boot0000* UiApp\nBoot0001* Red Hat Enterprise Linux\tHD(2,GPT,aa)/File(x)\nBoot0002* UEFI DVD-ROM\n";

    #[test]
    fn the_list_of_the_firmware_is_read_with_and_without_paths() {
        let listing = parse(LIST);
        assert_eq!(listing.order, ["0002", "0001", "0000"]);
        let labels: Vec<_> = listing.entries.iter().map(|e| e.label.as_str()).collect();
        assert_eq!(labels, ["UiApp", LABEL, "UEFI DVD-ROM"]);
        let odd = parse("BootNext: 0001\nBootèéè\nBoot00");
        assert_eq!(odd.next.as_deref(), Some("0001"));
        assert!(odd.entries.is_empty() && odd.order.is_empty());
    }

    fn uefi(list: &str) -> (Simulated, Claim) {
        let machine = Simulated::default();
        machine.change(|tree| {
            tree.insert("/sys/firmware/efi", Node::Directory);
            tree.line("/sys/block/vda/dev", "252:0");
            tree.line("/sys/block/vda/vda2/dev", "252:2");
            tree.line("/sys/block/vda/vda2/partition", "2");
            tree.line("/sys/block/vda/vda2/uevent", "PARTN=2\nPARTNAME=EFI-SYSTEM");
            tree.insert("/dev/vda", Node::Block(vec![]));
            tree.line(format!("{MOUNT_POINT}/EFI/redhat/shimx64.efi"), "");
        });
        machine.set_kernel(Kernel {
            architecture: "x86_64".into(),
            ..Kernel::default()
        });
        for program in ["mkdir", "mount", "umount"] {
            machine.on([program], Finished::with_output(""));
        }
        machine.on(["efibootmgr"], Finished::with_output(list));
        let devices = Devices::read(&machine);
        let claim = Claim::of(&machine, &devices, Path::new("/dev/vda")).unwrap();
        (machine, claim)
    }

    #[test]
    fn the_vendor_s_loader_is_listed_and_the_older_entry_removed() {
        let ours_first = LIST.replace("0002,0001,0000", "0001,0002,0000");
        let (machine, claim) = uefi(&ours_first);
        set(&machine, &claim).unwrap();
        assert_slow_disks_have_time(&machine);
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        let add =
            format!("efibootmgr -c -d /dev/vda -p 2 -L {LABEL} -l \\EFI\\redhat\\shimx64.efi");
        assert!(ran.contains(&add), "{ran:#?}");
        assert!(
            ran.contains(&"efibootmgr -B -b 0001".to_owned()),
            "{ran:#?}"
        );
    }

    #[test]
    fn a_multipath_disk_is_listed_by_one_of_its_paths_where_its_own_node_is_not_understood() {
        let (machine, _) = uefi(&LIST.replace("0002,0001,0000", "0001,0002,0000"));
        machine.change(|tree| {
            for (name, number, uuid) in [
                ("dm-0", "253:0", "mpath-3600a"),
                ("dm-1", "253:1", "part2-mpath-3600a"),
            ] {
                let folder = format!("/sys/block/{name}");
                tree.line(format!("{folder}/dev"), number);
                tree.line(format!("{folder}/dm/name"), name);
                tree.line(format!("{folder}/dm/uuid"), uuid);
                tree.insert(format!("/dev/{name}"), Node::Block(vec![]));
            }
            tree.line("/sys/block/vda/holders/dm-0", "");
            tree.line("/sys/block/dm-0/holders/dm-1", "");
            tree.line("/run/udev/data/b253:1", "E:ID_PART_ENTRY_NAME=EFI-SYSTEM");
        });
        machine.on(["kpartx"], Finished::with_output(""));
        let unknown = Finished::failed(5, "Could not prepare Boot variable");
        machine.on(["efibootmgr", "-c", "-d", "/dev/dm-0"], unknown);
        let devices = Devices::read(&machine);
        let claim = Claim::of(&machine, &devices, Path::new("/dev/dm-0")).unwrap();
        set(&machine, &claim).unwrap();
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        let place = |start: &str| ran.iter().position(|line| line.starts_with(start));
        assert!(place("kpartx -u -s /dev/dm-0") < place("mount"), "{ran:#?}");
        assert!(
            place(&format!("mount -o ro /dev/dm-1 {MOUNT_POINT}")).is_some(),
            "{ran:#?}"
        );
        let by_disk = place("efibootmgr -c -d /dev/dm-0 -p 2");
        let by_path = place("efibootmgr -c -d /dev/vda -p 2");
        assert!(by_disk.is_some() && by_disk < by_path, "{ran:#?}");
    }

    #[test]
    fn a_firmware_that_keeps_its_own_order_is_an_error() {
        let (machine, claim) = uefi(LIST);
        let problem = set(&machine, &claim).unwrap_err().to_string();
        assert!(problem.contains("starts 0002 first"), "{problem}");
        assert!(problem.contains("take the medium out"), "{problem}");
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        let reorder = ran
            .iter()
            .position(|line| line == "efibootmgr -o 0001,0002,0000");
        let next = ran.iter().position(|line| line == "efibootmgr -n 0001");
        assert!(reorder.is_some() && reorder < next, "{ran:#?}");
    }

    #[test]
    fn the_next_boot_is_set_where_the_order_is_not_kept() {
        let (machine, claim) = uefi(&format!("BootNext: 0001\n{LIST}"));
        let problem = set(&machine, &claim).unwrap_err().to_string();
        assert!(
            problem.contains("the next boot starts the installed disk"),
            "{problem}"
        );
    }

    #[test]
    fn bios_has_no_order_to_set() {
        let (machine, claim) = uefi(LIST);
        machine.change(|tree| tree.remove(Path::new("/sys/firmware/efi")).unwrap());
        set(&machine, &claim).unwrap();
        assert!(machine.ran().is_empty());
    }
}
