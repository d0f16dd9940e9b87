//! What this machine is made of, in the words of the wire.
//!
//! One file a topic, each a function from a [`Machine`] to its part of the inventory. Everything
//! is read from the kernel and the firmware: sysfs, procfs, the routing socket, SMBIOS tables,
//! EFI variables and the udev database. Only the address of a BMC needs a program. What cannot
//! be read or makes no sense leaves its field empty; nothing here fails.

mod bmc;
mod boot;
mod cpu;
mod disks;
mod dns;
mod gpus;
pub mod hostname;
mod interfaces;
mod limits;
mod memory;
mod pci_names;
mod routes;
pub mod smbios;
mod system_vendor;
mod tpm;
mod virtualization;

use muster_api::wire;
use muster_machine::{Machine, Network};

pub use limits::{Limits, to_json};
pub use memory::huge_pages;

/// The whole inventory of a machine.
pub fn collect(machine: &dyn Machine) -> wire::Inventory {
    let network = machine.network().unwrap_or_else(|error| {
        tracing::warn!(%error, "the network cannot be read from the kernel");
        Network::default()
    });
    let smbios = smbios::Tables::of(machine);
    let is_virtual = virtualization::is_virtual(machine, &smbios);
    let interfaces = interfaces::interfaces(machine, &network, is_virtual);
    let (bmc_address, bmc_v6address) = bmc::addresses(machine);
    wire::Inventory {
        bmc_address: Some(bmc_address),
        bmc_v6address: Some(bmc_v6address),
        boot: Some(boot::boot(machine)),
        cpu: Some(cpu::cpu(machine)),
        disks: Some(disks::disks(machine)),
        dns: dns::dns(machine),
        gpus: Some(gpus::gpus(machine)),
        hostname: Some(hostname::hostname(machine, &interfaces)),
        interfaces: Some(interfaces),
        memory: Some(memory::memory(machine, &smbios)),
        routes: Some(routes::routes(&network)),
        system_vendor: Some(system_vendor::system_vendor(machine, is_virtual)),
        tpm_version: tpm::version(machine),
        truncation: None,
    }
}

/// A flag as the wire has it: absent unless set.
fn set(flag: bool) -> Option<bool> {
    flag.then_some(true)
}

#[cfg(test)]
pub mod tests;
