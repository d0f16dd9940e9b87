//! How the machine was started: firmware, kernel command line, secure boot, medium.

use std::{io, path::Path};

use muster_api::wire;
use muster_machine::{Kind, Machine, mounts};

const EFI: &str = "/sys/firmware/efi";
const SECURE_BOOT: &str =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

/// How a machine was started.
pub fn boot(machine: &dyn Machine) -> wire::Boot {
    // Unchanged, with its trailing newline, as the reference sends it.
    let command_line = machine
        .read(Path::new("/proc/cmdline"))
        .ok()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .filter(|text| !text.is_empty());
    let is_uefi = matches!(machine.kind(Path::new(EFI)), Ok(Kind::Directory));
    wire::Boot {
        current_boot_mode: Some(if is_uefi { "uefi" } else { "bios" }.to_owned()),
        device_type: device_type(machine).map(str::to_owned),
        pxe_interface: command_line.as_deref().and_then(pxe_interface),
        secure_boot_state: Some(secure_boot(machine).to_owned()),
        command_line,
    }
}

fn pxe_interface(command_line: &str) -> Option<String> {
    command_line
        .split_whitespace()
        .find_map(|token| token.strip_prefix("BOOTIF="))
        .map(str::to_owned)
}

/// Whether the running system is gone after the next start. The live system has its root in a
/// loop device over the image; an installed one has it on a disk.
fn device_type(machine: &dyn Machine) -> Option<&'static str> {
    let mounts = mounts(machine);
    let root = mounts.iter().rfind(|mount| mount.target == "/sysroot")?;
    Some(match root.source.starts_with("/dev/loop") {
        true => "ephemeral",
        false => "persistent",
    })
}

fn secure_boot(machine: &dyn Machine) -> &'static str {
    // Four bytes of attributes, then the value.
    match machine.read(Path::new(SECURE_BOOT)).as_deref() {
        Ok([_, _, _, _, 0]) => "Disabled",
        Ok([_, _, _, _, 1]) => "Enabled",
        Err(error) if error.kind() == io::ErrorKind::NotFound => "NotSupported",
        _ => "Unknown",
    }
}
