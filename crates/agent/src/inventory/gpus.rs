//! Graphics and compute accelerators on the PCI bus.

use muster_api::wire;
use muster_machine::Machine;

use super::pci_names::PciNames;

const DEVICES: &str = "/sys/bus/pci/devices";

/// Class and subclass: VGA, 3D, other display, processing accelerator.
const CLASSES: &[&str] = &["0300", "0302", "0380", "1200"];
const UNKNOWN: &str = "unknown";

/// The accelerators of a machine, by their address on the bus. A device whose files make no
/// sense hides no other.
pub fn gpus(machine: &dyn Machine) -> Vec<wire::Gpu> {
    let mut names = None;
    machine
        .names(DEVICES)
        .into_iter()
        .filter_map(|address| {
            let id = |file: &str| hexadecimal(machine, &format!("{DEVICES}/{address}/{file}"));
            let class = id("class")?;
            if !CLASSES.contains(&class.get(..4)?) {
                return None;
            }
            let (vendor, device) = (id("vendor")?, id("device")?);
            let names = names.get_or_insert_with(|| PciNames::of(machine));
            let (vendor_name, device_name) = names.of_device(&vendor, &device);
            let or_unknown = |name: Option<String>| name.unwrap_or_else(|| UNKNOWN.to_owned());
            Some(wire::Gpu {
                address: Some(address),
                device_id: Some(device),
                name: Some(or_unknown(device_name)),
                vendor: Some(or_unknown(vendor_name)),
                vendor_id: Some(vendor),
            })
        })
        .collect()
}

/// Digits of a file such as `0x10de`.
fn hexadecimal(machine: &dyn Machine, path: &str) -> Option<String> {
    let text = machine.text(path)?.to_lowercase();
    let digits = text.strip_prefix("0x")?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| digits.to_owned())
}
