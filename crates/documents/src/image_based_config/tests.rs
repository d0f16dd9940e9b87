use std::collections::BTreeSet;

use super::*;
use crate::{
    install_config::{Given, Method, tests::load_with},
    validation::image_based::{authority, golden},
};

const CLUSTER: &str = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: site1}
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
networking:
  machineNetwork: [{cidr: 192.168.10.0/24}]
platform: {none: {}}
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
"#;

const WHOLE: &str = "apiVersion: v1beta1
kind: ImageBasedConfig
metadata: {name: any}
additionalNTPSources: [time.example.com., 192.168.10.9, 'fd00::9']
hostname: node1
releaseRegistry: registry.example.com:5000
cluster_id: 0f8b9d6e-6f0a-4c57-9d5c-6f1f0f3a2b11
infra_id: site1-abcde
nodeLabels: {site: one, example.com/rack: r7}
networkConfig:
  interfaces:
  - {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, address: [{ip: 192.168.10.5, prefix-length: 24}]}}
";

fn network(yaml: &str) -> Result<(), String> {
    match yaml.contains("interfaces") {
        true => Ok(()),
        false => Err("there are no interfaces".to_owned()),
    }
}

fn given() -> Given {
    Given {
        method: Method::ImageBased,
        ..Given::default()
    }
}

fn read(text: &str) -> Result<Loaded, String> {
    let cluster = load_with(CLUSTER, given()).unwrap().config;
    load(FILE, text.as_bytes(), Some(&cluster), &network).map_err(|report| report.to_string())
}

#[test]
fn a_whole_file_is_read_without_a_finding() {
    let Loaded { config, report } = read(WHOLE).unwrap();
    assert_eq!(report.findings(), []);
    assert_eq!(config.node_labels.len(), 2);
    assert_eq!(config.addresses()[0].to_string(), "192.168.10.5");
    let again = serde_json::to_string(&config).unwrap();
    assert_eq!(read(&again).unwrap().config, config);
}

#[test]
fn the_template_is_readable_and_names_what_must_be_changed() {
    let loaded = load(FILE, TEMPLATE.as_bytes(), None, &network).unwrap();
    assert_eq!(loaded.config.hostname, "change-to-hostname");
    assert_eq!(loaded.config.additional_ntp_sources.len(), 2);
}

/// What is written instead of what, where that is reported, and by which rule.
#[rustfmt::skip]
const BROKEN: &[(&str, &str, &str, &str)] = &[
    ("kind: ImageBasedConfig", "kind: ImageBasedInstallationConfig", ":2:7: error", "[kind]"),
    ("kind: ImageBasedConfig", "kind: Other", ":2:7: warning", "[kind]"),
    ("apiVersion: v1beta1", "apiVersion: v2", ":1:13: warning", "[kind]"),
    ("hostname: node1", "hostnames: node1", ":5:1: error", "[unknown-field]"),
    ("192.168.10.9", "'http://time'", ":4:43: error", "[time-sources]"),
    ("hostname: node1", "hostname: localhost", ":5:11: error", "[hostname]"),
    ("hostname: node1", "hostname: Node_1", ":5:11: error", "[hostname]"),
    ("registry.example.com:5000", "registry.example.com/path", ":6:18: error", "[release-registry]"),
    ("0f8b9d6e-6f0a-4c57-9d5c-6f1f0f3a2b11", "one", ":7:13: error", "[cluster-id]"),
    ("site1-abcde", "site_1", ":8:11: error", "[infra-id]"),
    ("site: one", "site: 'one two'", ":9:", "[node-labels]"),
    ("site: one", "kubernetes.io/hostname: one", ":9:", "[node-labels]"),
    ("  interfaces:", "  interface:", ":10:", "[network-config]"),
    ("192.168.10.5", "192.168.11.5", ":10:1: warning", "[node-address]"),
];

#[test]
fn each_rule_broken_once_is_reported_with_place_and_fix() {
    for (from, to, place, rule) in BROKEN {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let found = match read(&text) {
            Err(found) => found,
            Ok(loaded) => loaded.report.to_string(),
        };
        let first = found.lines().next().unwrap_or_default();
        assert!(
            first.contains(place) && first.ends_with(rule),
            "{to}: {place} {rule} expected, but\n{found}"
        );
        assert!(
            found
                .lines()
                .nth(1)
                .unwrap_or_default()
                .starts_with("  help: "),
            "{found}"
        );
    }
}

/// Every message with its fix, as printed: a change of wording changes this file.
#[test]
fn no_rule_is_left_unbroken_and_messages_are_as_recorded() {
    let mut rules: BTreeSet<&str> = rules::RULES.iter().map(|rule| rule.summary.name).collect();
    let cluster = load_with(CLUSTER, given()).unwrap().config;
    let mut shown = String::new();
    for (from, to, _, _) in BROKEN {
        let text = WHOLE.replacen(from, to, 1);
        let report = match load(FILE, text.as_bytes(), Some(&cluster), &network) {
            Err(report) => report,
            Ok(loaded) => loaded.report,
        };
        for finding in report.findings() {
            rules.remove(finding.rule);
        }
        shown.push_str(&report.to_string());
    }
    assert!(rules.is_empty(), "never broken: {rules:?}");
    golden("image_based_config/messages.txt", &shown);
}

/// Changes to the install-config, and the rule of image-based installations they break.
#[rustfmt::skip]
const CLUSTERS: &[(&str, &str, &str)] = &[
    ("platform: {none: {}}", "platform: {external: {platformName: x}}", "[image-based-platform]"),
    ("platform: {none: {}}", "platform: {none: {}}\nfeatureSet: TechPreviewNoUpgrade", "[image-based-features]"),
    ("replicas: 1}", "replicas: 3}", "[image-based-replicas]"),
    ("controlPlane: {name: master, replicas: 1}\n", "", "[image-based-replicas]"),
    ("replicas: 0}", "replicas: 2}", "[image-based-replicas]"),
    ("compute: [{name: worker, replicas: 0}]\n", "", "[image-based-replicas]"),
    ("platform: {none: {}}", "platform: {none: {}}\narbiter: {name: arbiter, replicas: 1}", "[image-based-replicas]"),
    ("networking:", "networking:\n  networkType: Calico", "[image-based-network-type]"),
    ("  machineNetwork: [{cidr: 192.168.10.0/24}]", "  networkType: OVNKubernetes", "[image-based-machine-network]"),
    ("[{cidr: 192.168.10.0/24}]", "[{cidr: 192.168.10.0/24}, {cidr: 192.168.20.0/24}, {cidr: 'fd00::/64'}]", "[image-based-machine-network]"),
    ("[{cidr: 192.168.10.0/24}]", "[{cidr: 192.168.10.0/24}, {cidr: 192.168.20.0/24}]", "[image-based-machine-network]"),
    ("replicas: 1}", "replicas: 1, hyperthreading: Disabled}", "[image-based-ignored]"),
    ("replicas: 1}", "replicas: 1, platform: {}}", "[image-based-ignored]"),
    ("replicas: 0}", "replicas: 0, hyperthreading: Disabled}", "[image-based-ignored]"),
    ("replicas: 0}", "replicas: 0, platform: {}}", "[image-based-ignored]"),
    ("platform: {none: {}}", "platform: {none: {}}\nimageContentSources: [{source: quay.io/a, mirrors: [r.example.com/a]}]", "[image-based-ignored]"),
    ("platform: {none: {}}", "platform: {none: {}}\nproxy: {httpProxy: 'http://p.example.com'}\nadditionalTrustBundle: x", "[image-based-trust-policy]"),
];

/// Changes that break the rules every method has, as far as the reference names them for this one.
#[rustfmt::skip]
const GENERIC: &[(&str, &str, &str)] = &[
    ("apiVersion: v1", "apiVersion: v2", "error: apiVersion"),
    ("baseDomain: example.com\n", "baseDomain: example.com\ncolour: red\n", "[unknown-field]"),
    ("baseDomain: example.com\n", "", "error: baseDomain"),
    ("baseDomain: example.com", "baseDomain: a_b.com", "error: baseDomain"),
    ("baseDomain: example.com", "baseDomain: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc.dddddddddddddddddddddddddddddddddddddddddddddddddddddddddd", "it has 256 characters, at most 253 are allowed"),
    ("{name: site1}", "{name: Site_1}", "error: metadata.name"),
    ("{name: site1}", "{name: a23456789a123456789a123456789a123456789a123456789a12345}", "error: metadata.name"),
    ("platform: {none: {}}", "platform: {none: {}}\nsshKey: none", "error: sshKey"),
    ("platform: {none: {}}", "platform: {none: {}}\nfips: true\nsshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag==", "[ssh-key-fips]"),
    ("192.168.10.0/24", "192.168.10.7/24", "error: networking.machineNetwork[0].cidr"),
    ("  machineNetwork:", "  serviceNetwork: [192.168.0.0/16]\n  machineNetwork:", "error: networking.serviceNetwork"),
    ("  machineNetwork:", "  serviceNetwork: [172.30.0.0/16, 172.31.0.0/16]\n  machineNetwork:", "error: networking.serviceNetwork"),
    ("  machineNetwork:", "  serviceNetwork: [172.30.0.0/16, 'fd02::/112']\n  machineNetwork:", "error: networking."),
    (r#"{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}"#, "{}", "error: pullSecret"),
    ("platform: {none: {}}", "platform: {none: {}}\nproxy: {httpProxy: p.example.com}", "proxy.httpProxy: this is not a whole URL"),
    ("platform: {none: {}}", "platform: {none: {}}\nproxy: {httpProxy: 'https://p.example.com'}", "error: proxy.httpProxy"),
    ("platform: {none: {}}", "platform: {none: {}}\nproxy: {httpProxy: 'http://p.example.com', noProxy: 'a b'}", "error: proxy.noProxy"),
    ("platform: {none: {}}", "platform: {none: {}}\nproxy: {httpProxy: 'http://172.30.0.5:3128'}", "error: proxy.httpProxy"),
    ("platform: {none: {}}", "platform: {none: {}}\nadditionalTrustBundle: none", "error: additionalTrustBundle"),
    ("platform: {none: {}}", concat!("platform: {none: {}}\nadditionalTrustBundle: \"", authority!(), "and a word\""), "there is something behind the last certificate"),
    ("platform: {none: {}}", "platform: {none: {}}\nadditionalTrustBundlePolicy: Never", "error: additionalTrustBundlePolicy"),
    ("platform: {none: {}}", "platform: {none: {}}\nimageDigestSources: [{source: 'quay.io/a:1', mirrors: [r.example.com/a]}]", "error: imageDigestSources"),
    ("platform: {none: {}}", "platform: {none: {}}\ncapabilities: {baselineCapabilitySet: all}", "error: capabilities"),
    ("replicas: 1}", "replicas: 1, architecture: arm64}", "error: "),
];

#[test]
fn rules_of_every_method_hold_for_restored_nodes() {
    for (from, to, words) in GENERIC {
        let text = CLUSTER.replacen(from, to, 1);
        assert_ne!(text, CLUSTER, "{from}");
        let found = load_with(&text, given())
            .map(|_| ())
            .unwrap_err()
            .to_string();
        assert!(
            found.contains(words),
            "{to}: {words} expected, but\n{found}"
        );
        assert!(found.contains("\n  help: "), "{found}");
        assert!(!found.contains("dXNlcj"), "{found}");
    }
}

/// What older files say, and what only looks wrong.
#[test]
fn install_configs_that_the_reference_takes_are_taken() {
    for (from, to) in [
        ("apiVersion: v1", "apiVersion: v1beta4"),
        ("apiVersion: v1", "apiVersion: v1beta3"),
        ("baseDomain: example.com", "baseDomain: example.com."),
        (
            "machineNetwork: [{cidr: 192.168.10.0/24}]",
            "machineCIDR: 192.168.10.0/24",
        ),
        (
            "  machineNetwork:",
            "  serviceCIDR: 172.30.0.0/16\n  machineNetwork:",
        ),
        (
            "  machineNetwork:",
            "  type: OVNKubernetes\n  machineNetwork:",
        ),
        (
            "[{cidr: 192.168.10.0/24}]",
            "[{cidr: 192.168.10.0/24}, {cidr: 'fd00::/64'}]",
        ),
        (
            "platform: {none: {}}",
            "platform: {none: {}}\nproxy: {httpProxy: 'http://p.example.com', noProxy: '*'}",
        ),
    ] {
        let text = CLUSTER.replacen(from, to, 1);
        assert_ne!(text, CLUSTER, "{from}");
        if let Err(report) = load_with(&text, given()) {
            panic!("{to}: {report}");
        }
    }
}

#[test]
fn an_install_config_of_another_topology_is_refused() {
    let mut shown = String::new();
    assert!(load_with(CLUSTER, given()).is_ok());
    assert!(
        load_with(CLUSTER, given())
            .unwrap()
            .written
            .additional_trust_bundle_policy
            .is_none()
    );
    for (from, to, rule) in CLUSTERS {
        let text = CLUSTER.replacen(from, to, 1);
        assert_ne!(text, CLUSTER, "{from}");
        let found = match load_with(&text, given()) {
            Err(report) => report.to_string(),
            Ok(loaded) => loaded.report.to_string(),
        };
        assert!(found.contains(rule), "{to}: {rule} expected, but\n{found}");
        shown.push_str(&found);
        let found = match load_with(&text, Given::default()) {
            Err(report) => report.to_string(),
            Ok(loaded) => loaded.report.to_string(),
        };
        assert!(
            !found.contains("[image-based"),
            "only for restored nodes: {found}"
        );
    }
    golden("install_config/rules/image_based_messages.txt", &shown);
}

#[test]
fn rules_are_about_fields_that_exist() {
    let mut fields = Vec::new();
    DOCUMENT.each_field(&mut |path, _| fields.push(path.replace("[]", "")));
    for summary in (DOCUMENT.rule_summaries)() {
        assert!(
            fields.iter().any(|field| field == summary.path),
            "{summary:?}"
        );
    }
    assert!(DOCUMENT.page().contains("| `nodeLabels` |"));
}
