//! Every branch of the operator rules, each tried on a small cluster that is good but for one
//! thing. Here the frame, shares and releases; the families of rules have files of their own.

mod devices;
mod storage;

use std::collections::BTreeSet;

use muster_model::{ClusterKind, HostRole};
use serde_json::{Value, json};

use super::*;
use crate::{
    settings::RequirementTable,
    testing::{START, good_cluster, key, operator},
};
use HostRole::{Arbiter, AutoAssign, Master, Worker};

/// A cluster, its machines, and the settings they are evaluated with.
struct Site {
    cluster: Cluster,
    hosts: Vec<Host>,
    machines: Vec<Option<Arc<Inventory>>>,
    settings: OperatorSettings,
}

/// A machine that any operator likes, with two spare disks.
fn good_machine() -> Value {
    json!({
        "hostname": "host",
        "cpu": { "architecture": "x86_64", "count": 64, "flags": ["sse", "vmx"] },
        "memory": { "physical_bytes": 256_i64 << 30, "usable_bytes": 256_i64 << 30 },
        "disks": [disk("boot", "SSD", 120), disk("one", "HDD", 100), disk("two", "SSD", 200)],
        "boot": { "secure_boot_state": "Disabled" },
    })
}

fn disk(id: &str, drive_type: &str, gb: i64) -> Value {
    json!({ "id": id, "name": id, "drive_type": drive_type, "size_bytes": gb * 1_000_000_000 })
}

impl Site {
    /// Good machines in these roles.
    fn new(control_planes: i64, chosen: &[&str], roles: &[HostRole]) -> Self {
        let mut cluster = good_cluster(control_planes);
        cluster.openshift_version = "4.18.1".into();
        let list = chosen.iter().map(|name| operator(name, "olm"));
        cluster.monitored_operators = Some(list.collect());
        let mut site = Self {
            cluster,
            hosts: Vec::new(),
            machines: Vec::new(),
            settings: OperatorSettings::default(),
        };
        for (number, role) in (1..).zip(roles) {
            let id = Some(site.cluster.id);
            let mut host = Host::registered(key(number), id, "admin", START);
            host.role = *role;
            host.installation_disk_id = Some("boot".into());
            site.hosts.push(host);
            site.machines.push(None);
            site.machine(site.hosts.len() - 1, |_| {});
        }
        site
    }

    fn machine(&mut self, index: usize, change: impl FnOnce(&mut Value)) {
        let mut machine = good_machine();
        change(&mut machine);
        let text = machine.to_string();
        self.machines[index] = Some(Arc::new(Inventory::parse(&text).unwrap()));
        self.hosts[index].reports.inventory = Some(text.into());
    }

    fn forget(&mut self, index: usize) {
        self.machines[index] = None;
        self.hosts[index].reports.inventory = None;
    }

    fn version(mut self, version: &str) -> Self {
        self.cluster.openshift_version = version.into();
        self
    }

    fn scene(&self) -> Scene {
        Scene::of(&self.cluster, self.hosts.iter())
    }

    fn result(&self, index: usize, operator: Operator) -> CheckResult {
        let scene = self.scene();
        let machine = self.machines[index].as_deref();
        of_host(
            check(operator),
            &OnHost::new(&scene, &self.hosts[index], machine, &self.settings),
        )
    }

    fn on_host(&self, index: usize, operator: Operator) -> &'static str {
        self.result(index, operator).outcome.as_str()
    }

    fn cluster_verdict(&self, operator: Operator) -> CheckResult {
        of_cluster(check(operator), &self.on_cluster(&self.scene()))
    }

    fn on_cluster<'a>(&'a self, scene: &'a Scene) -> OnCluster<'a> {
        OnCluster {
            scene,
            cluster: &self.cluster,
            hosts: &self.hosts,
            inventories: &self.machines,
            settings: &self.settings,
        }
    }

    fn cluster_outcome(&self, operator: Operator) -> &'static str {
        self.cluster_verdict(operator).outcome.as_str()
    }

    /// CPU cores and MiB that a host needs in all.
    fn total(&self, index: usize, role: &crate::settings::Requirements) -> (i64, i64) {
        let scene = self.scene();
        let machine = self.machines[index].as_deref();
        let on = OnHost::new(&scene, &self.hosts[index], machine, &self.settings);
        let sum = total(role, &on);
        (sum.cpu_cores, sum.ram_mib)
    }
}

fn check(operator: Operator) -> &'static OperatorCheck {
    let row = OPERATOR_CHECKS.iter().find(|row| row.operator == operator);
    row.unwrap()
}

fn small(machine: &mut Value, cores: i64, usable_mib: i64) {
    machine["cpu"]["count"] = json!(cores);
    machine["memory"]["usable_bytes"] = json!(usable_mib << 20);
}

#[test]
fn the_table_has_every_operator_once_and_is_sorted_by_id() {
    let rows: BTreeSet<Operator> = OPERATOR_CHECKS.iter().map(|row| row.operator).collect();
    assert_eq!(rows.len(), OPERATOR_CHECKS.len());
    assert_eq!(rows, Operator::ALL.iter().copied().collect());
    assert!(OPERATOR_CHECKS.is_sorted_by_key(|row| row.id));
    for row in OPERATOR_CHECKS {
        let name = row.id.strip_suffix("-requirements-satisfied").unwrap();
        let expected = match row.operator {
            O::Numaresources => "numa-resources",
            other => other.as_str(),
        };
        assert_eq!(name, expected);
    }
}

#[test]
fn an_operator_that_is_not_selected_passes_and_says_so() {
    let mut site = Site::new(3, &[], &[Master; 3]);
    site.forget(0);
    for operator in Operator::ALL {
        let result = site.result(0, *operator);
        assert_eq!(result.outcome, Outcome::Success, "{operator}");
        assert!(result.message.ends_with("is not selected"), "{operator}");
        assert_eq!(site.cluster_verdict(*operator), result);
    }
}

#[test]
fn all_selected_operators_pass_on_good_machines_of_a_release_that_has_them() {
    let names: Vec<&str> = Operator::ALL.iter().map(|one| one.as_str()).collect();
    let mut site = Site::new(3, &names, &[Master, Master, Master, Worker, Worker, Worker]);
    site.machine(5, |m| m["gpus"] = json!([{ "vendor_id": "10de" }]));
    site.machine(4, |m| m["gpus"] = json!([{ "vendor_id": "1002" }]));
    for operator in Operator::ALL {
        for index in 0..6 {
            let result = site.result(index, *operator);
            assert_eq!(result.outcome, Outcome::Success, "{operator} {result:?}");
        }
        let result = site.cluster_verdict(*operator);
        assert_eq!(result.outcome, Outcome::Success, "{operator} {result:?}");
    }
}

#[test]
fn rules_about_hardware_wait_for_the_inventory_and_the_others_do_not() {
    let names: Vec<&str> = Operator::ALL.iter().map(|one| one.as_str()).collect();
    let mut site = Site::new(3, &names, &[Master, Master, Master, Worker, Worker, Worker]);
    site.forget(3);
    let waiting: Vec<&str> = Operator::ALL
        .iter()
        .filter(|operator| site.on_host(3, **operator) == "pending")
        .map(|operator| operator.as_str())
        .collect();
    assert_eq!(
        waiting,
        [
            "amd-gpu",
            "cnv",
            "kmm",
            "lvm",
            "mce",
            "mtv",
            "nvidia-gpu",
            "odf",
            "openshift-ai",
            "osc"
        ]
    );
    site.hosts[3].reports.inventory = Some("{".to_owned().into());
    let broken = site.result(3, O::Mce);
    assert_eq!(broken.outcome, Outcome::Failure);
    assert!(
        broken.message.contains("restart the agent"),
        "{}",
        broken.message
    );
}

#[test]
fn hosts_that_join_a_running_cluster_are_not_asked_and_bear_nothing() {
    let mut site = Site::new(3, &["cnv", "kmm", "odf"], &[Worker]);
    site.cluster.kind = ClusterKind::AddHostsCluster;
    site.machine(0, |m| small(m, 1, 1));
    for operator in [O::Cnv, O::Kmm, O::Odf] {
        assert_eq!(site.on_host(0, operator), "success");
        assert_eq!(site.cluster_outcome(operator), "success");
    }
    let worker = RequirementTable::default().worker;
    assert_eq!(site.total(0, &worker), (2, 8192));
}

#[test]
fn shares_are_compared_with_usable_memory_and_without_tolerance() {
    for (name, operator, cores, mib) in [
        ("mce", O::Mce, 4, 16384),
        ("mtv", O::Mtv, 1, 1024),
        ("osc", O::Osc, 1, 1024),
        ("openshift-ai", O::OpenshiftAi, 8, 32768),
    ] {
        let mut site = Site::new(3, &[name], &[Worker]);
        site.machine(0, |m| small(m, cores, mib));
        assert_eq!(site.on_host(0, operator), "success", "{name}");
        site.machine(0, |m| small(m, cores - 1, mib));
        assert_eq!(site.on_host(0, operator), "failure", "{name}");
        site.machine(0, |m| small(m, cores - 1, mib - 1));
        let result = site.result(0, operator);
        let lines: Vec<&str> = result.message.lines().collect();
        assert_eq!(lines.len(), 2, "{name}: one line per reason");
        assert!(
            lines[0].contains(&format!("takes {cores} CPU cores")),
            "{lines:?}"
        );
        assert!(
            lines[1].contains(&format!("can use {} MiB", mib - 1)),
            "{lines:?}"
        );
    }
    let mut master = Site::new(3, &["openshift-ai"], &[Master]);
    master.machine(0, |m| small(m, 1, 1));
    assert_eq!(
        master.on_host(0, O::OpenshiftAi),
        "success",
        "only workers pay"
    );
}

#[test]
fn a_single_node_pays_twice_for_the_multicluster_engine() {
    let mut site = Site::new(1, &["mce"], &[Master]);
    site.machine(0, |m| small(m, 8, 32768));
    assert_eq!(site.on_host(0, O::Mce), "success");
    site.machine(0, |m| small(m, 7, 32768));
    assert_eq!(site.on_host(0, O::Mce), "failure");
}

#[test]
fn releases_too_old_or_of_the_wrong_architecture_fail_the_cluster() {
    for (name, operator, single, version, expected) in [
        ("lvm", O::Lvm, true, "4.10.9", "failure"),
        ("lvm", O::Lvm, true, "4.11.0", "success"),
        ("lvm", O::Lvm, false, "4.14.9", "failure"),
        ("lvm", O::Lvm, false, "4.15.0-rc.1", "success"),
        ("mce", O::Mce, false, "4.9.9", "failure"),
        ("mce", O::Mce, false, "4.10.0-rc.1", "failure"),
        ("mce", O::Mce, false, "4.10.0", "success"),
        ("mtv", O::Mtv, false, "4.13.9", "failure"),
        ("mtv", O::Mtv, false, "4.14.0", "success"),
        ("osc", O::Osc, false, "4.9.9", "failure"),
        ("nmstate", O::Nmstate, false, "4.11.9", "failure"),
        ("nmstate", O::Nmstate, false, "4.12.0", "success"),
        ("loki", O::Loki, false, "4.16.9", "failure"),
        (
            "openshift-logging",
            O::OpenshiftLogging,
            false,
            "4.17.0",
            "success",
        ),
        ("loki", O::Loki, false, "nonsense", "failure"),
        ("lso", O::Lso, false, "nonsense", "success"),
    ] {
        let site = Site::new(if single { 1 } else { 3 }, &[name], &[Master]).version(version);
        assert_eq!(site.cluster_outcome(operator), expected, "{name} {version}");
    }
    for (name, operator, arch, expected) in [
        ("cnv", O::Cnv, "s390x", "failure"),
        ("cnv", O::Cnv, "arm64", "success"),
        ("cnv", O::Cnv, "multi", "success"),
        ("mtv", O::Mtv, "arm64", "failure"),
        ("osc", O::Osc, "ppc64le", "failure"),
        ("nmstate", O::Nmstate, "aarch64", "failure"),
    ] {
        let mut site = Site::new(3, &[name], &[Master]);
        site.cluster.cpu_architecture = Some(arch.into());
        assert_eq!(site.cluster_outcome(operator), expected, "{name} {arch}");
    }
    let both = Site::new(3, &["mtv"], &[Master]).version("4.13.1");
    let mut both = both;
    both.cluster.cpu_architecture = Some("arm64".into());
    assert_eq!(both.cluster_verdict(O::Mtv).message.lines().count(), 2);
    let mut set = Site::new(3, &["mce"], &[Master]);
    set.settings.mce_min_version = "4.19.0".parse().unwrap();
    assert_eq!(set.cluster_outcome(O::Mce), "failure");
}

#[test]
fn totals_meet_the_boundaries_seen_live() {
    let table = RequirementTable::default();
    // The sheet's memory figures are lower by the tolerance of 100 MiB.
    let site = |count, names: &[&str], role| Site::new(count, names, &[role, role, role]);
    assert_eq!(
        site(3, &["cnv"], Master).total(0, &table.master),
        (8, 16534)
    );
    assert_eq!(site(3, &["cnv"], Worker).total(0, &table.worker), (4, 8552));
    let mut odf = site(3, &["odf", "lso"], Master);
    odf.machine(0, |m| {
        m["disks"] = json!([disk("boot", "SSD", 120), disk("x", "SSD", 25)])
    });
    assert_eq!(odf.total(0, &table.master), (12, 40960));
    let alone = |names: &[&str]| {
        let site = Site::new(1, names, &[Master]);
        site.total(0, &table.single_node)
    };
    assert_eq!(alone(&["lvm"]), (9, 16484));
    assert_eq!(alone(&["mce"]), (16, 49152));
    assert_eq!(alone(&["lvm", "mce"]), (17, 49252));
    assert_eq!(alone(&[]), (8, 16384));
}

#[test]
fn a_role_is_tried_without_changing_the_host() {
    let site = Site::new(3, &["odf"], &[AutoAssign, AutoAssign, AutoAssign]);
    let scene = site.scene();
    let machine = site.machines[0].as_deref();
    let on = OnHost::new(&scene, &site.hosts[0], machine, &site.settings);
    let counts = |on: &OnHost<'_>| {
        (
            on.scene.given_roles().masters,
            on.scene.given_roles().total(),
        )
    };
    assert_eq!(on.tried_as(Master, counts), (1, 3));
    assert_eq!(counts(&on), (0, 3));
    assert!(on.tried_as(Master, |on| suits_master(on, |_| false)));
}
