//! What is collected on a bootstrap host after a failure.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use crate::host::Host;

#[test]
fn a_log_bundle_holds_what_explains_a_failure_and_no_secret() {
    let host = Host::new("baremetal-highly-available", "4.22.0");
    host.write(
        "/opt/openshift/manifests/leaked.yaml",
        "kind: Secret\ndata: {}\n",
    );
    host.write(
        "/opt/openshift/manifests/leaked.json",
        r#"{"kind": "Secret", "data": {}}"#,
    );
    host.write(
        "/opt/openshift/cvo-bootstrap/manifests/0000_a.yaml",
        "kind: X\n",
    );
    host.write("/var/log/openshift/bootkube.json", "[]");
    host.tool(
        "systemctl",
        r#"[ "$1" != list-units ] || echo "kubelet.service loaded failed failed""#,
    );
    host.tool(
        "crictl",
        r#"[ "$1" != ps ] || echo '{"containers":[{"id":"c1","metadata":{"name":"etcd"}}]}'"#,
    );
    host.tool("podman", r#"[ "$1" != ps ] || echo "p1 render""#);
    host.tool(
        "oc",
        r#"case "$*" in
  *" machineconfigs "*) echo '{"items":[{"spec":{"config":{"storage":{"files":[{"contents":{"source":"data:,PRIVATE KEY"}}]}}}}]}' ;;
  *) echo '{"items":[]}' ;;
esac"#,
    );
    for tool in ["scp", "ssh"] {
        host.tool(tool, "");
    }
    let gathered = host.run_file(
        "/usr/local/bin/installer-gather.sh",
        &["--id", "7", "192.168.111.20"],
    );
    assert!(gathered, "{}", host.stderr());
    let unpacked = unpack(&host, "/log-bundle-7.tar.gz");
    for file in [
        "bootstrap/services/bootkube.json",
        "bootstrap/journals/bootkube.log",
        "bootstrap/containers/etcd-c1.log",
        "bootstrap/containers/render-p1.log",
        "unit-status/kubelet.service.txt",
        "resources/nodes.json",
        "resources/configmaps-kube-system.json",
        "rendered-assets/cvo-bootstrap/manifests/0000_a.yaml",
    ] {
        assert!(
            host.has(&format!("/unpacked/log-bundle-7/{file}")),
            "{file}"
        );
    }
    let leaks = Command::new("grep")
        .args(["--recursive", "--files-with-matches", "--extended-regexp"])
        .arg("PRIVATE KEY|client-key-data|kind\"?: \"?Secret|\"auth\":|dXNlcjpwYXNz")
        .arg(&unpacked)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&leaks.stdout), "");
    assert!(!host.has("/log-bundle-7"), "only the archive stays");
    let calls = host.calls();
    assert!(calls.iter().any(|call| call.starts_with("ssh ")
        && call.contains("core@192.168.111.20 sudo ./installer-masters-gather.sh --id '7'")));

    host.forget();
    assert!(host.run_file("/usr/local/bin/installer-masters-gather.sh", &["--id", "7"]));
    assert!(host.has("/tmp/artifacts-7/containers/etcd-c1.log"));
    assert!(host.has("/tmp/artifacts-7/journals/kubelet.log"));
}

fn unpack(host: &Host, archive: &str) -> PathBuf {
    let target = host.path("/unpacked");
    fs::create_dir_all(&target).unwrap();
    let done = Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(host.path(archive))
        .arg("--directory")
        .arg(&target)
        .status();
    assert!(done.unwrap().success());
    target
}

const GATHER: &str = "/usr/local/bin/installer-gather.sh";

#[test]
fn a_person_who_is_not_root_gathers_as_root_and_owns_the_archive() {
    let host = Host::new("none-highly-available", "5.0.0");
    host.tool("sudo", "");
    host.write("/log", "");
    for (path, mode) in [("/", 0o755), ("/log", 0o666)] {
        fs::set_permissions(host.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", host.path("/fake").display());
    let status = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", "bash"])
        .arg(host.path(GATHER))
        .args(["--id", "7", "192.0.2.1"])
        .env("PATH", path)
        .env("LOG", host.path("/log"))
        .env("HOME", "/home/core")
        .env("SSH_AUTH_SOCK", "/tmp/agent")
        .status();
    assert!(status.unwrap().success());
    assert_eq!(
        host.calls(),
        [format!(
            "sudo env HOME=/home/core SSH_AUTH_SOCK=/tmp/agent TAR_FILE= bash {GATHER} --id 7 192.0.2.1"
        )]
    );

    for tool in ["scp", "ssh"] {
        host.tool(tool, "");
    }
    let archive = host.path("/elsewhere.tar.gz");
    let variables = [
        ("SUDO_UID", "1234"),
        ("SUDO_GID", "1235"),
        ("TAR_FILE", archive.to_str().unwrap()),
    ];
    assert!(
        host.run_with(GATHER, &["--id", "7", "192.0.2.1"], &variables),
        "{}",
        host.stderr()
    );
    let owner = fs::metadata(archive).unwrap();
    assert_eq!((owner.uid(), owner.gid()), (1234, 1235));
}

#[test]
fn a_node_that_bootstrapped_itself_adds_itself_and_the_archive_from_before_its_first_boot() {
    let host = Host::new("none-single-node", "4.20.3");
    host.write("/before/log-bundle-bootstrap/bootstrap/journals/x.log", "");
    fs::create_dir_all(host.path("/var/log")).unwrap();
    let made = Command::new("tar")
        .args(["--create", "--gzip", "--file"])
        .arg(host.path("/var/log/log-bundle-bootstrap.tar.gz"))
        .arg("--directory")
        .arg(host.path("/before"))
        .arg("log-bundle-bootstrap")
        .status();
    assert!(made.unwrap().success());
    let kubeconfig = "/etc/kubernetes/bootstrap-secrets/kubeconfig";
    host.write(kubeconfig, "");
    host.write("/var/log/pacemaker/pacemaker.log", "");
    host.tool("podman", r#"[ "$1" != ps ] || echo "p1 etcd""#);
    host.tool("pcs", "echo Online");
    host.tool("oc", r#"echo '{"items":[]}'"#);
    assert!(host.run_file(GATHER, &["--id", "7"]), "{}", host.stderr());
    unpack(&host, "/log-bundle-7.tar.gz");
    for file in [
        "log-bundle-bootstrap/bootstrap/journals/x.log",
        "control-plane/master/journals/pacemaker.log",
        "control-plane/master/pacemaker/pacemaker.log",
        "control-plane/master/pcs-status.txt",
        "control-plane/master/containers/etcd-p1.log",
        "resources/nodes.json",
    ] {
        let path = format!("/unpacked/log-bundle-7/{file}");
        assert!(host.has(&path), "{file}");
    }
    let calls = host.calls_of("oc");
    let own = format!("--kubeconfig {kubeconfig}");
    assert!(calls.iter().all(|call| call.contains(&own)), "{calls:#?}");
}

#[test]
fn what_the_api_knew_at_the_time_of_the_failure_is_kept_when_it_answers_no_more() {
    let host = Host::new("none-highly-available", "5.0.0");
    let nodes = r#"{"items":[
      {"metadata":{"labels":{"node-role.kubernetes.io/master":""}},
       "status":{"addresses":[{"type":"Hostname","address":"m0"},{"type":"InternalIP","address":"192.0.2.7"}]}},
      {"metadata":{"labels":{"node-role.kubernetes.io/worker":""}},
       "status":{"addresses":[{"type":"InternalIP","address":"192.0.2.8"}]}}]}"#;
    host.write("/nodes", nodes);
    host.tool(
        "oc",
        r#"case "$*" in *" nodes "*) cat "$ROOT/nodes" ;; *) echo '{"items":[]}' ;; esac"#,
    );
    assert!(host.run("bootstrap-cluster-gather.sh"), "{}", host.stderr());
    host.tool("oc", "exit 1");
    for tool in ["scp", "ssh"] {
        host.tool(tool, "");
    }
    assert!(host.run_file(GATHER, &["--id", "7"]), "{}", host.stderr());
    let unpacked = unpack(&host, "/log-bundle-7.tar.gz");
    let kept = fs::read_to_string(unpacked.join("log-bundle-7/resources/nodes.json")).unwrap();
    assert_eq!(kept, nodes);
    // Control-plane nodes are found where their addresses were not given.
    let calls = host.calls_of("ssh");
    assert_eq!(calls.len(), 1, "{calls:?}");
    assert!(calls[0].contains("core@192.0.2.7 sudo"), "{calls:?}");
}
