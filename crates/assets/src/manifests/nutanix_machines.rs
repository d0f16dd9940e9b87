//! Nutanix: virtual machines of the control plane and sets of workers, spread over failure domains.

use serde_json::{Map, Value, json};

use super::nutanix::{CREDENTIALS, by_uuid};
use super::{Source, machine_labels, object, padded, user_data};
use muster_documents::install_config::types::{
    MachinePool, Nutanix, NutanixDataDisk, NutanixDomain, NutanixOsDisk, NutanixPool,
    StorageReference,
};
use muster_documents::yaml;

const NAMESPACE: &str = "openshift-machine-api";
const MACHINE: &str = "machine.openshift.io/v1beta1";
const CLUSTER_LABEL: &str = "machine.openshift.io/cluster-api-cluster";
const SET_LABEL: &str = "machine.openshift.io/cluster-api-machineset";

pub(super) fn objects(source: Source<'_>) -> Vec<(String, Value)> {
    let config = &source.plan.config;
    let Some(platform) = &config.platform.nutanix else {
        return Vec::new();
    };
    let mut made = Vec::new();
    if let Some(pool) = &config.control_plane {
        made.extend(machines(source, platform, pool));
    }
    for pool in &config.compute {
        made.extend(sets(source, platform, pool));
    }
    made
}

/// What a pool sets, then what the platform sets for all pools, then the usual sizes.
fn effective(platform: &Nutanix, pool: &MachinePool) -> NutanixPool {
    let usual = NutanixPool {
        cpus: 4,
        cores_per_socket: 1,
        memory_mib: 16384,
        os_disk: NutanixOsDisk { disk_size_gib: 120 },
        ..NutanixPool::default()
    };
    let none = NutanixPool::default();
    let common = platform.default_machine_platform.as_ref().unwrap_or(&none);
    let own = pool.platform.nutanix.as_ref().unwrap_or(&none);
    own.or(&common.or(&usual))
}

/// Failure domains of a pool, in the order it names them.
fn domains<'a>(platform: &'a Nutanix, size: &NutanixPool) -> Vec<&'a NutanixDomain> {
    let names = size.failure_domains.iter();
    names
        .filter_map(|name| platform.failure_domain(name))
        .collect()
}

fn machines(source: Source<'_>, platform: &Nutanix, pool: &MachinePool) -> Vec<(String, Value)> {
    let size = effective(platform, pool);
    let domains = domains(platform, &size);
    let count = usize::try_from(pool.replica_count()).unwrap_or(0);
    let made = (0..count).map(|index| {
        let name = format!("{}-master-{index}", source.plan.identity.infra_id);
        let domain = domains.get(index % domains.len().max(1)).copied();
        let spec = provider_spec(source, platform, &size, "master", domain);
        let machine = object(
            MACHINE,
            "Machine",
            NAMESPACE,
            &name,
            json!({
                "metadata": { "labels": machine_labels(source, "master") },
                "spec": { "lifecycleHooks": {}, "metadata": {}, "providerSpec": { "value": spec } },
                "status": {},
            }),
        );
        let number = padded(index, count);
        let path = format!("openshift/99_openshift-cluster-api_master-machines-{number}.yaml");
        (path, machine)
    });
    made.collect()
}

fn sets(source: Source<'_>, platform: &Nutanix, pool: &MachinePool) -> Vec<(String, Value)> {
    let size = effective(platform, pool);
    let total = usize::try_from(pool.replica_count()).unwrap_or(0);
    let infra_id = &source.plan.identity.infra_id;
    // Without failure domains there is one set, without a number in its name.
    let domains = domains(platform, &size);
    let places: Vec<Option<&NutanixDomain>> = match domains.len() {
        0 => vec![None],
        // Domains beyond the number of machines get no set.
        _ => domains.into_iter().map(Some).take(total).collect(),
    };
    let count = places.len();
    let made = places.into_iter().enumerate().map(|(index, domain)| {
        let replicas = total / count + usize::from(index < total % count);
        let name = match domain {
            None => format!("{infra_id}-worker"),
            Some(_) => format!("{infra_id}-worker-{index}"),
        };
        let selected = json!({ CLUSTER_LABEL: infra_id, SET_LABEL: name });
        let mut labels = machine_labels(source, "worker");
        labels[SET_LABEL] = json!(name);
        let spec = provider_spec(source, platform, &size, "worker", domain);
        let set = object(
            MACHINE,
            "MachineSet",
            NAMESPACE,
            &name,
            json!({
                "metadata": { "labels": { CLUSTER_LABEL: infra_id } },
                "spec": {
                    "replicas": replicas,
                    "selector": { "matchLabels": selected },
                    "template": {
                        "metadata": { "labels": labels },
                        "spec": {
                            "lifecycleHooks": {},
                            "metadata": {},
                            "providerSpec": { "value": spec },
                        },
                    },
                },
                "status": { "replicas": 0 },
            }),
        );
        let number = padded(index, count);
        let path = format!("openshift/99_openshift-cluster-api_worker-machineset-{number}.yaml");
        (path, set)
    });
    made.collect()
}

pub(super) fn control_plane_set(source: Source<'_>) -> Option<Value> {
    let config = &source.plan.config;
    let platform = config.platform.nutanix.as_ref()?;
    let pool = config.control_plane.as_ref()?;
    let size = effective(platform, pool);
    let domains = domains(platform, &size);
    let mut spec = provider_spec(source, platform, &size, "master", None);
    let mut template = json!({ "metadata": { "labels": machine_labels(source, "master") } });
    if !domains.is_empty() {
        // The operator fills in place and subnets from the failure domain of each machine.
        spec["cluster"] = json!({ "type": "" });
        spec["subnets"] = json!([]);
        let names: Vec<Value> = domains.iter().map(|d| json!({ "name": d.name })).collect();
        template["failureDomains"] = json!({ "nutanix": names, "platform": "Nutanix" });
    }
    template["spec"] =
        json!({ "lifecycleHooks": {}, "metadata": {}, "providerSpec": { "value": spec } });
    let infra_id = &source.plan.identity.infra_id;
    Some(object(
        "machine.openshift.io/v1",
        "ControlPlaneMachineSet",
        NAMESPACE,
        "cluster",
        json!({
            "metadata": { "labels": { CLUSTER_LABEL: infra_id } },
            "spec": {
                "replicas": pool.replica_count(),
                "selector": { "matchLabels": machine_labels(source, "master") },
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

/// What a virtual machine looks like, and where it runs.
fn provider_spec(
    source: Source<'_>,
    platform: &Nutanix,
    size: &NutanixPool,
    role: &str,
    domain: Option<&NutanixDomain>,
) -> Value {
    let element = domain.map(|domain| &domain.prism_element);
    let element = element.or_else(|| platform.prism_elements.first());
    let element = element.map_or("", |element| element.uuid.as_str());
    let subnets = domain.map_or(&platform.subnet_uuids, |domain| &domain.subnet_uuids);
    let subnets: Vec<Value> = subnets.iter().map(|id| by_uuid(id)).collect();
    let infra_id = &source.plan.identity.infra_id;
    let image = match platform.preloaded_os_image_name.as_str() {
        "" => format!("{infra_id}-rhcos"),
        named => named.to_owned(),
    };
    let disks: Vec<Value> = size
        .data_disks
        .iter()
        .map(|disk| data_disk(disk, domain))
        .collect();
    let project = match &size.project {
        Some(project) => by_uuid(&project.uuid),
        None => json!({ "type": "" }),
    };
    json!({
        "apiVersion": "machine.openshift.io/v1",
        "bootType": size.boot_type.map_or("", |kind| kind.word()),
        "categories": null_if_empty(&size.categories),
        "cluster": by_uuid(element),
        "credentialsSecret": { "name": CREDENTIALS },
        "dataDisks": null_if_empty(&disks),
        "failureDomain": domain.map(|domain| json!({ "name": domain.name })),
        "gpus": null_if_empty(&size.gpus),
        "image": { "name": image, "type": "name" },
        "kind": "NutanixMachineProviderConfig",
        "memorySize": quantity(size.memory_mib, "Mi"),
        "metadata": {},
        "project": project,
        "subnets": subnets,
        "systemDiskSize": quantity(size.os_disk.disk_size_gib, "Gi"),
        "userDataSecret": { "name": user_data::name(source, role) },
        "vcpuSockets": size.cpus,
        "vcpusPerSocket": size.cores_per_socket,
    })
}

fn null_if_empty<T: serde::Serialize>(list: &[T]) -> Value {
    match list {
        [] => Value::Null,
        list => yaml::value(&list),
    }
}

/// A size in the largest unit that needs no fraction, as Kubernetes writes it.
fn quantity(mut number: i64, unit: &str) -> String {
    const UNITS: [&str; 4] = ["Mi", "Gi", "Ti", "Pi"];
    let mut place = UNITS.iter().position(|known| *known == unit).unwrap_or(0);
    while number != 0 && number % 1024 == 0 && place + 1 < UNITS.len() {
        number /= 1024;
        place += 1;
    }
    format!("{number}{}", UNITS[place])
}

fn data_disk(disk: &NutanixDataDisk, domain: Option<&NutanixDomain>) -> Value {
    let mut out = Map::new();
    out.insert("diskSize".into(), json!(disk.disk_size));
    if let Some(device) = &disk.device_properties {
        out.insert("deviceProperties".into(), yaml::value(device));
    }
    if let Some(storage) = &disk.storage_config {
        let mode = storage.disk_mode.map_or("", |mode| mode.word());
        let mut config = json!({ "diskMode": mode });
        if let Some(container) = &storage.storage_container {
            let known = domain.map_or(&[][..], |domain| &domain.storage_containers);
            config["storageContainer"] = by_uuid(resolved(container, known));
        }
        out.insert("storageConfig".into(), config);
    }
    if let Some(image) = &disk.data_source_image {
        let known = domain.map_or(&[][..], |domain| &domain.data_source_images);
        out.insert("dataSource".into(), by_uuid(resolved(image, known)));
    }
    Value::Object(out)
}

/// UUID of what a disk refers to: that of the failure domain, where it is named there.
fn resolved<'a>(reference: &'a StorageReference, known: &'a [StorageReference]) -> &'a str {
    let name = &reference.reference_name;
    let mut known = known.iter();
    let found = known.find(|one| !name.is_empty() && one.reference_name == *name);
    &found.unwrap_or(reference).uuid
}

#[cfg(test)]
mod tests {
    use super::quantity;

    #[test]
    fn sizes_are_written_in_the_largest_whole_unit() {
        for (number, unit, wanted) in [
            (16384, "Mi", "16Gi"),
            (16385, "Mi", "16385Mi"),
            (120, "Gi", "120Gi"),
            (2048, "Gi", "2Ti"),
        ] {
            assert_eq!(quantity(number, unit), wanted);
        }
    }
}
