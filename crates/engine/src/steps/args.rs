//! The arguments of each step, or `None` when there is nothing to ask yet.

use std::net::IpAddr;

use ipnet::IpNet;
use muster_model::{Cluster, Host, HostRole, HostStatus};
use serde_json::{Value, json};

use super::{StepType, dhcp, install};
use crate::{
    inventory::Inventory,
    networks, reports,
    settings::{Mode, Settings},
    view::Surroundings,
    wire::Stored,
};

/// Larger networks take too long to scan.
const SCANNABLE_PREFIX: u8 = 22;

pub(super) fn of(
    step: StepType,
    host: &Host,
    around: &Surroundings<'_>,
    settings: &Settings,
) -> Option<Vec<String>> {
    use StepType::*;
    let one = |value: Value| Some(vec![value.to_string()]);
    match step {
        Inventory => Some(vec![host.id.to_string()]),
        ConnectivityCheck => one(peers(host, around)?),
        FreeNetworkAddresses => one(scannable(host, settings)?),
        ApiVipConnectivityCheck => one(ignition_source(host, around.cluster?)?),
        TangConnectivityCheck => one(tang(host, around.cluster?)?),
        NtpSynchronizer => one(json!({ "ntp_source": ntp_source(around) })),
        InstallationDiskSpeedCheck => disk_speed(host, settings),
        ContainerImageAvailability => one(images(host, around.cluster?, settings)?),
        DomainResolution => one(domains(around.cluster?)?),
        VerifyVips => one(vips(host, around.cluster?)?),
        DhcpLeaseAllocate => dhcp::args(host, around),
        Install => one(install::request(host, around, settings)?),
        LogsGather => one(logs(host, around)?),
        StopInstallation => Some(Vec::new()),
        // Upgrade replaces the whole list; the others are never handed out by this version.
        UpgradeAgent | Execute | NextStepRunner | DownloadBootArtifacts | RebootForReclaim => None,
    }
}

fn peers(host: &Host, around: &Surroundings<'_>) -> Option<Value> {
    let list: Vec<Value> = around
        .peers
        .iter()
        .map(|peer| peer.host)
        .filter(|peer| peer.key() != host.key())
        .filter(|peer| {
            !matches!(
                peer.status,
                HostStatus::Discovering | HostStatus::Disconnected
            )
        })
        .filter_map(|peer| Some((peer, Inventory::of(peer).ok()?)))
        .map(|(peer, inventory)| {
            let nics: Vec<Value> = inventory
                .interfaces
                .items()
                .iter()
                .map(|nic| {
                    let addresses: Vec<String> = nic
                        .addresses()
                        .filter_map(|text| text.parse::<IpNet>().ok())
                        .map(|net| net.addr().to_string())
                        .collect();
                    json!({ "name": nic.name, "mac": nic.mac_address, "ip_addresses": addresses })
                })
                .collect();
            json!({ "host_id": peer.id, "nics": nics })
        })
        .collect();
    (!list.is_empty()).then(|| Value::Array(list))
}

fn scannable(host: &Host, settings: &Settings) -> Option<Value> {
    if settings.mode == Mode::Hub {
        return None;
    }
    let inventory = Inventory::of(host).ok()?;
    let mut networks: Vec<IpNet> = inventory
        .addresses()
        .map(|(_, address)| address.trunc())
        .filter(|net| matches!(net, IpNet::V4(_)) && net.prefix_len() >= SCANNABLE_PREFIX)
        .collect();
    networks.sort();
    networks.dedup();
    (!networks.is_empty())
        .then(|| json!(networks.iter().map(ToString::to_string).collect::<Vec<_>>()))
}

fn ignition_source(host: &Host, cluster: &Cluster) -> Option<Value> {
    let pool = host
        .machine_config_pool_name
        .clone()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| match host.effective_role() {
            HostRole::AutoAssign => "worker".to_owned(),
            role => role.to_string(),
        });
    let own_endpoint = cluster
        .ignition_endpoint
        .url
        .as_deref()
        .filter(|url| !url.is_empty());
    let certificate = cluster
        .ignition_endpoint
        .ca_certificate
        .as_deref()
        .filter(|c| !c.is_empty());
    let url = match own_endpoint {
        Some(url) => format!("{}/{pool}", url.trim_end_matches('/')),
        None => {
            let api = cluster
                .api_vip_dns_name
                .as_deref()
                .filter(|name| !name.is_empty())?;
            match certificate {
                None => format!("http://{}:22624/config/{pool}", in_url(api)),
                Some(_) => {
                    let internal = api
                        .strip_prefix("api.")
                        .map(|rest| format!("api-int.{rest}"));
                    format!(
                        "https://{}:22623/config/{pool}",
                        in_url(internal.as_deref().unwrap_or(api))
                    )
                }
            }
        }
    };
    let mut request = json!({ "url": url });
    if let Some(certificate) = certificate {
        request["ca_certificate"] = json!(certificate);
    }
    let mut headers: Vec<Value> = host
        .ignition_endpoint_http_headers
        .iter()
        .flatten()
        .map(|(key, value)| json!({ "key": key, "value": value }))
        .collect();
    if let Some(token) = host
        .ignition_endpoint_token
        .as_ref()
        .filter(|token| !token.is_empty())
    {
        request["ignition_endpoint_token"] = json!(token.reveal());
        headers.insert(
            0,
            json!({ "key": "Authorization", "value": format!("Bearer {}", token.reveal()) }),
        );
    }
    if !headers.is_empty() {
        request["request_headers"] = Value::Array(headers);
    }
    Some(request)
}

/// IPv6 addresses need brackets inside a URL.
fn in_url(host: &str) -> String {
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        Ok(IpAddr::V4(_)) | Err(_) => host.to_owned(),
    }
}

fn tang(host: &Host, cluster: &Cluster) -> Option<Value> {
    let encryption = cluster.disk_encryption.as_ref()?;
    let servers = encryption
        .tang_servers
        .as_deref()
        .filter(|text| !text.is_empty())?;
    let covered = |group: &str| {
        encryption
            .enable_on
            .split(',')
            .any(|item| item.trim() == group || item == "all")
    };
    let wanted = match host.effective_role() {
        HostRole::Master | HostRole::Bootstrap => covered("masters"),
        HostRole::Arbiter => covered("arbiters"),
        HostRole::Worker => covered("workers"),
        HostRole::AutoAssign => covered("all"),
    };
    (encryption.mode == "tang" && wanted).then(|| json!({ "tang_servers": servers }))
}

fn ntp_source(around: &Surroundings<'_>) -> String {
    let cluster = around.cluster.map(|c| &c.ntp);
    let infra_env = around.infra_env.map(|i| &i.ntp);
    [cluster, infra_env]
        .into_iter()
        .flatten()
        .flat_map(|ntp| [&ntp.sources, &ntp.additional])
        .flatten()
        .find(|text| !text.is_empty())
        .cloned()
        .unwrap_or_default()
}

fn disk_speed(host: &Host, settings: &Settings) -> Option<Vec<String>> {
    let needless = reports::saves_partitions(host)
        || reports::boot_disk_speed(host).is_some()
        || Inventory::of(host)
            .ok()
            .is_some_and(|inventory| inventory.boots_from_disk());
    let device = reports::boot_device(host).filter(|_| !needless)?;
    Some(vec![
        json!({ "path": device }).to_string(),
        format!("{:.2}", settings.timeouts.disk_check.as_secs_f64()),
    ])
}

fn images(host: &Host, cluster: &Cluster, settings: &Settings) -> Option<Value> {
    let known = match reports::images_of(host) {
        Stored::Here(images) => images,
        Stored::Missing | Stored::Broken => reports::Images::new(),
    };
    let images = &settings.images;
    let mut wanted: Vec<&str> = [
        cluster.ocp_release_image.as_deref(),
        images.machine_config_operator.as_deref(),
        images.must_gather.as_deref(),
        Some(images.installer.as_str()),
    ]
    .into_iter()
    .flatten()
    .filter(|name| !name.is_empty() && !known.contains_key(*name))
    .collect();
    wanted.dedup();
    let timeout = settings.timeouts.image_availability.as_secs();
    (!wanted.is_empty()).then(|| json!({ "images": wanted, "timeout": timeout }))
}

fn domains(cluster: &Cluster) -> Option<Value> {
    let base = cluster
        .base_dns_domain
        .as_deref()
        .filter(|base| !base.is_empty())?;
    if cluster.name.is_empty() {
        return None;
    }
    let full = format!("{}.{base}", cluster.name);
    let mut names = vec![
        format!("api.{full}"),
        format!("api-int.{full}"),
        format!("console-openshift-console.apps.{full}"),
        format!("validateNoWildcardDNS.{full}."),
        format!("validateNoWildcardDNS.{full}"),
    ];
    if !cluster.is_day2() {
        names.extend(cluster.ocp_release_image.as_deref().and_then(registry_name));
    }
    let list: Vec<Value> = names
        .into_iter()
        .map(|name| json!({ "domain_name": name }))
        .collect();
    Some(json!({ "domains": list }))
}

/// The registry of a pull spec, if it has a name rather than an address.
fn registry_name(image: &str) -> Option<String> {
    let registry = image.split_once('/')?.0;
    if registry.starts_with('[') {
        return None;
    }
    let name = registry.split(':').next().unwrap_or_default();
    (!name.is_empty() && name.parse::<IpAddr>().is_err()).then(|| name.to_owned())
}

fn vips(host: &Host, cluster: &Cluster) -> Option<Value> {
    Inventory::of(host).ok()?;
    let list: Vec<Value> = [
        ("api", &cluster.api_vips),
        ("ingress", &cluster.ingress_vips),
    ]
    .into_iter()
    .flat_map(|(kind, list)| {
        networks::vips(list)
            .iter()
            .map(move |vip| json!({ "vip": vip.ip, "vip_type": kind }))
    })
    .collect();
    (!list.is_empty()).then(|| Value::Array(list))
}

fn logs(host: &Host, around: &Surroundings<'_>) -> Option<Value> {
    if host.logs_collected_at.is_some() {
        return None;
    }
    let masters = if host.bootstrap {
        Some(other_masters(host, around))
    } else {
        None
    };
    Some(json!({
        "bootstrap": host.bootstrap,
        "cluster_id": host.cluster?,
        "host_id": host.id,
        "infra_env_id": host.infra_env,
        "installer_gather": true,
        "master_ips": masters,
    }))
}

/// Where the bootstrap host finds the logs of the others.
fn other_masters(host: &Host, around: &Surroundings<'_>) -> Vec<String> {
    let machine = around
        .cluster
        .and_then(|c| networks::machine(c).ok()?.first().copied());
    around
        .peers
        .iter()
        .map(|peer| peer.host)
        .filter(|peer| peer.key() != host.key() && peer.effective_role() != HostRole::Worker)
        .filter_map(|peer| Inventory::of(peer).ok())
        .flat_map(|inventory| match &machine {
            Some(network) => inventory
                .address_in(network)
                .into_iter()
                .collect::<Vec<_>>(),
            None => inventory
                .addresses()
                .map(|(_, address)| address.addr())
                .collect(),
        })
        .map(|address| address.to_string())
        .collect()
}
