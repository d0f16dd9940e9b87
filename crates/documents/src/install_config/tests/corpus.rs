//! Files to try things on: a platform and a topology, put together.

use serde_yaml_ng::{Mapping, Value};

/// Above every file.
const HEAD: &str = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: lab}
pullSecret: '{"auths":{"quay.io":{"auth":"aHVzaDpodXNo"},"mirror.lab:5000":{"auth":"aHVzaDpodXNo"}}}'
"#;

/// Platforms by name.
pub const PLATFORMS: &[(&str, &str)] = &[
    ("none", "platform: {none: {}}"),
    (
        "external",
        "platform: {external: {platformName: acme, cloudControllerManager: External}}",
    ),
    ("baremetal", BAREMETAL),
    ("vsphere", VSPHERE),
    ("nutanix", NUTANIX),
];

const BAREMETAL: &str = r#"
networking: {machineNetwork: [{cidr: 192.168.10.0/24}]}
platform:
  baremetal:
    apiVIPs: [192.168.10.5]
    ingressVIPs: [192.168.10.6]
    hosts:
    - {name: n0, bootMACAddress: "52:54:00:00:00:00", bmc: {address: "redfish://10.1.0.10/redfish/v1/Systems/1", username: admin, password: hush}}
    - {name: n1, bootMACAddress: "52:54:00:00:00:01", role: master, bmc: {address: "redfish://10.1.0.11/redfish/v1/Systems/1", username: admin, password: hush}}
    - {name: n2, bootMACAddress: "52:54:00:00:00:02"}
    - {name: n3, bootMACAddress: "52:54:00:00:00:03"}
    - {name: n4, bootMACAddress: "52:54:00:00:00:04", role: worker}
"#;

const VSPHERE: &str = r#"
platform:
  vsphere:
    vcenters: [{server: vc.example.com, user: admin, password: hush, datacenters: [dc1]}]
    failureDomains:
    - name: fd1
      region: r1
      zone: z1
      server: vc.example.com
      topology: {datacenter: dc1, computeCluster: /dc1/host/c1, networks: [lan], datastore: /dc1/datastore/ds1}
"#;

const NUTANIX: &str = r#"
platform:
  nutanix:
    apiVIPs: [10.0.0.5]
    ingressVIPs: [10.0.0.6]
    prismCentral: {endpoint: {address: pc.example.com, port: 9440}, username: admin, password: hush}
    prismElements: [{uuid: 0005b0f1-8f43-a0f2-02b7-3cecef193712, endpoint: {address: 10.9.0.2, port: 9440}, name: pe1}]
    subnetUUIDs: [c7938dc6-7659-453e-a688-e26020c68e43]
"#;

/// Topologies by name.
pub const TOPOLOGIES: &[(&str, &str)] = &[
    (
        "single-node",
        "controlPlane: {replicas: 1}\ncompute: [{name: worker, replicas: 0}]\nbootstrapInPlace: {installationDisk: /dev/sda}",
    ),
    (
        "compact",
        "controlPlane: {replicas: 3}\ncompute: [{name: worker, replicas: 0}]",
    ),
    (
        "highly-available",
        "controlPlane: {replicas: 3}\ncompute: [{name: worker, replicas: 2}]",
    ),
    (
        "arbiter",
        "controlPlane: {replicas: 2}\narbiter: {replicas: 1}\ncompute: [{name: worker, replicas: 0}]",
    ),
    ("two-node", TWO_NODE),
];

const TWO_NODE: &str = r#"
controlPlane:
  replicas: 2
  fencing:
    credentials:
    - {hostName: n0, address: "redfish+https://10.1.0.10/redfish/v1/Systems/1", username: admin, password: hush}
    - {macAddress: 52-54-00-00-00-0A, address: "redfish+https://10.1.0.11/redfish/v1/Systems/1", username: admin, password: hush, certificateVerification: Disabled}
compute: [{name: worker, replicas: 0}]
"#;

/// Combinations that exist.
pub fn exists(platform: &str, topology: &str) -> bool {
    match platform {
        "baremetal" => topology != "single-node",
        "vsphere" | "nutanix" => matches!(topology, "compact" | "highly-available"),
        _ => true,
    }
}

fn part(parts: &'static [(&'static str, &'static str)], name: &str) -> &'static str {
    let found = parts.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no {name}")).1
}

/// A file as a value that can be changed.
pub fn tree(platform: &str, topology: &str) -> Value {
    let mut whole = Mapping::new();
    for text in [HEAD, part(PLATFORMS, platform), part(TOPOLOGIES, topology)] {
        let Value::Mapping(part) = serde_yaml_ng::from_str(text).unwrap() else {
            panic!("{text}")
        };
        whole.extend(part);
    }
    Value::Mapping(whole)
}

/// Sets the value at a path such as `a.b[0].c`, making what is missing on the way; the YAML text
/// `-` takes the value away instead.
pub fn set(tree: &mut Value, path: &str, yaml: &str) {
    let path = path.replace('[', ".[");
    let (parents, last) = path.rsplit_once('.').map_or(("", &*path), |split| split);
    let mut here = tree;
    for step in parents.split('.').filter(|step| !step.is_empty()) {
        here = enter(here, step);
    }
    if yaml == "-" {
        match (here, index_of(last)) {
            (Value::Mapping(map), _) => drop(map.remove(last)),
            (Value::Sequence(list), Some(index)) => drop(list.remove(index)),
            (other, _) => panic!("{other:?}"),
        }
    } else {
        *enter(here, last) = serde_yaml_ng::from_str(yaml).unwrap();
    }
}

fn index_of(step: &str) -> Option<usize> {
    step.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

fn enter<'a>(here: &'a mut Value, step: &str) -> &'a mut Value {
    if let Some(index) = index_of(step) {
        if !here.is_sequence() {
            *here = Value::Sequence(Vec::new());
        }
        let Value::Sequence(list) = here else {
            unreachable!()
        };
        while list.len() <= index {
            list.push(Value::Null);
        }
        return &mut list[index];
    }
    if !here.is_mapping() {
        *here = Value::Mapping(Mapping::new());
    }
    let Value::Mapping(map) = here else {
        unreachable!()
    };
    map.entry(step.into()).or_insert(Value::Null)
}

/// The file of a value.
pub fn text(tree: &Value) -> String {
    serde_yaml_ng::to_string(tree).unwrap()
}
