//! Rules about sizes of virtual machines in vSphere.

use super::{Diagnostics, Facts, Rule, pools::every_pool};
use crate::install_config::{schema::wording::shown, types::VspherePool};

const READS: &[&str] = &["platform.vsphere", "controlPlane", "compute"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "vsphere-sizes", path: "platform.vsphere.defaultMachinePlatform", reads: READS, text: "Not negative; coresPerSocket (4 if unset) divides cpus (4 if unset).", check: sizes },
    Rule { name: "vsphere-data-disks", path: "platform.vsphere.defaultMachinePlatform.dataDisks", reads: READS, text: "At most 29; names of letters, digits, `-` and `_` up to 80; 1 to 16384 GiB.", check: data_disks },
    Rule { name: "vsphere-zones", path: "platform.vsphere.defaultMachinePlatform.zones", reads: READS, text: "Names of failure domains, each once, that begin in lower case.", check: zones },
];

/// Sizes wherever they are set.
fn pools<'a>(facts: &Facts<'a>) -> Vec<(String, &'a VspherePool)> {
    let Some(platform) = &facts.config.platform.vsphere else {
        return Vec::new();
    };
    let common = platform.default_machine_platform.iter();
    let common = common.map(|pool| ("platform.vsphere.defaultMachinePlatform".to_owned(), pool));
    let own = every_pool(facts).into_iter();
    let own = own.filter_map(|(path, pool)| {
        Some((
            format!("{path}.platform.vsphere"),
            pool.platform.vsphere.as_ref()?,
        ))
    });
    common.chain(own).collect()
}

/// What the cluster takes when nothing is said.
const UNSET: i64 = 4;

fn sizes(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in pools(facts) {
        let numbers = [
            ("cpus", pool.cpus),
            ("coresPerSocket", pool.cores_per_socket),
            ("memoryMB", pool.memory_mb),
            ("osDisk.diskSizeGB", pool.os_disk.disk_size_gb),
        ];
        for (name, number) in numbers {
            if number < 0 {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    format!("{number} is negative"),
                    "write a positive number",
                );
            }
        }
        let effective = |number: i64| if number == 0 { UNSET } else { number };
        let (cpus, cores) = (effective(pool.cpus), effective(pool.cores_per_socket));
        if cpus > 0 && cores > 0 && (cores > cpus || cpus % cores != 0) {
            diagnostics.fault(
                format!("{path}.coresPerSocket"),
                format!("{cores} cores per socket do not divide {cpus} CPUs"),
                "choose a number of CPUs that is a multiple of the cores per socket (both are 4 if unset)",
            );
        }
    }
}

fn data_disks(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in pools(facts) {
        let path = format!("{path}.dataDisks");
        let count = pool.data_disks.len();
        if count > 29 {
            diagnostics.fault(
                path.as_str(),
                format!("{count} disks, at most 29 are allowed"),
                "keep 29",
            );
        }
        for (index, disk) in pool.data_disks.iter().enumerate() {
            if !is_disk_name(&disk.name) {
                diagnostics.fault(
                    format!("{path}[{index}].name"),
                    format!("{} is no name for a disk", shown(&disk.name)),
                    "use letters and digits, with `-` and `_` between them, at most 80 characters",
                );
            }
            if !(1..=16384).contains(&disk.size_gib) {
                diagnostics.fault(
                    format!("{path}[{index}].sizeGiB"),
                    format!("{} GiB", disk.size_gib),
                    "write 1 to 16384",
                );
            }
        }
    }
}

fn is_disk_name(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    name.len() <= 80
        && name.bytes().all(inner)
        && edge(name.bytes().next())
        && edge(name.bytes().last())
}

fn zones(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = &facts.config.platform.vsphere else {
        return;
    };
    for (path, pool) in pools(facts) {
        let written = facts.was_written(&format!("{path}.zones"));
        for (index, zone) in pool.zones.iter().enumerate().filter(|_| written) {
            let path = format!("{path}.zones[{index}]");
            if pool.zones[..index].contains(zone) {
                diagnostics.fault(
                    path.as_str(),
                    format!("{} stands here twice", shown(zone)),
                    "keep one",
                );
            }
            if !zone.starts_with(|c: char| c.is_lowercase()) {
                diagnostics.fault(
                    path.as_str(),
                    format!("{} does not begin with a lower case letter", shown(zone)),
                    "rename the failure domain",
                );
            }
            if !platform
                .failure_domains
                .iter()
                .any(|domain| domain.name == *zone)
            {
                diagnostics.fault(
                    path,
                    format!("{} is no failure domain", shown(zone)),
                    "write the name of one of platform.vsphere.failureDomains",
                );
            }
        }
    }
}
