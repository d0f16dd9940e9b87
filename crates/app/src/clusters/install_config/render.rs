//! The install-config of a cluster, from its record and its hosts.
//!
//! Pure: the same records give the same text. What the user overrides is laid on last.

use muster_engine::inventory;
use muster_model::{Arch, Cluster, Host, HostRole, OpenshiftVersion, PlatformType};
use serde_json::{Map, Value, json};

use super::{overrides, platform};
use crate::{Invalid, preparation::networks_of_lead};

/// Hosts of a cluster by what they become.
#[derive(Debug, Default)]
pub struct Roles<'a> {
    /// Control plane.
    pub masters: Vec<&'a Host>,
    /// Tie breakers of two-node clusters.
    pub arbiters: Vec<&'a Host>,
    /// Everything else.
    pub workers: Vec<&'a Host>,
}

impl<'a> Roles<'a> {
    /// Sorts hosts; those whose role is still open count nowhere.
    pub fn of(hosts: &[&'a Host]) -> Self {
        let mut roles = Self::default();
        for host in hosts.iter().copied() {
            match host.effective_role() {
                HostRole::Master | HostRole::Bootstrap => roles.masters.push(host),
                HostRole::Arbiter => roles.arbiters.push(host),
                HostRole::Worker => roles.workers.push(host),
                HostRole::AutoAssign => {}
            }
        }
        roles
    }
}

/// What an install-config says besides what the cluster's record says.
#[derive(Clone, Debug, Default)]
pub struct Around<'a> {
    /// PEM bundles that the hosts already trust.
    pub trust: Vec<&'a str>,
    /// Registries that stand in for others: source and mirrors.
    pub mirrors: Vec<(String, Vec<String>)>,
    /// Files are made from it. They may be asked for before all hosts are there, so they follow from
    /// what is planned; people are shown what is there.
    pub for_files: bool,
}

/// Renders the install-config with the user's overrides.
///
/// # Errors
/// If the stored overrides do not fit; says why.
pub fn render(cluster: &Cluster, hosts: &[&Host], around: &Around<'_>) -> Result<Value, Invalid> {
    let overrides = overrides::parse(cluster.install_config_overrides.as_deref().unwrap_or(""))?;
    let roles = Roles::of(hosts);
    let version: Option<OpenshiftVersion> = cluster.openshift_version.parse().ok();
    let planned = cluster.control_plane_count;
    let planned = planned.filter(|count| *count > 0 && around.for_files);
    let planned = planned.and_then(|count| usize::try_from(count).ok());
    let masters = planned.unwrap_or(roles.masters.len());
    let mut config = json!({
        "apiVersion": "v1",
        "baseDomain": cluster.base_dns_domain.as_deref().unwrap_or(""),
        "metadata": {"name": cluster.name},
        "networking": networking(cluster, hosts),
        "controlPlane": pool(cluster, "master", masters),
        "compute": [pool(cluster, "worker", roles.workers.len())],
        "platform": platform::render(cluster, &roles, version.as_ref()),
        "fips": false,
        "pullSecret": cluster.pull_secret.reveal(),
    });
    if !roles.arbiters.is_empty() {
        config["arbiter"] = pool(cluster, "arbiter", roles.arbiters.len());
        if version.as_ref().is_some_and(|version| version.is(4, 19)) {
            config["featureSet"] = json!("TechPreviewNoUpgrade");
        }
    }
    if let Some(key) = cluster
        .ssh_public_key
        .as_deref()
        .filter(|key| !key.is_empty())
    {
        config["sshKey"] = json!(key);
    }
    if let Some(proxy) = proxy(cluster) {
        config["proxy"] = proxy;
    }
    if let Some(disk) = in_place_disk(cluster, hosts) {
        config["bootstrapInPlace"] = json!({"installationDisk": disk});
    }
    let fencing = fencing(&roles);
    if !fencing.is_empty() {
        config["controlPlane"]["fencing"] = json!({ "credentials": fencing });
        if version
            .as_ref()
            .is_some_and(|version| !version.at_least(4, 22))
        {
            config["featureSet"] = json!("TechPreviewNoUpgrade");
        }
    }
    if !around.mirrors.is_empty() {
        // By digest since 4.14; before there was only one kind of mirror.
        let old = version
            .as_ref()
            .is_some_and(|version| !version.at_least(4, 14));
        let key = if old {
            "imageContentSources"
        } else {
            "imageDigestSources"
        };
        let entries = around.mirrors.iter();
        let entries =
            entries.map(|(source, mirrors)| json!({"source": source, "mirrors": mirrors}));
        config[key] = entries.collect();
    }
    if hosts.is_empty() && !around.for_files {
        // Nothing is known of the machines before the first one.
        for pool in ["/controlPlane", "/compute/0"] {
            let pool = config.pointer_mut(pool).and_then(Value::as_object_mut);
            pool.map(|pool| pool.remove("architecture"));
        }
    }
    overrides::lay(&mut config, &overrides);
    add_trust(&mut config, &around.trust);
    Ok(config)
}

fn pool(cluster: &Cluster, name: &str, replicas: usize) -> Value {
    let mut pool = json!({
        "name": name,
        "replicas": replicas,
        "hyperthreading": if hyperthreaded(cluster, name) { "Enabled" } else { "Disabled" },
    });
    // A mixed cluster has no one answer; the installer takes that of its release.
    if let Some(arch) = cluster.arch().filter(|arch| *arch != Arch::Multi) {
        pool["architecture"] = json!(arch.go());
    }
    pool
}

/// The setting is `all`, `none` or names such as `masters,workers`.
fn hyperthreaded(cluster: &Cluster, pool: &str) -> bool {
    match cluster.hyperthreading.as_deref() {
        None | Some("" | "all") => true,
        Some(named) => named
            .split(',')
            .any(|one| one.trim().strip_suffix('s') == Some(pool)),
    }
}

/// How hosts of a two-node cluster switch each other off, by the hosts' names.
fn fencing(roles: &Roles<'_>) -> Vec<Value> {
    let mut all: Vec<(String, Value)> = roles
        .masters
        .iter()
        .filter_map(|host| {
            let text = host.fencing_credentials.as_ref()?.reveal();
            let mut credentials: Value = serde_json::from_str(text).ok()?;
            let name = inventory::hostname(host);
            let members = credentials.as_object_mut()?;
            for (stored, written) in [("certificate_verification", "certificateVerification")] {
                if let Some(value) = members.remove(stored) {
                    members.insert(written.to_owned(), value);
                }
            }
            members.insert("hostName".to_owned(), json!(name));
            members.retain(|_, value| !value.is_null());
            Some((name, credentials))
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all.into_iter()
        .map(|(_, credentials)| credentials)
        .collect()
}

fn networking(cluster: &Cluster, hosts: &[&Host]) -> Value {
    let mut networking = Map::new();
    if let Some(kind) = cluster
        .network_type
        .as_deref()
        .filter(|kind| !matches!(*kind, "" | "None"))
    {
        networking.insert("networkType".into(), json!(kind));
    }
    let pods = cluster.networks.cluster.iter().flatten().map(|network| {
        if network.host_prefix > 0 {
            json!({"cidr": network.cidr, "hostPrefix": network.host_prefix})
        } else {
            json!({"cidr": network.cidr})
        }
    });
    let machines = cluster
        .networks
        .machine
        .iter()
        .flatten()
        .map(|cidr| json!({"cidr": cidr}));
    let mut machines: Vec<Value> = machines.collect();
    if machines.is_empty() && brings_own_network(cluster) {
        // The user named none because there may be several; that of the lead is the one.
        let found = networks_of_lead(cluster, hosts).into_iter();
        machines.extend(found.map(|net| json!({"cidr": net.to_string()})));
    }
    let services = cluster
        .networks
        .service
        .iter()
        .flatten()
        .map(|cidr| json!(cidr));
    for (name, list) in [
        ("clusterNetwork", pods.collect::<Vec<_>>()),
        ("machineNetwork", machines),
        ("serviceNetwork", services.collect()),
    ] {
        if !list.is_empty() {
            networking.insert(name.into(), Value::Array(list));
        }
    }
    Value::Object(networking)
}

/// Platforms on which the user brings DNS and load balancing.
fn brings_own_network(cluster: &Cluster) -> bool {
    let kind = cluster.platform.as_ref().map(|platform| platform.kind);
    matches!(kind, Some(PlatformType::None | PlatformType::External))
}

/// The proxy, with everything inside the cluster kept away from it.
fn proxy(cluster: &Cluster) -> Option<Value> {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (http, https) = (set(&cluster.proxy.http), set(&cluster.proxy.https));
    if http.is_none() && https.is_none() {
        return None;
    }
    let user = cluster.proxy.no_proxy.as_deref().unwrap_or("").trim();
    let mut without: Vec<String> = user
        .split(',')
        .map(str::trim)
        .filter(|one| !one.is_empty())
        .map(str::to_owned)
        .collect();
    if user != "*" {
        let domain = cluster.base_dns_domain.as_deref().unwrap_or("");
        without.push(format!(".{}.{domain}", cluster.name));
        let networks = &cluster.networks;
        without.extend(
            networks
                .cluster
                .iter()
                .flatten()
                .map(|network| network.cidr.clone()),
        );
        without.extend(networks.service.iter().flatten().cloned());
        without.extend(networks.machine.iter().flatten().cloned());
    }
    let mut proxy = Map::new();
    let members = [
        ("httpProxy", http),
        ("httpsProxy", https),
        ("noProxy", Some(without.join(","))),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            proxy.insert(name.into(), json!(value));
        }
    }
    Some(Value::Object(proxy))
}

/// A single node installs itself: the bootstrap must know its disk.
fn in_place_disk<'a>(cluster: &Cluster, hosts: &[&'a Host]) -> Option<&'a str> {
    if !cluster.is_single_node() {
        return None;
    }
    let host = hosts.iter().find(|host| host.bootstrap).or(hosts.first())?;
    host.installation_disk_id
        .as_deref()
        .or(host.installation_disk_path.as_deref())
}

fn add_trust(config: &mut Value, trust: &[&str]) {
    let own = config["additionalTrustBundle"]
        .as_str()
        .unwrap_or("")
        .to_owned();
    let mut all: Vec<&str> = Vec::new();
    for bundle in std::iter::once(own.as_str()).chain(trust.iter().copied()) {
        let bundle = bundle.trim();
        if !bundle.is_empty() && !all.contains(&bundle) {
            all.push(bundle);
        }
    }
    if !all.is_empty() {
        config["additionalTrustBundle"] = json!(all.join("\n"));
    } else if let Some(members) = config.as_object_mut() {
        members.shift_remove("additionalTrustBundle");
    }
}
