//! Virtual machines of Nutanix as the operators of the cluster expect them.

use muster_assets::workdir::Target;
use serde_json::{Value, json};

use crate::cases::Directory;

const DOMAINS: &str = "    failureDomains:
    - {name: a, prismElement: {uuid: pe-a}, subnetUUIDs: [net-a], storageContainers: [{referenceName: fast, uuid: box-a}], dataSourceImages: [{referenceName: seed, uuid: image-a}]}
    - {name: b, prismElement: {uuid: pe-b}, subnetUUIDs: [net-b, net-c], storageContainers: [{referenceName: fast, uuid: box-b}], dataSourceImages: [{referenceName: seed, uuid: image-b}]}
    defaultMachinePlatform: {failureDomains: [b, a], bootType: UEFI, memoryMiB: 20481}
    preloadedOSImageName: ready-made
    prismCentral:";

const WORKERS: &str = "  replicas: 3
  platform:
    nutanix:
      project: {type: uuid, uuid: project-1}
      categories: [{key: env, value: lab}]
      gpus: [{type: DeviceID, deviceID: 7}]
      dataDisks:
      - diskSize: 10Gi
        deviceProperties: {deviceType: Disk, adapterType: SCSI, deviceIndex: 1}
        storageConfig: {diskMode: Flash, storageContainer: {referenceName: fast}}
        dataSourceImage: {referenceName: seed}
networking:";

/// Manifests of the Nutanix case, for an install-config that was changed first.
fn manifests(change: impl Fn(String) -> String) -> Directory {
    let mut directory = Directory::with("nutanix-highly-available");
    let config = change(directory.text("install-config.yaml"));
    let path = "install-config.yaml".to_owned();
    directory.files.insert(path, config.into_bytes());
    directory.create(Target::Manifests, "4.21.0");
    directory
}

fn object(directory: &Directory, path: &str) -> Value {
    serde_yaml_ng::from_str(&directory.text(path)).unwrap()
}

fn machine_object(directory: &Directory, name: &str) -> Value {
    object(directory, &format!("openshift/99_openshift-{name}.yaml"))
}

#[test]
fn machines_are_spread_over_the_failure_domains_of_their_pool() {
    let directory = manifests(|config| {
        let config = config.replacen("    prismCentral:", DOMAINS, 1);
        config.replacen("  replicas: 3\nnetworking:", WORKERS, 1)
    });
    let uuid = |uuid: &str| json!({ "type": "uuid", "uuid": uuid });
    for (index, domain, element, subnets) in [
        (0, "b", "pe-b", vec!["net-b", "net-c"]),
        (1, "a", "pe-a", vec!["net-a"]),
        (2, "b", "pe-b", vec!["net-b", "net-c"]),
    ] {
        let machine = machine_object(&directory, &format!("cluster-api_master-machines-{index}"));
        let spec = &machine["spec"]["providerSpec"]["value"];
        assert_eq!(spec["failureDomain"]["name"], domain);
        assert_eq!(spec["cluster"], uuid(element));
        let subnets: Vec<Value> = subnets.into_iter().map(uuid).collect();
        assert_eq!(spec["subnets"], json!(subnets));
        assert_eq!(spec["bootType"], "UEFI");
        assert_eq!(spec["memorySize"], "20481Mi");
        assert_eq!(
            spec["image"],
            json!({ "name": "ready-made", "type": "name" })
        );
    }
    // The operator fills in what differs between failure domains.
    let set = machine_object(&directory, "machine-api_master-control-plane-machine-set");
    let template = &set["spec"]["template"]["machines_v1beta1_machine_openshift_io"];
    let wanted = json!({ "nutanix": [{ "name": "b" }, { "name": "a" }], "platform": "Nutanix" });
    assert_eq!(template["failureDomains"], wanted);
    let spec = &template["spec"]["providerSpec"]["value"];
    assert_eq!(spec["cluster"], json!({ "type": "" }));
    assert_eq!(spec["subnets"], json!([]));
    assert_eq!(spec["failureDomain"], Value::Null);

    for (index, replicas, container, image) in
        [(0, 2, "box-b", "image-b"), (1, 1, "box-a", "image-a")]
    {
        let set = machine_object(
            &directory,
            &format!("cluster-api_worker-machineset-{index}"),
        );
        let name = set["metadata"]["name"].as_str().unwrap();
        assert!(name.ends_with(&format!("-worker-{index}")), "{name}");
        assert_eq!(set["spec"]["replicas"], replicas);
        let spec = &set["spec"]["template"]["spec"]["providerSpec"]["value"];
        assert_eq!(spec["project"], uuid("project-1"));
        assert_eq!(spec["gpus"], json!([{ "type": "DeviceID", "deviceID": 7 }]));
        assert_eq!(
            spec["categories"],
            json!([{ "key": "env", "value": "lab" }])
        );
        let disk = json!({
            "diskSize": "10Gi",
            "deviceProperties": { "deviceType": "Disk", "adapterType": "SCSI", "deviceIndex": 1 },
            "storageConfig": { "diskMode": "Flash", "storageContainer": uuid(container) },
            "dataSource": uuid(image),
        });
        assert_eq!(spec["dataDisks"], json!([disk]));
    }
    let infrastructure = object(&directory, "manifests/cluster-infrastructure-02-config.yml");
    let domains = &infrastructure["spec"]["platformSpec"]["nutanix"]["failureDomains"];
    let first = json!({ "cluster": uuid("pe-a"), "name": "a", "subnets": [uuid("net-a")] });
    assert_eq!(domains[0], first);
}

#[test]
fn domains_beyond_the_number_of_workers_get_no_machine_set() {
    let directory = manifests(|config| {
        let config = config.replacen("    prismCentral:", DOMAINS, 1);
        config.replacen(
            "  replicas: 3\nnetworking:",
            "  replicas: 1\nnetworking:",
            1,
        )
    });
    machine_object(&directory, "cluster-api_worker-machineset-0");
    let second = "openshift/99_openshift-cluster-api_worker-machineset-1.yaml";
    assert!(!directory.files.contains_key(second));
}

#[test]
fn the_cloud_provider_gets_its_json_and_no_credentials_reach_the_cluster() {
    let directory = manifests(|config| config);
    let map = object(&directory, "manifests/cloud-provider-config.yaml");
    let text = map["data"]["config"].as_str().unwrap();
    assert!(
        text.starts_with("{\n\t\"prismCentral\": {\n\t\t\"address\": \"prism.example.org\",\n")
    );
    let config: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        config["topologyDiscovery"]["topologyCategories"],
        Value::Null
    );
    assert_eq!(config["enableCustomLabeling"], true);
    for (path, content) in &directory.files {
        if path.starts_with("manifests/") || path.starts_with("openshift/") {
            let content = String::from_utf8_lossy(content);
            assert!(!content.contains("someone"), "{path}");
            assert!(!content.contains("password: secret"), "{path}");
        }
    }
}

#[test]
fn a_cluster_without_virtual_addresses_has_none_in_its_status() {
    let directory = manifests(|config| {
        let config = config.replacen("    apiVIPs: [192.168.111.5]\n", "", 1);
        config.replacen("    ingressVIPs: [192.168.111.4]\n", "", 1)
    });
    let infrastructure = object(&directory, "manifests/cluster-infrastructure-02-config.yml");
    let status = &infrastructure["status"]["platformStatus"];
    assert_eq!(*status, json!({ "type": "Nutanix" }));
}
