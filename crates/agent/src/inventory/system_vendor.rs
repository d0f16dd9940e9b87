//! Who made the machine, what it is called, its serial number.

use muster_api::wire;
use muster_machine::Machine;

use super::{set, virtualization::control_program};

const DMI: &str = "/sys/class/dmi/id";
const DEVICE_TREE: &str = "/proc/device-tree";
/// What the wire has for an unknown value.
const UNKNOWN: &str = "unknown";

/// Who made a machine. Firmware without such tables may still have a device tree (ARM boards)
/// or be a mainframe.
pub fn system_vendor(machine: &dyn Machine, is_virtual: bool) -> wire::SystemVendor {
    let dmi = |file: &str| machine.text(format!("{DMI}/{file}"));
    let mut manufacturer = dmi("sys_vendor");
    let mut product = dmi("product_name");
    let mut serial = dmi("product_serial");

    if matches!(dmi("product_family").as_deref(), Some("oVirt" | "RHV")) {
        product = Some("oVirt".to_owned());
    }
    if dmi("chassis_asset_tag").as_deref() == Some("OracleCloud.com") {
        manufacturer = Some("OracleCloud.com".to_owned());
    }
    if manufacturer.is_none() && is_mainframe(machine) {
        manufacturer = Some("IBM/S390".to_owned());
        product = control_program(machine).or_else(|| Some("LPAR".to_owned()));
    }
    if manufacturer.is_none() && product.is_none() {
        product = machine.text(format!("{DEVICE_TREE}/model"));
        manufacturer = device_tree_maker(machine);
        serial = serial.or_else(|| machine.text(format!("{DEVICE_TREE}/serial-number")));
    }
    let or_unknown = |text: Option<String>| Some(text.unwrap_or_else(|| UNKNOWN.to_owned()));
    wire::SystemVendor {
        manufacturer: or_unknown(manufacturer),
        product_name: or_unknown(product),
        serial_number: or_unknown(serial),
        r#virtual: set(is_virtual),
    }
}

fn is_mainframe(machine: &dyn Machine) -> bool {
    let text = machine.text("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .any(|(key, value)| key.trim() == "vendor_id" && value.trim() == "IBM/S390")
}

/// The first name a board answers to is `maker,model`.
fn device_tree_maker(machine: &dyn Machine) -> Option<String> {
    let names = machine.text(format!("{DEVICE_TREE}/compatible"))?;
    let (maker, _) = names.split('\0').next()?.split_once(',')?;
    (!maker.is_empty()).then(|| maker.to_owned())
}
