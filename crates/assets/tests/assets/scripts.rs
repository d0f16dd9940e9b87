//! The scripts of the bootstrap host run here, with a make-believe podman.

use std::fs;
use std::process::Command;

use crate::cases::{CASES, ignition, unpacked};
use crate::host::Host;

#[test]
fn shellcheck_finds_nothing_in_any_script_of_any_case() {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = std::collections::BTreeSet::new();
    for (name, version) in CASES {
        let (_, config) = ignition(name, version);
        for file in unpacked(&config) {
            let text = file.text();
            if !text.starts_with("#!/usr/bin/env bash") || !checked.insert(text.clone()) {
                continue;
            }
            assert!(!has_placeholder(&text), "{name} {}", file.path);
            let path = folder.path().join("script.sh");
            fs::write(&path, &text).unwrap();
            // Sourced files are not beside the script here; what they define is used elsewhere.
            let output = Command::new("shellcheck")
                .args(["--exclude=SC1091,SC2034,SC2154", "--severity=style"])
                .arg(&path)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{name} {}\n{said}", file.path);
        }
    }
    assert!(checked.len() > 20, "{}", checked.len());
}

/// `@NAME@`, which the generator should have filled in.
fn has_placeholder(text: &str) -> bool {
    text.split('@')
        .skip(1)
        .any(|part| part.len() > 2 && part.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
}

const IN_ORDER: &[&str] = &[
    "cluster-config-api",
    "cluster-authentication-operator",
    "cluster-config-operator",
    "release",
    "cluster-etcd-operator",
    "cluster-kube-apiserver-operator",
    "cluster-kube-controller-manager-operator",
    "cluster-kube-scheduler-operator",
    "cluster-ingress-operator",
    "cluster-node-tuning-operator",
    "machine-config-operator",
    "cloud-credential-operator",
    "etcd",
    "cluster-bootstrap",
    "cluster-etcd-operator",
];

const MARKERS: &[&str] = &[
    "openshift-manifests",
    "api-bootstrap",
    "auth-api-bootstrap",
    "config-bootstrap",
    "cvo-bootstrap",
    "etcd-bootstrap",
    "kube-apiserver-bootstrap",
    "kube-controller-manager-bootstrap",
    "kube-scheduler-bootstrap",
    "ingress-operator-bootstrap",
    "node-tuning-bootstrap",
    "mco-bootstrap",
    "api-dns-resolved",
    "api-int-dns-resolved",
    "cco-bootstrap",
    "wait-for-etcd",
    "cb-bootstrap",
    "cvo-overrides",
    "wait-for-ceo",
    "api-dns-check",
    "api-int-dns-check",
];

#[test]
fn bootkube_runs_the_operators_in_order_and_leaves_its_markers() {
    let host = Host::new("vsphere-highly-available", "4.20.3");
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    assert_eq!(host.components(), IN_ORDER);
    for marker in MARKERS {
        assert!(
            host.has(&format!("/opt/openshift/{marker}.done")),
            "{marker}"
        );
    }
    assert!(host.has("/opt/openshift/.bootkube.done"));

    let calls = host.calls();
    let call = |part: &str| {
        let found = calls.iter().find(|call| call.contains(part));
        found
            .unwrap_or_else(|| panic!("{part} in {calls:#?}"))
            .clone()
    };
    let etcd = call("cluster-etcd-operator render");
    assert!(
        etcd.starts_with("podman run --quiet --rm --net=host --volume /opt/openshift:/assets:z "),
        "{etcd}"
    );
    assert!(
        etcd.contains("--etcd-image=r.example/etcd@sha256:1"),
        "{etcd}"
    );
    assert!(!etcd.contains("--payload-version"), "{etcd}");
    let api = call("cluster-kube-apiserver-operator render");
    assert!(api.contains("--operand-kubernetes-version=1.33.5"), "{api}");
    assert!(api.contains("--payload-version=4.20.3"), "{api}");
    let version = call("r.example/release@sha256:1 render");
    assert!(
        version.contains("--release-image=r.example/release@sha256:1"),
        "{version}"
    );
    assert!(
        version.contains("--feature-gate-manifest-path=/assets/manifests/99_feature-gate.yaml")
    );
    let config = call("cluster-config-operator render");
    assert!(config.contains(
        "--cloud-provider-config-input-file=/assets/manifests/cloud-provider-config.yaml"
    ));
    assert!(config.contains("--skip-api-rendering"));
    let start = call("cluster-bootstrap@sha256:1 start");
    assert!(
        start.contains("--volume /etc/kubernetes:/etc/kubernetes:z"),
        "{start}"
    );
    assert!(
        start.contains("openshift-cluster-version/cluster-version-operator"),
        "{start}"
    );
    assert!(
        call("oc patch clusterversion version")
            .contains("--type=merge --patch-file=original_cvo_overrides.patch")
    );

    for file in [
        "/etc/kubernetes/kubeconfig",
        "/etc/kubernetes/manifests/etcd-member-pod.yaml",
        "/etc/kubernetes/bootstrap-configs/kube-apiserver-config.yaml",
        "/etc/kubernetes/bootstrap-configs/cluster-policy-controller-config.yaml",
        "/etc/mcs/kubeconfig",
        "/etc/ssl/mcs/tls.key",
        "/etc/mcc/bootstrap/cluster-config.yaml",
        "/opt/openshift/manifests/from-etcd-bootstrap.yaml",
        "/opt/openshift/manifests/99_kubeadmin-password-secret.yaml",
        "/opt/openshift/bootstrap-manifests/cvo-pod.yaml",
        "/opt/openshift/bootstrap-manifests/cloud-credential-operator-pod.yaml",
        "/opt/openshift/manifests/cco-operator-config.yaml",
    ] {
        assert!(host.has(file), "{file}");
    }
    assert!(!host.has("/etc/kubernetes/manifests/machineconfigoperator-bootstrap-pod.yaml"));

    let record = fs::read_to_string(host.path("/var/log/openshift/bootkube.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let record = record.as_array().unwrap();
    assert_eq!(record.first().unwrap()["phase"], "service start");
    assert_eq!(record.last().unwrap()["phase"], "service end");
    assert_eq!(record.last().unwrap()["result"], "success");
    let starts = record
        .iter()
        .filter(|entry| entry["phase"] == "stage start")
        .count();
    let ends = record
        .iter()
        .filter(|entry| entry["phase"] == "stage end" && entry["result"] == "success");
    assert_eq!((starts, ends.count()), (MARKERS.len(), MARKERS.len()));
}

#[test]
fn after_an_interruption_bootkube_goes_on_where_it_stopped() {
    let host = Host::new("none-highly-available", "5.0.0");
    fs::write(host.path("/fail"), "cluster-kube-scheduler-operator render").unwrap();
    assert!(!host.run("bootkube.sh"));
    assert!(host.has("/opt/openshift/kube-controller-manager-bootstrap.done"));
    assert!(!host.has("/opt/openshift/kube-scheduler-bootstrap.done"));
    assert!(!host.has("/opt/openshift/.bootkube.done"));
    let record = fs::read_to_string(host.path("/var/log/openshift/bootkube.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    let failed = record
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["result"] == "failure")
        .unwrap();
    assert_eq!(failed["stage"], "kube-scheduler-bootstrap");

    host.forget();
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    let after: Vec<_> = IN_ORDER
        .iter()
        .skip_while(|name| **name != "cluster-kube-scheduler-operator")
        .collect();
    assert_eq!(host.components().iter().collect::<Vec<_>>(), after);
    assert!(host.has("/opt/openshift/.bootkube.done"));

    host.forget();
    assert!(host.run("bootkube.sh"));
    assert_eq!(host.components(), [""; 0]);
}

#[test]
fn a_single_node_makes_its_own_ignition_and_writes_it_to_disk() {
    let host = Host::new("none-single-node", "4.20.3");
    for folder in ["/var/lib/etcd", "/usr/lib/tuned"] {
        fs::create_dir_all(host.path(folder)).unwrap();
    }
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    let calls = host.calls();
    let tuned = calls
        .iter()
        .find(|call| call.contains("render-bootcmd-mc"))
        .unwrap();
    assert!(
        tuned.contains("--env CLUSTER_NODE_TUNED_BOOTSTRAP_SAFE_ENV=true"),
        "{tuned}"
    );
    assert!(tuned.contains("--mcp-name=master"), "{tuned}");
    // Some of the directories it may change are not on every machine.
    for (directory, mounted) in [
        ("/etc/kubernetes", true),
        ("/usr/lib/tuned", true),
        ("/etc/tuned", false),
    ] {
        let volume = format!("--volume {directory}:{directory}:O");
        assert_eq!(tuned.contains(&volume), mounted, "{volume} in {tuned}");
    }
    let start = calls
        .iter()
        .find(|call| call.contains("cluster-bootstrap@sha256:1 start"))
        .unwrap();
    assert!(start.ends_with("--required-pods="), "{start}");
    let made = calls
        .iter()
        .find(|call| call.contains(" bootstrap-in-place "))
        .unwrap();
    for part in [
        "--privileged",
        "--net=host",
        "--volume /var/lib/etcd:/assets/etcd-data",
        "--volume /etc/kubernetes:/assets/kubernetes",
        "--input /assets/bootstrap-in-place/master-update.fcc",
    ] {
        assert!(made.contains(part), "{part} in {made}");
    }
    assert!(!calls.iter().any(|call| call.contains("wait-for-ceo")));
    assert!(!host.has("/etc/kubernetes/manifests/etcd-member-pod.yaml"));
    assert!(
        host.has("/opt/openshift/original-master.ign") && host.has("/opt/openshift/master.ign")
    );

    host.forget();
    assert!(host.run("install-to-disk.sh"), "{}", host.stderr());
    let calls = host.calls();
    assert!(calls.contains(
        &"coreos-installer install --copy-network --ignition-file /opt/openshift/master.ign /dev/vda".to_owned()
    ), "{calls:?}");
    assert!(host.has("/opt/openshift/.install-to-disk.done"));
}

#[test]
fn the_pod_for_cloud_credentials_is_started_where_there_is_one() {
    let pod = "/opt/openshift/bootstrap-manifests/cloud-credential-operator-pod.yaml";
    let host = Host::new("none-compact", "4.14.0");
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    assert!(host.has(pod));
    let host = Host::new("none-compact", "4.14.0");
    host.write("/no-credentials", "");
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    assert!(!host.has(pod));
    assert!(host.has("/opt/openshift/cco-bootstrap.done"));
}

#[test]
fn etcd_has_stopped_only_when_the_runtime_lists_no_container_of_it() {
    let host = Host::new("none-single-node", "4.20.3");
    fs::create_dir_all(host.path("/var/lib/etcd")).unwrap();
    // The runtime cannot be asked, then etcd still runs, then it is gone.
    host.tool(
        "crictl",
        r#"echo >>"$ROOT/asked"
[ "$1" = ps ] || exit 0
case $(wc -l <"$ROOT/asked") in
  1) exit 1 ;;
  2) echo c1 ;;
esac"#,
    );
    assert!(host.run("bootkube.sh"), "{}", host.stderr());
    let calls = host.calls();
    let etcd = "crictl ps --state Running --name ^etcd$ --quiet";
    let asked = calls.iter().filter(|call| *call == etcd).count();
    assert_eq!(asked, 3, "{calls:#?}");
    let stopped = calls.iter().rposition(|call| call == etcd).unwrap();
    let copied = calls
        .iter()
        .position(|call| call.contains(" bootstrap-in-place "));
    assert!(stopped < copied.unwrap(), "{calls:#?}");
}

#[test]
fn each_release_gets_the_flags_it_supports() {
    let script = |version: &str| {
        let (_, config) = ignition("none-compact", version);
        let file = config.file("/usr/local/bin/bootkube.sh").unwrap().unwrap();
        String::from_utf8(file).unwrap()
    };
    // flag or stage, and the first release that has it
    let rows = [
        ("todo api-bootstrap", (4, 15)),
        ("--skip-api-rendering", (4, 15)),
        ("--feature-gate-manifest-path", (4, 17)),
        ("--operand-kubernetes-version", (4, 18)),
        ("todo auth-api-bootstrap", (4, 19)),
        ("--log-driver=k8s-file", (4, 21)),
        ("cp image-references /etc/mcc/bootstrap/", (4, 21)),
        ("--cluster-version-manifest-path", (4, 22)),
    ];
    for minor in [
        (4, 14),
        (4, 15),
        (4, 16),
        (4, 17),
        (4, 18),
        (4, 19),
        (4, 20),
        (4, 21),
        (4, 22),
        (5, 0),
    ] {
        let text = script(&format!("{}.{}.1", minor.0, minor.1));
        for (part, since) in rows {
            assert_eq!(text.contains(part), minor >= since, "{part} in {minor:?}");
        }
    }
}
