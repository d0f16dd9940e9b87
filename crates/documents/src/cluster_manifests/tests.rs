use std::collections::BTreeMap;

use super::{Expected, Loaded, Purpose, file, load, render};
use crate::findings::Severity;

const ACI: &str = "\
apiVersion: extensions.hive.openshift.io/v1beta1
kind: AgentClusterInstall
metadata:
  name: lab
  namespace: lab
  creationTimestamp: null
  annotations:
    agent-install.openshift.io/install-config-overrides: '{\"fips\":true}'
spec:
  imageSetRef: {name: openshift-4.19}
  clusterDeploymentRef: {name: lab}
  networking:
    machineNetwork: [{cidr: 192.168.111.0/24}]
    clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]
    serviceNetwork: [172.30.0.0/16]
  sshPublicKey: ssh-ed25519 AAAA
  provisionRequirements: {controlPlaneAgents: 3, workerAgents: 2}
  platformType: baremetal
  apiVIP: 192.168.111.5
  ingressVips: [192.168.111.4]
  diskEncryption: {enableOn: masters, mode: tpmv2}
status: {conditions: []}
";
const CD: &str = "\
apiVersion: hive.openshift.io/v1
kind: ClusterDeployment
metadata: {name: lab, namespace: lab}
spec:
  clusterName: lab
  baseDomain: example.com
  platform: {agentBareMetal: {agentSelector: {}}}
  pullSecretRef: {name: lab-pull-secret}
  clusterInstallRef: {group: extensions.hive.openshift.io, version: v1beta1, kind: AgentClusterInstall, name: lab}
";
const CIS: &str = "\
apiVersion: hive.openshift.io/v1
kind: ClusterImageSet
metadata: {name: openshift-4.19}
spec: {releaseImage: 'quay.io/x/y:4.19.3-x86_64'}
";
const IE: &str = "\
apiVersion: agent-install.openshift.io/v1beta1
kind: InfraEnv
metadata: {name: lab, namespace: lab}
spec:
  clusterRef: {name: lab, namespace: lab}
  cpuArchitecture: amd64
  pullSecretRef: {name: lab-pull-secret}
  sshAuthorizedKey: ssh-ed25519 AAAA
  nmStateConfigLabelSelector:
    matchLabels: {lab-network: 'yes'}
";
const NSC: &str = "\
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: one, labels: {lab-network: 'yes'}}
spec:
  interfaces: [{name: eno1, macAddress: '52:54:00:00:00:01'}]
  config: {interfaces: [{name: eno1, type: ethernet}]}
---
apiVersion: agent-install.openshift.io/v1beta1
kind: NMStateConfig
metadata: {name: two, labels: {lab-network: 'yes'}}
spec:
  interfaces: [{name: eno1, macAddress: '52:54:00:00:00:02'}]
  config: {interfaces: [{name: eno1, type: ethernet}]}
---
";
const PS: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: lab-pull-secret, namespace: lab}
type: kubernetes.io/dockerconfigjson
stringData:
  .dockerconfigjson: '{\"auths\":{\"quay.io\":{\"auth\":\"c2VjcmV0OndvcmQ=\",\"email\":\"a@b.c\"}}}'
";

const ALL: &[(&str, &str)] = &[
    (file::AGENT_CLUSTER_INSTALL, ACI),
    (file::CLUSTER_DEPLOYMENT, CD),
    (file::CLUSTER_IMAGE_SET, CIS),
    (file::INFRA_ENV, IE),
    (file::NM_STATE_CONFIG, NSC),
    (file::PULL_SECRET, PS),
];

fn folder(changed: &[(&str, &str, &str)]) -> BTreeMap<String, Vec<u8>> {
    let text = |name: &str, text: &str| {
        let changes = changed.iter().filter(|(file, ..)| *file == name);
        changes.fold(text.to_owned(), |text, (_, from, to)| {
            assert!(text.contains(from), "{from} is in {name}");
            text.replacen(from, to, 1)
        })
    };
    ALL.iter()
        .map(|(name, content)| ((*name).to_owned(), text(name, content).into_bytes()))
        .filter(|(_, content)| !content.is_empty())
        .collect()
}

fn report(files: &BTreeMap<String, Vec<u8>>, expected: &Expected<'_>) -> String {
    let reports = match load(files, expected) {
        Ok(loaded) => loaded.reports,
        Err(reports) => reports,
    };
    reports.iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_folder_is_read_and_filled_in() {
    let Loaded { manifests, reports } = load(&folder(&[]), &Expected::default()).unwrap();
    assert!(reports.is_empty(), "{reports:?}");
    let install = manifests.agent_cluster_install.as_ref().unwrap();
    assert_eq!(install.install_config_overrides(), Some("{\"fips\":true}"));
    let spec = &install.spec;
    assert_eq!(spec.platform_type, "BareMetal");
    assert_eq!(spec.networking.network_type, "OVNKubernetes");
    assert_eq!(spec.networking.user_managed_networking, Some(false));
    assert_eq!(spec.api_vips, ["192.168.111.5"]);
    assert_eq!(spec.ingress_vips, ["192.168.111.4"]);
    assert_eq!(spec.provision_requirements.total(), 5);
    let infra_env = manifests.infra_env.as_ref().unwrap();
    assert_eq!(infra_env.spec.cpu_architecture, "x86_64");
    assert_eq!(manifests.nm_state_configs.len(), 2);
    let secret = manifests.pull_secret.as_ref().unwrap();
    let docker = secret.string_data.docker_config.reveal();
    assert!(docker.starts_with("{\n  \"auths\": {\n"), "{docker}");
    assert!(!format!("{manifests:?}").contains("c2VjcmV0"));
}

/// What is written is read as the same, and written as the same again.
#[test]
fn rendering_is_stable() {
    let first = load(&folder(&[]), &Expected::default()).unwrap().manifests;
    let files = render(&first);
    let bytes = files
        .iter()
        .map(|(name, text)| (name.clone(), text.clone().into_bytes()));
    let second = load(&bytes.collect(), &Expected::default())
        .unwrap()
        .manifests;
    assert_eq!(render(&second), files);
    assert!(files[file::CLUSTER_IMAGE_SET].ends_with("status: {}\n"));
    assert!(files[file::NM_STATE_CONFIG].ends_with("---\n"));
}

/// Every rule broken once: file, text before, text after, line, and a part of the message.
#[test]
fn each_rule_reports_its_line() {
    let aci = file::AGENT_CLUSTER_INSTALL;
    let (infra_env, nsc, secret) = (file::INFRA_ENV, file::NM_STATE_CONFIG, file::PULL_SECRET);
    for (name, from, to, line, part) in [
        (aci, ACI, "", 1, "there is no such file"),
        (
            aci,
            "platformType: baremetal",
            "platformType: aws",
            18,
            "[platform-type]",
        ),
        (
            aci,
            "platformType: baremetal",
            "platformTypo: x",
            18,
            "did you mean `platformType`?",
        ),
        (
            aci,
            "serviceNetwork: [172.30.0.0/16]",
            "userManagedNetworking: false",
            15,
            "",
        ),
        (aci, "hostPrefix: 23", "hostPrefix: 26", 14, "[host-prefix]"),
        (
            aci,
            "hostPrefix: 23",
            "hostPrefix: 15",
            14,
            "2 shares of /15, and there are 5 hosts",
        ),
        (
            aci,
            "controlPlaneAgents: 3",
            "controlPlaneAgents: 0",
            17,
            "[control-plane]",
        ),
        (
            aci,
            "controlPlaneAgents: 3",
            "controlPlaneAgents: 6",
            17,
            "6 hosts of the control plane",
        ),
        (
            aci,
            "controlPlaneAgents: 3, workerAgents: 2}\n  platformType: baremetal",
            "controlPlaneAgents: 4}\n  platformType: vsphere",
            17,
            "not possible on vsphere",
        ),
        (
            aci,
            "controlPlaneAgents: 3, workerAgents: 2}\n  platformType: baremetal",
            "controlPlaneAgents: 2, arbiterAgents: 1}\n  platformType: External",
            17,
            "External has no arbiters",
        ),
        (
            aci,
            "controlPlaneAgents: 3",
            "controlPlaneAgents: 1, arbiterAgents: 1",
            17,
            "[arbiter]",
        ),
        (
            aci,
            "controlPlaneAgents: 3",
            "controlPlaneAgents: 2, arbiterAgents: 2",
            17,
            "2 arbiters for two hosts",
        ),
        (
            aci,
            "controlPlaneAgents: 3",
            "controlPlaneAgents: 1",
            17,
            "2 workers beside a single node",
        ),
        (
            aci,
            "controlPlaneAgents: 3, workerAgents: 2",
            "controlPlaneAgents: 1",
            18,
            "a single node is not possible on baremetal",
        ),
        (
            aci,
            "enableOn: masters",
            "enableOn: 'masters,workers'",
            21,
            "[encryption]",
        ),
        (aci, "mode: tpmv2", "mode: luks", 21, "[encryption]"),
        (aci, "'{\"fips\":true}'", "'fips'", 8, "[overrides]"),
        (
            aci,
            "serviceNetwork: [172.30.0.0/16]",
            "serviceNetwork: ['fd00::/112']\n    networkType: OpenShiftSDN",
            15,
            "[sdn-family]",
        ),
        (
            aci,
            "192.168.111.0/24",
            "192.168.111.0",
            13,
            "is not a network",
        ),
        (file::CLUSTER_DEPLOYMENT, CD, "", 1, "there is no such file"),
        (
            file::CLUSTER_DEPLOYMENT,
            "clusterName: lab",
            "clusterName: Lab",
            5,
            "[cluster-name]",
        ),
        (
            file::CLUSTER_DEPLOYMENT,
            "baseDomain: example.com",
            "baseDomain: ''",
            6,
            "[base-domain]",
        ),
        (
            file::CLUSTER_IMAGE_SET,
            "4.19.3",
            "4.19.2",
            4,
            "[release-image]",
        ),
        (infra_env, IE, "", 1, "there is no such file"),
        (infra_env, "amd64", "sparc", 6, "[architecture]"),
        (
            nsc,
            "labels: {lab-network: 'yes'}",
            "labels: {}",
            3,
            "[network-labels]",
        ),
        (
            nsc,
            "name: two, labels: {lab-network: 'yes'}",
            "name: two, labels: {lab-network: 'no'}",
            10,
            "[network-labels]",
        ),
        (
            nsc,
            "[{name: eno1, macAddress: '52:54:00:00:00:02'}]",
            "[]",
            12,
            "[network-cards]",
        ),
        (
            nsc,
            "52:54:00:00:00:02",
            "52-54-00-00-00-02",
            12,
            "not the address of a network card",
        ),
        (
            nsc,
            "'52:54:00:00:00:02'}",
            "'52:54:00:00:00:02'}, {name: eno1, macAddress: '52:54:00:00:00:02'}",
            12,
            "stands at another card too",
        ),
        (
            nsc,
            "'52:54:00:00:00:02'}",
            "'52:54:00:00:00:02'}, {name: eno1, macAddress: '52:54:00:00:00:03'}",
            12,
            "is the name of another card too",
        ),
        (nsc, "config: {interfaces", "config: [interfaces", 13, ""),
        (secret, PS, "", 1, "there is no such file"),
        (secret, "stringData", "data", 1, "add `stringData:`"),
        (
            secret,
            "\"auth\":",
            "\"oath\":",
            6,
            "neither `auth` nor `credsStore`",
        ),
        (
            secret,
            "c2VjcmV0OndvcmQ=",
            "c2VjcmV0LXdvcmQ=",
            6,
            "[credentials]",
        ),
        (secret, "{\"auths\"", "\"auths\"", 6, "this is not JSON"),
    ] {
        let files = folder(&[(name, from, to)]);
        let expected = Expected {
            release_image: Some("quay.io/x/y:4.19.3-x86_64"),
            ..Expected::default()
        };
        let report = report(&files, &expected);
        if part.is_empty() {
            continue;
        }
        let place = format!("{name}:{line}:");
        let found = report.lines().any(|line| line.starts_with(&place)) && report.contains(part);
        assert!(found, "{place} {part:?} is not in:\n{report}");
        assert!(!report.contains("c2VjcmV0"), "secrets stay hidden");
    }
}

#[test]
fn platforms_without_networking_are_user_managed() {
    let none = (
        file::AGENT_CLUSTER_INSTALL,
        "platformType: baremetal",
        "platformType: none",
    );
    let loaded = load(&folder(&[none]), &Expected::default()).unwrap();
    let install = loaded.manifests.agent_cluster_install.unwrap();
    assert_eq!(install.spec.networking.user_managed_networking, Some(true));
    let off = (
        file::AGENT_CLUSTER_INSTALL,
        "serviceNetwork:",
        "userManagedNetworking: false\n    serviceNetwork:",
    );
    let report = report(&folder(&[none, off]), &Expected::default());
    assert!(
        report.contains(":15:") && report.contains("[user-managed]"),
        "{report}"
    );
}

#[test]
fn one_node_without_a_platform_is_of_platform_none_and_several_are_left_to_the_service() {
    let loaded_with = |hosts: &str, networking: &str| {
        let aci = file::AGENT_CLUSTER_INSTALL;
        let changes = [
            (aci, "controlPlaneAgents: 3, workerAgents: 2", hosts),
            (aci, "  platformType: baremetal\n", ""),
            (
                aci,
                "  apiVIP: 192.168.111.5\n  ingressVips: [192.168.111.4]\n",
                "",
            ),
            (aci, "    serviceNetwork:", networking),
        ];
        let loaded = load(&folder(&changes), &Expected::default()).unwrap();
        let spec = loaded.manifests.agent_cluster_install.unwrap().spec;
        (spec.platform_type, spec.networking.user_managed_networking)
    };
    let as_it_is = "    serviceNetwork:";
    let none = ("None".to_owned(), Some(true));
    assert_eq!(loaded_with("controlPlaneAgents: 1", as_it_is), none);
    let off = "    userManagedNetworking: false\n    serviceNetwork:";
    assert_eq!(loaded_with("controlPlaneAgents: 1", off), none);
    let open = (String::new(), Some(false));
    assert_eq!(loaded_with("controlPlaneAgents: 3", as_it_is), open);
    let three = "controlPlaneAgents: 2, arbiterAgents: 1";
    assert_eq!(loaded_with(three, as_it_is), open);
}

#[test]
fn what_nmstate_says_stands_at_the_document_it_is_about() {
    let expected = Expected {
        network_faults: &|_, cards| match cards {
            [(_, "52:54:00:00:00:02")] => vec!["no such mode".to_owned()],
            _ => Vec::new(),
        },
        ..Expected::default()
    };
    let reports = load(&folder(&[]), &expected).unwrap_err();
    let finding = &reports[0].findings()[0];
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(reports[0].place(finding).line, 13);
}

#[test]
fn each_purpose_has_its_own_files() {
    let without = folder(&[
        (file::AGENT_CLUSTER_INSTALL, ACI, ""),
        (file::CLUSTER_DEPLOYMENT, CD, ""),
    ]);
    assert!(load(&without, &Expected::default()).is_err());
    for purpose in [Purpose::AddNodes, Purpose::Unconfigured] {
        let expected = Expected {
            purpose,
            ..Expected::default()
        };
        let manifests = load(&without, &expected).unwrap().manifests;
        assert!(manifests.agent_cluster_install.is_none());
    }
    // Images for more nodes carry these two as empty files.
    let mut empty = without;
    empty.insert(file::AGENT_CLUSTER_INSTALL.to_owned(), Vec::new());
    empty.insert(file::CLUSTER_DEPLOYMENT.to_owned(), Vec::new());
    let expected = Expected {
        purpose: Purpose::AddNodes,
        ..Expected::default()
    };
    assert!(load(&empty, &expected).is_ok());
}

#[test]
fn other_kinds_are_read_with_a_warning() {
    let wrong = folder(&[(file::INFRA_ENV, "kind: InfraEnv", "kind: Infraenv")]);
    let loaded = load(&wrong, &Expected::default()).unwrap();
    let text = loaded.reports[0].to_string();
    assert!(
        text.starts_with("infraenv.yaml:2:7: warning: kind:"),
        "{text}"
    );
}
