//! iSCSI disks: who reaches them, and whether the firmware knows them.

use super::device::Device;

const FIRMWARE: &str = "/sys/firmware/ibft";

/// The address this machine uses to reach the disk.
pub fn host_address(device: &Device<'_>) -> Option<String> {
    let host = device.part_of_place("host")?;
    device
        .machine
        .text(format!("/sys/class/iscsi_host/{host}/ipaddress"))
}

/// Why an iSCSI disk cannot be installed to. The machine must be able to start from it, so the
/// firmware must have connected to its target itself (iBFT).
pub fn reasons(device: &Device<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    let state = device.text("device/state");
    if state.as_deref() != Some("running") {
        reasons.push(format!(
            "The iSCSI connection is {}, not running",
            state.as_deref().unwrap_or("in an unknown state")
        ));
    }
    let machine = device.machine;
    if !machine.exists(FIRMWARE) {
        reasons.push(
            "The firmware did not start this machine from an iSCSI disk (there is no iBFT), so \
             it cannot start from this one"
                .to_owned(),
        );
        return reasons;
    }
    let target = device
        .part_of_place("session")
        .and_then(|session| machine.text(format!("/sys/class/iscsi_session/{session}/targetname")));
    let Some(target) = target else {
        reasons.push("The iSCSI session of this disk cannot be read".to_owned());
        return reasons;
    };
    let known = machine
        .names(FIRMWARE)
        .iter()
        .filter(|name| name.starts_with("target"))
        .filter_map(|name| machine.text(format!("{FIRMWARE}/{name}/target-name")))
        .any(|name| name == target);
    if !known {
        reasons.push(format!(
            "The iSCSI target {target} is not among those the firmware connects to (iBFT)"
        ));
    }
    reasons
}
