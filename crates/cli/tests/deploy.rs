//! A real kube-apiserver takes the manifests of `muster deploy kubernetes`: every field is known, every
//! value allowed.

use std::process::Command;

use muster_kubetest::ControlPlane;

const LOAD_BALANCER: &[&str] = &["--base-url", "https://muster.example.com:8090"];
const ROUTED: &[&str] = &[
    "--platform",
    "openshift",
    "--base-url",
    "https://muster.apps.example.com",
];

#[test]
fn a_kube_apiserver_takes_the_manifests() {
    let folder = tempfile::tempdir().expect("a folder");
    let cluster = ControlPlane::start(folder.path());
    let _ = cluster.kubectl(&["create", "namespace", "muster"], "");
    for (reached, more) in [
        (LOAD_BALANCER, None),
        (LOAD_BALANCER, Some("--replicated")),
        (ROUTED, None),
        (ROUTED, Some("--replicated")),
    ] {
        let printed = Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["deploy", "kubernetes"])
            .args(reached)
            .args(more)
            .output()
            .expect("muster runs");
        let manifest = String::from_utf8(printed.stdout).expect("is text");
        // Only OpenShift knows routes.
        let documents: Vec<&str> = manifest
            .split("---\n")
            .filter(|document| !document.contains("\nkind: Route\n"))
            .collect();
        let taken = cluster.kubectl(
            &[
                "apply",
                "--dry-run=server",
                "--validate=strict",
                "--filename=-",
            ],
            &documents.join("---\n"),
        );
        assert_eq!(taken.lines().count(), documents.len(), "{taken}");
        assert!(
            taken.lines().all(|line| line.ends_with("(server dry run)")),
            "{taken}"
        );
    }
}
