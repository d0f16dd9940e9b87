//! The arguments of the install step.

use muster_model::{Arch, Cluster, Host, MinorVersion, Proxy};
use serde::Serialize;

use super::{installer_args, json};
use crate::{
    disks,
    ignition::Ignition,
    inventory::Inventory,
    reports,
    settings::{Images, Settings},
    view::Environment,
};

/// What the agent hands to the node installer. Options that are absent or false are left out.
#[derive(Serialize)]
struct Request<'a> {
    boot_device: &'a str,
    check_cvo: bool,
    cluster_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_plane_count: Option<i64>,
    controller_image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    coreos_image: Option<String>,
    disks_to_format: Vec<&'a str>,
    #[serde(skip_serializing_if = "is_false")]
    enable_skip_mco_reboot: bool,
    host_id: String,
    infra_env_id: String,
    /// A list as JSON inside JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    installer_args: Option<String>,
    installer_image: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mco_image: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    must_gather_image: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    notify_num_reboots: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    openshift_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proxy: Option<ProxyRequest>,
    role: String,
    /// For installations without DNS, whose agents learn the addresses elsewhere: always null.
    service_ips: Option<Vec<String>>,
    #[serde(skip_serializing_if = "is_false")]
    skip_installation_disk_cleanup: bool,
}

#[derive(Serialize)]
struct ProxyRequest {
    #[serde(skip_serializing_if = "Option::is_none")]
    http_proxy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    https_proxy: Option<String>,
    no_proxy: String,
}

const fn is_false(flag: &bool) -> bool {
    !*flag
}

pub(super) fn request(
    host: &Host,
    around: &Environment<'_>,
    settings: &Settings,
) -> Option<String> {
    let cluster = around.cluster?;
    let inventory = Inventory::of(host).ok();
    let day1 = !host.is_day2();
    let images = &settings.images;
    let coreos_image = match &inventory {
        // Without its image an installation to the running root cannot even be tried.
        Some(inventory) if inventory.boots_from_disk() => Some(coreos_image(host, images)?),
        Some(_) | None => None,
    };
    let arguments = installer_args::of(host, inventory.as_deref(), around, cluster);
    let to_format = host.disks_to_be_formatted.iter().map(String::as_str);
    Some(json(&Request {
        boot_device: reports::boot_device(host)?,
        check_cvo: settings.check_cluster_version,
        cluster_id: cluster.id.to_string(),
        // A cluster that began with one node keeps that count; the reference's installer would make
        // every control-plane node that is added later a cluster of its own.
        control_plane_count: cluster
            .control_plane_count
            .filter(|count| *count > 0 && day1),
        controller_image: &images.controller,
        coreos_image,
        disks_to_format: to_format.filter(|id| is_formatted(host, id)).collect(),
        enable_skip_mco_reboot: may_skip_reboot(host, inventory.as_deref(), cluster, settings),
        host_id: host.id.to_string(),
        infra_env_id: host.infra_env.to_string(),
        installer_args: (!arguments.is_empty()).then(|| json(&arguments)),
        installer_image: &images.installer,
        mco_image: images.machine_config_operator.as_deref().filter(|_| day1),
        must_gather_image: must_gather(images).filter(|_| day1),
        notify_num_reboots: true,
        openshift_version: day1.then_some(cluster.openshift_version.as_str()),
        proxy: proxy(&cluster.proxy, cluster),
        role: if host.bootstrap {
            "bootstrap".to_owned()
        } else {
            host.effective_role().to_string()
        },
        service_ips: None,
        skip_installation_disk_cleanup: reports::saves_partitions(host),
    }))
}

/// A candidate loses its boot records unless the user wants it, or partitions on it, kept.
pub(super) fn is_formatted(host: &Host, id: &str) -> bool {
    let kept = host.skip_formatting_disks.iter().any(|known| known == id);
    let has_kept_partitions =
        reports::saves_partitions(host) && reports::boot_device(host) == Some(id);
    !kept && !has_kept_partitions
}

/// The image of the operating system: of the release, or what the running cluster uses.
fn coreos_image(host: &Host, images: &Images) -> Option<String> {
    let of_cluster = || Ignition::fetched_by(host)?.os_image();
    if host.is_day2() {
        of_cluster().or_else(|| images.coreos.clone())
    } else {
        images.coreos.clone()
    }
}

/// One image goes by itself, several as a map by component.
fn must_gather(images: &Images) -> Option<String> {
    let known = &images.must_gather;
    match known.get("ocp") {
        Some(only) if known.len() == 1 => Some(only.clone()),
        _ => (!known.is_empty()).then(|| json(known)),
    }
}

fn may_skip_reboot(
    host: &Host,
    inventory: Option<&Inventory>,
    cluster: &Cluster,
    settings: &Settings,
) -> bool {
    let architectures = [cluster.arch(), inventory.and_then(Inventory::arch)];
    let mainframe = architectures.contains(&Some(Arch::S390x));
    let disk = inventory.and_then(|inventory| installer_args::boot_disk(host, inventory));
    let paths = [
        host.installation_disk_path.as_deref(),
        disk.map(|disk| disk.path.as_str()),
    ];
    let mapped = paths
        .into_iter()
        .flatten()
        .any(|path| path.starts_with("/dev/dm-"));
    !settings.keep_mco_reboot
        && !mainframe
        && !mapped
        && disks::at_least(&cluster.openshift_version, MinorVersion::new(4, 15))
}

fn proxy(proxy: &Proxy, cluster: &Cluster) -> Option<ProxyRequest> {
    let set = |text: &Option<String>| text.clone().filter(|t| !t.is_empty());
    let (http_proxy, https_proxy) = (set(&proxy.http), set(&proxy.https));
    if http_proxy.is_none() && https_proxy.is_none() {
        return None;
    }
    Some(ProxyRequest {
        http_proxy,
        https_proxy,
        no_proxy: no_proxy(proxy.no_proxy.as_deref().unwrap_or_default(), cluster),
    })
}

/// The user's exceptions and those no cluster can do without.
fn no_proxy(user: &str, cluster: &Cluster) -> String {
    if user.trim() == "*" {
        return "*".to_owned();
    }
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
    for name in user.split(',').map(str::trim).chain(always) {
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(",")
}
