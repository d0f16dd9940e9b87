//! `muster create install-config`, `muster check` and `muster explain install-config` as a user
//! runs them.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

fn muster(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(args)
        .current_dir(folder)
        .env_remove("OPENSHIFT_INSTALL_INVOKER")
        .output()
        .expect("muster runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const FLAGS: &[&str] = &[
    "create",
    "install-config",
    "--no-input",
    "--name=lab",
    "--base-domain=example.com",
    "--platform=baremetal",
    "--topology=compact",
    "--machine-network=192.168.10.0/24",
    "--api-vip=192.168.10.5",
    "--ingress-vip=192.168.10.6",
    "--pull-secret-file=pull-secret.json",
    "--mirror=quay.io/ocp=mirror.lab:5000/ocp",
    "--http-proxy=http://me:hush@proxy.lab:3128",
    "--set=networking.networkType=OVNKubernetes",
    "--agent",
];

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = r#"{"auths":{"mirror.lab:5000":{"auth":"aHVzaDpodXNo"}}}"#;
    fs::write(folder.path().join("pull-secret.json"), secret).expect("a file");
    folder
}

#[test]
fn flags_make_a_file_with_comments_that_only_its_owner_can_read_and_that_is_good() {
    let folder = folder();
    let made = muster(folder.path(), FLAGS);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let path = folder.path().join("install-config.yaml");
    let file = fs::read_to_string(&path).expect("the file is there");
    assert!(file.contains("\n# Where the cluster lives"), "{file}");
    let mode = fs::metadata(&path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    let again = muster(folder.path(), FLAGS);
    assert!(!again.status.success());
    assert!(text(&again.stderr).contains("--force"));

    let checked = muster(folder.path(), &["check", "--agent", "--effective"]);
    assert!(checked.status.success(), "{}", text(&checked.stderr));
    let effective = text(&checked.stdout);
    assert!(
        effective.contains("provisioningNetworkCIDR: 172.22.0.0/24"),
        "{effective}"
    );
    assert!(!effective.contains("aHVzaDpodXNo"), "{effective}");
}

#[test]
fn flags_that_make_a_bad_file_write_none_and_say_why() {
    let folder = folder();
    let mut flags = FLAGS.to_vec();
    flags.push("--set=platform.baremetal.apiVIPs=[10.9.9.9]");
    flags.push("--set=baseDomian=x");
    let made = muster(folder.path(), &flags);
    assert!(!made.status.success());
    let printed = text(&made.stderr);
    for part in [
        "vip-in-machine-network",
        "did you mean `baseDomain`?",
        "nothing was written",
    ] {
        assert!(printed.contains(part), "{part} is missing in\n{printed}");
    }
    assert!(!folder.path().join("install-config.yaml").exists());
}

#[test]
fn a_bad_file_is_reported_with_every_fault_and_none_of_its_secrets() {
    let folder = folder();
    let file = "apiVersion: v1\nbaseDomain: Example\nmetadata: {name: lab}\npullSecret: '{\"auths\": {\"a\": {\"hush\": 1}}}'\nplatform: {aws: {}}\ncompute: 3\n";
    fs::write(folder.path().join("x.yaml"), file).expect("a file");
    let checked = muster(folder.path(), &["check", "x.yaml"]);
    assert_eq!(checked.status.code(), Some(1));
    let printed = text(&checked.stderr);
    for part in [
        "x.yaml:2:13: error: baseDomain",
        "x.yaml:5:12: error: platform.aws",
        "x.yaml:6:10: error: compute",
        "[pull-secret]",
        "4 errors",
    ] {
        assert!(printed.contains(part), "{part} is missing in\n{printed}");
    }
    assert!(!printed.contains("hush"), "{printed}");
    let lenient = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["check", "nowhere.yaml"])
        .current_dir(folder.path())
        .output()
        .expect("muster runs");
    assert!(text(&lenient.stderr).contains("nowhere.yaml"));
}

#[test]
fn fields_are_explained_and_slips_are_answered() {
    let here = Path::new(".");
    let printed = muster(
        here,
        &["explain", "install-config", "platform.baremetal.hosts"],
    );
    assert!(text(&printed.stdout).contains("bootMACAddress"));
    let slip = muster(here, &["explain", "install-config", "machineNetwrok"]);
    assert!(!slip.status.success());
    assert!(text(&slip.stderr).contains("did you mean"));
}

/// The questions, answered through a pseudo terminal made by `script` (util-linux).
#[test]
fn questions_are_asked_on_a_terminal_and_bad_answers_again() {
    let folder = folder();
    let muster = env!("CARGO_BIN_EXE_muster");
    let command = format!("{muster} create install-config --pull-secret-file pull-secret.json");
    let mut child = Command::new("script")
        .args(["-qec", &command, "typescript"])
        .current_dir(folder.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("script (util-linux) is there");
    let answers = "none\n1\nBad_Name\nlab\nexample.com\n10.0.0.1\n\n/dev/vda\n\n";
    let mut input = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut input, answers.as_bytes()).expect("it listens");
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    let printed = text(&output.stdout);
    assert!(printed.contains("is not a DNS name"), "{printed}");
    assert!(printed.contains("is not a network"), "{printed}");
    let file = fs::read_to_string(folder.path().join("install-config.yaml"));
    let file = file.unwrap_or_else(|_| panic!("{printed}"));
    for part in [
        "name: lab",
        "replicas: 1",
        "installationDisk: /dev/vda",
        "cidr: 10.0.0.0/16",
    ] {
        assert!(file.contains(part), "{part} is missing in\n{file}");
    }
}

#[test]
fn an_agent_config_next_to_the_file_is_validated_with_it() {
    let folder = folder();
    let made = muster(folder.path(), FLAGS);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let without = muster(folder.path(), &["check", "--agent"]);
    assert_eq!(text(&without.stdout).lines().count(), 1);

    let good = "apiVersion: v1beta1\nhosts:\n- {interfaces: [{name: a, macAddress: '02:00:00:00:00:01'}]}\n";
    let file = folder.path().join("agent-config.yaml");
    fs::write(&file, good).expect("a file");
    let both = muster(folder.path(), &["check", "--agent"]);
    assert!(both.status.success(), "{}", text(&both.stderr));
    let said = text(&both.stdout);
    assert!(
        said.contains("agent-config.yaml: 0 errors, 1 warning; it can be used"),
        "{said}"
    );
    // Who does not speak of agents is not asked about their file.
    fs::write(&file, good.replace("02:", "03:")).expect("a file");
    let plain = muster(folder.path(), &["check"]);
    assert!(!text(&plain.stderr).contains("agent-config"));
    let bad = muster(folder.path(), &["check", "--agent"]);
    assert_eq!(bad.status.code(), Some(1));
    let complaint = text(&bad.stderr);
    assert!(
        complaint.contains("agent-config.yaml:3:39: error: hosts[0].interfaces[0].macAddress"),
        "{complaint}"
    );
    fs::write(folder.path().join("broken.yaml"), "baseDomain: 7\n").expect("a file");
    let both = muster(folder.path(), &["check", "broken.yaml", "--agent"]);
    let complaint = text(&both.stderr);
    assert!(
        complaint.contains("[api-version]") && complaint.contains("[host-cards]"),
        "{complaint}"
    );
    let missing = ["check", "--agent", "--agent-config", "nowhere.yaml"];
    let missing = muster(folder.path(), &missing);
    assert!(text(&missing.stderr).contains("reading nowhere.yaml"));
    let printed = muster(folder.path(), &["explain", "agent-config", "rendezvousIP"]);
    assert!(text(&printed.stdout).contains("rendezvous-host"));
}
