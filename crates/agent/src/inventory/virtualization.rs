//! Whether this machine is a virtual one.

use muster_machine::Machine;

use super::smbios::Tables;

const DMI: &str = "/sys/class/dmi/id";

/// How the names begin that hypervisors write into the firmware of their machines.
const HYPERVISORS: &[&str] = &[
    "KVM",
    "OpenStack",
    "KubeVirt",
    "Amazon EC2",
    "QEMU",
    "VMware",
    "VMW",
    "innotek GmbH",
    "VirtualBox",
    "Xen",
    "Bochs",
    "Parallels",
    "BHYVE",
    "Hyper-V",
    "Apple Virtualization",
    "Google Compute Engine",
];

/// Whether a hypervisor is below us. The processor says so on x86; elsewhere the firmware does,
/// in its tables, its device tree or, on s390x, in the list of what the machine runs in.
pub fn is_virtual(machine: &dyn Machine, smbios: &Tables) -> bool {
    if is_master_of_others(machine) {
        return false;
    }
    has_hypervisor_flag(machine)
        || firmware_says_so(smbios)
        || named_by_hypervisor(machine)
        || device_tree_says_so(machine)
        || runs_in_another_system(machine)
        || machine.exists("/sys/hypervisor/type")
}

/// The first domain of Xen sees a hypervisor, but is the real machine.
fn is_master_of_others(machine: &dyn Machine) -> bool {
    machine
        .text("/proc/xen/capabilities")
        .is_some_and(|text| text.contains("control_d"))
}

fn has_hypervisor_flag(machine: &dyn Machine) -> bool {
    let text = machine.text("/proc/cpuinfo").unwrap_or_default();
    text.lines()
        .filter(|line| line.starts_with("flags"))
        .any(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn firmware_says_so(smbios: &Tables) -> bool {
    const BIOS: u8 = 0;
    const SECOND_EXTENSION: usize = 0x13;
    const VIRTUAL_MACHINE: u8 = 1 << 4;
    smbios
        .of_kind(BIOS)
        .filter_map(|bios| bios.byte(SECOND_EXTENSION))
        .any(|byte| byte & VIRTUAL_MACHINE != 0)
}

fn named_by_hypervisor(machine: &dyn Machine) -> bool {
    let value = |file: &str| machine.text(format!("{DMI}/{file}")).unwrap_or_default();
    // Clouds name their bare machines like their virtual ones.
    if value("product_name").contains(".metal") {
        return false;
    }
    [
        "product_name",
        "sys_vendor",
        "board_vendor",
        "bios_vendor",
        "product_version",
    ]
    .into_iter()
    .map(value)
    .any(|name| HYPERVISORS.iter().any(|start| name.starts_with(start)))
}

fn device_tree_says_so(machine: &dyn Machine) -> bool {
    machine.exists("/proc/device-tree/hypervisor/compatible")
        || machine
            .names("/proc/device-tree")
            .iter()
            .any(|name| name.starts_with("fw-cfg"))
}

/// s390x: one line for each system that this one runs in, beyond the logical partition.
fn runs_in_another_system(machine: &dyn Machine) -> bool {
    control_program(machine).is_some()
}

/// The name of the system around this one on s390x, such as `KVM/Linux` or `z/VM    7.2.0`.
pub fn control_program(machine: &dyn Machine) -> Option<String> {
    let text = machine.text("/proc/sysinfo")?;
    text.lines()
        .filter(|line| line.starts_with("VM"))
        .find_map(|line| line.split_once("Control Program:"))
        .map(|(_, name)| name.trim().to_owned())
}
