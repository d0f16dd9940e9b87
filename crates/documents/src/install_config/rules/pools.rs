//! Rules about pools of machines.

use super::{Diagnostics, Facts, Rule};
use crate::install_config::{
    schema::wording::shown,
    types::{Architecture, DiskPurpose, MachinePool, Management, PlatformName},
};

const POOLS: &[&str] = &["controlPlane", "arbiter", "compute", "platform"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "control-plane-replicas", path: "controlPlane.replicas", reads: &["controlPlane"], text: "At least one machine.", check: control_plane_replicas },
    Rule { name: "arbiter", path: "arbiter", reads: POOLS, text: "Platform baremetal, external or none; at least one machine; at least two control-plane machines.", check: arbiter },
    Rule { name: "compute-names", path: "compute.name", reads: &["compute"], text: "`worker`, and not twice.", check: compute_names },
    Rule { name: "compute-implied", path: "compute", reads: &["compute"], text: "A warning when no compute pool is written: there will be three workers.", check: compute_implied },
    Rule { name: "architectures", path: "compute.architecture", reads: POOLS, text: "That of the control plane; on baremetal also arm64 beside an amd64 control plane.", check: architectures },
    Rule { name: "release-architecture", path: "controlPlane.architecture", reads: POOLS, text: "What the release is made for, unless it is made for several.", check: release_architecture },
    Rule { name: "pool-replicas", path: "compute.replicas", reads: POOLS, text: "Not negative.", check: pool_replicas },
    Rule { name: "pool-platform", path: "controlPlane.platform", reads: POOLS, text: "At most the platform of the cluster.", check: pool_platform },
    Rule { name: "pool-management", path: "compute.management", reads: POOLS, text: "Not `ClusterAPI` on the platforms known here.", check: pool_management },
    Rule { name: "disk-setup", path: "controlPlane.diskSetup", reads: POOLS, text: "At most one etcd and one swap disk, each with the mapping of its type; etcd on the control plane only; ids of user-defined disks have at most 12 characters.", check: disk_setup },
];

/// Every pool with its path.
pub(super) fn every_pool<'a>(facts: &Facts<'a>) -> Vec<(String, &'a MachinePool)> {
    let config = facts.config;
    let control_plane = config
        .control_plane
        .iter()
        .map(|pool| ("controlPlane".to_owned(), pool));
    let arbiter = config
        .arbiter
        .iter()
        .map(|pool| ("arbiter".to_owned(), pool));
    let compute = config.compute.iter().enumerate();
    let compute = compute.map(|(index, pool)| (format!("compute[{index}]"), pool));
    control_plane.chain(arbiter).chain(compute).collect()
}

fn control_plane_replicas(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.config.control_plane_replicas() == 0 {
        diagnostics.fault(
            "controlPlane.replicas",
            "a cluster without control plane is none",
            "write 3, or 1 for a single node",
        );
    }
}

fn arbiter(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    if config.arbiter.is_none() {
        return;
    }
    if let Some(name @ (PlatformName::Vsphere | PlatformName::Nutanix)) = config.platform.name() {
        diagnostics.fault(
            "arbiter",
            format!("{name} has no arbiters"),
            "remove it, or use platform baremetal, external or none",
        );
    }
    if config.arbiter_replicas() == 0 {
        diagnostics.fault(
            "arbiter.replicas",
            "a pool of arbiters without machines",
            "write 1, or remove `arbiter`",
        );
    }
    let control_plane = config.control_plane_replicas();
    if control_plane < 2 {
        diagnostics.fault(
            "arbiter",
            format!("an arbiter needs two control-plane machines beside it, not {control_plane}"),
            "write `replicas: 2` in controlPlane, or remove `arbiter`",
        );
    }
}

fn compute_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, pool) in facts.config.compute.iter().enumerate() {
        let path = format!("compute[{index}].name");
        if seen.contains(&&*pool.name) {
            diagnostics.fault(
                path,
                format!("a second pool {}", shown(&pool.name)),
                "keep one pool per name",
            );
        } else if pool.name.is_empty() {
            diagnostics.fault(path, "this is missing", "add `name: worker`");
        } else if pool.name != "worker" {
            diagnostics.fault(
                path,
                format!("{} is no pool of this platform", shown(&pool.name)),
                "write `worker`",
            );
        }
        seen.push(&pool.name);
    }
}

fn compute_implied(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.was_written("compute") {
        return;
    }
    let control_plane = facts.config.control_plane_replicas();
    if control_plane < 3 || facts.config.bootstrap_in_place.is_some() {
        diagnostics.warn(
            "compute",
            "no pool is written, so there will be three workers",
            "for a cluster without workers write `compute: [{name: worker, replicas: 0}]`",
        );
    }
}

fn architectures(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(control_plane) = facts.config.architecture() else {
        return;
    };
    let on_baremetal = facts.config.platform.baremetal.is_some();
    for (index, pool) in facts.config.compute.iter().enumerate() {
        let Some(own) = pool.architecture else {
            continue;
        };
        let mixed = (control_plane, own) == (Architecture::Amd64, Architecture::Arm64);
        if own != control_plane && !(on_baremetal && mixed) {
            diagnostics.fault(
                format!("compute[{index}].architecture"),
                format!("`{own}` beside a control plane of `{control_plane}`"),
                format!("write `{control_plane}`; only baremetal allows arm64 beside amd64"),
            );
        }
    }
}

fn release_architecture(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(only) = facts.around.release_architecture else {
        return;
    };
    for (path, pool) in every_pool(facts) {
        if let Some(own) = pool.architecture.filter(|own| *own != only) {
            diagnostics.fault(
                format!("{path}.architecture"),
                format!("`{own}`, but the release is made for `{only}`"),
                format!("write `{only}`, or take a release for several architectures"),
            );
        }
    }
}

fn pool_replicas(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in every_pool(facts) {
        if let Some(replicas @ ..0) = pool.replicas {
            diagnostics.fault(
                format!("{path}.replicas"),
                format!("{replicas} machines"),
                "write 0 or more",
            );
        }
    }
}

fn pool_platform(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(platform) = facts.config.platform.name() else {
        return;
    };
    for (path, pool) in every_pool(facts) {
        let named = [
            (PlatformName::BareMetal, pool.platform.baremetal.is_some()),
            (PlatformName::Vsphere, pool.platform.vsphere.is_some()),
            (PlatformName::Nutanix, pool.platform.nutanix.is_some()),
        ];
        for (name, there) in named {
            if there && name != platform {
                diagnostics.fault(
                    format!("{path}.platform.{name}"),
                    format!("the cluster is of platform {platform}"),
                    "remove it; `platform: {}` will do",
                );
            }
        }
    }
}

fn pool_management(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (path, pool) in every_pool(facts) {
        if pool.management == Some(Management::ClusterApi) {
            diagnostics.fault(
                format!("{path}.management"),
                "machines of this platform cannot be managed by `ClusterAPI`",
                "remove it",
            );
        }
    }
}

fn disk_setup(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (pool_path, pool) in every_pool(facts) {
        let mut seen: Vec<DiskPurpose> = Vec::new();
        for (index, disk) in pool.disk_setup.iter().enumerate() {
            let path = format!("{pool_path}.diskSetup[{index}]");
            let Some(purpose) = disk.r#type else {
                diagnostics.fault(
                    format!("{path}.type"),
                    "this is missing",
                    "write `etcd`, `swap` or `user-defined`",
                );
                continue;
            };
            if purpose != DiskPurpose::UserDefined && seen.contains(&purpose) {
                diagnostics.fault(
                    path.as_str(),
                    format!("a second disk for {purpose}"),
                    "keep one",
                );
            }
            seen.push(purpose);
            let (name, there) = match purpose {
                DiskPurpose::Etcd => ("etcd", disk.etcd.is_some()),
                DiskPurpose::Swap => ("swap", disk.swap.is_some()),
                DiskPurpose::UserDefined => ("userDefined", disk.user_defined.is_some()),
            };
            if !there {
                diagnostics.fault(
                    format!("{path}.{name}"),
                    format!("this is missing for `type: {purpose}`"),
                    format!("add `{name}: {{platformDiskID: …}}`"),
                );
            }
            if purpose == DiskPurpose::Etcd && pool.name != "master" {
                diagnostics.fault(
                    path.as_str(),
                    "etcd runs on the control plane only",
                    "move it to controlPlane",
                );
            }
            let id = disk
                .user_defined
                .as_ref()
                .map_or("", |disk| &disk.platform_disk_id);
            if id.len() > 12 {
                diagnostics.fault(
                    format!("{path}.userDefined.platformDiskID"),
                    format!("{} characters, at most 12 are allowed", id.len()),
                    "choose a shorter id",
                );
            }
        }
    }
}
