//! vSphere: virtual machines of the control plane and sets of workers, spread over zones.

use serde_json::{Value, json};

use super::vsphere::template;
use super::{Source, machine_labels, object, padded, user_data};
use muster_documents::install_config::types::{
    FailureDomain, FailureDomainType, MachinePool, NetworkDevice, Vsphere, VsphereHost,
    VsphereHostRole, VspherePool,
};

const NAMESPACE: &str = "openshift-machine-api";
const MACHINE: &str = "machine.openshift.io/v1beta1";

pub(super) fn objects(source: Source<'_>) -> Vec<(String, Value)> {
    let config = &source.plan.config;
    let Some(platform) = &config.platform.vsphere else {
        return Vec::new();
    };
    let mut made = Vec::new();
    if let Some(pool) = &config.control_plane {
        made.extend(machines(
            source,
            platform,
            pool,
            "master",
            VsphereHostRole::ControlPlane,
        ));
    }
    for pool in &config.compute {
        let statics = hosts(platform, VsphereHostRole::Compute).next().is_some();
        made.extend(sets(source, platform, pool, statics));
        if statics {
            made.extend(machines(
                source,
                platform,
                pool,
                "worker",
                VsphereHostRole::Compute,
            ));
        }
    }
    made
}

/// Failure domains a pool may use: those it names, in that order, or all.
fn zones<'a>(platform: &'a Vsphere, pool: &MachinePool) -> Vec<&'a FailureDomain> {
    let named = pool
        .platform
        .vsphere
        .as_ref()
        .map_or(&[][..], |pool| &pool.zones);
    let domains = &platform.failure_domains;
    if named.is_empty() {
        return domains.iter().collect();
    }
    let find = |name: &String| domains.iter().find(|fd| fd.name == *name);
    named.iter().filter_map(find).collect()
}

fn hosts(platform: &Vsphere, role: VsphereHostRole) -> impl Iterator<Item = &VsphereHost> {
    platform
        .hosts
        .iter()
        .filter(move |host| host.role == Some(role))
}

/// Where machine `index` of a pool runs: where its static address belongs, else in turn.
fn zone_of<'a>(
    zones: &[&'a FailureDomain],
    host: Option<&VsphereHost>,
    index: usize,
) -> Option<&'a FailureDomain> {
    let own = host.and_then(|host| zones.iter().find(|fd| fd.name == host.failure_domain));
    own.or_else(|| zones.get(index % zones.len().max(1)))
        .copied()
}

fn machines(
    source: Source<'_>,
    platform: &Vsphere,
    pool: &MachinePool,
    role: &str,
    host_role: VsphereHostRole,
) -> Vec<(String, Value)> {
    let zones = zones(platform, pool);
    let count = usize::try_from(pool.replica_count()).unwrap_or(0);
    let statics: Vec<&VsphereHost> = hosts(platform, host_role).collect();
    let mut made = Vec::new();
    for index in 0..count {
        let name = format!("{}-{role}-{index}", source.plan.identity.infra_id);
        let host = statics.get(index);
        let Some(domain) = zone_of(&zones, host.copied(), index) else {
            continue;
        };
        let mut spec = provider_spec(source, platform, pool, role, Some(domain));
        if let Some(device) = host.and_then(|host| host.network_device.as_ref()) {
            pool_addresses(&mut spec["network"]["devices"][0], device);
            made.extend(addresses(source, &name, device));
        }
        let machine = object(
            MACHINE,
            "Machine",
            NAMESPACE,
            &name,
            json!({
                "metadata": { "labels": machine_labels(source, role) },
                "spec": { "metadata": {}, "providerSpec": { "value": spec } },
                "status": {},
            }),
        );
        let number = padded(index, count);
        let path = format!("openshift/99_openshift-cluster-api_{role}-machines-{number}.yaml");
        made.push((path, machine));
    }
    made
}

fn pool_name(address: usize) -> String {
    format!("default-{address}")
}

/// A card takes its addresses from pools, one for each.
fn pool_addresses(card: &mut Value, device: &NetworkDevice) {
    let pools = (0..device.ip_addrs.len()).map(|index| {
        json!({
            "group": "installer.openshift.io",
            "name": pool_name(index),
            "resource": "IPPool",
        })
    });
    card["addressesFromPools"] = pools.collect();
    if !device.nameservers.is_empty() {
        card["nameservers"] = json!(device.nameservers);
    }
}

/// A claim and the address that answers it, per static address.
fn addresses(source: Source<'_>, machine: &str, device: &NetworkDevice) -> Vec<(String, Value)> {
    let api = if source.plan.has_cluster_api_machines() {
        "ipam.cluster.x-k8s.io/v1beta2"
    } else {
        "ipam.cluster.x-k8s.io/v1beta1"
    };
    let mut made = Vec::new();
    for (index, address) in device.ip_addrs.iter().enumerate() {
        let reference = json!({
            "apiGroup": "installer.openshift.io",
            "kind": "IPPool",
            "name": pool_name(index),
        });
        let name = format!("{machine}-claim-0-{index}");
        let (host, prefix) = address.split_once('/').unwrap_or((address, ""));
        let claim = object(
            api,
            "IPAddressClaim",
            NAMESPACE,
            &name,
            json!({
                "metadata": { "finalizers": ["machine.openshift.io/ip-claim-protection"] },
                "spec": { "poolRef": reference },
                "status": { "addressRef": { "name": name } },
            }),
        );
        let mut spec = json!({
            "address": host,
            "claimRef": { "name": name },
            "poolRef": reference,
        });
        if let Ok(prefix) = prefix.parse::<u8>() {
            spec["prefix"] = json!(prefix);
        }
        if !device.gateway.is_empty() {
            spec["gateway"] = json!(device.gateway);
        }
        let address = object(api, "IPAddress", NAMESPACE, &name, json!({ "spec": spec }));
        made.push((
            format!("openshift/99_openshift-machine-api_claim-{name}.yaml"),
            claim,
        ));
        made.push((
            format!("openshift/99_openshift-machine-api_address-{name}.yaml"),
            address,
        ));
    }
    made
}

fn sets(
    source: Source<'_>,
    platform: &Vsphere,
    pool: &MachinePool,
    statics: bool,
) -> Vec<(String, Value)> {
    let zones = zones(platform, pool);
    let total = if statics {
        0
    } else {
        usize::try_from(pool.replica_count()).unwrap_or(0)
    };
    let count = zones.len();
    let infra_id = &source.plan.identity.infra_id;
    zones
        .iter()
        .enumerate()
        .map(|(index, domain)| {
            let replicas = total / count + usize::from(index < total % count);
            let name = format!("{infra_id}-worker-{index}");
            let selected = json!({
                "machine.openshift.io/cluster-api-cluster": infra_id,
                "machine.openshift.io/cluster-api-machineset": name,
            });
            let mut template = machine_labels(source, "worker");
            template["machine.openshift.io/cluster-api-machineset"] = json!(name);
            let spec = provider_spec(source, platform, pool, "worker", Some(domain));
            let set = object(
                MACHINE,
                "MachineSet",
                NAMESPACE,
                &name,
                json!({
                    "metadata": {
                        "labels": { "machine.openshift.io/cluster-api-cluster": infra_id },
                    },
                    "spec": {
                        "replicas": replicas,
                        "selector": { "matchLabels": selected },
                        "template": {
                            "metadata": { "labels": template },
                            "spec": { "metadata": {}, "providerSpec": { "value": spec } },
                        },
                    },
                    "status": { "replicas": 0 },
                }),
            );
            let number = padded(index, count);
            (
                format!("openshift/99_openshift-cluster-api_worker-machineset-{number}.yaml"),
                set,
            )
        })
        .collect()
}

/// What a virtual machine looks like; without a failure domain its place is left open.
fn provider_spec(
    source: Source<'_>,
    platform: &Vsphere,
    pool: &MachinePool,
    role: &str,
    domain: Option<&FailureDomain>,
) -> Value {
    let default = VspherePool::default();
    let size = pool
        .platform
        .vsphere
        .as_ref()
        .or(platform.default_machine_platform.as_ref());
    let size = size.unwrap_or(&default);
    let or = |value: i64, usual: i64| if value == 0 { usual } else { value };
    let infra_id = &source.plan.identity.infra_id;
    let mut spec = json!({
        "apiVersion": MACHINE,
        "credentialsSecret": { "name": "vsphere-cloud-credentials" },
        "diskGiB": or(size.os_disk.disk_size_gb, 120),
        "kind": "VSphereMachineProviderSpec",
        "memoryMiB": or(size.memory_mb, 16384),
        "metadata": {},
        "network": { "devices": null },
        "numCPUs": or(size.cpus, 4),
        "numCoresPerSocket": or(size.cores_per_socket, 4),
        "snapshot": "",
        "template": "",
        "userDataSecret": { "name": user_data::name(source, role) },
        "workspace": {},
    });
    if !size.data_disks.is_empty() {
        spec["dataDisks"] = muster_documents::yaml::value(&size.data_disks);
    }
    let Some(domain) = domain else {
        return spec;
    };
    let topology = &domain.topology;
    let devices: Vec<Value> = topology
        .networks
        .iter()
        .map(|name| json!({ "networkName": name }))
        .collect();
    let folder = match topology.folder.as_str() {
        "" => format!("/{}/vm/{infra_id}", topology.datacenter),
        named => named.to_owned(),
    };
    let resources = match topology.resource_pool.as_str() {
        "" => format!("{}/Resources", topology.compute_cluster),
        named => named.to_owned(),
    };
    spec["network"] = json!({ "devices": devices });
    spec["template"] = json!(template(infra_id, domain));
    spec["workspace"] = json!({
        "datacenter": topology.datacenter,
        "datastore": topology.datastore,
        "folder": folder,
        "resourcePool": resources,
        "server": domain.server,
    });
    if domain.zone_type == Some(FailureDomainType::HostGroup) {
        spec["workspace"]["vmGroup"] = json!(format!("{infra_id}-{}", domain.name));
    }
    if !topology.tag_ids.is_empty() {
        spec["tagIDs"] = json!(topology.tag_ids);
    }
    spec
}

pub(super) fn control_plane_set(source: Source<'_>) -> Option<Value> {
    let config = &source.plan.config;
    let platform = config.platform.vsphere.as_ref()?;
    let pool = config.control_plane.as_ref()?;
    if pool.replica_count() <= 1 {
        return None;
    }
    let zones = zones(platform, pool);
    let statics: Vec<&VsphereHost> = hosts(platform, VsphereHostRole::ControlPlane).collect();
    let count = usize::try_from(pool.replica_count()).unwrap_or(0);
    let mut used: Vec<&FailureDomain> = Vec::new();
    for index in 0..count {
        let zone = zone_of(&zones, statics.get(index).copied(), index);
        used.extend(zone.filter(|zone| !used.iter().any(|known| known.name == zone.name)));
    }
    let domains: Vec<Value> = used.iter().map(|fd| json!({ "name": fd.name })).collect();
    let mut spec = provider_spec(source, platform, pool, "master", None);
    if let Some(device) = statics.last().and_then(|host| host.network_device.as_ref()) {
        let mut card = json!({});
        pool_addresses(&mut card, device);
        spec["network"] = json!({ "devices": [card] });
    }
    let infra_id = &source.plan.identity.infra_id;
    let selected = machine_labels(source, "master");
    let template = json!({
        "failureDomains": { "platform": "VSphere", "vsphere": domains },
        "metadata": { "labels": machine_labels(source, "master") },
        "spec": { "lifecycleHooks": {}, "metadata": {}, "providerSpec": { "value": spec } },
    });
    let api = "machine.openshift.io/v1";
    Some(object(
        api,
        "ControlPlaneMachineSet",
        NAMESPACE,
        "cluster",
        json!({
            "metadata": { "labels": { "machine.openshift.io/cluster-api-cluster": infra_id } },
            "spec": {
                "replicas": pool.replica_count(),
                "selector": { "matchLabels": selected },
                "state": "Active",
                "strategy": {},
                "template": {
                    "machineType": "machines_v1beta1_machine_openshift_io",
                    "machines_v1beta1_machine_openshift_io": template,
                },
            },
            "status": {},
        }),
    ))
}
