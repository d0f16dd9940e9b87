//! `ignition-validate`, `kubectl` and `openssl` read what will be read on machines.

use std::fs;
use std::process::Command;

use muster_assets::workdir::Target;

use crate::cases::{CASES, Directory, ignition, now, unpacked};

#[test]
fn ignition_accepts_every_config() {
    let folder = tempfile::tempdir().unwrap();
    for (name, version) in CASES {
        let (directory, _) = ignition(name, version);
        let configs: Vec<_> = directory
            .files
            .keys()
            .filter(|path| path.ends_with(".ign"))
            .collect();
        assert!(configs.len() >= 2, "{name}: {configs:?}");
        for config in configs {
            let path = folder.path().join("config.ign");
            fs::write(&path, &directory.files[config]).unwrap();
            let output = Command::new("ignition-validate")
                .arg(&path)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && said.trim().is_empty(),
                "{name} {config}: {said}"
            );
        }
    }
}

#[test]
fn kubectl_reads_the_kubeconfigs_and_openssl_trusts_them() {
    let folder = tempfile::tempdir().unwrap();
    let (directory, config) = ignition("none-highly-available", "5.0.0");
    let files = unpacked(&config);
    let on_host = |path: &str| {
        let path = format!("/opt/openshift/auth/{path}");
        files.iter().find(|file| file.path == path).unwrap().text()
    };
    let rows = [
        (
            directory.text("auth/kubeconfig"),
            "admin",
            "https://api.ha.example.org:6443",
            "complete-server",
        ),
        (
            on_host("kubeconfig"),
            "admin",
            "https://api-int.ha.example.org:6443",
            "complete-server",
        ),
        (
            on_host("kubeconfig-kubelet"),
            "kubelet",
            "https://api-int.ha.example.org:6443",
            "complete-server",
        ),
        (
            on_host("kubeconfig-loopback"),
            "loopback",
            "https://localhost:6443",
            "localhost",
        ),
    ];
    for (text, user, server, bundle) in rows {
        let path = folder.path().join("kubeconfig");
        fs::write(&path, text).unwrap();
        let view = |what: &str| {
            let output = Command::new("kubectl")
                .arg("--kubeconfig")
                .arg(&path)
                .args([
                    "config",
                    "view",
                    "--raw",
                    "--minify",
                    "--output",
                    &format!("jsonpath={what}"),
                ])
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            String::from_utf8(output.stdout).unwrap()
        };
        assert_eq!(view("{.clusters[0].cluster.server}"), server);
        assert_eq!(view("{.contexts[0].name}"), user);
        assert_eq!(view("{.clusters[0].name}"), "ha");
        let decode = |text: String| {
            use base64::Engine;
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .unwrap()
        };
        let trusted = decode(view("{.clusters[0].cluster.certificate-authority-data}"));
        let expected = format!("/opt/openshift/tls/kube-apiserver-{bundle}-ca-bundle.crt");
        assert_eq!(
            trusted,
            files
                .iter()
                .find(|file| file.path == expected)
                .unwrap()
                .content
        );

        // The certificate of the server it will meet verifies against what it trusts.
        let server_name = match server {
            "https://localhost:6443" => "localhost",
            "https://api.ha.example.org:6443" => "lb",
            _ => "internal-lb",
        };
        let certificate = format!("/opt/openshift/tls/kube-apiserver-{server_name}-server.crt");
        let certificate = &files
            .iter()
            .find(|file| file.path == certificate)
            .unwrap()
            .content;
        let (ca, leaf) = (folder.path().join("ca"), folder.path().join("leaf"));
        fs::write(&ca, trusted).unwrap();
        fs::write(&leaf, certificate).unwrap();
        let host = server
            .trim_start_matches("https://")
            .trim_end_matches(":6443");
        let output = Command::new("openssl")
            .args([
                "verify",
                "-verify_hostname",
                host,
                "-purpose",
                "sslserver",
                "-attime",
            ])
            .arg((now().as_second() + 60).to_string())
            .arg("-CAfile")
            .args([&ca, &leaf])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn every_certificate_in_a_config_is_good_at_the_time_it_was_made() {
    let (_, config) = ignition("baremetal-highly-available", "4.22.0");
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for file in unpacked(&config) {
        if !file.path.starts_with("/opt/openshift/tls/") || !file.path.ends_with(".crt") {
            continue;
        }
        let path = folder.path().join("crt");
        fs::write(&path, &file.content).unwrap();
        let output = Command::new("openssl")
            .args([
                "x509",
                "-noout",
                "-startdate",
                "-dateopt",
                "iso_8601",
                "-in",
            ])
            .arg(&path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", file.path);
        assert_eq!(
            String::from_utf8(output.stdout).unwrap().trim(),
            "notBefore=2026-08-20 10:00:00Z",
            "{}",
            file.path
        );
        count += 1;
    }
    assert_eq!(count, 12 + 1 + 8 + 12 + 1);
}

#[test]
fn a_config_says_nothing_about_the_machine_it_was_made_on() {
    let mut one = Directory::with("none-compact");
    let mut two = Directory::with("none-compact");
    one.create(Target::IgnitionConfigs, "4.20.3");
    two.create(Target::IgnitionConfigs, "4.20.3");
    assert_eq!(one.files, two.files);
}
