//! A configuration image on a host that booted an unconfigured one: the script that applies it, with
//! programs of the system stood in for.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use muster_image::initrd::Archive;

use super::{AGENT_CONFIG, INSTALL_CONFIG, METAL, NETWORK, STATIC, install, made, pools, request};
use crate::agent_based::{Request, config_files, manifest_files, unconfigured};

const SCRIPT: &str = include_str!("../assets/load-config-iso.sh");
const SETTINGS: &str = "etc/assisted/rendezvous-host.env";

/// A host whose unconfigured image was made for a release.
fn host(folder: &Path, request: &Request<'_>) {
    let config = unconfigured(request).unwrap().config;
    let typed = config.typed().unwrap();
    for file in typed.storage.unwrap().files.unwrap() {
        let path = folder.join(file.path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, config.file(&file.path).unwrap().unwrap()).unwrap();
    }
    let tools = folder.join("tools");
    fs::create_dir_all(&tools).unwrap();
    for (name, text) in [
        ("mount", "cp \"$ROOT/config.gz\" \"$4\""),
        ("umount", ""),
        ("restorecon", ""),
        ("usermod", "echo \"usermod $*\" >> \"$ROOT/calls\""),
        (
            "systemctl",
            // Units begin when the settings are there.
            "[ -s \"$ROOT/etc/assisted/rendezvous-host.env\" ] && there=yes || there=no\n\
             echo \"systemctl $* settings=$there\" >> \"$ROOT/calls\"",
        ),
    ] {
        executable(&tools.join(name), text);
    }
    let picks = folder.join("usr/local/bin/pre-network-manager-config.sh");
    executable(&picks, "echo network >> \"$ROOT/calls\"");
}

fn executable(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn apply(folder: &Path) -> Output {
    let script = folder.join("load.sh");
    fs::write(&script, SCRIPT).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    Command::new("bash")
        .arg(script)
        .arg("dev/sr0")
        .env("ROOT", folder)
        .env("PATH", format!("{}:{path}", folder.join("tools").display()))
        .output()
        .unwrap()
}

#[test]
fn a_configuration_image_is_applied_and_one_for_another_release_is_not() {
    let source = install(&format!("{NETWORK}{}{METAL}", pools(3, 2)));
    let (planned, secrets, _) = made(&[(INSTALL_CONFIG, &source), (AGENT_CONFIG, STATIC)]);
    let mut archive = Archive::default();
    for file in config_files(&planned, &secrets).unwrap() {
        let path = format!("/{}", file.path);
        archive.put(&path, 0o100_000 | file.mode, file.content);
    }
    let archive = archive.gzip().unwrap();
    // The unconfigured image was made from two manifests in another namespace.
    let mut bare = request(&[]);
    for file in manifest_files(&planned) {
        if file.path.ends_with("infraenv.yaml") || file.path.ends_with("pull-secret.yaml") {
            let text = file
                .text()
                .replace("namespace: cluster0", "namespace: depot");
            bare.on_disk.insert(file.path, text.into_bytes());
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    host(folder, &bare);
    fs::write(folder.join("config.gz"), &archive).unwrap();
    let output = apply(folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let settings = fs::read_to_string(folder.join(SETTINGS)).unwrap();
    assert!(
        settings.contains("NODE_ZERO_IP=192.168.111.80"),
        "{settings}"
    );
    for file in [
        "etc/assisted/manifests/agent-cluster-install.yaml",
        "etc/assisted/hostconfig/master-0/role",
        "etc/containers/registries.conf",
        "opt/agent/tls/service.key",
    ] {
        assert!(folder.join(file).exists(), "{file}");
    }
    assert!(folder.join("etc/assisted/extra-manifests").is_dir());
    let waiting = folder.join("etc/issue.d/60-check-config-image.issue");
    assert!(!waiting.exists(), "nothing is waited for any more");
    let calls = fs::read_to_string(folder.join("calls")).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    assert_eq!(calls[0], "systemctl daemon-reexec settings=no");
    assert_eq!(
        calls[1..3],
        ["network", "systemctl restart NetworkManager settings=no"]
    );
    assert!(calls[3].starts_with("usermod -p $2"), "{calls:?}");
    assert_eq!(calls[4], "systemctl restart node-zero.service settings=yes");
    assert_eq!(calls[5], "systemctl restart agent.service settings=yes");

    let other = tempfile::tempdir().unwrap();
    let other = other.path();
    let mut newer = bare;
    if let Some(release) = &mut newer.release {
        release.image = release.image.replace("4.20.3", "4.20.4");
    }
    host(other, &newer);
    fs::write(other.join("config.gz"), &archive).unwrap();
    assert!(!apply(other).status.success());
    let issue = other.join("etc/issue.d/95_load_config_image.issue");
    let issue = fs::read_to_string(issue).unwrap();
    assert!(issue.contains("another release"), "{issue}");
    assert!(!other.join(SETTINGS).exists());
}
