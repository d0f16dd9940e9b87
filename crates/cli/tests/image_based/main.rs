//! `muster image-based` as people use it: images read back by other programs, seeds in a real registry.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../../release/tests/registry/support/mod.rs"]
mod support;

mod batch;
mod candidate;
mod config_image;
mod failures;
mod registries;
mod seeds;
mod serve;
mod wait_for;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

const INSTALL_CONFIG: &str = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: site1}
controlPlane: {name: master, replicas: 1}
compute: [{name: worker, replicas: 0}]
networking:
  machineNetwork: [{cidr: 192.168.10.0/24}]
platform: {none: {}}
pullSecret: '{"auths":{"quay.io":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
imageDigestSources: [{source: quay.io/a, mirrors: [registry.example.com/a]}]
"#;

const SITE_CONFIG: &str = "apiVersion: v1beta1
kind: ImageBasedConfig
hostname: node1
nodeLabels: {rack: r7}
networkConfig:
  interfaces:
  - name: eno1
    type: ethernet
    state: up
    ipv4: {enabled: true, dhcp: false, address: [{ip: 192.168.10.5, prefix-length: 24}]}
";

const MANIFEST: &str = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";

fn muster(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .arg("image-based")
        .args(words)
        .current_dir(folder)
        .env_remove("OPENSHIFT_INSTALL_INVOKER")
        .env_remove("OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE")
        .env_remove("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS")
        .env("XDG_CACHE_HOME", folder.join("cache"))
        .output()
        .unwrap()
}

fn succeeded(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    said
}

fn put_site(folder: &Path) {
    fs::create_dir_all(folder.join("extra-manifests")).unwrap();
    fs::write(folder.join("install-config.yaml"), INSTALL_CONFIG).unwrap();
    fs::write(folder.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    fs::write(folder.join("extra-manifests/a.yaml"), MANIFEST).unwrap();
    fs::write(folder.join("extra-manifests/notes.txt"), "stays").unwrap();
}

/// Runs another program; it must be there.
fn other(folder: &Path, command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let output = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .output();
    let output = output.unwrap_or_else(|cause| panic!("{command}: {cause}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
