//! A real kube-apiserver takes the manifests of `muster deploy kubernetes`: every field is known, every
//! value allowed.

use std::process::Command;

use muster_kubetest::ControlPlane;

#[test]
fn a_kube_apiserver_takes_both_manifests() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = ControlPlane::start(folder.path());
    let _ = cluster.kubectl(&["create", "namespace", "muster"], "");
    for more in [None, Some("--replicated")] {
        let printed = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args([
                "deploy",
                "kubernetes",
                "--base-url",
                "https://muster.example.com:8090",
            ])
            .args(more)
            .output()
            .expect("muster runs");
        let manifest = String::from_utf8(printed.stdout).expect("is text");
        let taken = cluster.kubectl(
            &[
                "apply",
                "--dry-run=server",
                "--validate=strict",
                "--filename=-",
            ],
            &manifest,
        );
        let objects = manifest.matches("\nkind: ").count();
        assert_eq!(taken.lines().count(), objects, "{taken}");
        assert!(
            taken.lines().all(|line| line.ends_with("(server dry run)")),
            "{taken}"
        );
    }
}
