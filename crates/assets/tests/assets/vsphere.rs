//! Virtual machines of vSphere as the operators of the cluster expect them.

use muster_assets::workdir::Target;
use serde_json::{Value, json};

use crate::cases::Directory;

/// Manifests of the vSphere case, for an install-config that was changed first.
fn manifests(version: &str, change: impl Fn(String) -> String) -> Directory {
    let mut directory = Directory::with("vsphere-highly-available");
    let config = change(directory.text("install-config.yaml"));
    let path = "install-config.yaml".to_owned();
    directory.files.insert(path, config.into_bytes());
    directory.create(Target::Manifests, version);
    directory
}

fn object(directory: &Directory, name: &str) -> Value {
    serde_yaml_ng::from_str(&directory.text(&format!("openshift/99_openshift-{name}.yaml")))
        .unwrap()
}

const CONTROL_PLANE: &str = "machine-api_master-control-plane-machine-set";

#[test]
fn the_cloud_provider_looks_for_nodes_in_the_machine_network_from_5_0_on() {
    for (version, has) in [("4.22.1", false), ("5.0.0", true)] {
        let directory = manifests(version, |config| config);
        let text = directory.text("manifests/cloud-provider-config.yaml");
        let map: Value = serde_yaml_ng::from_str(&text).unwrap();
        let config: Value =
            serde_yaml_ng::from_str(map["data"]["config"].as_str().unwrap()).unwrap();
        let wanted = json!({
            "externalNetworkSubnetCidr": "192.168.111.0/24",
            "internalNetworkSubnetCidr": "192.168.111.0/24",
        });
        let wanted = if has { wanted } else { Value::Null };
        assert_eq!(config["nodes"], wanted, "{version}");
    }
}

#[test]
fn sets_of_workers_are_numbered_and_follow_the_zones_of_the_pool() {
    let zones = "  replicas: 3\n  platform: {vsphere: {zones: [b]}}\nnetworking:";
    let directory = manifests("5.0.0", |config| {
        config.replacen("  replicas: 3\nnetworking:", zones, 1)
    });
    let set = object(&directory, "cluster-api_worker-machineset-0");
    let name = set["metadata"]["name"].as_str().unwrap();
    let (infra_id, rest) = name.split_at(name.len() - "-worker-0".len());
    assert_eq!(rest, "-worker-0");
    let cluster = json!({ "machine.openshift.io/cluster-api-cluster": infra_id });
    assert_eq!(set["metadata"]["labels"], cluster);
    let provider = &set["spec"]["template"]["spec"]["providerSpec"]["value"];
    assert_eq!(provider["workspace"]["datastore"], "/dc1/datastore/d2");

    let zones = "  replicas: 3\n  platform: {vsphere: {zones: [b, a]}}\ncompute:";
    let directory = manifests("5.0.0", |config| {
        config.replacen("  replicas: 3\ncompute:", zones, 1)
    });
    let set = object(&directory, CONTROL_PLANE);
    let template = &set["spec"]["template"]["machines_v1beta1_machine_openshift_io"];
    let domains = &template["failureDomains"]["vsphere"];
    assert_eq!(*domains, json!([{ "name": "b" }, { "name": "a" }]));
    let labels = template["metadata"]["labels"].as_object().unwrap();
    assert_eq!(labels.len(), 3, "{labels:?}");
}

const STATIC: &str = "    hosts:
    - {role: bootstrap, networkDevice: {ipAddrs: [192.168.111.10/24], gateway: 192.168.111.1}}
    - {role: control-plane, failureDomain: a, networkDevice: {ipAddrs: [192.168.111.11/24, 'fd00::11/64'], gateway: 192.168.111.1, nameservers: [192.168.111.2]}}
    - {role: control-plane, failureDomain: a, networkDevice: {ipAddrs: [192.168.111.12/24, 'fd00::12/64'], gateway: 192.168.111.1, nameservers: [192.168.111.2]}}
    - {role: control-plane, failureDomain: a, networkDevice: {ipAddrs: [192.168.111.13/24, 'fd00::13/64'], gateway: 192.168.111.1, nameservers: [192.168.111.2]}}
    - {role: compute, networkDevice: {ipAddrs: [192.168.111.14/24], gateway: 192.168.111.1}}
    - {role: compute, networkDevice: {ipAddrs: [192.168.111.15/24], gateway: 192.168.111.1}}
    - {role: compute, networkDevice: {ipAddrs: [192.168.111.16/24], gateway: 192.168.111.1}}
    vcenters:";

#[test]
fn every_static_address_of_a_machine_comes_from_a_pool_of_its_own() {
    let directory = manifests("5.0.0", |config| {
        config.replacen("    vcenters:", STATIC, 1)
    });
    let machine = object(&directory, "cluster-api_master-machines-2");
    let card = &machine["spec"]["providerSpec"]["value"]["network"]["devices"][0];
    let pool = |index: usize| {
        json!({
            "group": "installer.openshift.io",
            "name": format!("default-{index}"),
            "resource": "IPPool",
        })
    };
    assert_eq!(card["addressesFromPools"], json!([pool(0), pool(1)]));
    let name = machine["metadata"]["name"].as_str().unwrap();
    let claim = object(&directory, &format!("machine-api_claim-{name}-claim-0-1"));
    assert_eq!(claim["apiVersion"], "ipam.cluster.x-k8s.io/v1beta1");
    assert_eq!(claim["spec"]["poolRef"]["name"], "default-1");

    let set = object(&directory, CONTROL_PLANE);
    let template = &set["spec"]["template"]["machines_v1beta1_machine_openshift_io"];
    assert_eq!(
        template["failureDomains"]["vsphere"],
        json!([{ "name": "a" }])
    );
    let devices = &template["spec"]["providerSpec"]["value"]["network"]["devices"];
    let wanted = json!([{
        "addressesFromPools": [pool(0), pool(1)],
        "nameservers": ["192.168.111.2"],
    }]);
    assert_eq!(*devices, wanted);
}
