//! The registry that an appliance carries on its boot medium, copied to the installed disk.
//!
//! Control-plane nodes of such a cluster serve the images of the release themselves. The root
//! partition grows by what the registry needs; what is left behind it stays free, because the node
//! makes further partitions there when it boots for the first time.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_machine::{Machine, Task};
use tracing::{info, warn};

use crate::{
    disk::Claim,
    error::InstallError,
    image::Meter,
    installed_disk::InstalledDisk,
    progress::Reached,
    tasks::{flushing, run},
};

/// A boot medium that has this carries a registry.
pub const MARK: &str = "/run/media/iso/registry";
/// Where its content is.
const SOURCE: &str = "/mnt/agentdata/";
const ROOT: &str = "/run/muster-installer/root";
/// Where nodes look for it, on the partition of the operating system.
const TARGET: &str = "/run/muster-installer/root/ostree/deploy/rhcos/var/lib/iri-registry/";
const COPY_LIMIT: Duration = Duration::from_secs(2 * 3600);

/// Copies it. `report` is called with how far it is.
///
/// # Errors
/// The disk is too small, or a program failed. Nothing stays mounted.
pub fn copy(
    machine: &dyn Machine,
    disk: &Claim,
    report: impl Fn(Reached) + Send + Sync + 'static,
) -> Result<(), InstallError> {
    let needed = needed(machine)?;
    let installed = InstalledDisk::read(machine, disk);
    let root = installed.root()?;
    let free_percent = installed.free_percent_after(needed);
    if free_percent < 1 {
        return Err(InstallError::Unusable(format!(
            "{} is too small for the registry on the boot medium, which needs {} GiB of free space; \
             choose a larger installation disk",
            disk.named().display(),
            needed >> 30
        )));
    }
    unfreeze(&installed, machine)?;
    installed.grow(root, free_percent)?;
    installed.mount(root, ROOT)?;
    let copied = installed
        .fill(ROOT)
        .and_then(|()| copy_onto_mounted(machine, report));
    installed.leave(ROOT).and(copied)
}

/// Two and a half times what is there: registries keep layers while they write them.
fn needed(machine: &dyn Machine) -> Result<u64, InstallError> {
    let measure = Task::new("du", "measure the registry on the boot medium")
        .args(["-sb", SOURCE])
        .deadline(Duration::from_secs(600));
    let measured = run(machine, &measure)?;
    let bytes = measured.out();
    let bytes: u64 = bytes
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| InstallError::Unusable(format!("the size of {SOURCE} cannot be read")))?;
    Ok(bytes.saturating_mul(5) / 2)
}

/// An earlier step left the file system frozen, so that everything of it is on the disk; whether it
/// is still so cannot be asked.
fn unfreeze(installed: &InstalledDisk<'_>, machine: &dyn Machine) -> Result<(), InstallError> {
    installed.mount(installed.root()?, ROOT)?;
    let unfreeze = flushing("fsfreeze", "open the installed disk").args(["--unfreeze", ROOT]);
    if let Err(cause) = run(machine, &unfreeze) {
        info!(%cause, "the installed disk was not frozen");
    }
    let unmount = flushing("umount", "leave the installed disk").arg(ROOT);
    run(machine, &unmount)?;
    Ok(())
}

fn copy_onto_mounted(
    machine: &dyn Machine,
    report: impl Fn(Reached) + Send + Sync + 'static,
) -> Result<(), InstallError> {
    let make = Task::new("mkdir", "make the folder of the registry").args(["-p", TARGET]);
    run(machine, &make)?;
    let meter = Arc::new(Mutex::new(Meter::default()));
    let copy = Task::new("rsync", "copy the registry of the boot medium")
        .args(["-ah", "--info=progress2", SOURCE, TARGET])
        .deadline(COPY_LIMIT)
        .observed_by(move |piece| {
            let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(reached) = meter.read(piece, Instant::now()) {
                report(reached);
            }
        });
    run(machine, &copy).inspect_err(|cause| warn!(%cause, "the registry was not copied"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use muster_machine::{Finished, Node, Simulated};

    use super::*;
    use crate::{disk::Devices, tasks::tests::assert_slow_disks_have_time};

    /// A disk of 1000 GiB with a root partition of 4 GiB, and a registry of `bytes` bytes.
    fn appliance(bytes: u64) -> (Simulated, Claim) {
        let machine = Simulated::default();
        machine.change(|tree| {
            tree.line("/sys/block/vda/dev", "252:0");
            tree.line("/sys/block/vda/size", &(1000_u64 << 21).to_string());
            tree.insert("/dev/vda", Node::Block(vec![]));
            let folder = "/sys/block/vda/vda4";
            tree.line(format!("{folder}/dev"), "252:4");
            tree.line(format!("{folder}/partition"), "4");
            tree.line(format!("{folder}/size"), &(4_u64 << 21).to_string());
            tree.line(format!("{folder}/uevent"), "PARTNAME=root");
        });
        for program in ["mkdir", "mount", "umount", "xfs_growfs", "fsfreeze"] {
            machine.on([program], Finished::with_output(""));
        }
        machine.on(
            ["growpart"],
            Finished::failed(1, "NOCHANGE: partition 4 is size 9"),
        );
        let size = format!("{bytes}\t{SOURCE}\n");
        machine.on(["du"], Finished::with_output(size));
        let moved = "  1.00G  40%  100.00MB/s  0:00:10\r  2.50G 100%  100.00MB/s  0:00:25\n";
        machine.on(["rsync"], Finished::with_output(moved));
        let devices = Devices::read(&machine);
        let claim = Claim::of(&machine, &devices, Path::new("/dev/vda")).unwrap();
        (machine, claim)
    }

    #[test]
    fn the_root_grows_by_what_the_registry_needs_and_the_rest_stays_free() {
        let (machine, claim) = appliance(100 << 30);
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        copy(&machine, &claim, move |reached| {
            heard.lock().unwrap().push(reached.detail);
        })
        .unwrap();
        assert_slow_disks_have_time(&machine);
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        // 1000 GiB, of which 4 are taken and 250 are needed.
        assert!(
            ran.contains(&"growpart --free-percent=74 /dev/vda 4".to_owned()),
            "{ran:#?}"
        );
        let copied = ran
            .iter()
            .position(|line| line.starts_with("rsync -ah"))
            .unwrap();
        let left = format!("umount {ROOT}");
        assert!(ran[copied..].contains(&left), "{ran:#?}");
        let said = said.lock().unwrap();
        assert!(said.last().unwrap().starts_with("100%"), "{said:?}");
    }

    #[test]
    fn a_disk_that_is_too_small_is_left_alone() {
        let (machine, claim) = appliance(400 << 30);
        let failure = copy(&machine, &claim, |_| ()).unwrap_err().to_string();
        assert!(
            failure.contains("/dev/vda is too small") && failure.contains("1000 GiB"),
            "{failure}"
        );
        let ran = machine.ran();
        assert!(ran.iter().all(|words| words[0] == "du"), "{ran:?}");
    }

    #[test]
    fn nothing_stays_mounted_when_copying_fails() {
        let (machine, claim) = appliance(1 << 30);
        machine.on(["rsync"], Finished::failed(11, "No space left on device"));
        let failure = copy(&machine, &claim, |_| ()).unwrap_err().to_string();
        assert!(failure.contains("No space left"), "{failure}");
        assert_eq!(machine.ran().last().unwrap()[0], "umount");
    }
}
