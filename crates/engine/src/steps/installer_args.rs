//! Arguments for the disk writer: the user's, then what disk and network need at first boot.

use std::{collections::BTreeSet, net::IpAddr};

use ipnet::IpNet;
use muster_model::{Cluster, Host, PlatformType};

use crate::{
    inventory::{Disk, Inventory},
    networks, reports,
    view::Environment,
};

const KARG: &str = "--append-karg";
const COPY_NETWORK: &str = "--copy-network";

/// Kernel arguments of the live system that a mainframe needs again: devices and their network.
const MAINFRAME_KARGS: &[&str] = &[
    "rd.neednet",
    "zfcp.allow_lun_scan",
    "rd.znet",
    "rd.dasd",
    "rd.zfcp",
];
/// The same once its administrator took addresses into his own hands with [`OWN_ADDRESSES`].
const MAINFRAME_ADDRESS_KARGS: &[&str] = &["ip", "nameserver"];
const OWN_ADDRESSES: &str = "ai.ip_cfg_override=1";

pub(super) fn of(
    host: &Host,
    inventory: Option<&Inventory>,
    around: &Environment<'_>,
    cluster: &Cluster,
) -> Vec<String> {
    let mut args = Args(host.installer_args.clone().unwrap_or_default());
    let machine = networks::machine(cluster).unwrap_or_default();
    let oracle = is_oracle_cloud(host, inventory, cluster);
    let user_sets_ip = args.0.iter().any(|arg| arg.starts_with("ip="));
    let unknown_network = host.is_day2() && !oracle && machine.is_empty();
    let mut addresses_are_set = user_sets_ip || unknown_network;
    let mut from_network = false;
    if let Some(inventory) = inventory {
        addresses_are_set |= mainframe(&mut args, inventory);
        if let Some(disk) = boot_disk(host, inventory) {
            from_network = disk.drive_type == "iSCSI";
            for_disk(&mut args, disk, inventory, addresses_are_set);
        }
    }
    let cloud_sets_addresses = from_network && oracle;
    let is_static = around
        .infra_env
        .is_some_and(|env| !env.static_network.is_empty());
    if is_static {
        if !args.0.iter().any(|arg| arg == COPY_NETWORK) {
            args.0.push(COPY_NETWORK.to_owned());
        }
    } else if !(addresses_are_set || cloud_sets_addresses)
        && let Some(inventory) = inventory
    {
        for value in dhcp_cards(inventory, cluster, &machine) {
            args.karg_once(value);
        }
    }
    args.0
}

/// The disk an installation goes to, as the inventory describes it.
pub(super) fn boot_disk<'i>(host: &Host, inventory: &'i Inventory) -> Option<&'i Disk> {
    let device = reports::boot_device(host)?;
    let disks = inventory.disks.items();
    disks
        .iter()
        .find(|disk| disk.id == device || format!("/dev/{}", disk.name) == device)
}

struct Args(Vec<String>);

impl Args {
    fn karg(&mut self, value: String) {
        self.0.extend([KARG.to_owned(), value]);
    }

    fn karg_once(&mut self, value: String) {
        if !self.0.contains(&value) {
            self.karg(value);
        }
    }
}

/// Takes over what a mainframe's live system was started with; true if that sets its addresses.
fn mainframe(args: &mut Args, inventory: &Inventory) -> bool {
    let (Some(vendor), Some(boot)) = (&inventory.system_vendor, &inventory.boot) else {
        return false;
    };
    let own_hardware = vendor.manufacturer.eq_ignore_ascii_case("IBM/S390")
        && !vendor.product_name.ends_with("KVM/Linux");
    if !own_hardware {
        return false;
    }
    let sets_addresses = boot.command_line.contains(OWN_ADDRESSES);
    for token in boot.command_line.split_whitespace() {
        let lower = token.to_ascii_lowercase();
        let begins = |list: &[&str]| list.iter().any(|start| lower.starts_with(start));
        if begins(MAINFRAME_KARGS) || (sets_addresses && begins(MAINFRAME_ADDRESS_KARGS)) {
            args.karg(token.to_owned());
        }
    }
    sets_addresses
}

fn for_disk(args: &mut Args, disk: &Disk, inventory: &Inventory, addresses_are_set: bool) {
    match disk.drive_type.as_str() {
        "Multipath" => {
            args.karg("rw".to_owned());
            args.karg("rd.multipath=default".to_owned());
            let members = inventory.disks.items().iter().filter(|member| {
                let mut holders = member.holders.split(',').map(str::trim);
                member.drive_type == "iSCSI" && holders.any(|holder| holder == disk.name)
            });
            for member in members {
                for_iscsi(args, member, inventory, addresses_are_set);
            }
        }
        "iSCSI" => for_iscsi(args, disk, inventory, addresses_are_set),
        "RAID" => {
            args.karg_once("rd.md=1".to_owned());
            args.karg_once("rd.auto=1".to_owned());
        }
        _ => {}
    }
}

/// The firmware knows the target; the card that leads to it must be up before the disk is.
fn for_iscsi(args: &mut Args, disk: &Disk, inventory: &Inventory, addresses_are_set: bool) {
    args.karg_once("rd.iscsi.firmware=1".to_owned());
    let address = disk
        .iscsi
        .as_ref()
        .and_then(|iscsi| iscsi.host_ip_address.parse::<IpAddr>().ok());
    let Some(address) = address.filter(|_| !addresses_are_set) else {
        return;
    };
    let method = if address.is_ipv6() { "dhcp6" } else { "dhcp" };
    let card = inventory
        .addresses()
        .find(|(_, net)| net.addr() == address)
        .map(|(nic, _)| nic.mac_address.as_str())
        .filter(|mac| !mac.is_empty());
    if let Some(mac) = card {
        args.karg_once(ask_dhcp(mac, method));
    }
}

fn ask_dhcp(mac: &str, method: &str) -> String {
    format!("ip={}:{method}", mac.replace(':', "-"))
}

fn is_oracle_cloud(host: &Host, inventory: Option<&Inventory>, cluster: &Cluster) -> bool {
    let by_platform = cluster.platform.as_ref().is_some_and(|platform| {
        platform.kind == PlatformType::External && platform.external_name.as_deref() == Some("oci")
    });
    let by_vendor = inventory
        .and_then(|inventory| inventory.system_vendor.as_ref())
        .is_some_and(|vendor| vendor.manufacturer == "OracleCloud.com");
    by_platform || (host.is_day2() && by_vendor)
}

/// One kernel argument per card in the machine network, so that the first boot has it up.
fn dhcp_cards(inventory: &Inventory, cluster: &Cluster, machine: &[IpNet]) -> Vec<String> {
    let by_gateway = || {
        let gateway = inventory
            .default_gateway(false)
            .or_else(|| inventory.default_gateway(true))?;
        inventory
            .addresses()
            .map(|(_, net)| net.trunc())
            .find(|net| net.contains(&gateway))
    };
    // Day-2 hosts join a network we know nothing of.
    let primary = match machine.first() {
        Some(network) => Some(*network),
        None if cluster.is_day2() => None,
        None => by_gateway(),
    };
    let Some(primary) = primary else {
        return Vec::new();
    };
    let kinds = networks::families(machine);
    let method = match (kinds.contains(&false), kinds.contains(&true)) {
        (true, true) => "dhcp,dhcp6",
        (false, true) => "dhcp6",
        _ if matches!(primary, IpNet::V6(_)) => "dhcp6",
        _ => "dhcp",
    };
    let cards: BTreeSet<&str> = inventory
        .addresses()
        .filter(|(_, address)| primary.contains(&address.addr()))
        .map(|(nic, _)| nic.mac_address.as_str())
        .filter(|mac| !mac.is_empty())
        .collect();
    cards.into_iter().map(|mac| ask_dhcp(mac, method)).collect()
}
