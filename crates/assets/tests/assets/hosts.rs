//! Bare metal hosts of a cluster whose machines are started by their owner.

use muster_assets::workdir::Target;
use serde_json::Value;

use crate::cases::{Directory, ignition};

const FENCED: &str = "  replicas: 2
  fencing:
    credentials:
    - {hostName: m0, address: 'redfish+https://192.168.111.1/redfish/v1/Systems/m0', username: a, password: p}
    - {hostName: m1, address: 'redfish+https://192.168.111.1/redfish/v1/Systems/m1', username: a, password: p}
compute:";

/// A directory with an install-config that was changed.
fn changed(change: impl Fn(String) -> String) -> Directory {
    let mut directory = Directory::with("baremetal-highly-available");
    let config = change(directory.text("install-config.yaml"));
    let path = "install-config.yaml".to_owned();
    directory.files.insert(path, config.into_bytes());
    directory
}

/// Objects of a kind, by name, for an install-config that was changed first.
fn objects(kind: &str, change: impl Fn(String) -> String) -> Vec<(String, Value)> {
    let mut directory = changed(change);
    let made = directory.create(Target::Manifests, "4.22.0");
    let mut found = Vec::new();
    for file in made.write {
        let object: Value = serde_yaml_ng::from_str(&file.text()).unwrap();
        if object["kind"] == kind {
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            found.push((name, object));
        }
    }
    found
}

fn is_detached(host: &Value) -> bool {
    let annotations = &host["metadata"]["annotations"];
    annotations["baremetalhost.metal3.io/detached"] == ""
}

#[test]
fn the_operator_of_the_cluster_leaves_a_running_control_plane_alone_and_may_provision_workers() {
    let hosts = objects("BareMetalHost", |config| config);
    assert_eq!(hosts.len(), 5);
    for (name, host) in hosts {
        let control_plane = name.starts_with('m');
        let external = host["spec"]["externallyProvisioned"] == true;
        assert_eq!(external, control_plane, "{name}: {host}");
        let annotations = &host["metadata"]["annotations"];
        assert!(annotations.is_null(), "{name}: {host}");
    }
}

#[test]
fn nodes_that_fence_each_other_are_detached_from_the_operator() {
    let hosts = objects("BareMetalHost", |config| {
        config.replacen("  replicas: 3\ncompute:", FENCED, 1)
    });
    for (name, host) in hosts {
        let fenced = matches!(name.as_str(), "m0" | "m1");
        assert_eq!(is_detached(&host), fenced, "{name}: {host}");
    }
}

#[test]
fn secrets_for_the_networks_of_hosts_are_numbered_by_themselves() {
    let mut directory = Directory::with("baremetal-highly-available");
    directory.create(Target::Manifests, "4.22.0");
    let names: Vec<&String> = directory
        .files
        .keys()
        .filter(|path| path.contains("host-network-config-secrets"))
        .collect();
    // The fifth host is the first that has such a secret.
    let first = "openshift/99_openshift-cluster-api_host-network-config-secrets-0.yaml";
    assert_eq!(names, [first]);
}

#[test]
fn the_version_operator_is_not_bothered_with_machines_of_any_role() {
    let (_, config) = ignition("baremetal-arbiter", "4.20.0-okd-scos.4");
    let path = "/opt/openshift/manifests/cvo-overrides.yaml";
    let version = config.file(path).unwrap().unwrap();
    let version: Value = serde_yaml_ng::from_slice(&version).unwrap();
    let overrides = version["spec"]["overrides"].as_array().unwrap();
    assert!(overrides.len() > 10, "{}", overrides.len());
    for entry in overrides {
        let of_machines = entry["namespace"] == "openshift-machine-api"
            || entry["kind"] == "MachineConfig"
            || entry["kind"] == "BareMetalHost";
        assert!(!of_machines, "{entry}");
    }
}

#[test]
fn a_static_address_of_the_bootstrap_host_is_in_its_config() {
    let mut directory = changed(|config| {
        let address = "  baremetal:\n    bootstrapExternalStaticIP: 192.168.111.9\n    \
                       bootstrapExternalStaticGateway: 192.168.111.1\n    \
                       bootstrapExternalStaticDNS: 192.168.111.2\n";
        config.replacen("  baremetal:\n", address, 1)
    });
    directory.create(Target::IgnitionConfigs, "4.22.0");
    let config = directory.config("bootstrap.ign");
    let path = "/etc/NetworkManager/system-connections/nmconnection";
    let profile = config.file(path).unwrap().expect(path);
    let profile = String::from_utf8(profile).unwrap();
    assert!(profile.contains("192.168.111.9/24"), "{profile}");
}
