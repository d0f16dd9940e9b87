//! Tests of changes to a cluster that go beyond one field.

use muster_config::Config;
use muster_model::{ClusterId, ClusterKind, HostId, HostKey, InfraEnvId, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;
use crate::{
    Invalid,
    catalog::Catalog,
    clusters::new_cluster::{Birth, day1, imported},
};

fn birth() -> Birth<'static> {
    Birth {
        id: ClusterId(Uuid::nil()),
        user: "admin",
        now: Timestamp(0),
    }
}

fn cluster(version: &str) -> Cluster {
    let body = json!({"name": "edge", "openshift_version": version, "pull_secret": r#"{"auths":{"quay.io":{}}}"#});
    let config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    day1(
        serde_json::from_value(body).unwrap(),
        birth(),
        Site {
            config: &config,
            catalog: &catalog,
        },
    )
    .unwrap()
}

fn change(cluster: &Cluster, hosts: &mut [Host], request: Value) -> Result<Cluster, Invalid> {
    let config = Config::default();
    let catalog = Catalog::from_config(&config).unwrap();
    let mut changed = cluster.clone();
    apply(
        &mut changed,
        hosts,
        &serde_json::from_value(request).unwrap(),
        [],
        Site {
            config: &config,
            catalog: &catalog,
        },
    )?;
    Ok(changed)
}

#[test]
fn an_empty_request_changes_nothing() {
    let cluster = cluster("4.16");
    assert_eq!(change(&cluster, &mut [], json!({})), Ok(cluster));
}

#[test]
fn other_operators_open_the_suggested_roles_again() {
    let cluster = cluster("4.16");
    let key = HostKey {
        infra_env: InfraEnvId(Uuid::nil()),
        host: HostId(Uuid::nil()),
    };
    let mut auto = Host::registered(key, Some(cluster.id), "admin", Timestamp(0));
    auto.suggested_role = HostRole::Master;
    let mut fixed = auto.clone();
    fixed.role = HostRole::Master;
    let mut hosts = [auto, fixed];
    let changed = change(
        &cluster,
        &mut hosts,
        json!({"olm_operators": [{"name": "lso"}]}),
    )
    .unwrap();
    assert_eq!(changed.monitored_operators.as_ref().unwrap().len(), 2);
    assert_eq!(
        hosts.each_ref().map(|host| host.suggested_role),
        [HostRole::AutoAssign, HostRole::Master]
    );
    assert!(changed.feature_usage.contains_key("LSO"));
    hosts[0].suggested_role = HostRole::Master;
    change(&changed, &mut hosts, json!({"name": "other"})).unwrap();
    assert_eq!(
        hosts[0].suggested_role,
        HostRole::Master,
        "operators were not touched"
    );
    let cleared = change(&changed, &mut hosts, json!({"olm_operators": []})).unwrap();
    assert_eq!(cleared.monitored_operators.unwrap().len(), 1);
}

#[test]
fn the_pull_secret_can_be_cleared_but_not_broken() {
    let cluster = cluster("4.16");
    assert!(!cluster.pull_secret.is_empty());
    assert!(change(&cluster, &mut [], json!({"pull_secret": "nonsense"})).is_err());
    assert!(
        change(&cluster, &mut [], json!({"pull_secret": ""}))
            .unwrap()
            .pull_secret
            .is_empty()
    );
}

#[test]
fn the_control_plane_grows_only_where_the_version_allows() {
    assert!(change(&cluster("4.16"), &mut [], json!({"control_plane_count": 5})).is_err());
    let grown = change(&cluster("4.18"), &mut [], json!({"control_plane_count": 5})).unwrap();
    assert_eq!(grown.control_plane_count, Some(5));
    assert!(change(&grown, &mut [], json!({"control_plane_count": 1})).is_err());
}

#[test]
fn running_clusters_take_a_name_of_their_api_and_any_count() {
    let day1 = cluster("4.16");
    assert!(
        change(
            &day1,
            &mut [],
            json!({"api_vip_dns_name": "api.edge.example.com"})
        )
        .is_err()
    );
    let params =
        json!({"api_vip_dnsname": "192.0.2.1", "name": "old", "openshift_cluster_id": Uuid::nil()});
    let running = imported(&serde_json::from_value(params).unwrap(), birth()).unwrap();
    assert_eq!(running.kind, ClusterKind::AddHostsCluster);
    let changed = change(
        &running,
        &mut [],
        json!({"api_vip_dns_name": "api.edge.example.com", "control_plane_count": 7}),
    )
    .unwrap();
    assert_eq!(
        (
            changed.api_vip_dns_name.as_deref(),
            changed.control_plane_count
        ),
        (Some("api.edge.example.com"), Some(7))
    );
    assert!(changed.feature_usage.is_empty());
    let secret = change(
        &running,
        &mut [],
        json!({"pull_secret": r#"{"auths":{"quay.io":{}}}"#}),
    )
    .unwrap();
    assert!(!secret.pull_secret.is_empty());
    assert!(
        change(
            &running,
            &mut [],
            json!({"olm_operators": [{"name": "lso"}]})
        )
        .unwrap_err()
        .contains("version")
    );
}

#[test]
fn features_that_cannot_be_together_are_refused_on_change_too() {
    let cluster = cluster("4.16");
    assert!(change(&cluster, &mut [], json!({"network_type": "OpenShiftSDN"})).is_err());
    assert!(
        change(
            &cluster,
            &mut [],
            json!({"platform": {"type": "nutanix"}, "olm_operators": [{"name": "cnv"}]})
        )
        .is_err()
    );
    assert!(change(&cluster, &mut [], json!({"platform": {"type": "vsphere"}})).is_ok());
}
