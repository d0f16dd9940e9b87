use std::collections::BTreeSet;

use super::*;
use crate::validation::image_based::{authority, golden};

const PULL_SECRET: &str = r#"'{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'"#;

const WHOLE: &str = r#"apiVersion: v1beta1
kind: ImageBasedInstallationConfig
metadata: {name: any}
seedImage: registry.example.com:5000/seed@sha256:0000000000000000000000000000000000000000000000000000000000000000
seedVersion: 4.18.5
installationDisk: /dev/disk/by-id/wwn-0x5000c500a0b1c2d3
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGpKaGdqZ2ZkZ2ZqZ2hqZmdoamZnaGpmZ2hqZmdoag== core
extraPartitionStart: -50G
extraPartitionLabel: var-lib-containers
imageDigestSources: [{source: quay.io/seed, mirrors: [registry.example.com:5000/seed], sourcePolicy: NeverContactSource}]
proxy: {httpProxy: 'http://proxy.example.com:3128', httpsProxy: 'https://proxy.example.com', noProxy: 'a.b, .example.com,10.0.0.0/8'}
coreosInstallerArgs: [--append-karg, 'console=ttyS0']
architecture: arm64
ignitionConfigOverride: '{"ignition":{"version":"3.2.0"}}'
networkConfig: {interfaces: [{name: eno1}]}
shutdown: true
skipDiskCleanup: true
releaseRegistry: registry.example.com:5000
precacheBestEffort: true
precacheDisabled: false
progressURL: http://192.168.10.5:8080/p
extraPartitionNumber: 6
processors: 8
"#;

fn network(yaml: &str) -> Result<(), String> {
    match yaml.contains("interfaces") {
        true => Ok(()),
        false => Err("there are no interfaces".to_owned()),
    }
}

fn ignition(text: &str) -> Result<(), String> {
    match text.contains("3.2.0") {
        true => Ok(()),
        false => Err("the version is another".to_owned()),
    }
}

const LOOKUPS: Lookups<'static> = Lookups {
    network: &network,
    ignition: &ignition,
};

fn read(text: &str) -> Result<Loaded, String> {
    load(FILE, text.as_bytes(), LOOKUPS).map_err(|report| report.to_string())
}

#[test]
fn a_whole_file_is_read_without_a_finding() {
    let Loaded { config, report } = read(WHOLE).unwrap();
    assert_eq!(report.findings(), []);
    assert_eq!(config.partition_number(), 6);
    assert!(config.shutdown && config.skip_disk_cleanup);
    let again = serde_json::to_string(&config).unwrap();
    assert_eq!(read(&again).unwrap().config, config);
    assert!(
        !format!("{config:?}").contains("dXNlcj"),
        "the pull secret is hidden"
    );
}

#[test]
fn what_is_left_out_has_the_defaults_of_the_reference() {
    let text = format!(
        "seedImage: quay.io/a/b:1\nseedVersion: 4.16.0\ninstallationDisk: /dev/vda\npullSecret: {PULL_SECRET}\n"
    );
    let config = read(&text).unwrap().config;
    assert_eq!(config.architecture(), "amd64");
    assert_eq!(config.extra_partition_start, "-40G");
    assert_eq!(
        (config.partition_number(), config.partition_label()),
        (5, "var-lib-containers")
    );
    let zero = read(&format!(
        "{text}extraPartitionNumber: 0\nextraPartitionLabel: ''\n"
    ));
    let zero = zero.unwrap().config;
    assert_eq!(
        (zero.extra_partition_number, &*zero.extra_partition_label),
        (0, "")
    );
    assert_eq!(
        (zero.partition_number(), zero.partition_label()),
        (5, "var-lib-containers")
    );
}

#[test]
fn the_template_lacks_nothing_but_a_pull_secret() {
    let found = read(TEMPLATE).unwrap_err();
    assert_eq!(found.matches(" error: ").count(), 1, "{found}");
    assert!(found.contains("[pull-secret]"), "{found}");
    let text = TEMPLATE.replace("'<your-pull-secret>'", PULL_SECRET);
    assert_eq!(read(&text).unwrap().report.findings(), []);
}

/// What is written instead of what, where that is reported, and by which rule.
#[rustfmt::skip]
const BROKEN: &[(&str, &str, &str, &str)] = &[
    ("kind: ImageBasedInstallationConfig", "kind: ImageBasedConfig", ":2:7: error", "[kind]"),
    ("kind: ImageBasedInstallationConfig", "kind: Other", ":2:7: warning", "[kind]"),
    ("apiVersion: v1beta1", "apiVersion: v1", ":1:13: warning", "[kind]"),
    ("shutdown: true", "shutdowns: true", ":17:1: error", "[unknown-field]"),
    ("shutdown: true", "shutdown: true\nshutdown: false", ":18:", "[duplicate-key]"),
    (r#"'{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'"#, "''", ":7:", "[pull-secret]"),
    (r#"'{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'"#, "hidden-word", ":7:", "[pull-secret]"),
    (r#"{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}"#, "{}", ":7:", "[pull-secret]"),
    (r#""auth":"dXNlcjpwYXNzd29yZA=="}"#, r#""user":"hidden-word"}"#, ":7:", "[pull-secret]"),
    ("sshKey: ssh-ed25519", "sshKey: ssh-none", ":8:9: error", "[ssh-key]"),
    ("sshKey: ssh-ed25519", "sshKey: '-----BEGIN OPENSSH PRIVATE KEY-----' #", ":8:9: error", "[ssh-key]"),
    ("seedImage: registry", "seedImage: '' # registry", ":4:12: error", "[seed-image]"),
    ("seedImage: registry.example.com:5000/seed", "seedImages: x\nseedImage: ''\n#", ":4:1: error", "[unknown-field]"),
    ("registry.example.com:5000/seed@", "https://registry.example.com:5000/seed@", ":4:12: error", "[seed-image]"),
    ("seedImage: registry.example.com:5000/", "seedImage: ", ":4:12: error", "[seed-image]"),
    ("seed@sha256:0000000000000000000000000000000000000000000000000000000000000000", "seed:1", ":4:12: warning", "[seed-image]"),
    ("seedVersion: 4.18.5", "seedVersion: ''", ":5:", "[seed-version]"),
    ("seedVersion: 4.18.5", "seedVersion: latest", ":5:14: warning", "[seed-version]"),
    ("installationDisk: /dev/disk/by-id/wwn-0x5000c500a0b1c2d3", "installationDisk: ''", ":6:", "[installation-disk]"),
    ("/dev/disk/by-id/wwn-0x5000c500a0b1c2d3", "sda", ":6:19: error", "[installation-disk]"),
    ("extraPartitionStart: -50G", "extraPartitionStart: ''", ":9:", "[partition-start]"),
    ("extraPartitionStart: -50G", "extraPartitionStart: -50Gb", ":9:22: error", "[partition-start]"),
    ("extraPartitionStart: -50G", "extraPartitionStart: -50g", ":9:22: error", "[partition-start]"),
    ("extraPartitionStart: -50G", "extraPartitionStart: -1P", ":9:22: warning", "[partition-start]"),
    ("extraPartitionLabel: var-lib-containers", "extraPartitionLabel: 'a b'", ":10:22: error", "[partition-label]"),
    ("architecture: arm64", "architecture: aarch64", ":14:15: error", "[architecture]"),
    ("architecture: arm64", "architecture: s390x", ":14:15: error", "[architecture]"),
    ("architecture: arm64", "additionalTrustBundle: \"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----\\n\"", ":14:1: error", "[trust-bundle]"),
    ("architecture: arm64", "additionalTrustBundle: no certificate", ":14:24: error", "[trust-bundle]"),
    ("architecture: arm64", concat!("additionalTrustBundle: \"", authority!(), "and a word\""), ":14:", "[trust-bundle]"),
    ("networkConfig: {interfaces: [{name: eno1}]}", "networkConfig: {}", ":16:", "[network-config]"),
    ("source: quay.io/seed", "source: quay.io/seed:tag", ":11:31: error", "[mirror-names]"),
    ("[registry.example.com:5000/seed]", "['http://registry/seed']", ":11:", "[mirror-names]"),
    ("{httpProxy: 'http://proxy.example.com:3128', httpsProxy: 'https://proxy.example.com', noProxy", "{noProxy", ":12:", "[proxy-present]"),
    ("'http://proxy.example.com:3128'", "'https://proxy.example.com:3128'", ":12:20: error", "[proxy-url]"),
    ("'http://proxy.example.com:3128'", "proxy.example.com", ":12:20: error", "[proxy-url]"),
    ("'https://proxy.example.com'", "proxy.example.com", ":12:", "[proxy-url]"),
    ("'https://proxy.example.com'", "'ftp://proxy.example.com'", ":12:", "[proxy-url]"),
    (".example.com,10", "*.example.com,10", ":12:", "[no-proxy]"),
    ("--append-karg", "--ignition-file", ":13:23: error", "[installer-arguments]"),
    ("--append-karg, 'console=ttyS0'", "'--append-karg=console=ttyS0'", ":13:23: error", "[installer-arguments]"),
    ("'console=ttyS0'", "'a b'", ":13:38: error", "[installer-arguments]"),
    (", 'console=ttyS0'", "", ":13:23: error", "[installer-arguments]"),
    (r#"{"ignition":{"version":"3.2.0"}}"#, r#"{"ignition":{"version":"3.4.0"}}"#, ":15:", "[ignition-override]"),
    ("http://192.168.10.5:8080/p", "192.168.10.5:8080", ":22:", "[progress-url]"),
    ("coreosInstallerArgs: [--append-karg, 'console=ttyS0']", "coreosInstallerArgs: [--save-partindex, '6']\n#", ":13:", ""),
    ("extraPartitionNumber: 6", "extraPartitionNumber: -1", ":23:", "[type]"),
    ("processors: 8", "processors: -1", ":24:13: error", "[type]"),
    ("'console=ttyS0']", "'console=ttyS0', --save-partlabel, data]\n#", ":13:", ""),
];

/// What the reference accepts is accepted, however odd it looks.
#[rustfmt::skip]
const ACCEPTED: &[(&str, &str)] = &[
    ("extraPartitionStart: -50G", "extraPartitionStart: 0"),
    ("extraPartitionStart: -50G", "extraPartitionStart: +5T"),
    ("extraPartitionStart: -50G", "extraPartitionStart: 2048K"),
    ("noProxy: 'a.b, .example.com,10.0.0.0/8'", "noProxy: '*'"),
    ("noProxy: 'a.b, .example.com,10.0.0.0/8'", "noProxy: 'fd00::/8,192.168.1.1,example.com.'"),
    ("source: quay.io/seed", "source: 'localhost:5000'"),
    ("source: quay.io/seed", "source: '192.168.1.5:5000'"),
    ("'console=ttyS0'", "'@!#$%*()_+,-./:;<=\"{}[]'"),
    ("architecture: arm64", "architecture: ''"),
    ("architecture: arm64", concat!("additionalTrustBundle: \"", authority!(), "\"")),
    ("apiVersion: v1beta1\nkind: ImageBasedInstallationConfig\n", ""),
];

#[test]
fn what_the_reference_accepts_is_accepted() {
    for (from, to) in ACCEPTED {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let read = read(&text);
        assert!(read.is_ok(), "{to}: {}", read.unwrap_err());
    }
}

/// Every message with its fix, as printed: a change of wording changes this file.
#[test]
fn no_rule_is_left_unbroken_and_messages_are_as_recorded() {
    let mut rules: BTreeSet<&str> = rules::RULES.iter().map(|rule| rule.summary.name).collect();
    let mut shown = String::new();
    for (from, to, _, _) in BROKEN {
        let report = match load(FILE, WHOLE.replacen(from, to, 1).as_bytes(), LOOKUPS) {
            Err(report) => report,
            Ok(loaded) => loaded.report,
        };
        for finding in report.findings() {
            rules.remove(finding.rule);
        }
        shown.push_str(&report.to_string());
    }
    rules.remove("partition-number"); // broken by `kept_partitions_need_a_position_for_the_new_one`
    assert!(rules.is_empty(), "never broken: {rules:?}");
    golden("image_based_installation_config/messages.txt", &shown);
}

#[test]
fn each_rule_broken_once_is_reported_with_place_and_fix() {
    for (from, to, place, rule) in BROKEN {
        let text = WHOLE.replacen(from, to, 1);
        assert_ne!(text, WHOLE, "{from}");
        let found = match read(&text) {
            Err(found) => found,
            Ok(loaded) => loaded.report.to_string(),
        };
        assert!(!found.contains("hidden-word"), "{found}");
        if rule.is_empty() {
            assert_eq!(found, "", "{to}");
            continue;
        }
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

#[test]
fn kept_partitions_need_a_position_for_the_new_one() {
    let text = WHOLE
        .replace("--append-karg, 'console=ttyS0'", "--save-partlabel, data")
        .replace("extraPartitionNumber: 6\n", "");
    let found = read(&text).unwrap().report.to_string();
    assert!(found.contains("warning: extraPartitionNumber"), "{found}");
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
    assert!(
        DOCUMENT
            .page()
            .contains("| `imageDigestSources[].source` |")
    );
}
