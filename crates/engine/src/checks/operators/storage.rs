//! Storage: logical volumes on single hosts (LVM) and data foundation over several (ODF).

use muster_catalog::{Operator, operators::odf::OdfMode};
use muster_model::HostRole;

use super::{
    OnCluster, result,
    scene::{OnHost, catalogued},
};
use crate::{checks::CheckResult, inventory};

pub(super) fn lvm(_: Operator, on: &OnHost<'_>) -> CheckResult {
    if on.inventory.is_none() {
        return on.no_inventory();
    }
    let role = on.role;
    let runs_workload = on.scene.masters_schedulable() && role != HostRole::Arbiter;
    if role != HostRole::Worker && !runs_workload {
        return if role == HostRole::AutoAssign {
            CheckResult::fail(
                "Whether logical volumes need a disk depends on the role, and the host has none yet; set one, or wait for a suggestion",
            )
        } else {
            CheckResult::pass(format!("Logical volumes need no disk on role {role}"))
        };
    }
    let least = on.scene.extra_disk_gb();
    let disks = on.data_disks(least);
    let size = match least {
        0 => String::new(),
        gb => format!(" of at least {gb} GB, as the multicluster engine stores on it too"),
    };
    if disks.large > 0 {
        CheckResult::pass(format!("{} disks can carry logical volumes", disks.large))
    } else {
        CheckResult::fail(format!(
            "Logical volumes need a disk (SSD or HDD) in addition to the installation disk{size}; the host has none ({} are too small); add one or drop lvm",
            disks.small
        ))
    }
}

pub(super) fn odf_host(_: Operator, on: &OnHost<'_>) -> CheckResult {
    let mode = on.scene.odf_mode(&on.settings.odf);
    let roles = on.scene.given_roles();
    if on.given == HostRole::AutoAssign && !roles.allows_open_roles() {
        return CheckResult::wait(format!(
            "Whether the host carries storage depends on its role, which may be unset only in clusters of 3 hosts, not {}; set a role",
            roles.total()
        ));
    }
    if !mode.runs_on(catalogued(on.given)) {
        return CheckResult::pass(match mode {
            OdfMode::Unknown => {
                "The roles of the hosts do not allow OpenShift Data Foundation yet; see the cluster"
                    .to_owned()
            }
            OdfMode::Compact | OdfMode::Standard => {
                format!("Hosts with role {} do not carry storage", on.given)
            }
        });
    }
    if on.inventory.is_none() {
        return on.no_inventory();
    }
    let least = on
        .settings
        .odf
        .min_disk_gb
        .saturating_add(on.scene.extra_disk_gb());
    let disks = on.data_disks(least);
    match (disks.large, disks.small) {
        (0, 0) => CheckResult::fail(format!(
            "OpenShift Data Foundation needs a disk (SSD or HDD) of at least {least} GB besides the installation disk, the host has none; add one"
        )),
        (0, small) => CheckResult::fail(format!(
            "OpenShift Data Foundation needs a disk of at least {least} GB besides the installation disk, the host has {small} smaller ones; add a larger one"
        )),
        (large, _) => CheckResult::pass(format!(
            "{large} disks of at least {least} GB can carry data foundation"
        )),
    }
}

/// Over all hosts that carry storage, by the role in effect: the mode is settled by then.
pub(super) fn odf_cluster(_: Operator, on: &OnCluster<'_>) -> CheckResult {
    let odf = &on.settings.odf;
    let mode = on.scene.odf_mode(odf);
    let given = on.scene.given_roles();
    if mode == OdfMode::Unknown {
        return CheckResult::fail(format!(
            "OpenShift Data Foundation runs on 3 or more control plane hosts without workers, or on 3 or more workers with 3 control plane hosts (2 with an arbiter); there are {} control plane hosts, {} arbiters, {} workers and {} hosts without a role; add hosts or set roles",
            given.masters, given.arbiters, given.workers, given.auto_assign
        ));
    }
    let (mut hosts, mut disks, mut waiting, mut objections) =
        (0_u32, 0_u32, Vec::new(), Vec::new());
    let clear = |role| role != HostRole::AutoAssign || given.allows_open_roles();
    let carriers = on
        .cases()
        .filter(|case| clear(case.role) && mode.runs_on(catalogued(case.role)));
    for case in carriers {
        let name = inventory::hostname_with(case.host, case.inventory);
        if case.inventory.is_none() {
            match case.host.reports.inventory {
                Some(_) => objections.push(format!(
                    "The stored inventory of {name} cannot be read; restart the agent there"
                )),
                None => waiting.push(name),
            }
            continue;
        }
        let found = case.data_disks(odf.min_disk_gb);
        disks += found.large;
        hosts += u32::from(found.large > 0);
        if found.large == 0 && found.small > 0 {
            objections.push(format!(
                "{name} has {} disks besides the installation disk, all smaller than {} GB; add a larger one",
                found.small, odf.min_disk_gb
            ));
        }
    }
    if objections.is_empty() && !waiting.is_empty() {
        return CheckResult::wait(format!(
            "The inventory of {} has not arrived yet",
            waiting.join(", ")
        ));
    }
    if disks < odf.min_disks || hosts < odf.min_hosts {
        objections.push(format!(
            "OpenShift Data Foundation needs {} disks of at least {} GB on {} hosts, there are {disks} on {hosts}; add disks",
            odf.min_disks, odf.min_disk_gb, odf.min_hosts
        ));
    }
    result(objections, || {
        format!("{disks} disks on {hosts} hosts can carry data foundation")
    })
}
