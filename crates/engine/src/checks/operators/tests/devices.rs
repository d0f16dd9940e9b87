//! Virtualization, accelerators and OpenShift AI.

use serde_json::{Value, json};

use super::*;

#[test]
fn virtualization_needs_a_processor_for_guests_and_a_role() {
    let mut site = Site::new(3, &["cnv"], &[Worker, AutoAssign]);
    let cpu = |flags: Value, arch: &'static str| {
        move |m: &mut Value| {
            m["cpu"]["flags"] = flags;
            m["cpu"]["architecture"] = json!(arch);
        }
    };
    for (flags, arch, expected) in [
        (json!(["svm"]), "x86_64", "success"),
        (json!(["sse"]), "x86_64", "failure"),
        (json!(null), "aarch64", "success"),
        (json!(null), "arm64", "success"),
        (json!(null), "s390x", "failure"),
    ] {
        site.machine(0, cpu(flags.clone(), arch));
        assert_eq!(site.on_host(0, O::Cnv), expected, "{flags} {arch}");
    }
    site.machine(0, |m| small(m, 1, 360));
    assert_eq!(site.on_host(0, O::Cnv), "failure");
    site.machine(0, |m| small(m, 2, 360));
    assert_eq!(site.on_host(0, O::Cnv), "success");
    assert_eq!(site.on_host(1, O::Cnv), "failure", "no role yet");
    site.hosts[1].suggested_role = Worker;
    assert_eq!(site.on_host(1, O::Cnv), "success", "a suggestion is enough");
}

#[test]
fn devices_that_guests_can_use_cost_memory() {
    let mut site = Site::new(3, &["cnv"], &[Worker]);
    site.machine(0, |m| {
        m["gpus"] = json!([{ "vendor_id": "10DE", "device_id": "1db6" }, { "vendor_id": "10de", "device_id": "ffff" }]);
        m["interfaces"] = json!([{ "name": "eth0", "vendor": "0x8086", "product": "0x158B" }]);
    });
    let worker = RequirementTable::default().worker;
    assert_eq!(site.total(0, &worker), (2 + 2, 8192 + 360 + 2 * 1024));
}

#[test]
fn old_single_nodes_need_a_second_disk_for_guests() {
    let with = |version: &str, disks: Value| {
        let mut site = Site::new(1, &["cnv"], &[Master]).version(version);
        site.machine(0, |m| m["disks"] = disks);
        site.result(0, O::Cnv)
    };
    let gib = |gib: i64, extra: i64| json!([{ "id": "x", "drive_type": "SSD", "size_bytes": (gib << 30) + extra }]);
    assert_eq!(with("4.11.3", gib(50, 1)).outcome, Outcome::Success);
    let exactly = with("4.11.3", gib(50, 0));
    assert_eq!(exactly.outcome, Outcome::Failure);
    assert!(
        exactly.message.contains("larger than 50 GiB"),
        "{}",
        exactly.message
    );
    assert_eq!(with("4.10.0-rc.1", json!([])).outcome, Outcome::Failure);
    assert_eq!(with("4.12.0", json!([])).outcome, Outcome::Success);
    let mut off = Site::new(1, &["cnv"], &[Master]).version("4.11.3");
    off.settings.cnv_hostpath_on_single_node = false;
    off.machine(0, |m| m["disks"] = json!([]));
    assert_eq!(off.on_host(0, O::Cnv), "success");
}

#[test]
fn secure_boot_stands_in_the_way_of_drivers() {
    let mut site = Site::new(3, &["nvidia-gpu", "amd-gpu", "kmm"], &[Worker]);
    let secure = |vendor: &'static str| {
        move |m: &mut Value| {
            m["boot"]["secure_boot_state"] = json!("Enabled");
            m["gpus"] = json!([{ "vendor_id": vendor }]);
        }
    };
    for (vendor, nvidia, amd) in [
        ("10de", "failure", "success"),
        ("1002", "success", "failure"),
        ("8086", "success", "success"),
    ] {
        site.machine(0, secure(vendor));
        assert_eq!(site.on_host(0, O::NvidiaGpu), nvidia, "{vendor}");
        assert_eq!(site.on_host(0, O::AmdGpu), amd, "{vendor}");
        assert_eq!(site.on_host(0, O::Kmm), "failure");
    }
    site.machine(0, |m| m["gpus"] = json!([{ "vendor_id": "10de" }]));
    assert_eq!(site.on_host(0, O::NvidiaGpu), "success");
    assert_eq!(site.on_host(0, O::Kmm), "success");
}

#[test]
fn a_gpu_operator_needs_a_gpu_where_workload_runs() {
    let gpu = |m: &mut Value| m["gpus"] = json!([{ "vendor_id": "10DE" }]);
    let mut site = Site::new(3, &["nvidia-gpu"], &[Master, Worker, Arbiter]);
    let none = site.cluster_verdict(O::NvidiaGpu);
    assert_eq!(none.outcome, Outcome::Failure);
    assert!(none.message.contains("PCI vendor 10de"), "{}", none.message);
    site.machine(0, gpu);
    site.machine(2, gpu);
    assert_eq!(
        site.cluster_outcome(O::NvidiaGpu),
        "failure",
        "neither runs workload"
    );
    site.cluster.schedulable_masters = true;
    assert_eq!(site.cluster_outcome(O::NvidiaGpu), "success");
    site.cluster.schedulable_masters = false;
    site.cluster.schedulable_masters_forced_true = true;
    assert_eq!(site.cluster_outcome(O::NvidiaGpu), "success");
    site.cluster.schedulable_masters_forced_true = false;
    site.machine(1, gpu);
    assert_eq!(site.cluster_outcome(O::NvidiaGpu), "success");
    let mut lenient = Site::new(3, &["amd-gpu"], &[Worker]);
    lenient.settings.amd.required = false;
    assert_eq!(lenient.cluster_outcome(O::AmdGpu), "success");
    lenient.settings.amd.required = true;
    lenient.forget(0);
    let unknown = lenient.cluster_verdict(O::AmdGpu).message;
    assert!(unknown.contains("1 have not sent"), "{unknown}");
}

#[test]
fn openshift_ai_needs_two_workers_unless_the_node_is_alone() {
    let site = |count, roles: &[HostRole]| {
        Site::new(count, &["openshift-ai"], roles).cluster_outcome(O::OpenshiftAi)
    };
    assert_eq!(site(3, &[Master, Worker]), "failure");
    assert_eq!(site(3, &[Master, Worker, Worker]), "success");
    assert_eq!(site(1, &[Master]), "success");
}
