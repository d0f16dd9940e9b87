//! Every rule about the inputs of an agent-based installation, broken once in a directory that is
//! otherwise good: the finding names file, line and fix, and says whether the exit code is 3 or 1.

use super::{AGENT_CONFIG, INSTALL_CONFIG, manifest_files, planned, request};
use crate::agent_based::{AgentError, Request, plan, unconfigured};

/// Good configs, one line per thing that a case changes.
const INSTALL: &str = "\
apiVersion: v1
baseDomain: example.com
metadata: {name: lab}
networking:
  machineNetwork: [{cidr: 192.168.111.0/24}]
  clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
  serviceNetwork: [172.30.0.0/16]
  networkType: OVNKubernetes
controlPlane:
  name: master
  architecture: amd64
  replicas: 3
compute:
- name: worker
  architecture: amd64
  replicas: 2
platform:
  none: {}
publish: External
sshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE7hkXfpMC8fFFgOrPPbrXWJkf3b5sTLmRoK4bD5nA3z me@desk
pullSecret: '{\"auths\":{\"quay.io\":{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}'
";

const AGENT: &str = "\
apiVersion: v1beta1
rendezvousIP: 192.168.111.80
additionalNTPSources:
- time.example.com
bootArtifactsBaseURL: http://192.168.111.1/boot
hosts:
- hostname: master-0
  role: master
  rootDeviceHints:
    deviceName: /dev/vda
  interfaces:
  - name: eno1
    macAddress: 52:54:00:aa:00:01
  networkConfig:
    interfaces:
    - name: eno1
      type: ethernet
      state: up
      ipv4:
        enabled: true
        address:
        - ip: 192.168.111.80
          prefix-length: 24
- hostname: worker-0
  role: worker
  interfaces:
  - name: eno1
    macAddress: 52:54:00:aa:00:02
";

const METAL: &str =
    "  baremetal:\n    apiVIPs: [192.168.111.5]\n    ingressVIPs: [192.168.111.4]\n";
const VSPHERE: &str =
    "  vsphere:\n    apiVIPs: [192.168.111.5]\n    ingressVIPs: [192.168.111.4]\n";
const NUTANIX: &str = "  nutanix:
    apiVIPs: [192.168.111.5]
    ingressVIPs: [192.168.111.4]
    prismCentral: {endpoint: {address: pc.example.com, port: 9440}, username: a, password: hush}
    prismElements: [{uuid: pe-1, endpoint: {address: 10.9.0.2, port: 9440}}]
    subnetUUIDs: [net-1]
";

/// What makes a finding come with code 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// The install-config cannot be read.
    Three,
    One,
    /// A warning: the image is made.
    Zero,
}
use Code::{One, Three, Zero};

/// File, the platform in place of `none`, what is written instead of what, the rule, and the code. The
/// finding must stand where the new text begins; a number says otherwise.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Code,
    Option<usize>,
);

const IC: &str = INSTALL_CONFIG;
const AC: &str = AGENT_CONFIG;
const NONE: &str = "  none: {}\n";

#[rustfmt::skip]
const CASES: &[Case] = &[
    // agent-config.yaml: its fields.
    (AC, NONE, "apiVersion: v1beta1", "apiVersion: v2", "api-version", One, None),
    (AC, NONE, "apiVersion: v1beta1\n", "kind: AgentConfig\n", "api-version", One, None),
    (AC, NONE, "rendezvousIP: 192.168.111.80", "rendezvousIP: node-0", "type", One, None),
    (AC, NONE, "- time.example.com", "- https://time", "time-sources", One, None),
    (AC, NONE, "http://192.168.111.1/boot", "192.168.111.1/boot", "artifacts-url", One, None),
    (AC, NONE, "bootArtifactsBaseURL: http://192.168.111.1/boot", "minimalISO: true", "minimal-image", One, None),
    (AC, NONE, "hosts:", "machines:", "unknown-field", One, None),
    // Its hosts.
    (AC, NONE, "role: worker", "role: infra", "allowed-word", One, None),
    (AC, NONE, "  interfaces:\n  - name: eno1\n    macAddress: 52:54:00:aa:00:02\n", "", "host-cards", One, Some(24)),
    (AC, NONE, "macAddress: 52:54:00:aa:00:02", "macAddress: ''", "host-cards", One, None),
    (AC, NONE, "macAddress: 52:54:00:aa:00:02", "macAddress: 52:54:00:aa:00", "host-cards", One, None),
    (AC, NONE, "macAddress: 52:54:00:aa:00:02", "macAddress: 01:54:00:aa:00:02", "host-cards", One, None),
    (AC, NONE, "macAddress: 52:54:00:aa:00:02", "macAddress: 52:54:00:AA:00:01", "host-cards", One, None),
    (AC, NONE, "/dev/vda", "vda", "root-device", One, None),
    (AC, NONE, "/dev/vda", "/dev/disk/by-id/wwn-1", "root-device", One, None),
    (AC, NONE, "deviceName: /dev/vda", "wwnWithExtension: '0x5'", "wwn-extension", One, None),
    (AC, NONE, "deviceName: /dev/vda", "wwnVendorExtension: '0x5'", "wwn-extension", One, None),
    (AC, NONE, "role: master", "role: worker", "rendezvous-host", One, Some(2)),
    (AC, NONE, "  - name: eno1\n    macAddress: 52:54:00:aa:00:01", "  - name: eno9\n    macAddress: 52:54:00:aa:00:01", "card-names", Zero, None),
    (AC, NONE, "hostname: worker-0", "hostname: Worker_0", "host-names", One, None),
    (AC, NONE, "hostname: worker-0", "hostname: master-0", "host-names", One, None),
    (AC, NONE, "type: ethernet", "type: etherbunny", "nmstate", One, Some(14)),
    (AC, NONE, "rendezvousIP: 192.168.111.80", "rendezvousIP: 10.9.9.9", "rendezvous-network", One, None),
    (AC, METAL, "ip: 192.168.111.80", "ip: 192.168.111.5", "host-addresses", One, Some(14)),
    (AC, METAL, "rendezvousIP: 192.168.111.80", "rendezvousIP: 192.168.111.4", "rendezvous-address", One, None),
    (IC, NONE, "  replicas: 3", "  replicas: 1", "agent-single-node", One, Some(16)),
    (AC, NONE, "- hostname: worker-0\n  role: worker", "- hostname: worker-0\n  role: arbiter", "host-count", One, Some(6)),
    // install-config.yaml: its form.
    (IC, NONE, "baseDomain: example.com", "baseDomian: example.com", "unknown-field", Three, None),
    (IC, NONE, "baseDomain: example.com", "baseDomain: [", "yaml", Three, Some(3)),
    (IC, NONE, "  replicas: 3", "  replicas: three", "type", Three, None),
    (IC, NONE, "apiVersion: v1\n", "apiVersion: v2\n", "api-version", One, None),
    // Platforms and shapes.
    (IC, "  aws: {region: here}\n", "", "", "platform-offered", One, Some(18)),
    (IC, METAL, "architecture: amd64\n  replicas: 3", "architecture: s390x\n  replicas: 3", "agent-architecture", One, Some(17)),
    (IC, NONE, "architecture: amd64\n  replicas: 3", "architecture: sparc\n  replicas: 3", "allowed-word", One, None),
    (IC, NONE, "architecture: amd64\n  replicas: 2", "architecture: arm64\n  replicas: 2", "architectures", One, None),
    (IC, NONE, "  replicas: 3", "  replicas: 6", "agent-replicas", One, None),
    (IC, NONE, "  replicas: 3", "  replicas: 0", "agent-replicas", One, None),
    (IC, METAL, "  replicas: 3\ncompute:\n- name: worker\n  architecture: amd64\n  replicas: 2", "  replicas: 1\ncompute:\n- name: worker\n  architecture: amd64\n  replicas: 0", "agent-single-node", One, Some(17)),
    (IC, NONE, "  replicas: 3", "  replicas: 2", "fencing-count", One, Some(9)),
    (IC, METAL, "  replicas: 3\n", "  replicas: 2\narbiter: {name: arbiter, replicas: 2}\n", "agent-replicas", One, Some(13)),
    (IC, VSPHERE, "publish: External", "arbiter: {name: arbiter, replicas: 1}", "arbiter", One, None),
    (IC, "  external: {platformName: oci}\n", "", "", "agent-oci", One, Some(18)),
    // Networks.
    (IC, NONE, "192.168.111.0/24", "192.168.111.1/24", "network-address", One, None),
    (IC, NONE, "hostPrefix: 23", "hostPrefix: 13", "host-prefix", One, None),
    (IC, NONE, "172.30.0.0/16", "192.168.111.0/24", "networks-apart", One, None),
    (IC, NONE, "networkType: OVNKubernetes", "networkType: OpenShiftSDN", "network-type", One, None),
    (IC, METAL, "apiVIPs: [192.168.111.5]", "apiVIPs: []", "vip-count", One, None),
    (IC, METAL, "apiVIPs: [192.168.111.5]", "apiVIPs: [192.168.111.4]", "vips-apart", One, Some(20)),
    (IC, METAL, "apiVIPs: [192.168.111.5]", "apiVIPs: [192.168.112.5]", "vip-in-machine-network", One, None),
    (IC, VSPHERE, "apiVIPs: [192.168.111.5]", "apiVIPs: []", "vip-count", One, None),
    (IC, NUTANIX, "username: a, password: hush", "username: a", "prism-central", One, None),
    (IC, NUTANIX, "subnetUUIDs: [net-1]", "subnetUUIDs: []", "nutanix-subnets", One, None),
    (IC, NUTANIX, "prismElements: [{uuid: pe-1, ", "prismElements: [{uuid: '', ", "prism-elements", One, None),
    // Users, names, registries.
    (IC, NONE, "sshKey: ssh-ed25519 AAAA", "sshKey: ssh-ed25519 BBBB", "ssh-key", One, None),
    (IC, NONE, "{\"auths\":", "{\"oaths\":", "pull-secret", One, None),
    (IC, NONE, "dXNlcjpwYXNzd29yZA==", "bm9ib2R5", "agent-credentials", One, None),
    (IC, NONE, "metadata: {name: lab}", "metadata: {name: LAB}", "cluster-name", One, None),
    (IC, METAL, "metadata: {name: lab}", "metadata: {name: l.ab}", "cluster-name", One, None),
    (IC, NONE, "baseDomain: example.com", "baseDomain: example_com", "base-domain", One, None),
    (IC, NONE, "publish: External", "proxy: {noProxy: lab}", "proxy-present", One, None),
    (IC, NONE, "publish: External", "proxy: {httpProxy: 'ftp://p:1'}", "proxy-url", One, None),
    (IC, NONE, "publish: External", "publish: Internal", "publish", One, None),
    (IC, NONE, "publish: External", "featureGates: [A=true]", "feature-gates", One, None),
    (IC, NONE, "publish: External", "featureSet: Everything", "allowed-word", One, None),
    (IC, METAL, "publish: External", "capabilities: {baselineCapabilitySet: None}", "capability-needs", One, None),
    (IC, NONE, "publish: External", "imageDigestSources: [{source: 'quay.io/a:b', mirrors: [quay.io/c]}]", "mirror-names", One, None),
    // What has no effect.
    (IC, NONE, "publish: External", "bootstrapInPlace: {installationDisk: /dev/sda}", "agent-ignored", Zero, None),
    (IC, METAL, "publish: External", "credentialsMode: Manual", "agent-ignored", One, None),
];

fn directory(case: &Case) -> ([(&'static str, String); 2], usize) {
    let (file, platform, from, to, ..) = case;
    let mut line = 0;
    let mut written = |name: &'static str, text: &str| {
        let text = text.replacen(NONE, platform, 1);
        if name != *file || from.is_empty() {
            return (name, text);
        }
        let start = text
            .find(from)
            .unwrap_or_else(|| panic!("{case:?} changes nothing"));
        let same = from
            .bytes()
            .zip(to.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        line = text[..start + same].matches('\n').count() + 1;
        (name, text.replacen(from, to, 1))
    };
    let files = [written(IC, INSTALL), written(AC, AGENT)];
    (files, line)
}

#[test]
fn every_rule_is_reported_with_file_line_fix_and_code() {
    let mut wrong = Vec::new();
    for case in CASES {
        let (files, changed) = directory(case);
        let (file, .., rule, code, at) = *case;
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, &**text)).collect();
        let (reports, found) = match plan(&request(&files)) {
            Ok(planned) => (planned.reports, Zero),
            Err(AgentError::Findings {
                reports,
                is_unparsable: true,
            }) => (reports, Three),
            Err(AgentError::Findings { reports, .. }) => (reports, One),
            Err(error) => panic!("{case:?}: {error}"),
        };
        let all: String = reports.iter().map(ToString::to_string).collect();
        let line = at.unwrap_or(changed);
        let place = format!("{file}:{line}:");
        let tag = format!("[{rule}]");
        let is_there = all
            .lines()
            .any(|text| text.starts_with(&place) && text.ends_with(&tag));
        let has_fix = all.matches("\n  help: ").count() == all.lines().count() / 2;
        if !is_there || !has_fix || found != code {
            wrong.push(format!(
                "{case:?}\n{place} {tag} {code:?}, but {found:?}:\n{all}"
            ));
        }
        assert!(
            !all.contains("dXNlcjpw") && !all.contains("hush"),
            "secrets: {all}"
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The same for files that are written by hand or edited between two commands.
#[test]
fn hand_written_files_are_reported_with_file_and_line() {
    let good = planned(&[(IC, &INSTALL.replacen(NONE, METAL, 1)), (AC, AGENT)]);
    let files = manifest_files(&good);
    #[rustfmt::skip]
    let cases: &[(&str, &str, &str, &str)] = &[
        ("cluster-manifests/agent-cluster-install.yaml", "platformType: BareMetal", "platformType: Aws", "platform-type"),
        ("cluster-manifests/agent-cluster-install.yaml", "platformType: BareMetal", "platformTipe: BareMetal", "unknown-field"),
        ("cluster-manifests/agent-cluster-install.yaml", "hostPrefix: 23", "hostPrefix: 27", "host-prefix"),
        ("cluster-manifests/agent-cluster-install.yaml", "controlPlaneAgents: 3", "controlPlaneAgents: 0", "control-plane"),
        ("cluster-manifests/cluster-deployment.yaml", "baseDomain: example.com", "baseDomain: example_com", "base-domain"),
        ("cluster-manifests/cluster-image-set.yaml", "ocp-release:4.20.3", "ocp-release:4.20.2", "release-image"),
        ("cluster-manifests/infraenv.yaml", "cpuArchitecture: x86_64", "cpuArchitecture: vax", "architecture"),
        ("cluster-manifests/nmstateconfig.yaml", "macAddress: 52:54:00:aa:00:01", "macAddress: 52-54-00-aa-00-01", "network-cards"),
        ("cluster-manifests/nmstateconfig.yaml", "infraenvs.agent-install.openshift.io: lab", "infraenvs.agent-install.openshift.io: other", "network-labels"),
        ("cluster-manifests/pull-secret.yaml", "auths", "oaths", "pull-secret"),
        ("mirror/registries.conf", "unqualified-search-registries = []", "unqualified-search-registries = [", "toml"),
        ("openshift/mine.yaml", "kind: ConfigMap", "kine: ConfigMap", "manifest"),
        ("openshift/mine.yaml", "kind: ConfigMap", "kind: [", "manifest"),
    ];
    for (name, from, to, rule) in cases {
        let mut inputs: Vec<(String, String)> = files
            .iter()
            .map(|file| (file.path.clone(), file.text()))
            .collect();
        let mine = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n";
        inputs.push(("openshift/mine.yaml".to_owned(), mine.to_owned()));
        inputs.push((AC.to_owned(), AGENT.to_owned()));
        let changed = inputs.iter_mut().find(|(path, _)| path == name).unwrap();
        assert!(
            changed.1.contains(from),
            "{from} is in {name}:\n{}",
            changed.1
        );
        changed.1 = changed.1.replacen(from, to, 1);
        let inputs: Vec<(&str, &str)> = inputs.iter().map(|(a, b)| (&**a, &**b)).collect();
        let error = plan(&request(&inputs)).unwrap_err();
        let AgentError::Findings {
            reports,
            is_unparsable: false,
        } = &error
        else {
            panic!("{name} {rule}: {error}");
        };
        let all: String = reports.iter().map(ToString::to_string).collect();
        let short = name.rsplit('/').next().unwrap();
        let is_there = all.lines().any(|line| {
            line.contains(&format!("{short}:")) && line.ends_with(&format!("[{rule}]"))
        });
        assert!(
            is_there && all.contains("  help: "),
            "{name} {rule}:\n{all}"
        );
    }
}

/// The inputs of an image whose cluster is not known yet.
#[test]
fn an_unconfigured_image_needs_two_manifests_and_takes_one_field() {
    let good = planned(&[(IC, &INSTALL.replacen(NONE, METAL, 1)), (AC, AGENT)]);
    let needed = |name: &str| {
        let files = manifest_files(&good).into_iter();
        let mut files = files.filter(|file| file.path.ends_with(name));
        let file = files.next().unwrap();
        (file.path.clone(), file.content)
    };
    let directory = |agent: Option<&str>, names: &[&str]| -> Request<'static> {
        let mut request = request(&[]);
        request.on_disk = names.iter().map(|name| needed(name)).collect();
        if let Some(agent) = agent {
            let agent = agent.as_bytes().to_vec();
            request.on_disk.insert(AC.to_owned(), agent);
        }
        request
    };
    let both = &["infraenv.yaml", "pull-secret.yaml"];
    let alone = "apiVersion: v1beta1\nrendezvousIP: 192.168.111.80\n";
    assert!(unconfigured(&directory(None, both)).is_ok());
    assert!(unconfigured(&directory(Some(alone), both)).is_ok());
    let refused = |request: &Request<'_>| match unconfigured(request).unwrap_err() {
        AgentError::Findings { reports, .. } => {
            reports.iter().map(ToString::to_string).collect::<String>()
        }
        error => panic!("{error}"),
    };
    for (missing, left) in [("infraenv.yaml", both[1]), ("pull-secret.yaml", both[0])] {
        let report = refused(&directory(None, &[left]));
        assert!(
            report.contains(&format!("{missing}:1:1: error")),
            "{report}"
        );
    }
    for more in [
        "additionalNTPSources: [time.lab]",
        "bootArtifactsBaseURL: http://lab/",
        "minimalISO: true\nbootArtifactsBaseURL: http://lab/",
        "hosts:\n- interfaces: [{name: a, macAddress: '52:54:00:00:00:01'}]",
    ] {
        let report = refused(&directory(Some(&format!("{alone}{more}\n")), both));
        let place = "agent-config.yaml:3:";
        assert!(
            report.contains(place) && report.contains("[unconfigured]"),
            "{report}"
        );
    }
}
