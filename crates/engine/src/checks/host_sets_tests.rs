//! The exact set of host validations that a client sees in well-known situations.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    host::HOST_CHECKS,
    testbed::{Bed, report, resolutions},
};
use crate::{agent_json::Stored, majority::Groups};

const NAMES: [&str; 3] = [
    "api-domain-name-resolved-correctly",
    "api-int-domain-name-resolved-correctly",
    "apps-domain-name-resolved-correctly",
];
const NEEDS_INVENTORY: [&str; 11] = [
    "inventory-not-partially-truncated",
    "inventory-not-fully-truncated",
    "has-min-cpu-cores",
    "has-min-memory",
    "has-min-valid-disks",
    "has-cpu-cores-for-role",
    "has-memory-for-role",
    "no-skip-missing-disk",
    "valid-platform-network-settings",
    "has-default-route",
    "non-overlapping-subnets",
];
const ROLE_NETWORK: [&str; 2] = [
    "sufficient-network-latency-requirement-for-role",
    "sufficient-packet-loss-requirement-for-role",
];
const SPECIAL: [&str; 3] = [
    "ignition-downloadable",
    "disk-encryption-requirements-satisfied",
    "vsphere-disk-uuid-enabled",
];
const ISCSI: &str = "no-iscsi-nic-belongs-to-machine-cidr";
const CLUSTER_ONLY: [&str; 6] = [
    "hostname-unique",
    "machine-cidr-defined",
    "belongs-to-machine-cidr",
    "belongs-to-majority-group",
    "mtu-valid",
    "compatible-with-cluster-platform",
];

/// What differs from success, by status.
#[derive(Default)]
struct Expected(BTreeMap<&'static str, &'static str>);

impl Expected {
    fn are(mut self, status: &'static str, ids: &[&'static str]) -> Self {
        for id in ids {
            assert!(HOST_CHECKS.iter().any(|check| check.id == *id), "{id}");
            self.0.insert(id, status);
        }
        self
    }

    #[track_caller]
    fn of(self, bed: &Bed) {
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let findings = bed.evaluated();
        // Operators have tests of their own.
        let shown = findings.shown.iter().filter(|(of, _)| **of != "operators");
        for entry in shown.flat_map(|(_, entries)| entries) {
            seen.insert(entry.id.clone(), entry.status.clone());
        }
        let expected: BTreeMap<String, String> = HOST_CHECKS
            .iter()
            .map(|check| (check.id, self.0.get(check.id).copied().unwrap_or("success")))
            .filter(|(_, status)| *status != "absent")
            .map(|(id, status)| (id.to_owned(), status.to_owned()))
            .collect();
        assert_eq!(seen, expected);
    }
}

fn discovering() -> Expected {
    Expected::default()
        .are(
            "failure",
            &[
                "has-inventory",
                "hostname-valid",
                "machine-cidr-defined",
                "ntp-synced",
            ],
        )
        .are("error", &["sufficient-installation-disk-speed"])
        .are("pending", &NEEDS_INVENTORY)
        .are("pending", &ROLE_NETWORK)
        .are(
            "pending",
            &[
                "hostname-unique",
                "compatible-with-cluster-platform",
                "belongs-to-machine-cidr",
                "belongs-to-majority-group",
                "mtu-valid",
                "time-synced-between-host-and-service",
                "dns-wildcard-not-configured",
            ],
        )
        .are("absent", &SPECIAL)
        .are("absent", &[ISCSI])
}

#[test]
fn a_discovering_host_of_a_cluster_of_several_nodes() {
    discovering().of(&Bed::discovering());
}

#[test]
fn a_host_with_an_inventory_in_a_cluster_without_machine_network() {
    let bed = Bed::known()
        .with_cluster(|cluster| cluster.networks.machine = None)
        .with_host(|host| {
            host.reports.ntp_sources = None;
            host.reports.connectivity = None;
            host.reports.domain_name_resolutions = None;
        })
        .with(|bed| {
            bed.others.clear();
            bed.groups = Stored::Here(Groups::default());
        });
    Expected::default()
        .are("failure", &["machine-cidr-defined", "ntp-synced"])
        .are(
            "pending",
            &[
                "belongs-to-machine-cidr",
                "belongs-to-majority-group",
                "mtu-valid",
                "dns-wildcard-not-configured",
                ISCSI,
            ],
        )
        .are("absent", &SPECIAL)
        .of(&bed);
}

#[test]
fn a_known_host_of_a_cluster_of_several_nodes() {
    Expected::default()
        .are("absent", &SPECIAL)
        .are("absent", &[ISCSI])
        .of(&Bed::known());
}

#[test]
fn a_discovering_single_node() {
    let bed = Bed::discovering()
        .single_node()
        .with(|bed| bed.settings.single_node_dnsmasq = true);
    discovering()
        .are(
            "success",
            &["machine-cidr-defined", "belongs-to-majority-group"],
        )
        .of(&bed);
    let without_dnsmasq = Bed::discovering().single_node();
    discovering()
        .are(
            "success",
            &["machine-cidr-defined", "belongs-to-majority-group"],
        )
        .are("error", &NAMES)
        .of(&without_dnsmasq);
}

#[test]
fn a_discovering_host_where_the_user_brings_the_network() {
    discovering()
        .are(
            "success",
            &["machine-cidr-defined", "belongs-to-machine-cidr"],
        )
        .are("failure", &["belongs-to-majority-group"])
        .are("error", &NAMES)
        .of(&Bed::discovering().user_managed());
}

#[test]
fn the_users_names_are_unknown_until_answered_and_fail_without_addresses() {
    let silent = Bed::known()
        .user_managed()
        .with_host(|host| host.reports.domain_name_resolutions = None);
    Expected::default()
        .are("error", &NAMES)
        .are("pending", &["dns-wildcard-not-configured"])
        .are("absent", &SPECIAL)
        .are("absent", &[ISCSI])
        .of(&silent);
    Expected::default()
        .are("failure", &NAMES)
        .are("absent", &SPECIAL)
        .are("absent", &[ISCSI])
        .of(&Bed::known().user_managed());
}

#[test]
fn a_foreign_machine_in_a_vsphere_cluster_and_a_vmware_machine_anywhere() {
    let vsphere = |cluster: &mut muster_model::Cluster| {
        let platform = cluster.platform.as_mut().unwrap();
        platform.kind = muster_model::PlatformType::Vsphere;
    };
    let quiet = || {
        Expected::default()
            .are("absent", &SPECIAL)
            .are("absent", &[ISCSI])
    };
    quiet()
        .are("failure", &["compatible-with-cluster-platform"])
        .of(&Bed::known().with_cluster(vsphere));
    let vmware = |uuid: bool| {
        Bed::known().with_inventory(|inventory| {
            inventory.system_vendor.as_mut().unwrap().manufacturer = "VMware, Inc.".into();
            inventory.disks.0.as_mut().unwrap()[0].has_uuid = uuid;
        })
    };
    quiet()
        .are("failure", &["vsphere-disk-uuid-enabled"])
        .of(&vmware(false));
    quiet()
        .are("success", &["vsphere-disk-uuid-enabled"])
        .of(&vmware(true));
}

fn day2_discovering() -> Expected {
    discovering()
        .are(
            "pending",
            &[
                "ignition-downloadable",
                "disk-encryption-requirements-satisfied",
            ],
        )
        .are("pending", &NAMES)
        .are(
            "success",
            &[
                "machine-cidr-defined",
                "belongs-to-machine-cidr",
                "belongs-to-majority-group",
                "dns-wildcard-not-configured",
            ],
        )
}

#[test]
fn a_host_that_joins_an_imported_cluster() {
    day2_discovering().of(&Bed::discovering().day2());
    let known = || {
        Expected::default().are(
            "absent",
            &[
                "disk-encryption-requirements-satisfied",
                "vsphere-disk-uuid-enabled",
                ISCSI,
            ],
        )
    };
    let silent = || {
        Bed::known()
            .day2()
            .with_host(|host| host.reports.domain_name_resolutions = None)
    };
    known()
        .are("pending", &["ignition-downloadable"])
        .are("pending", &NAMES)
        .of(&silent());
    let transformed = silent().with_cluster(|cluster| cluster.imported = false);
    known()
        .are("pending", &["ignition-downloadable"])
        .of(&transformed);
    let fetched = |files: serde_json::Value| {
        let ignition = json!({ "ignition": { "version": "3.2.0" }, "storage": { "files": files } });
        let reply = json!({ "is_success": true, "ignition": ignition.to_string() });
        silent().with_host(|host| {
            host.reports.api_vip_connectivity = report(&reply);
        })
    };
    known().are("error", &NAMES).of(&fetched(json!([])));
    let keepalived = json!([{ "path": "/etc/kubernetes/manifests/keepalived.yaml" }]);
    known().of(&fetched(keepalived));
}

#[test]
fn an_unbound_host_that_is_discovered() {
    Expected::default()
        .are("failure", &["has-inventory", "hostname-valid"])
        .are("error", &["sufficient-installation-disk-speed"])
        .are("pending", &NEEDS_INVENTORY)
        .are("pending", &ROLE_NETWORK)
        .are("absent", &SPECIAL)
        .are("absent", &NAMES)
        .are("absent", &CLUSTER_ONLY)
        .are(
            "absent",
            &[ISCSI, "ntp-synced", "dns-wildcard-not-configured"],
        )
        .are("pending", &["time-synced-between-host-and-service"])
        .of(&Bed::discovering().unbound());
}

#[test]
fn an_unbound_host_that_is_known_shows_exactly_twenty_validations() {
    let known = || {
        Expected::default()
            .are("absent", &SPECIAL)
            .are("absent", &NAMES)
            .are("absent", &CLUSTER_ONLY)
            .are("absent", &ROLE_NETWORK)
            .are(
                "absent",
                &[
                    ISCSI,
                    "dns-wildcard-not-configured",
                    "non-overlapping-subnets",
                ],
            )
    };
    let unsynced = || {
        Bed::known()
            .unbound()
            .with_host(|host| host.reports.ntp_sources = report(&json!([])))
    };
    let quiet = unsynced();
    known().are("absent", &["ntp-synced"]).of(&quiet);
    assert_eq!(quiet.evaluated().shown.values().flatten().count(), 20);
    known().of(&Bed::known().unbound());
    known()
        .are("absent", &["ntp-synced"])
        .of(&unsynced().booted_with_ntp(None));
    known()
        .are("failure", &["ntp-synced"])
        .of(&unsynced().booted_with_ntp(Some("ntp.example.com")));
}

#[test]
fn results_keep_the_order_of_registration() {
    let bed = Bed::known();
    let findings = bed.evaluated();
    let tables = findings.shown.iter().filter(|(of, _)| **of != "operators");
    for (category, entries) in tables {
        let order: Vec<&str> = HOST_CHECKS
            .iter()
            .filter(|check| check.category == *category)
            .map(|check| check.id)
            .filter(|id| entries.iter().any(|entry| entry.id == *id))
            .collect();
        let shown: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(shown, order);
    }
}

#[test]
fn the_users_names_resolve() {
    let all = ["api", "api-int", "console-openshift-console.apps"];
    let bed = Bed::known().user_managed().with_host(|host| {
        host.reports.domain_name_resolutions = report(&resolutions(&all, false));
    });
    Expected::default()
        .are("absent", &SPECIAL)
        .are("absent", &[ISCSI])
        .of(&bed);
}
