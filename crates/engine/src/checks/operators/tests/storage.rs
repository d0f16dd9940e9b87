//! Logical volumes and data foundation.

use serde_json::{Value, json};

use super::*;

#[test]
fn logical_volumes_need_a_spare_disk_where_workload_runs() {
    let no_spare = |m: &mut Value| m["disks"] = json!([disk("boot", "SSD", 120)]);
    let mut site = Site::new(3, &["lvm"], &[Master, Worker, Worker, AutoAssign, Arbiter]);
    for index in 0..5 {
        site.machine(index, no_spare);
    }
    assert_eq!(
        site.on_host(0, O::Lvm),
        "success",
        "two workers spare the masters"
    );
    assert_eq!(site.on_host(1, O::Lvm), "failure");
    assert_eq!(site.on_host(3, O::Lvm), "failure", "the role is not known");
    assert_eq!(site.on_host(4, O::Lvm), "success");
    site.hosts[2].role = Master;
    assert_eq!(
        site.on_host(0, O::Lvm),
        "failure",
        "masters run workload now"
    );
    assert_eq!(site.on_host(4, O::Lvm), "success", "arbiters never do");
    site.machine(3, |_| {});
    assert_eq!(site.on_host(3, O::Lvm), "success", "any role would do");
    site.machine(0, |m| {
        m["disks"] = json!([
            disk("boot", "SSD", 120),
            disk("sr0", "ODD", 5),
            disk("x", "HDD", 0)
        ])
    });
    assert_eq!(
        site.on_host(0, O::Lvm),
        "failure",
        "neither drawers nor empty disks count"
    );
}

#[test]
fn the_multicluster_engine_makes_storage_disks_larger() {
    let mut site = Site::new(1, &["lvm", "mce"], &[Master]);
    site.machine(0, |m| {
        m["disks"] = json!([disk("boot", "SSD", 120), disk("x", "SSD", 69)])
    });
    let result = site.result(0, O::Lvm);
    assert_eq!(result.outcome, Outcome::Failure);
    assert!(
        result.message.contains("at least 70 GB") && result.message.contains("1 are too small")
    );
    site.machine(0, |m| {
        m["disks"] = json!([disk("boot", "SSD", 120), disk("x", "SSD", 70)])
    });
    assert_eq!(site.on_host(0, O::Lvm), "success");
    let mut many = Site::new(3, &["odf", "lso", "mce"], &[Master; 3]);
    many.machine(0, |m| m["disks"] = json!([disk("x", "SSD", 74)]));
    assert_eq!(many.on_host(0, O::Odf), "failure", "25 + 50 GB");
    assert_eq!(
        many.cluster_outcome(O::Odf),
        "success",
        "the cluster counts at 25 GB"
    );
}

#[test]
fn data_foundation_asks_disks_of_the_hosts_that_carry_it() {
    let compact = |disks: Value| {
        let mut site = Site::new(3, &["odf", "lso"], &[Master; 3]);
        site.machine(0, |m| m["disks"] = disks);
        site.result(0, O::Odf)
    };
    let tiny = compact(json!([disk("boot", "SSD", 120), disk("x", "SSD", 24)]));
    assert_eq!(tiny.outcome, Outcome::Failure);
    assert!(tiny.message.contains("1 smaller ones"), "{}", tiny.message);
    let none = compact(json!([disk("boot", "SSD", 120)]));
    assert_eq!(none.outcome, Outcome::Failure);
    assert!(none.message.contains("has none"), "{}", none.message);
    assert_eq!(
        compact(json!([disk("x", "HDD", 25)])).outcome,
        Outcome::Success
    );
    let mut standard = Site::new(
        3,
        &["odf"],
        &[Master, Master, Master, Worker, Worker, Worker],
    );
    for index in 0..6 {
        standard.machine(index, |m| m["disks"] = json!([]));
    }
    assert_eq!(
        standard.on_host(0, O::Odf),
        "success",
        "masters carry nothing"
    );
    assert_eq!(standard.on_host(3, O::Odf), "failure");
}

#[test]
fn data_foundation_goes_by_given_roles_and_leaves_them_open_only_for_three_hosts() {
    let mut three = Site::new(3, &["odf"], &[AutoAssign; 3]);
    assert_eq!(three.on_host(0, O::Odf), "success");
    three.hosts[0].suggested_role = Worker;
    assert_eq!(
        three.on_host(0, O::Odf),
        "success",
        "suggestions do not count"
    );
    let four = Site::new(3, &["odf"], &[Master, Master, Master, AutoAssign]);
    assert_eq!(four.on_host(3, O::Odf), "pending");
    assert_eq!(
        four.on_host(0, O::Odf),
        "success",
        "no mode yet, so nothing to ask"
    );
    let unclear = four.cluster_verdict(O::Odf);
    assert_eq!(unclear.outcome, Outcome::Failure);
    assert!(
        unclear.message.contains("1 hosts without a role"),
        "{}",
        unclear.message
    );
    let arbiter = Site::new(2, &["odf"], &[Master, Master, Arbiter]);
    assert_eq!(
        arbiter.cluster_outcome(O::Odf),
        "success",
        "an arbiter carries storage too"
    );
}

#[test]
fn data_foundation_needs_three_disks_on_three_hosts() {
    let mut site = Site::new(3, &["odf", "lso"], &[Master; 3]);
    assert_eq!(site.cluster_outcome(O::Odf), "success");
    site.machine(1, |m| m["disks"] = json!([]));
    let few = site.cluster_verdict(O::Odf);
    assert_eq!(few.outcome, Outcome::Failure);
    assert!(few.message.contains("there are 4 on 2"), "{}", few.message);
    site.machine(1, |m| m["disks"] = json!([disk("x", "SSD", 24)]));
    let tiny = site.cluster_verdict(O::Odf).message;
    assert!(
        tiny.lines().count() == 2 && tiny.contains("all smaller than 25 GB"),
        "{tiny}"
    );
    site.forget(1);
    assert_eq!(site.cluster_outcome(O::Odf), "pending");
    site.hosts[1].reports.inventory = Some("{".to_owned().into());
    assert_eq!(
        site.cluster_outcome(O::Odf),
        "failure",
        "a broken inventory is not a missing one"
    );
    let mut settings = Site::new(3, &["odf"], &[Master; 3]);
    settings.settings.odf.min_disks = 7;
    assert_eq!(settings.cluster_outcome(O::Odf), "failure");
}
