//! Tests of operator costs against the figures seen on a live reference.

use super::*;
use crate::{HardwareCatalog, HardwareProfile};

fn version(text: &str) -> OpenshiftVersion {
    text.parse().unwrap()
}

fn shape(version: &OpenshiftVersion, single_node: bool) -> ClusterShape<'_> {
    let roles = RoleCounts {
        masters: if single_node { 1 } else { 3 },
        ..RoleCounts::default()
    };
    ClusterShape {
        version: Some(version),
        single_node,
        masters_schedulable: single_node,
        roles,
    }
}

fn host(role: HostRole) -> HostShape {
    HostShape {
        role,
        odf_disks: 0,
        cnv_devices: 0,
    }
}

fn planned_numbers(operator: Operator, role: HostRole, text: &str, sno: bool) -> (u32, u32) {
    let version = version(text);
    let need = host_needs(
        operator,
        host(role),
        shape(&version, sno),
        &OperatorSettings::default(),
    );
    (need.cpu_cores, need.ram_mib)
}

#[test]
fn hosts_pay_what_the_reference_asks() {
    use HostRole::{Arbiter, AutoAssign, Master, Worker};
    use Operator::{Cnv, Lso, Lvm, Mce, Mtv, OpenshiftAi, Osc};
    for (operator, role, version, sno, expected) in [
        (Cnv, Master, "4.16", false, (4, 150)),
        (Cnv, Master, "4.16", true, (6, 510)),
        (Cnv, Worker, "4.16", false, (2, 360)),
        (Cnv, AutoAssign, "4.16", false, (2, 360)),
        (Cnv, AutoAssign, "4.16", true, (6, 510)),
        (Cnv, Arbiter, "4.19", false, (0, 0)),
        (Lvm, Master, "4.12.1", true, (1, 1200)),
        (Lvm, Master, "4.13.0", true, (1, 400)),
        (Lvm, Master, "4.15.9", true, (1, 400)),
        (Lvm, Master, "4.16", true, (1, 100)),
        (Lvm, Master, "4.16", false, (0, 0)),
        (Lvm, Worker, "4.16", false, (1, 100)),
        (Mce, Master, "4.16", false, (4, 16384)),
        (Mce, Master, "4.16", true, (8, 32768)),
        (Mce, Worker, "4.16", false, (4, 16384)),
        (Mce, AutoAssign, "4.16", false, (4, 16384)),
        (Mce, AutoAssign, "4.16", true, (8, 32768)),
        (Mce, Arbiter, "4.19", false, (0, 0)),
        (Mtv, Worker, "4.16", false, (1, 1024)),
        (Mtv, Arbiter, "4.19", false, (0, 0)),
        (Osc, Master, "4.16", false, (1, 1024)),
        (Osc, Arbiter, "4.19", false, (0, 0)),
        (Lvm, AutoAssign, "4.16", false, (1, 100)),
        (Lvm, Arbiter, "4.19", false, (0, 0)),
        (OpenshiftAi, Master, "4.16", false, (0, 0)),
        (OpenshiftAi, Master, "4.16", true, (0, 0)),
        (OpenshiftAi, AutoAssign, "4.16", false, (0, 0)),
        (OpenshiftAi, Worker, "4.16", false, (8, 32768)),
        (Lso, Worker, "4.16", false, (0, 0)),
    ] {
        let found = planned_numbers(operator, role, version, sno);
        assert_eq!(found, expected, "{operator} {role:?} {version} sno={sno}");
    }
}

#[test]
fn totals_of_role_and_operators_meet_the_boundaries_seen_live() {
    let version = version("4.16");
    let table = HardwareCatalog::embedded();
    let total = |profile, operator, host, sno| {
        let role = table.lookup("4.16", profile).unwrap().clone();
        let settings = OperatorSettings::default();
        let total = role + &host_needs(operator, host, shape(&version, sno), &settings);
        (total.cpu_cores, total.ram_mib)
    };
    // The sheet's memory figures are lower by the tolerance of 100 MiB.
    let master = host(HostRole::Master);
    let one_disk = HostShape {
        odf_disks: 1,
        ..master
    };
    use HardwareProfile::{Master, Sno, Worker};
    assert_eq!(
        total(Master, Operator::Cnv, master, false),
        (8, 16434 + 100)
    );
    assert_eq!(
        total(Worker, Operator::Cnv, host(HostRole::Worker), false),
        (4, 8452 + 100)
    );
    assert_eq!(
        total(Master, Operator::Odf, one_disk, false),
        (12, 40860 + 100)
    );
    assert_eq!(total(Sno, Operator::Lvm, master, true), (9, 16384 + 100));
    assert_eq!(total(Sno, Operator::Mce, master, true), (16, 49052 + 100));
}

#[test]
fn cnv_pays_for_devices_on_workers_and_single_nodes_only() {
    let version = version("4.16");
    let ram = |role, sno| {
        let host = HostShape {
            cnv_devices: 2,
            ..host(role)
        };
        let settings = OperatorSettings::default();
        host_needs(Operator::Cnv, host, shape(&version, sno), &settings).ram_mib
    };
    assert_eq!(ram(HostRole::Worker, false), 360 + 2048);
    assert_eq!(ram(HostRole::Master, true), 510 + 2048);
    assert_eq!(ram(HostRole::Master, false), 150);
}

#[test]
fn preflight_of_odf_has_the_shape_clients_expect() {
    let version = version("4.16");
    let settings = OperatorSettings::default();
    let answer = preflight(Operator::Odf, shape(&version, false), &settings);
    let json = serde_json::to_value(&answer).unwrap();
    assert_eq!(json["operator_name"], "odf");
    assert_eq!(json["dependencies"], serde_json::json!(["lso"]));
    let master = &json["requirements"]["master"]["quantitative"];
    assert_eq!(
        master,
        &serde_json::json!({"cpu_cores": 6, "ram_mib": 19456})
    );
    let worker = &json["requirements"]["worker"]["quantitative"];
    assert_eq!(
        worker,
        &serde_json::json!({"cpu_cores": 8, "ram_mib": 19456})
    );
    assert!(
        json["requirements"]["worker"]["qualitative"][1]
            .as_str()
            .unwrap()
            .contains("25 GB")
    );
}

#[test]
fn an_operator_that_asks_nothing_prints_an_empty_object_and_null() {
    let version = version("4.16");
    let settings = OperatorSettings::default();
    let answer = preflight(Operator::Lso, shape(&version, false), &settings);
    let json = serde_json::to_value(&answer.requirements.master).unwrap();
    assert_eq!(
        json,
        serde_json::json!({"quantitative": {}, "qualitative": null})
    );
}

#[test]
fn settings_change_the_numbers() {
    let version = version("4.16");
    let settings = OperatorSettings {
        lvm_ram_mib: Some(777),
        ..OperatorSettings::default()
    };
    let need = host_needs(
        Operator::Lvm,
        host(HostRole::Worker),
        shape(&version, false),
        &settings,
    );
    assert_eq!(need.ram_mib, 777);
}

#[test]
fn mce_grows_data_disks_only_beside_lvm_or_odf() {
    use Operator::{Lvm, Mce, Odf};
    assert_eq!(mce_extra_disk_gb(&[Mce, Lvm], true), 70);
    assert_eq!(mce_extra_disk_gb(&[Odf, Mce], false), 50);
    assert_eq!(mce_extra_disk_gb(&[Mce], true), 0);
    assert_eq!(mce_extra_disk_gb(&[Lvm, Odf], true), 0);
}

#[test]
fn cnv_wants_a_pool_disk_on_single_nodes_of_4_10_and_4_11() {
    let settings = OperatorSettings::default();
    let wants = |text: &str, sno| cnv_needs_pool_disk(shape(&version(text), sno), &settings);
    assert!(wants("4.10.0-rc.1", true) && wants("4.11.59", true));
    assert!(!wants("4.9.59", true) && !wants("4.12", true) && !wants("4.11", false));
}

#[test]
fn a_cluster_of_unknown_version_is_counted_like_the_newest() {
    let newest = version("4.20");
    let settings = OperatorSettings::default();
    let unknown = ClusterShape {
        version: None,
        ..shape(&newest, true)
    };
    for operator in Operator::ALL {
        assert_eq!(
            host_needs(*operator, host(HostRole::Master), unknown, &settings),
            host_needs(
                *operator,
                host(HostRole::Master),
                shape(&newest, true),
                &settings
            ),
            "{operator}"
        );
    }
    assert!(!cnv_needs_pool_disk(unknown, &settings));
}

#[test]
fn a_host_without_a_role_pays_for_storage_only_where_its_role_is_clear() {
    let version = version("4.19");
    let cpu = |masters, arbiters, auto_assign| {
        let roles = RoleCounts {
            masters,
            arbiters,
            auto_assign,
            ..RoleCounts::default()
        };
        let cluster = ClusterShape {
            roles,
            ..shape(&version, false)
        };
        let settings = OperatorSettings::default();
        host_needs(
            Operator::Odf,
            host(HostRole::AutoAssign),
            cluster,
            &settings,
        )
        .cpu_cores
    };
    assert_eq!(cpu(2, 0, 1), 8);
    assert_eq!(cpu(0, 0, 3), 8);
    assert_eq!(cpu(2, 1, 1), 0);
}

#[test]
fn what_to_plan_for_lvm_does_not_depend_on_who_runs_workload() {
    let version = version("4.16");
    for single_node in [false, true] {
        let cluster = shape(&version, single_node);
        let roles = preflight(Operator::Lvm, cluster, &OperatorSettings::default()).requirements;
        for role in [roles.master, roles.worker] {
            let need = role.quantitative;
            assert_eq!((need.cpu_cores, need.ram_mib), (1, 100));
        }
    }
}
