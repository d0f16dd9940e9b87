//! What is refused, with which exit code, and what is said about it.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Output},
};

use tempfile::TempDir;

use crate::{INSTALL_CONFIG, SITE_CONFIG, mode, muster, put_site, succeeded};

#[test]
fn exit_codes_tell_a_bad_install_config_from_other_failures() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let missing = muster(at, &["create", "config-image"]);
    assert_eq!(missing.status.code(), Some(1));
    put_site(at);
    fs::write(
        at.join("install-config.yaml"),
        INSTALL_CONFIG.replace("replicas: 1", "replicas: 3"),
    )
    .unwrap();
    fs::write(
        at.join("image-based-config.yaml"),
        SITE_CONFIG.replace("node1", "localhost"),
    )
    .unwrap();
    // An install-config that only other methods can use, and everything wrong with both files.
    let both = muster(at, &["create", "config-image"]);
    assert_eq!(both.status.code(), Some(1));
    let said = String::from_utf8_lossy(&both.stderr);
    assert!(
        said.contains("[image-based-replicas]") && said.contains("[hostname]"),
        "{said}"
    );
    for (from, to, rule) in [
        ("apiVersion: v1", "apiVersion: v7", "error: apiVersion"),
        (
            "baseDomain: example.com",
            "baseDomain: a_b",
            "error: baseDomain",
        ),
        ("platform:", "colour: red\nplatform:", "[unknown-field]"),
        ("platform:", "- platform:", "error: "),
    ] {
        let text = INSTALL_CONFIG.replace(from, to);
        fs::write(at.join("install-config.yaml"), text).unwrap();
        let refused = muster(at, &["create", "config-image"]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(3), "{to}: {said}");
        assert!(said.contains(rule), "{to}: {said}");
    }
    assert!(
        at.join("install-config.yaml").exists(),
        "nothing is used up by a failure"
    );
    assert!(!at.join("imagebasedconfig.iso").exists());
    fs::write(at.join("install-config.yaml"), INSTALL_CONFIG).unwrap();
    assert_eq!(
        muster(at, &["create", "config-image"]).status.code(),
        Some(1)
    );
    fs::write(at.join("image-based-config.yaml"), SITE_CONFIG).unwrap();
    fs::write(at.join("extra-manifests/b.yaml"), "kind: Namespace\n").unwrap();
    let manifest = muster(at, &["create", "config-image"]);
    assert_eq!(manifest.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&manifest.stderr).contains("extra-manifests/b.yaml"));
    assert_eq!(muster(at, &["create", "image"]).status.code(), Some(1));
}

#[test]
fn programs_that_call_it_may_have_keys_of_their_own_in_an_install_config() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    put_site(at);
    let text = format!("{INSTALL_CONFIG}colour: red\n");
    fs::write(at.join("install-config.yaml"), text).unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["image-based", "create", "config-image", "--offline"])
        .env("OPENSHIFT_INSTALL_INVOKER", "tests")
        .current_dir(at)
        .output()
        .unwrap();
    let said = succeeded(&made);
    assert!(said.contains("warning: colour"), "{said}");
    assert!(said.contains("is not compared with a seed"), "{said}");
}

#[test]
fn templates_are_written_once_and_then_validated() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    for (command, file) in [
        (
            "image-config-template",
            "image-based-installation-config.yaml",
        ),
        ("config-template", "image-based-config.yaml"),
    ] {
        succeeded(&muster(at, &["create", command]));
        assert_eq!(mode(&at.join(file)), 0o600);
    }
    succeeded(&muster(at, &["create", "config-template"]));
    let unedited = muster(at, &["create", "image-config-template"]);
    assert_eq!(unedited.status.code(), Some(1), "its pull secret is none");
    assert!(!String::from_utf8_lossy(&unedited.stderr).contains("your-pull-secret"));
}

/// One line of each rule of the factory's file, all wrong at once.
const ALL_WRONG: &str = "kind: ImageBasedConfig
pullSecret: hidden-word
sshKey: none
seedImage: seed
seedVersion: ''
installationDisk: sda
extraPartitionStart: 40Gb
extraPartitionLabel: 'a b'
additionalTrustBundle: none
networkConfig: {}
imageDigestSources: [{source: 'quay.io/a:1', mirrors: ['https://m']}]
proxy: {httpProxy: 'https://p.example.com', httpsProxy: 'ftp://p', noProxy: '*.a'}
coreosInstallerArgs: [--ignition-file, 'a b']
architecture: s390x
ignitionConfigOverride: '{\"ignition\":{\"version\":\"3.4.0\"}}'
progressURL: nowhere
unknown: 1
";

#[test]
fn everything_wrong_with_the_file_of_a_factory_is_reported_at_once() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let name = "image-based-installation-config.yaml";
    // A key that is not known is an error of form, which is reported by itself.
    let formed = ALL_WRONG.replace("unknown: 1\n", "");
    fs::write(at.join(name), &formed).unwrap();
    let refused = muster(at, &["create", "image"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for (line, rule) in [
        (1, "kind"),
        (2, "pull-secret"),
        (3, "ssh-key"),
        (4, "seed-image"),
        (5, "seed-version"),
        (6, "installation-disk"),
        (7, "partition-start"),
        (8, "partition-label"),
        (9, "trust-bundle"),
        (10, "network-config"),
        (11, "mirror-names"),
        (12, "proxy-url"),
        (12, "no-proxy"),
        (13, "installer-arguments"),
        (14, "architecture"),
        (15, "ignition-override"),
        (16, "progress-url"),
    ] {
        let (place, rule) = (format!("{name}:{line}:"), format!("[{rule}]"));
        let found = said
            .lines()
            .position(|said| said.starts_with(&place) && said.ends_with(&rule));
        let found = found.unwrap_or_else(|| panic!("{place} {rule}: {said}"));
        let help = said.lines().nth(found + 1).unwrap_or_default();
        assert!(help.starts_with("  help: "), "{place} {rule}: {said}");
    }
    assert!(!said.contains("hidden-word"), "{said}");
    assert!(at.join(name).exists() && !at.join("rhcos-ibi.iso").exists());

    fs::write(at.join(name), ALL_WRONG).unwrap();
    let unknown = muster(at, &["create", "image"]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert_eq!(unknown.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("{name}:17:1: error: unknown")),
        "{said}"
    );
    let log = fs::read_to_string(at.join(".openshift_install.log")).unwrap();
    assert!(
        log.contains("[partition-start]") && !log.contains("hidden-word"),
        "{log}"
    );
}

#[test]
fn the_reference_name_and_its_flags_are_taken() {
    let folder = TempDir::new().unwrap();
    let at = folder.path();
    let own = at.join("openshift-install");
    symlink(env!("CARGO_BIN_EXE_muster"), &own).unwrap();
    let run = |words: &[&str]| {
        let output = Command::new(&own).args(words).current_dir(at).output();
        output.unwrap()
    };
    for group in [&["image-based"][..], &["image-based", "create"]] {
        let help = run(group);
        assert_eq!(help.status.code(), Some(0), "{group:?}");
        assert!(String::from_utf8_lossy(&help.stdout).contains("Usage:"));
    }
    let made = run(&[
        "--log-level",
        "error",
        "--dir",
        "d",
        "image-based",
        "create",
        "config-template",
    ]);
    assert_eq!(succeeded(&made), "", "nothing below an error is shown");
    let said = String::from_utf8_lossy(&made.stdout).into_owned();
    assert_eq!(said, "Config-Template created in: d\n");
    let log = fs::read_to_string(at.join("d/.openshift_install.log")).unwrap();
    assert!(
        log.contains("level=info msg=\"Config-Template created in: d\""),
        "{log}"
    );
    // A warning about a file, and a note: shown, unless only errors are.
    fs::write(at.join("d/image-based-config.yaml"), "kind: Other\n").unwrap();
    let quiet = ["--dir=d", "--log-level=error"];
    let warned = ["image-based", "create", "config-template"];
    assert!(succeeded(&run(&[&warned[..], &["--dir=d"]].concat())).contains("[kind]"));
    assert_eq!(succeeded(&run(&[&warned[..], &quiet].concat())), "");
    let config = "seedImage: r.example.com/a:1\nseedVersion: 4.18.5\ninstallationDisk: /dev/vda\n\
                  pullSecret: '{\"auths\":{\"a\":{\"auth\":\"YTpi\"}}}'\n";
    fs::write(at.join("d/image-based-installation-config.yaml"), config).unwrap();
    let noted = [
        "image-based",
        "create",
        "image",
        "--offline",
        "--base-iso=none",
    ];
    let said = |output: Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let note = "neither checked nor pinned";
    assert!(
        said(run(
            &[&noted[..], &["--dir=d", "--live-side=lca-cli"]].concat()
        ))
        .contains(note)
    );
    assert!(!said(run(&[&noted[..], &quiet].concat())).contains(note));
    let bad = run(&[
        "image-based",
        "create",
        "config-template",
        "--log-level=loud",
    ]);
    assert!(!bad.status.success());
    let missing = run(&["image-based", "create", "config-image", "--dir=d"]);
    assert_eq!(missing.status.code(), Some(1));
}
