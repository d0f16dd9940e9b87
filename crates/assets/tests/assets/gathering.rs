//! What is collected on a bootstrap host after a failure.

use std::fs;
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
    let unpacked = host.path("/unpacked");
    fs::create_dir_all(&unpacked).unwrap();
    let done = Command::new("tar")
        .arg("--extract")
        .arg("--file")
        .arg(host.path("/log-bundle-7.tar.gz"))
        .arg("--directory")
        .arg(&unpacked)
        .status();
    assert!(done.unwrap().success());
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
        .arg("PRIVATE KEY|client-key-data|^kind: Secret|\"auth\":|dXNlcjpwYXNz")
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
