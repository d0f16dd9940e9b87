//! Mounts that an installer left behind when it was killed.
//!
//! Everything this program mounts lies below its own folder in `/run`, so what is mounted there is its
//! own, and as the installer runs once on a machine, nothing uses it any more. It would keep the disk in
//! use.

use std::path::Path;

use muster_machine::{Machine, mounts};
use tracing::{debug, info};

use crate::{
    error::InstallError,
    journal,
    tasks::{flushing, run},
};

/// Unmounts them, those inside others first.
///
/// # Errors
/// The kernel refuses to unmount one.
pub fn unmount(machine: &dyn Machine) -> Result<(), InstallError> {
    let mut problems = Vec::new();
    for mount in mounts(machine).iter().rev() {
        let at = &mount.target;
        if !Path::new(at).starts_with(journal::FOLDER) {
            continue;
        }
        info!(at, device = mount.source, "unmounting what was left behind");
        // It may have been left frozen, and stays so until it is thawed, also unmounted.
        let thaw = flushing("fsfreeze", "open what an installer left mounted");
        if let Err(cause) = run(machine, &thaw.args(["--unfreeze", at])) {
            debug!(at, %cause, "it was not frozen");
        }
        let unmount = flushing("umount", "unmount what an installer left mounted").arg(at);
        problems.extend(run(machine, &unmount).map_err(InstallError::from).err());
    }
    InstallError::several(problems)
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;

    #[test]
    fn only_mounts_below_the_folder_of_the_installer_are_left_the_innermost_first() {
        let machine = Simulated::default();
        let lines = [
            "30 1 8:1 / / rw - xfs /dev/sda1 rw",
            "31 1 8:4 / /run/muster-installer/root rw - xfs /dev/sdb4 rw",
            "32 31 8:3 / /run/muster-installer/root/boot rw - ext4 /dev/sdb3 rw",
            "33 1 8:9 / /run/muster-installer-of-another rw - ext4 /dev/sdc1 rw",
        ];
        machine.change(|tree| tree.line("/proc/1/mountinfo", &lines.join("\n")));
        machine.on(["fsfreeze"], Finished::failed(1, "Invalid argument"));
        machine.on(["umount"], Finished::with_output(""));
        unmount(&machine).unwrap();
        let ran: Vec<String> = machine.ran().iter().map(|words| words.join(" ")).collect();
        let expected = [
            "fsfreeze --unfreeze /run/muster-installer/root/boot",
            "umount /run/muster-installer/root/boot",
            "fsfreeze --unfreeze /run/muster-installer/root",
            "umount /run/muster-installer/root",
        ];
        assert_eq!(ran, expected);
    }
}
