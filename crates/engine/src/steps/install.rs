//! The arguments of the one step that counts: install.

use std::collections::BTreeSet;

use ipnet::IpNet;
use muster_model::{Cluster, Host, Proxy};
use serde_json::{Value, json};

use crate::{
    disks,
    inventory::{Disk, Inventory},
    networks, reports,
    settings::{Mode, Settings},
    view::Surroundings,
};

pub(super) fn request(
    host: &Host,
    around: &Surroundings<'_>,
    settings: &Settings,
) -> Option<Value> {
    let cluster = around.cluster?;
    let device = reports::boot_device(host)?;
    let inventory = Inventory::of(host).ok();
    let role = if host.bootstrap {
        "bootstrap".to_owned()
    } else {
        host.effective_role().to_string()
    };
    let keep = reports::saves_partitions(host);
    let to_format: Vec<&String> = host
        .disks_to_be_formatted
        .iter()
        .filter(|id| !host.skip_formatting_disks.contains(id))
        .filter(|id| !(keep && id.as_str() == device))
        .collect();
    let mut request = json!({
        "boot_device": device,
        "check_cvo": settings.check_cluster_version,
        "cluster_id": cluster.id,
        "controller_image": settings.images.controller,
        "disks_to_format": to_format,
        "host_id": host.id,
        "infra_env_id": host.infra_env,
        "installer_image": settings.images.installer,
        "role": role,
        "service_ips": null,
    });
    let mut set = |key: &str, value: Value| request[key] = value;
    if let Some(count) = cluster.control_plane_count.filter(|count| *count > 0) {
        set("control_plane_count", json!(count));
    }
    if !host.is_day2() {
        set("openshift_version", json!(cluster.openshift_version));
        if let Some(image) = &settings.images.machine_config_operator {
            set("mco_image", json!(image));
        }
        if let Some(image) = &settings.images.must_gather {
            set("must_gather_image", json!(image));
        }
    }
    let arguments = installer_args(host, inventory.as_deref(), around, cluster);
    if !arguments.is_empty() {
        set("installer_args", json!(json!(arguments).to_string()));
    }
    if keep {
        set("skip_installation_disk_cleanup", json!(true));
    }
    if may_skip_reboot(host, inventory.as_deref(), cluster) {
        set("enable_skip_mco_reboot", json!(true));
    }
    if settings.mode == Mode::Rest {
        set("notify_num_reboots", json!(true));
    }
    if let Some(proxy) = proxy(&cluster.proxy, cluster) {
        set("proxy", proxy);
    }
    Some(request)
}

fn may_skip_reboot(host: &Host, inventory: Option<&Inventory>, cluster: &Cluster) -> bool {
    let mainframe = inventory.is_some_and(|inventory| inventory.architecture() == "s390x");
    let mapped = host
        .installation_disk_path
        .as_deref()
        .is_some_and(|path| path.starts_with("/dev/dm-"));
    !mainframe && !mapped && disks::at_least(&cluster.openshift_version, (4, 15))
}

/// Arguments for the disk writer: the user's, then what disk and network need at first boot.
fn installer_args(
    host: &Host,
    inventory: Option<&Inventory>,
    around: &Surroundings<'_>,
    cluster: &Cluster,
) -> Vec<String> {
    let mut args: Vec<String> = host.installer_args.clone().unwrap_or_default();
    let karg =
        |args: &mut Vec<String>, value: String| args.extend(["--append-karg".to_owned(), value]);
    let disk = inventory.and_then(|inventory| chosen(host, inventory));
    match disk.map(|disk| disk.drive_type.as_str()) {
        Some("Multipath") => {
            karg(&mut args, "rw".to_owned());
            karg(&mut args, "rd.multipath=default".to_owned());
        }
        Some("RAID") => {
            karg(&mut args, "rd.md=1".to_owned());
            karg(&mut args, "rd.auto=1".to_owned());
        }
        Some("iSCSI") => karg(&mut args, "rd.iscsi.firmware=1".to_owned()),
        _ => {}
    }
    let is_static = around
        .infra_env
        .is_some_and(|env| !env.static_network.is_empty());
    let user_sets_ip = args.iter().any(|arg| arg.starts_with("ip="));
    if is_static {
        if !args.iter().any(|arg| arg == "--copy-network") {
            args.push("--copy-network".to_owned());
        }
    } else if !user_sets_ip && let Some(inventory) = inventory {
        for value in dhcp_cards(inventory, cluster) {
            karg(&mut args, value);
        }
    }
    args
}

fn chosen<'i>(host: &Host, inventory: &'i Inventory) -> Option<&'i Disk> {
    let device = reports::boot_device(host)?;
    let path = |disk: &Disk| format!("/dev/{}", disk.name);
    inventory
        .disks
        .items()
        .iter()
        .find(|disk| disk.id == device || path(disk) == device)
}

/// One kernel argument per card in the machine network, so that the first boot has it up.
fn dhcp_cards(inventory: &Inventory, cluster: &Cluster) -> Vec<String> {
    let machine = networks::machine(cluster).unwrap_or_default();
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
    let kinds = networks::families(&machine);
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
    cards
        .into_iter()
        .map(|mac| format!("ip={}:{method}", mac.replace(':', "-")))
        .collect()
}

fn proxy(proxy: &Proxy, cluster: &Cluster) -> Option<Value> {
    let set = |text: &Option<String>| text.clone().filter(|t| !t.is_empty());
    let (http, https) = (set(&proxy.http), set(&proxy.https));
    if http.is_none() && https.is_none() {
        return None;
    }
    let user = set(&proxy.no_proxy).unwrap_or_default();
    let no_proxy = if user == "*" {
        user
    } else {
        let base = cluster.base_dns_domain.as_deref().unwrap_or_default();
        let internal = format!("api-int.{}.{base}", cluster.name);
        let always = [
            "127.0.0.1",
            "localhost",
            ".svc",
            ".cluster.local",
            internal.as_str(),
        ];
        let mut names: Vec<&str> = Vec::new();
        for name in user.split(',').chain(always) {
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(",")
    };
    let mut value = json!({});
    if let Some(http) = http {
        value["http_proxy"] = json!(http);
    }
    if let Some(https) = https {
        value["https_proxy"] = json!(https);
    }
    value["no_proxy"] = json!(no_proxy);
    Some(value)
}
