//! Clusters with additional features are installed too.

use muster_sim::{End, Feature, Plan, Report, Topology};

use crate::stage::{Stage, in_order, plan};

/// Plays to the end; the log of what happened comes back.
async fn installed(plan: Plan) -> std::sync::Arc<Report> {
    let stage = Stage::new().await;
    let (end, report) = stage.play(plan).await;
    assert_eq!(end.unwrap(), End::Reached);
    report
}

fn with(topology: Topology, feature: Feature) -> Plan {
    Plan {
        features: vec![feature],
        ..plan(topology)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_lease_the_virtual_addresses_of_a_cluster_with_dhcp() {
    let report = installed(with(Topology::Compact, Feature::DhcpVips)).await;
    in_order(
        "events of the cluster",
        &report.events(None),
        &["api_ingress_vip_updated", "cluster_installation_completed"],
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_behind_the_users_own_load_balancer_is_installed() {
    installed(with(Topology::HighlyAvailable, Feature::UserManaged)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_both_address_families_is_installed() {
    installed(with(Topology::Compact, Feature::DualStack)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_with_encrypted_disks_is_installed() {
    installed(with(Topology::Compact, Feature::Encrypted)).await;
}

/// The operators that were reported on, as events name them.
async fn installed_with(topology: Topology, operators: &[&str]) {
    let report = installed(Plan {
        operators: operators.iter().map(|name| (*name).to_owned()).collect(),
        ..plan(topology)
    })
    .await;
    let messages = report.all().iter().fold(String::new(), |mut text, moment| {
        if let muster_sim::Change::Event { message, .. } = &moment.what {
            text += message;
            text += "\n";
        }
        text
    });
    for name in operators {
        let available = format!("Operator {name} ");
        assert!(messages.contains(&available), "{name} in {messages}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_single_node_with_logical_volumes_is_installed() {
    installed_with(Topology::SingleNode, &["lvm"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_compact_cluster_with_storage_of_its_own_is_installed() {
    installed_with(Topology::Compact, &["odf"]).await;
}
