//! Claims about changing hosts.

use muster_config::Config;
use muster_model::{
    ClusterId, ClusterKind, ClusterStatus, HostId, HostKey, HostKind, HostRole, HostStatus,
    InfraEnvId, Platform, PlatformType, Timestamp,
};
use uuid::Uuid;

use super::*;

fn host() -> Host {
    let key = HostKey {
        infra_env: InfraEnvId(Uuid::nil()),
        host: HostId(Uuid::nil()),
    };
    let mut host = Host::registered(key, None, "admin", Timestamp(0));
    let disk = |name: &str, eligible: bool| {
        serde_json::json!({"id": format!("/dev/disk/by-id/{name}"), "name": name,
            "installation_eligibility": {"eligible": eligible}})
    };
    let disks = [disk("sda", true), disk("sdb", true), disk("sr0", false)];
    host.reports.inventory = Some(serde_json::json!({"disks": disks}).to_string().into());
    host
}

fn cluster(version: &str, platform: PlatformType) -> Cluster {
    let (id, kind) = (ClusterId(Uuid::nil()), ClusterKind::Cluster);
    let status = ClusterStatus::Insufficient;
    let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
    cluster.openshift_version = version.to_owned();
    let platform = Platform {
        kind: platform,
        external_name: None,
        cloud_controller_manager: None,
    };
    cluster.platform = Some(platform);
    cluster
}

fn given(json: serde_json::Value) -> wire::HostUpdateParams {
    serde_json::from_value(json).unwrap()
}

fn patched(host: &Host, json: serde_json::Value) -> Result<Host, Error> {
    let mut host = host.clone();
    apply(&mut host, None, &given(json), &Config::default().features)?;
    Ok(host)
}

#[test]
fn a_host_that_is_being_installed_refuses_even_an_empty_patch() {
    let mut host = host();
    assert!(patched(&host, serde_json::json!({})).is_ok());
    host.status = HostStatus::Installing;
    assert!(matches!(
        patched(&host, serde_json::json!({})),
        Err(Error::Conflict(_))
    ));
}

#[test]
fn one_fit_disk_is_taken_and_anything_else_is_a_conflict() {
    let host = host();
    let select = |list: serde_json::Value| {
        patched(&host, serde_json::json!({"disks_selected_config": list}))
    };
    let by_path = serde_json::json!([{"id": "/dev/sdb", "role": "install"}]);
    let chosen = select(by_path.clone()).unwrap();
    assert_eq!(
        chosen.installation_disk_id.as_deref(),
        Some("/dev/disk/by-id/sdb")
    );
    assert_eq!(chosen.installation_disk_path.as_deref(), Some("/dev/sdb"));
    for bad in [
        serde_json::json!([]),
        serde_json::json!([{"id": "/dev/sdb", "role": "none"}]),
        serde_json::json!([{"id": "/dev/sr0", "role": "install"}]),
        serde_json::json!([{"id": "/dev/sda", "role": "install"}, {"id": "/dev/sdb", "role": "install"}]),
    ] {
        assert!(
            matches!(select(bad.clone()), Err(Error::Conflict(_))),
            "{bad}"
        );
    }
    let mut silent = host.clone();
    silent.reports.inventory = None;
    let answer = patched(
        &silent,
        serde_json::json!({"disks_selected_config": by_path}),
    );
    assert!(matches!(answer, Err(Error::Conflict(_))));
}

#[test]
fn kept_disks_are_a_list_that_grows_and_shrinks() {
    let skip = |id: &str, skip: bool| serde_json::json!({"disks_skip_formatting": [{"disk_id": id, "skip_formatting": skip}]});
    let id = "/dev/disk/by-id/sda";
    let kept = patched(&host(), skip(id, true)).unwrap();
    let twice = patched(&kept, skip(id, true)).unwrap();
    assert_eq!(twice.skip_formatting_disks, [id]);
    assert!(
        patched(&twice, skip(id, false))
            .unwrap()
            .skip_formatting_disks
            .is_empty()
    );
    assert!(patched(&host(), skip("gone", false)).is_ok());
    assert!(matches!(
        patched(&host(), skip("gone", true)),
        Err(Error::Invalid(_))
    ));
}

#[test]
fn a_role_sets_the_suggestion_too_and_the_pool_of_a_day_2_host_follows() {
    let mut host = host();
    host.bootstrap = true;
    let worker = patched(&host, serde_json::json!({"host_role": "worker"})).unwrap();
    assert_eq!(
        (worker.role, worker.suggested_role),
        (HostRole::Worker, HostRole::Worker)
    );
    assert!(!worker.bootstrap);
    assert_eq!(worker.machine_config_pool_name, None);
    host.kind = HostKind::AddToExistingClusterHost;
    let worker = patched(&host, serde_json::json!({"host_role": "worker"})).unwrap();
    assert_eq!(worker.machine_config_pool_name.as_deref(), Some("worker"));
    let master = patched(&worker, serde_json::json!({"host_role": "master"})).unwrap();
    assert_eq!(master.machine_config_pool_name.as_deref(), Some("master"));
    let own = serde_json::json!({"machine_config_pool_name": "infra", "host_role": "worker"});
    let own = patched(&master, own).unwrap();
    let kept = patched(&own, serde_json::json!({"host_role": "master"})).unwrap();
    assert_eq!(kept.machine_config_pool_name.as_deref(), Some("infra"));
}

#[test]
fn arbiters_and_fencing_need_a_cluster_that_knows_them() {
    let arbiter = given(serde_json::json!({"host_role": "arbiter"}));
    let fencing = given(serde_json::json!({"fencing_credentials":
        {"address": "redfish://x", "username": "u", "password": "p"}}));
    let mut features = Config::default().features;
    let allowed = |cluster: Option<&Cluster>, wanted: &wire::HostUpdateParams, with: &Features| {
        apply(&mut host(), cluster, wanted, with).is_ok()
    };
    assert!(allowed(None, &arbiter, &features));
    assert!(!allowed(None, &fencing, &features));
    features.tnf_clusters = true;
    use PlatformType::{Baremetal, None as NoPlatform, Vsphere};
    for (version, platform, arbiters, fences) in [
        ("4.18.9", Baremetal, false, false),
        ("4.19.0", Baremetal, true, false),
        ("4.20.0", Baremetal, true, true),
        ("4.20.0", NoPlatform, false, true),
        ("4.22.0", NoPlatform, true, true),
        ("4.22.0", Vsphere, false, false),
    ] {
        let on = cluster(version, platform);
        assert_eq!(
            allowed(Some(&on), &arbiter, &features),
            arbiters,
            "{version} {platform}"
        );
        assert_eq!(
            allowed(Some(&on), &fencing, &features),
            fences,
            "{version} {platform}"
        );
    }
}

#[test]
fn an_arbiter_goes_with_two_control_plane_hosts_only() {
    let features = Config::default().features;
    let arbiter = given(serde_json::json!({"host_role": "arbiter"}));
    for (count, allowed) in [
        (None, true),
        (Some(1), false),
        (Some(2), true),
        (Some(3), false),
    ] {
        let mut on = cluster("4.20.0", PlatformType::Baremetal);
        on.control_plane_count = count;
        let set = apply(&mut host(), Some(&on), &arbiter, &features);
        assert_eq!(set.is_ok(), allowed, "{count:?}");
        let mut unbound = host();
        unbound.role = HostRole::Arbiter;
        let fits = role::misfit(&unbound, &on, &features).is_none();
        assert_eq!(fits, allowed, "{count:?}, validated when it is bound");
    }
}

#[test]
fn a_host_with_fencing_is_validated_when_it_is_bound() {
    let mut features = Config::default().features;
    features.tnf_clusters = true;
    let mut unbound = host();
    let old = cluster("4.18.0", PlatformType::Baremetal);
    assert_eq!(role::misfit(&unbound, &old, &features), None);
    unbound.fencing_credentials = Some(Secret::new("{}"));
    assert!(role::misfit(&unbound, &old, &features).is_some());
    let young = cluster("4.20.0", PlatformType::Baremetal);
    assert_eq!(role::misfit(&unbound, &young, &features), None);
}

#[test]
fn empty_lists_and_texts_clear() {
    let set = patched(
        &host(),
        serde_json::json!({
            "ignition_endpoint_token": "t",
            "ignition_endpoint_http_headers": [{"key": "a", "value": "b"}],
            "node_labels": [{"key": "a", "value": "b"}],
        }),
    )
    .unwrap();
    assert!(set.ignition_endpoint_token.is_some());
    let cleared = patched(
        &set,
        serde_json::json!({
            "ignition_endpoint_token": "",
            "ignition_endpoint_http_headers": [],
            "node_labels": [],
        }),
    )
    .unwrap();
    assert_eq!(cleared.ignition_endpoint_token, None);
    assert_eq!(cleared.ignition_endpoint_http_headers, None);
    assert_eq!(cleared.node_labels, Some(BTreeMap::new()));
}
