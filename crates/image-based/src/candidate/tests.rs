use super::*;
use crate::seed::SiteSeed;

fn candidate() -> Candidate {
    Candidate {
        version: json!({"status": {
            "desired": {"version": "4.18.5", "image": "quay.io/ocp/release@sha256:00"},
            "conditions": [
                {"type": "Available", "status": "True"},
                {"type": "Progressing", "status": "False"},
            ],
        }}),
        nodes: vec![json!({"status": {
            "addresses": [
                {"type": "InternalIP", "address": "192.168.1.5"},
                {"type": "Hostname", "address": "seed"},
            ],
            "capacity": {"cpu": "8", "memory": "32Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"architecture": "amd64"},
        }})],
        machine_config: json!({"spec": {"fips": true, "config": {
            "storage": {"files": [{"path": DNSMASQ}]},
            "systemd": {"units": [{
                "name": STORAGE,
                "contents": "[Mount]\nWhere=/var/lib/containers\nWhat=/dev/disk/by-partlabel/var-lib-containers\n",
            }]},
        }}}),
        install_config: json!({
            "baseDomain": "example.com",
            "metadata": {"name": "lab"},
            "networking": {"machineNetwork": [{"cidr": "192.168.1.0/24"}]},
        }),
        proxy: json!({"spec": {"httpProxy": "http://p", "trustedCA": {"name": "user-ca-bundle"}}}),
        network: json!({"status": {
            "clusterNetwork": [{"cidr": "10.128.0.0/14"}],
            "serviceNetwork": ["172.30.0.0/16"],
        }}),
        bundles: BTreeMap::from([("user-ca-bundle".to_owned(), "pem".to_owned())]),
        has_mirrors: false,
        ingress_common_name: "ingress-operator@1".to_owned(),
        pull_secret: json!({"auths": {"quay.io": {"auth": "YTpi"}}}),
        unwanted: vec![("volumes", vec![])],
        namespaces: vec!["default".to_owned()],
        definitions: vec![SEED_GENERATORS.to_owned()],
    }
}

#[test]
fn the_labels_of_the_seed_are_predicted_as_its_own_tool_writes_them() {
    let forecast = candidate().forecast("lab.example.com/seed:1", Some("quay.io/recert:1"));
    assert_eq!(
        forecast,
        json!({
            "image": "lab.example.com/seed:1",
            "architecture": "amd64",
            "format": 4,
            "cluster": {
                "seed_cluster_ocp_version": "4.18.5",
                "base_domain": "example.com",
                "cluster_name": "lab",
                "node_ips": ["192.168.1.5"],
                "release_registry": "quay.io",
                "mirror_registry_configured": false,
                "sno_hostname": "seed",
                "recert_image_pull_spec": "quay.io/recert:1",
                "has_proxy": true,
                "cluster_network_cidr": ["10.128.0.0/14"],
                "service_network_cidr": ["172.30.0.0/16"],
                "has_fips": true,
                "additionalTrustBundle": {
                    "hasUserCaBundle": true,
                    "proxyConfigmapName": "user-ca-bundle",
                },
                "container_storage_mountpoint_target": "/dev/disk/by-partlabel/var-lib-containers",
                "ingress_certificate_cn": "ingress-operator@1",
                "machine_networks": ["192.168.1.0/24"],
            },
        })
    );
    assert!(
        serde_json::from_value::<SiteSeed>(forecast).is_ok(),
        "sites can be compared with it before there is a seed"
    );
    let summary = candidate().summary();
    assert!(summary.contains("8 processors and 32Gi"), "{summary}");
}

/// What is changed, and the words of the finding.
type Broken = (fn(&mut Candidate), &'static str);

#[rustfmt::skip]
const BROKEN: &[Broken] = &[
    (|c| c.version["status"]["conditions"][0]["status"] = json!("False"), "error: the cluster is not available"),
    (|c| c.version["status"]["conditions"][1]["status"] = json!("True"), "error: the cluster is being updated"),
    (|c| c.nodes.push(Value::Null), "error: the cluster has 2 nodes"),
    (|c| c.nodes[0]["status"]["conditions"][0]["status"] = json!("False"), "error: the node is not ready"),
    (|c| c.machine_config = Value::Null, "error: the machine config of the node"),
    (|c| c.machine_config["spec"]["config"]["storage"] = Value::Null, "error: dnsmasq"),
    (|c| c.machine_config["spec"]["config"]["systemd"] = Value::Null, "error: container storage has no partition"),
    (|c| c.machine_config["spec"]["config"]["systemd"]["units"][0]["contents"] = json!("What=/dev/sdb1"), "warning: container storage is mounted from /dev/sdb1"),
    (|c| c.definitions.push(KLUSTERLETS.to_owned()), "error: the cluster belongs to a hub"),
    (|c| c.namespaces.push("open-cluster-management-addon-observability".to_owned()), "error: add-ons of a hub are there: open-cluster-management-addon-observability"),
    (|c| c.unwanted[0].1.push("pv1".to_owned()), "error: the cluster has volumes: pv1"),
    (|c| c.proxy["spec"]["trustedCA"]["name"] = json!("other"), "error: the proxy trusts the config map other"),
    (|c| c.pull_secret = json!({"auths": {}}), "error: the pull secret of the cluster"),
    (|c| c.ingress_common_name.clear(), "error: the cluster has no authority for ingress"),
    (|c| c.definitions.clear(), "warning: the lifecycle agent is not installed"),
];

#[test]
fn everything_that_keeps_a_cluster_from_becoming_a_seed_is_found_at_once() {
    assert_eq!(candidate().check(), Findings::default());
    for (change, words) in BROKEN {
        let mut broken = candidate();
        change(&mut broken);
        let found = broken.check().to_string();
        assert!(found.starts_with(words), "{words}: {found}");
        assert_eq!(found.matches("  help: ").count(), 1, "{words}: {found}");
    }
    let nothing = Candidate::default().check().to_string();
    assert_eq!(nothing.matches("error: ").count(), 5, "{nothing}");
}

#[test]
fn a_seed_is_compared_with_what_was_predicted() {
    let forecast = candidate().forecast("lab.example.com/seed:1", None);
    let mut cluster = forecast["cluster"].clone();
    assert_eq!(differences(&forecast, &cluster), Findings::default());
    // Left out by the tool that writes labels.
    for name in ["mirror_registry_configured", "service_network_cidr"] {
        cluster.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(differences(&forecast, &cluster), Findings::default());
    cluster["cluster_name"] = json!("other");
    let found = differences(&forecast, &cluster).to_string();
    assert!(
        found.contains("cluster_name of the seed is \"other\", and was \"lab\""),
        "{found}"
    );
    assert_eq!(found.matches("warning: ").count(), 1, "{found}");
}
