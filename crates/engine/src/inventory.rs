//! The inventory of a machine, as reported by its agent. Start at [`Inventory::parse`].
//!
//! Every field may be missing: agents are old, broken or hostile. Questions that the rules ask
//! are methods here, so no rule walks raw JSON.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;
use muster_model::{Arch, ArchName, Host};
use serde_json::Number;

use crate::{
    agent_json::{self, List, Stored, reported},
    replies::BadReply,
};

reported! {
    /// All of a machine.
    Inventory {
        bmc_address: String,
        bmc_v6address: String,
        boot: Option<Boot>,
        cpu: Option<Cpu>,
        disks: List<Disk>,
        dns: Option<Dns>,
        gpus: List<Gpu>,
        hostname: String,
        interfaces: List<Interface>,
        memory: Option<Memory>,
        routes: List<Route>,
        system_vendor: Option<SystemVendor>,
        tpm_version: String,
        truncation: Option<Truncation>,
    }

    /// How it booted.
    Boot {
        command_line: String,
        current_boot_mode: String,
        device_type: String,
        pxe_interface: String,
        secure_boot_state: String,
    }

    /// Processors.
    Cpu {
        architecture: String,
        count: i64,
        flags: List<String>,
        frequency: Option<Number>,
        model_name: String,
    }

    /// A block device.
    Disk {
        bootable: bool,
        by_id: String,
        by_path: String,
        drive_type: String,
        has_uuid: bool,
        hctl: String,
        holders: String,
        id: String,
        installation_eligibility: Eligibility,
        io_perf: Option<IoPerf>,
        is_installation_media: bool,
        iscsi: Option<Iscsi>,
        model: String,
        name: String,
        #[serde(rename = "partitionTypes")]
        partition_types: String,
        path: String,
        removable: bool,
        serial: String,
        size_bytes: i64,
        smart: String,
        vendor: String,
        wwn: String,
    }

    /// How it resolves names; agents of the reference do not report it.
    Dns {
        search_domains: List<String>,
        servers: List<String>,
    }

    /// Whether a disk may be installed to, and why not.
    Eligibility {
        eligible: bool,
        not_eligible_reasons: List<String>,
    }

    /// Measured speed (never sent by present agents).
    IoPerf {
        sync_duration: i64,
    }

    /// Network part of an iSCSI disk.
    Iscsi {
        host_ip_address: String,
    }

    /// Graphics and accelerators.
    Gpu {
        address: String,
        device_id: String,
        name: String,
        vendor: String,
        vendor_id: String,
    }

    /// A network card or something that looks like one.
    Interface {
        biosdevname: String,
        client_id: String,
        flags: List<String>,
        has_carrier: bool,
        ipv4_addresses: List<String>,
        ipv6_addresses: List<String>,
        mac_address: String,
        mtu: i64,
        name: String,
        product: String,
        speed_mbps: i64,
        #[serde(rename = "type")]
        kind: String,
        vendor: String,
    }

    /// Memory.
    Memory {
        physical_bytes: i64,
        physical_bytes_method: String,
        usable_bytes: i64,
    }

    /// A route of the main table.
    Route {
        destination: String,
        family: i64,
        gateway: String,
        interface: String,
        metric: i64,
    }

    /// Who made it.
    SystemVendor {
        manufacturer: String,
        product_name: String,
        serial_number: String,
        #[serde(rename = "virtual")]
        is_virtual: bool,
    }

    /// The agent had to shorten its report.
    Truncation {
        reasons: List<String>,
        #[serde(rename = "type")]
        kind: String,
    }
}

impl agent_json::Wire for Eligibility {
    fn absent(&self) -> bool {
        false
    }
}

impl Inventory {
    /// Reads an agent's report.
    ///
    /// # Errors
    /// The text is not the JSON of an inventory.
    pub fn parse(text: &str) -> Result<Self, BadReply> {
        agent_json::parse("inventory", text)
    }

    /// The text to store: known keys only, in alphabetical order.
    #[must_use]
    pub fn to_text(&self) -> String {
        agent_json::text(self)
    }

    pub(crate) fn of(host: &Host) -> Stored<Arc<Self>> {
        agent_json::recall(host.reports.inventory.as_ref())
    }

    /// What a host reported about itself, if it can be read.
    #[must_use]
    pub fn known(host: &Host) -> Option<Arc<Self>> {
        Self::of(host).ok()
    }

    /// Architecture as the kernel names it; empty if it was not reported.
    #[must_use]
    pub fn architecture(&self) -> ArchName {
        let cpu = self.cpu.as_ref();
        cpu.map_or_else(ArchName::default, |cpu| cpu.architecture.as_str().into())
    }

    /// What that means; none if it was not reported or we do not know it.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        self.cpu.as_ref()?.architecture.parse().ok()
    }

    /// The live system runs from a disk that stays, so nothing is written to it.
    #[must_use]
    pub fn boots_from_disk(&self) -> bool {
        self.boot
            .as_ref()
            .is_some_and(|boot| boot.device_type == "persistent")
    }

    /// Networks its interfaces have addresses in, host bits kept; unreadable ones left out.
    pub fn addresses(&self) -> impl Iterator<Item = (&Interface, IpNet)> {
        self.interfaces.items().iter().flat_map(|nic| {
            nic.addresses()
                .filter_map(move |text| Some((nic, text.parse::<IpNet>().ok()?)))
        })
    }

    /// It has an address inside `network`.
    #[must_use]
    pub fn is_inside(&self, network: &IpNet) -> bool {
        self.addresses()
            .any(|(_, address)| network.contains(&address.addr()))
    }

    /// Its address inside `network`, if any.
    #[must_use]
    pub fn address_in(&self, network: &IpNet) -> Option<IpAddr> {
        self.addresses()
            .map(|(_, address)| address.addr())
            .find(|address| network.contains(address))
    }

    /// Gateway of the best default route of a family, if there is one.
    #[must_use]
    pub fn default_gateway(&self, v6: bool) -> Option<IpAddr> {
        self.routes
            .items()
            .iter()
            .filter(|route| route.is_default())
            .filter_map(|route| Some((route.metric, route.gateway.parse::<IpAddr>().ok()?)))
            .filter(|(_, gateway)| gateway.is_ipv6() == v6)
            .min_by_key(|(metric, _)| *metric)
            .map(|(_, gateway)| gateway)
    }
}

impl Inventory {
    /// The best default route of a family; among equals the last, as the kernel lists them.
    pub(crate) fn default_route(&self, v6: bool) -> Option<&Route> {
        let routes = self.routes.items().iter().rev();
        routes
            .filter(|route| route.is_default() && route.is_v6() == v6)
            .min_by_key(|route| route.metric)
    }

    /// The disk the host is to be installed to, by id, by path or by device.
    pub(crate) fn installation_disk(&self, host: &Host) -> Option<&Disk> {
        let chosen = [&host.installation_disk_id, &host.installation_disk_path];
        self.disks.items().iter().find(|disk| {
            let mut chosen = chosen.into_iter().flatten();
            chosen.any(|name| disk.is_called(name))
        })
    }

    /// The card that holds an address.
    pub(crate) fn interface_with(&self, address: IpAddr) -> Option<&Interface> {
        self.addresses()
            .find(|(_, net)| net.addr() == address)
            .map(|(nic, _)| nic)
    }

    /// The machine was made by (or runs on the hypervisor of) this company.
    pub(crate) fn is_made_by(&self, maker: &str) -> bool {
        self.system_vendor
            .as_ref()
            .is_some_and(|vendor| vendor.manufacturer == maker)
    }
}

impl Disk {
    /// What it is known by: its id, else its device.
    pub(crate) fn identifier(&self) -> String {
        if self.id.is_empty() {
            self.device()
        } else {
            self.id.clone()
        }
    }

    /// `/dev/sda` and the like.
    pub(crate) fn device(&self) -> String {
        format!("/dev/{}", self.name)
    }

    /// One of its names; no disk has an empty one.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        !name.is_empty()
            && (name == self.id
                || name == self.by_path
                || name.strip_prefix("/dev/") == Some(&self.name))
    }

    /// It is a path to the device-mapper disk of this name. Names are compared whole: `dm-1`
    /// does not hold what `dm-10` holds.
    pub(crate) fn is_held_by(&self, name: &str) -> bool {
        !name.is_empty() && self.holders.split(',').any(|holder| holder.trim() == name)
    }
}

impl Interface {
    /// Addresses of both families in CIDR form.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        let v4 = self.ipv4_addresses.items().iter();
        v4.chain(self.ipv6_addresses.items()).map(String::as_str)
    }

    /// Cards, VLANs and bonds; bridges and tunnels come and go and say nothing about a machine.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        matches!(self.kind.as_str(), "" | "physical" | "vlan" | "bond")
    }
}

impl Route {
    /// Leads out of the host's own networks.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let to_anywhere = self.destination.parse::<IpAddr>();
        let gateway = self.gateway.parse::<IpAddr>();
        to_anywhere.is_ok_and(|to| to.is_unspecified())
            && gateway.is_ok_and(|gateway| !gateway.is_unspecified())
    }

    /// A route of IPv6; where it leads decides.
    pub(crate) fn is_v6(&self) -> bool {
        self.destination
            .parse::<IpAddr>()
            .is_ok_and(|to| to.is_ipv6())
    }
}

/// The name a host goes by: the user's choice, else its own, else its id.
#[must_use]
pub fn hostname(host: &Host) -> String {
    let own = || Some(Inventory::known(host)?.hostname.clone());
    named(host, own)
}

/// The same with the inventory at hand, which spares reading it again.
pub(crate) fn hostname_with(host: &Host, inventory: Option<&Inventory>) -> String {
    named(host, || {
        inventory.map(|inventory| inventory.hostname.clone())
    })
}

fn named(host: &Host, own: impl FnOnce() -> Option<String>) -> String {
    host.requested_hostname
        .clone()
        .filter(|name| !name.is_empty())
        .or_else(|| own().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| host.id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_inventory_has_sorted_keys_and_drops_what_is_unknown() {
        let text = r#"{"timestamp":7,"hostname":"a","gpus":[],"cpu":{"count":4,"color":"red"},
            "disks":[{"name":"sda","id":null,"installation_eligibility":{"eligible":true,"not_eligible_reasons":null}}]}"#;
        let stored = Inventory::parse(text).unwrap().to_text();
        assert_eq!(
            stored,
            r#"{"cpu":{"count":4,"flags":null},"disks":[{"installation_eligibility":{"eligible":true,"not_eligible_reasons":null},"name":"sda"}],"gpus":[],"hostname":"a","interfaces":null,"routes":null}"#
        );
        assert_eq!(Inventory::parse(&stored).unwrap().to_text(), stored);
    }

    #[test]
    fn garbage_is_refused_with_the_place_of_the_fault() {
        for bad in ["", "[]", "{\"cpu\":3}", "{\"disks\":{}}", "\u{0}"] {
            let refusal = Inventory::parse(bad).unwrap_err().to_string();
            assert!(refusal.contains("line"), "{bad:?}: {refusal}");
        }
    }

    #[test]
    fn a_default_route_needs_a_real_gateway() {
        let route = |destination: &str, gateway: &str| Route {
            destination: destination.into(),
            gateway: gateway.into(),
            ..Route::default()
        };
        assert!(route("0.0.0.0", "192.0.2.1").is_default());
        assert!(route("::", "fe80::1").is_default());
        assert!(!route("0.0.0.0", "0.0.0.0").is_default());
        assert!(!route("192.0.2.0", "192.0.2.1").is_default());
        assert!(!route("0.0.0.0", "nowhere").is_default());
    }
}
