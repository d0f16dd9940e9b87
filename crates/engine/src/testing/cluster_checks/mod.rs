//! Every branch of every cluster validation, as tables: what is changed, what is answered.

mod hosts;
mod networks;
mod plugins;
mod vips;

use std::sync::LazyLock;

use muster_model::{
    Cluster, ClusterNetwork, ClusterStatus, FeatureUse, HostRole, HostStatus, Platform,
    PlatformType, Secret,
};
use serde_json::json;

use super::{Fleet, good_cluster, key, minutes, validations::outcome, vip};
use crate::{
    StepType,
    checks::cluster::{CLUSTER_CHECKS, Gate},
};

/// Letters of the statuses, as the tables below write them.
fn letter(status: &str) -> char {
    match status {
        "success" => 'S',
        "failure" => 'F',
        "pending" => 'P',
        "error" => 'E',
        "disabled" => 'D',
        _ => '-',
    }
}

fn evaluated(fleet: &Fleet, id: &str) -> (char, String) {
    let found = fleet.cluster_check(id);
    let message = found.clone().map(|(_, message)| message);
    (letter(&outcome(found)), message.unwrap_or_default())
}

fn empty(change: impl FnOnce(&mut Cluster)) -> Fleet {
    let mut fleet = Fleet::new(3, 0);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    change(&mut fleet.cluster);
    fleet.refresh();
    fleet
}

/// A ready cluster with one thing changed.
fn changed(change: impl FnOnce(&mut Cluster)) -> Fleet {
    static READY: LazyLock<Fleet> = LazyLock::new(|| Fleet::ready(3, 3));
    let mut fleet = READY.clone();
    change(&mut fleet.cluster);
    fleet.refresh();
    fleet
}

fn pods(list: &[(&str, i64)]) -> Option<Vec<ClusterNetwork>> {
    let list = list.iter().map(|(cidr, host_prefix)| ClusterNetwork {
        cidr: (*cidr).into(),
        host_prefix: *host_prefix,
    });
    Some(list.collect())
}

fn texts(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|text| (*text).to_owned()).collect())
}

fn oracle(cluster: &mut Cluster) {
    cluster.user_managed_networking = Some(true);
    cluster.platform = Some(Platform {
        kind: PlatformType::External,
        external_name: Some("oci".into()),
        cloud_controller_manager: Some("External".into()),
    });
}

fn bring_manifests(cluster: &mut Cluster) {
    let entry = FeatureUse {
        id: "CUSTOM_MANIFEST".into(),
        data: [].into(),
    };
    cluster
        .feature_usage
        .insert("Custom manifest".into(), entry);
}

fn leased(cluster: &mut Cluster) {
    cluster.vip_dhcp_allocation = Some(true);
    cluster.network_type = Some("OpenShiftSDN".into());
}

/// All results but the successes, and the status; the count of ids must be nineteen.
fn not_successful(fleet: &Fleet) -> (Vec<(char, &'static str)>, ClusterStatus) {
    let all: Vec<(char, &'static str)> = CLUSTER_CHECKS
        .iter()
        .filter(|check| check.category != "operators")
        .map(|check| (evaluated(fleet, check.id).0, check.id))
        .collect();
    assert_eq!(all.len(), 19);
    let other = all.into_iter().filter(|(letter, _)| *letter != 'S');
    (other.collect(), fleet.cluster.status)
}

const EMPTY_HA: &[(char, &str)] = &[
    ('F', "sufficient-masters-count"),
    ('F', "api-vips-defined"),
    ('P', "api-vips-valid"),
    ('F', "ingress-vips-defined"),
    ('P', "ingress-vips-valid"),
    ('P', "machine-cidr-defined"),
    ('P', "machine-cidr-equals-to-calculated-cidr"),
    ('P', "networks-same-address-families"),
    ('P', "no-cidrs-overlapping"),
];

#[test]
fn an_empty_cluster_of_several_nodes_waits_for_the_user() {
    let fleet = empty(|_| {});
    assert_eq!(
        not_successful(&fleet),
        (EMPTY_HA.to_vec(), ClusterStatus::PendingForInput)
    );
}

#[test]
fn an_empty_cluster_that_leases_its_addresses_waits_for_a_network() {
    let expected: Vec<(char, &str)> = EMPTY_HA
        .iter()
        .map(|&(letter, id)| match id {
            "api-vips-defined" | "ingress-vips-defined" => ('P', id),
            _ => (letter, id),
        })
        .collect();
    assert_eq!(
        not_successful(&empty(leased)),
        (expected, ClusterStatus::PendingForInput)
    );
}

#[test]
fn an_empty_single_node_waits_for_its_host() {
    let fleet = empty(|cluster| *cluster = good_cluster(1));
    let expected = vec![
        ('F', "sufficient-masters-count"),
        ('P', "machine-cidr-defined"),
        ('P', "networks-same-address-families"),
        ('P', "no-cidrs-overlapping"),
    ];
    assert_eq!(
        not_successful(&fleet),
        (expected, ClusterStatus::PendingForInput)
    );
}

#[test]
fn an_empty_cluster_in_the_users_network_needs_only_hosts_and_on_oracle_manifests() {
    let fleet = empty(|cluster| cluster.user_managed_networking = Some(true));
    let hosts = ('F', "sufficient-masters-count");
    assert_eq!(
        not_successful(&fleet),
        (vec![hosts], ClusterStatus::Insufficient)
    );
    let platform = ('F', "platform-requirements-satisfied");
    assert_eq!(
        not_successful(&empty(oracle)),
        (vec![platform, hosts], ClusterStatus::Insufficient)
    );
}

#[test]
fn with_inventories_the_missing_machine_network_is_a_failure() {
    let mut fleet = Fleet::new(3, 3);
    fleet.cluster.api_vips = None;
    fleet.cluster.ingress_vips = None;
    fleet.boot_all();
    fleet.settle();
    let (other, status) = not_successful(&fleet);
    assert_eq!(status, ClusterStatus::PendingForInput);
    assert!(other.contains(&('F', "machine-cidr-defined")));
    assert!(other.contains(&('F', "all-hosts-are-ready-to-install")));
    assert_eq!(evaluated(&fleet, "sufficient-masters-count").0, 'S');
}

#[test]
fn a_ready_cluster_passes_everything_and_a_day2_cluster_is_not_asked() {
    let fleet = Fleet::ready(3, 3);
    assert_eq!(not_successful(&fleet), (Vec::new(), ClusterStatus::Ready));
    let mut day2 = Fleet::new(3, 0);
    day2.cluster.kind = muster_model::ClusterKind::AddHostsCluster;
    day2.cluster.status = ClusterStatus::AddingHosts;
    day2.refresh();
    assert_eq!(day2.cluster.validations_info, None);
}

/// One row: a change to a ready cluster, the check, the answer, a word of the message.
type Row = (fn(&mut Cluster), &'static str, char, &'static str);

fn stands(rows: &[Row]) {
    for (number, (change, id, expected, word)) in rows.iter().enumerate() {
        let fleet = changed(change);
        let (found, message) = evaluated(&fleet, id);
        assert_eq!(found, *expected, "row {number}, {id}: {message}");
        assert!(message.contains(word), "row {number}, {id}: {message}");
    }
}

#[test]
fn a_disabled_check_is_shown_as_such_and_an_ignored_one_opens_its_gate() {
    let mut fleet = Fleet::ready(3, 3);
    fleet.cluster.network_type = Some("Cilium".into());
    let id = "custom-manifests-requirements-satisfied";
    fleet.settings.disabled_cluster_checks.insert(id.into());
    fleet.refresh();
    assert_eq!(evaluated(&fleet, id).0, 'D');
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    fleet.cluster.ignored_cluster_validations = Some(format!("[{id:?}]"));
    fleet.refresh();
    assert_eq!(evaluated(&fleet, id).0, 'F');
    assert_eq!(fleet.cluster.status, ClusterStatus::Ready);
    fleet.cluster.ignored_cluster_validations = Some(r#"["all"]"#.into());
    fleet.cluster.pull_secret = Secret::default();
    fleet.refresh();
    assert_eq!(
        fleet.cluster.status,
        ClusterStatus::PendingForInput,
        "a pull secret cannot be done without"
    );
}

#[test]
fn every_row_explains_itself_and_ids_are_sorted_in_their_category() {
    for check in CLUSTER_CHECKS {
        assert!(check.asks.ends_with('?'), "{}", check.id);
        assert!(!check.gate.about().is_empty());
    }
    let never = CLUSTER_CHECKS.iter().filter(|check| check.never_ignored());
    assert_eq!(never.count(), 5);
    let advisory = CLUSTER_CHECKS.iter().filter(|c| c.gate == Gate::Nothing);
    let advisory: Vec<&str> = advisory.map(|check| check.id).collect();
    assert!(advisory.contains(&"platform-requirements-satisfied"));
    let places: Vec<(&str, &str)> = CLUSTER_CHECKS
        .iter()
        .map(|check| (check.category, check.id))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}
