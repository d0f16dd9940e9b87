use std::sync::LazyLock;

use muster_documents::install_config::{Environment, Given, Method, load};
use muster_image::Iso;
use serde_json::Value;

use super::*;

const CLUSTER: &str = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: site1}
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
networking:
  machineNetwork: [{cidr: 192.168.10.0/24}, {cidr: 'fd00::/64'}]
  serviceNetwork: [172.30.0.0/16]
platform: {none: {}}
sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag== <core>
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
proxy: {httpProxy: 'http://proxy.example.com:3128', noProxy: 'zz.example.com,a.example.com'}
imageDigestSources:
- {source: quay.io/a, mirrors: [registry.example.com/a]}
- {source: quay.io/b, mirrors: [registry.example.com/b], sourcePolicy: NeverContactSource}
"#;

fn cluster(text: &str) -> InstallConfig {
    let mut random = |_: &mut [u8]| {};
    let mut around = Environment::new(&mut random);
    around.given = Given {
        method: Method::ImageBased,
        ..Given::default()
    };
    match load("install-config.yaml", text.as_bytes(), &mut around) {
        Ok(loaded) => loaded.written,
        Err(report) => panic!("{report}"),
    }
}

fn site() -> SiteConfig {
    serde_json::from_value(json!({
        "hostname": "node1",
        "additionalNTPSources": ["time.example.com", "192.168.10.9"],
        "releaseRegistry": "registry.example.com:5000",
        "nodeLabels": { "rack": "7" },
        "networkConfig": { "interfaces": [{ "type": "ethernet", "name": "eno1" }] },
    }))
    .unwrap()
}

fn input<'a>(
    cluster: &'a InstallConfig,
    site: &'a SiteConfig,
    manifests: &'a [Manifest],
) -> Input<'a> {
    Input {
        cluster,
        site,
        manifests,
        now: "2026-11-17T12:00:00Z".parse().unwrap(),
        supplied: BTreeMap::new(),
        kubeadmin: None,
        no_public_time: false,
    }
}

/// Made once: keys take their time.
static MADE: LazyLock<(Site, Vec<u8>)> = LazyLock::new(|| {
    let manifests = [Manifest {
        name: "a.yaml".to_owned(),
        content: b"x".to_vec(),
    }];
    let (cluster, own) = (cluster(CLUSTER), site());
    let made = make(&input(&cluster, &own, &manifests), &Entropy::new([7; 32])).unwrap();
    let bytes = made.image.read_exact("", 0, made.image.len()).unwrap();
    (made, bytes)
});

fn manifest() -> Value {
    let iso = Iso::open(View::bytes(MADE.1.clone())).unwrap();
    let text = iso.small_file("cluster-configuration/manifest.json", 1 << 20);
    serde_json::from_slice(&text.unwrap().unwrap()).unwrap()
}

#[test]
fn the_image_has_the_layout_that_nodes_expect() {
    let iso = Iso::open(View::bytes(MADE.1.clone())).unwrap();
    assert_eq!(iso.label(), "cluster-config");
    assert!(iso.has_rock_ridge() && iso.joliet().is_none());
    let text = iso
        .small_file("extra-manifests/a.yaml", 9)
        .unwrap()
        .unwrap();
    assert_eq!(text, b"x");
    let path = "cluster-configuration/manifests/image-digest-mirror-set.json";
    let set = iso.small_file(path, 1 << 16).unwrap().unwrap();
    let set: Value = serde_json::from_slice(&set).unwrap();
    assert_eq!(set["metadata"]["name"], "image-digest-mirror");
    let mirrors = &set["spec"]["imageDigestMirrors"];
    assert_eq!(
        mirrors[0],
        json!({ "source": "quay.io/a", "mirrors": ["registry.example.com/a"] })
    );
    assert_eq!(mirrors[1]["mirrorSourcePolicy"], "NeverContactSource");
}

#[test]
fn the_manifest_has_every_member_in_the_order_of_the_reference() {
    let manifest = manifest();
    let keys: Vec<&String> = manifest.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "additionalTrustBundle",
            "api_version",
            "base_domain",
            "cluster_id",
            "cluster_name",
            "chrony_config",
            "hostname",
            "infra_id",
            "kubeadmin_password_hash",
            "KubeconfigCryptoRetention",
            "machine_network",
            "machine_networks",
            "raw_nm_state_config",
            "release_registry",
            "ssh_key",
            "proxy",
            "pull_secret",
            "node_labels"
        ]
    );
    assert_eq!(manifest["api_version"], 1);
    assert_eq!(
        manifest["additionalTrustBundle"],
        json!({ "userCaBundle": "", "proxyConfigmapName": "", "proxyConfigmapBundle": "" })
    );
    assert_eq!(
        manifest["machine_networks"],
        json!(["192.168.10.0/24", "fd00::/64"])
    );
    assert_eq!(manifest["machine_network"], "192.168.10.0/24");
    assert_eq!(
        manifest["chrony_config"],
        "\npool 0.rhel.pool.ntp.org iburst\ndriftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\n\
         logdir /var/log/chrony\nserver time.example.com iburst\nserver 192.168.10.9 iburst"
    );
    assert_eq!(
        manifest["raw_nm_state_config"],
        "interfaces:\n- name: eno1\n  type: ethernet\n"
    );
    assert_eq!(
        manifest["proxy"],
        json!({
            "httpProxy": "http://proxy.example.com:3128",
            "noProxy": ".cluster.local,.svc,127.0.0.1,172.30.0.0/16,192.168.10.0/24,a.example.com,\
                        api-int.site1.example.com,fd00::/64,localhost,zz.example.com",
        })
    );
    let raw = String::from_utf8_lossy(&MADE.1);
    assert!(
        raw.contains(r"\u003ccore\u003e"),
        "escaped as the reference escapes"
    );
}

#[test]
fn keys_and_certificates_go_where_nodes_look_for_them() {
    let manifest = manifest();
    let crypto = &manifest["KubeconfigCryptoRetention"];
    let serving = &crypto["KubeAPICrypto"]["ServingCrypto"];
    for key in [
        &serving["localhost_signer_private_key"],
        &serving["service_network_signer_private_key"],
        &serving["loadbalancer_external_signer_private_key"],
        &crypto["IngresssCrypto"]["ingress_ca"],
    ] {
        assert!(
            key.as_str()
                .unwrap()
                .starts_with("-----BEGIN PRIVATE KEY-----")
        );
    }
    let admin = &crypto["KubeAPICrypto"]["ClientAuthCrypto"]["admin_ca_certificate"];
    assert!(
        admin
            .as_str()
            .unwrap()
            .starts_with("-----BEGIN CERTIFICATE-----")
    );
    assert_eq!(
        crypto["IngresssCrypto"]["ingress_certificate_cn"],
        "ingress-operator@1794916800"
    );
    let hash = manifest["kubeadmin_password_hash"].as_str().unwrap();
    assert!(hash.starts_with("$2a$10$") && MADE.0.password.len() == 23);
    assert!(
        MADE.0
            .kubeconfig
            .contains("server: https://api.site1.example.com:6443")
    );
}

#[test]
fn the_same_seed_and_input_give_the_same_bytes() {
    let manifests = [Manifest {
        name: "a.yaml".to_owned(),
        content: b"x".to_vec(),
    }];
    let (cluster, own) = (cluster(CLUSTER), site());
    let again = make(&input(&cluster, &own, &manifests), &Entropy::new([7; 32])).unwrap();
    assert_eq!(
        again.image.read_exact("", 0, again.image.len()).unwrap(),
        MADE.1
    );
    assert_eq!(again.kubeconfig, MADE.0.kubeconfig);
}

#[test]
fn policies_decide_whether_the_proxy_trusts_the_bundle() {
    let names = |policy: Option<TrustBundlePolicy>, with_proxy: bool| {
        let mut cluster = cluster(CLUSTER);
        cluster.additional_trust_bundle = "pem".to_owned();
        cluster.additional_trust_bundle_policy = policy;
        if !with_proxy {
            cluster.proxy = None;
        }
        trust_bundle(&cluster).proxy_configmap_name.to_owned()
    };
    assert_eq!(
        names(None, true),
        "",
        "the reference applies no default here"
    );
    assert_eq!(
        names(Some(TrustBundlePolicy::Always), false),
        "user-ca-bundle"
    );
    assert_eq!(
        names(Some(TrustBundlePolicy::ProxyOnly), true),
        "user-ca-bundle"
    );
    assert_eq!(names(Some(TrustBundlePolicy::ProxyOnly), false), "");
}

#[test]
fn an_asterisk_stays_alone_and_time_servers_may_be_the_only_ones() {
    let mut cluster = cluster(CLUSTER);
    let proxy = Proxy {
        no_proxy: "*".to_owned(),
        ..cluster.proxy.take().unwrap()
    };
    assert_eq!(no_proxy(&cluster, &proxy), "*");
    assert!(!chrony(&["a".to_owned()], true).contains("pool"));
    assert_eq!(chrony(&[], false), "");
}
