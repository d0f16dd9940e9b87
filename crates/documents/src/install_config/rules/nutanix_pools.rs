//! Rules about sizes and devices of virtual machines on Nutanix.
//!
//! The reference asks Prism Central whether projects, categories, GPUs and images exist. Nothing here
//! talks to it: what needs a look-up (a project or an image by name) is refused with the way out.

use super::{Diagnostics, Facts, Rule, pools::every_pool};
use crate::install_config::{
    Method,
    schema::wording::shown,
    types::{
        Nutanix, NutanixAdapterType, NutanixDataDisk, NutanixDeviceType, NutanixGpuType,
        NutanixIdentifierType, NutanixPool, StorageReference,
    },
};

const READS: &[&str] = &["platform.nutanix", "controlPlane", "compute"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "nutanix-sizes", path: "platform.nutanix.defaultMachinePlatform", reads: READS, text: "Not negative; coresPerSocket not more than cpus (4 if unset).", check: sizes },
    Rule { name: "nutanix-project", path: "platform.nutanix.defaultMachinePlatform.project", reads: READS, text: "By UUID; names are not looked up.", check: project },
    Rule { name: "nutanix-pool-domains", path: "platform.nutanix.defaultMachinePlatform.failureDomains", reads: READS, text: "Names of failure domains, each once.", check: pool_domains },
    Rule { name: "nutanix-gpus", path: "compute.platform.nutanix.gpus", reads: READS, text: "Only in compute pools; each with the name or device id its type asks for.", check: gpus },
    Rule { name: "nutanix-data-disks", path: "compute.platform.nutanix.dataDisks", reads: READS, text: "Only in compute pools; at least 1Gi; a CDRom on IDE or SATA; containers and images by UUID, or by a reference name that every failure domain of the pool has.", check: data_disks },
];

/// Pools that set something, unless hosts install themselves: they use none of it.
fn pools<'a>(facts: &Facts<'a>) -> Vec<(String, &'a NutanixPool)> {
    let Some(platform) = platform(facts) else {
        return Vec::new();
    };
    let common = platform.default_machine_platform.iter();
    let common = common.map(|pool| ("platform.nutanix.defaultMachinePlatform".to_owned(), pool));
    let own = every_pool(facts).into_iter();
    let own = own.filter_map(|(path, pool)| {
        Some((
            format!("{path}.platform.nutanix"),
            pool.platform.nutanix.as_ref()?,
        ))
    });
    common.chain(own).collect()
}

fn platform<'a>(facts: &Facts<'a>) -> Option<&'a Nutanix> {
    let platform = facts.config.platform.nutanix.as_ref();
    platform.filter(|_| facts.around.method != Method::Agent)
}

fn sizes(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in pools(facts) {
        for (name, number) in [
            ("cpus", pool.cpus),
            ("coresPerSocket", pool.cores_per_socket),
            ("memoryMiB", pool.memory_mib),
            ("osDisk.diskSizeGiB", pool.os_disk.disk_size_gib),
        ] {
            if number < 0 {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    format!("{number} is negative"),
                    "write a positive number",
                );
            }
        }
        let cpus = if pool.cpus == 0 { 4 } else { pool.cpus };
        let cores = pool.cores_per_socket;
        if cpus > 0 && cores > cpus {
            diagnostics.fault(
                format!("{path}.coresPerSocket"),
                format!("{cores} cores per socket, but {cpus} CPUs"),
                "write at most as many cores per socket as there are CPUs",
            );
        }
    }
}

fn project(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in pools(facts) {
        let Some(project) = &pool.project else {
            continue;
        };
        let path = format!("{path}.project");
        let help = "write `type: uuid` and `uuid: …`";
        match project.r#type {
            Some(NutanixIdentifierType::Uuid) if project.uuid.is_empty() => {
                diagnostics.fault(format!("{path}.uuid"), "this is missing", help);
            }
            Some(NutanixIdentifierType::Uuid) => {}
            Some(NutanixIdentifierType::Name) => diagnostics.fault(
                format!("{path}.type"),
                "a project by name would have to be looked up, and Prism Central is not asked",
                help,
            ),
            None => diagnostics.fault(format!("{path}.type"), "this is missing", help),
        }
    }
}

fn pool_domains(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    for (path, pool) in pools(facts) {
        for (index, name) in pool.failure_domains.iter().enumerate() {
            let path = format!("{path}.failureDomains[{index}]");
            if pool.failure_domains[..index].contains(name) {
                diagnostics.fault(path, format!("{} is listed twice", shown(name)), "keep one");
            } else if platform.failure_domain(name).is_none() {
                diagnostics.fault(
                    path,
                    format!("{} is no failure domain", shown(name)),
                    "write the name of one of platform.nutanix.failureDomains",
                );
            }
        }
    }
}

/// Devices of the control plane, or nothing if there are none.
fn only_compute(path: &str, what: &str, there: bool, diagnostics: &mut Diagnostics) {
    if there && path.starts_with("controlPlane") {
        diagnostics.fault(
            format!("{path}.{what}"),
            format!("{what} are for compute pools only"),
            "move them to a pool of `compute`",
        );
    }
}

fn gpus(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in pools(facts) {
        only_compute(&path, "gpus", !pool.gpus.is_empty(), diagnostics);
        for (index, gpu) in pool.gpus.iter().enumerate() {
            let path = format!("{path}.gpus[{index}]");
            let (field, whole) = match gpu.r#type {
                Some(NutanixGpuType::Name) => ("name", !gpu.name.is_empty()),
                Some(NutanixGpuType::DeviceId) => ("deviceID", gpu.device_id.is_some()),
                None => ("type", false),
            };
            if !whole {
                diagnostics.fault(
                    format!("{path}.{field}"),
                    "this is missing",
                    "write `type: Name` with `name`, or `type: DeviceID` with `deviceID`",
                );
            }
        }
    }
}

fn data_disks(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = platform(facts) else {
        return;
    };
    let common = platform.default_machine_platform.as_ref();
    for (path, pool) in pools(facts) {
        // A pool that names none runs in those of all pools.
        let names = match (&pool.failure_domains[..], common) {
            ([], Some(common)) => &common.failure_domains,
            (_, _) => &pool.failure_domains,
        };
        only_compute(&path, "dataDisks", !pool.data_disks.is_empty(), diagnostics);
        for (index, disk) in pool.data_disks.iter().enumerate() {
            let path = format!("{path}.dataDisks[{index}]");
            check_disk(&path, disk, diagnostics);
            let storage = disk.storage_config.as_ref();
            if let Some(container) = storage.and_then(|storage| storage.storage_container.as_ref())
            {
                let path = format!("{path}.storageConfig.storageContainer");
                check_reference(&path, container, names, diagnostics, |domain, name| {
                    let known = &platform.failure_domain(domain)?.storage_containers;
                    known.iter().find(|known| known.reference_name == name)
                });
            }
            if let Some(image) = &disk.data_source_image {
                let path = format!("{path}.dataSourceImage");
                check_reference(&path, image, names, diagnostics, |domain, name| {
                    let known = &platform.failure_domain(domain)?.data_source_images;
                    known.iter().find(|known| known.reference_name == name)
                });
            }
        }
    }
}

fn check_disk(path: &str, disk: &NutanixDataDisk, diagnostics: &mut Diagnostics) {
    if bytes(&disk.disk_size).is_none_or(|bytes| bytes < 1 << 30) {
        diagnostics.fault(
            format!("{path}.diskSize"),
            format!("{} is not a size of at least 1Gi", shown(&disk.disk_size)),
            "write a whole number with a unit, for example `100Gi`",
        );
    }
    let storage = disk.storage_config.as_ref();
    if storage.is_some_and(|storage| storage.disk_mode.is_none()) {
        diagnostics.fault(
            format!("{path}.storageConfig.diskMode"),
            "this is missing",
            "write `Standard` or `Flash`",
        );
    }
    let Some(device) = &disk.device_properties else {
        return;
    };
    let path = format!("{path}.deviceProperties");
    let fits = match (device.device_type, device.adapter_type) {
        (None, _) => {
            let help = "write `Disk` or `CDRom`";
            return diagnostics.fault(format!("{path}.deviceType"), "this is missing", help);
        }
        (Some(NutanixDeviceType::Disk), adapter) => adapter.is_some(),
        (Some(NutanixDeviceType::CdRom), adapter) => matches!(
            adapter,
            Some(NutanixAdapterType::Ide | NutanixAdapterType::Sata)
        ),
    };
    if !fits {
        diagnostics.fault(
            format!("{path}.adapterType"),
            "this bus does not fit the device",
            "write SCSI, IDE, PCI, SATA or SPAPR for a Disk, IDE or SATA for a CDRom",
        );
    }
    if device.device_index < 0 {
        diagnostics.fault(
            format!("{path}.deviceIndex"),
            format!("{} is negative", device.device_index),
            "write 0 or more",
        );
    }
}

fn check_reference<'a>(
    path: &str,
    reference: &StorageReference,
    domains: &[String],
    diagnostics: &mut Diagnostics,
    find: impl Fn(&str, &str) -> Option<&'a StorageReference>,
) {
    if reference.reference_name.is_empty() {
        if reference.uuid.is_empty() {
            diagnostics.fault(
                format!("{path}.uuid"),
                "this is missing",
                "add `uuid: …`, or `referenceName: …` of a failure domain",
            );
        }
        return;
    }
    let name = &reference.reference_name;
    if domains.is_empty() && reference.uuid.is_empty() {
        diagnostics.fault(
            format!("{path}.referenceName"),
            "the pool names no failure domain that could have it",
            "add `failureDomains` to the pool, or write `uuid: …`",
        );
    }
    for domain in domains.iter().filter(|domain| find(domain, name).is_none()) {
        diagnostics.fault(
            format!("{path}.referenceName"),
            format!(
                "{} is not defined in failure domain {}",
                shown(name),
                shown(domain)
            ),
            "define it in every failure domain of the pool",
        );
    }
}

/// Bytes of a Kubernetes quantity without fractions, exponents or signs.
fn bytes(quantity: &str) -> Option<u128> {
    let digits = quantity.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u128 = match &quantity[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        "P" => 1_000_000_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        "Pi" => 1 << 50,
        _ => return None,
    };
    // Longer ones are no disks.
    let number: u128 = digits
        .parse()
        .ok()
        .filter(|_| digits.len() <= 18 && !digits.starts_with('+'))?;
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_read_with_their_unit() {
        for (text, wanted) in [
            ("1Gi", Some(1 << 30)),
            ("10G", Some(10_000_000_000)),
            ("1024", Some(1024)),
            ("Gi", None),
            ("1.5Gi", None),
            ("-1Gi", None),
            ("1e9", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(bytes(text), wanted, "{text}");
        }
    }
}
