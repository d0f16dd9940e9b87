//! `muster create … --assets=release`: the release's own installer, out of a real registry, run
//! apart from everything.

#[path = "../../release/tests/registry/support/mod.rs"]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::Duration,
};

use serde_json::json;
use support::{
    payload::{Payload, Plan, push_payload},
    server::Registry,
};
use tempfile::TempDir;

/// A name that never resolves: everything comes from the mirror.
const SOURCE: &str = "quay.example.invalid/ocp";

/// User and password of the registry, as pull secrets hold them.
const LOGIN: &str = "bXVzdGVyOm9wZW4tc2VzYW1l";

/// Stands in for openshift-install: same arguments, same files used up, and a few misdeeds.
const PROGRAM: &str = r#"#!/usr/bin/env bash
set -e
[ "$1" = create ] && [ "$3" = --dir ] && [ "$4" = "$PWD" ]
target=$2
echo "level=info msg=\"Making $target\"" >&2
env >environment
readlink /proc/self/ns/net >network
grep --text --only-matching --max-count=1 'sha256:[0-9a-f]\{64\}' "$0" | head -1 >release
state=.openshift_install_state.json
misdeed() {
    if [ -n "${OPENSHIFT_INSTALL_TEST_PID:-}" ]; then
        echo half >half
        read -r pid _ </proc/self/stat
        echo "$pid" >"$OPENSHIFT_INSTALL_TEST_PID.new"
        mv "$OPENSHIFT_INSTALL_TEST_PID.new" "$OPENSHIFT_INSTALL_TEST_PID"
        sleep 600
    fi
    case ${OPENSHIFT_INSTALL_TEST:-} in
        fail) echo half >half; echo 'level=fatal msg="no such platform"' >&2; exit 3 ;;
        link) ln -s /etc/passwd stolen ;;
    esac
}
misdeed
case $target in
    manifests)
        jq '{"*installconfig.InstallConfig": {config: .}}' install-config.yaml >$state
        mkdir -p manifests openshift
        echo 'kind: Infrastructure' >manifests/cluster-infrastructure-02-config.yml
        echo 'kind: Secret' >openshift/99_kubeadmin-password-secret.yaml
        rm install-config.yaml
        ;;
    ignition-configs)
        [ -e $state ] && [ -e manifests/mine.yaml ]
        mkdir auth
        for file in bootstrap.ign master.ign worker.ign metadata.json auth/kubeconfig; do
            echo '{}' >$file
        done
        rm -r manifests openshift
        ;;
    *) echo "no such target $target" >&2; exit 2 ;;
esac
exit 0
"#;

/// Architectures: this machine's, and another.
#[cfg(target_arch = "x86_64")]
const HERE_AND_ELSEWHERE: [&str; 2] = ["amd64", "arm64"];
#[cfg(target_arch = "aarch64")]
const HERE_AND_ELSEWHERE: [&str; 2] = ["arm64", "amd64"];

struct Site {
    registry: Registry,
    payload: Payload,
    folder: TempDir,
}

impl Site {
    async fn new() -> Self {
        Self::with(Plan::default()).await
    }

    async fn with(plan: Plan<'_>) -> Self {
        let registry = Registry::start().await;
        let plan = Plan {
            home: SOURCE,
            path: "mirror",
            program: plan.program.or(Some(PROGRAM.as_bytes())),
            arches: match plan.arches {
                ["amd64"] => &HERE_AND_ELSEWHERE[..1],
                other => other,
            },
            ..plan
        };
        let payload = push_payload(&registry, &plan).await;
        let site = Self {
            folder: tempfile::tempdir().expect("a folder"),
            registry,
            payload,
        };
        site.write_install_config();
        site
    }

    /// Everything needed to reach the payload stands in it.
    fn write_install_config(&self) {
        let host = self.registry.host();
        let config = json!({
            "apiVersion": "v1",
            "baseDomain": "example.org",
            "metadata": {"name": "site"},
            "controlPlane": {"name": "master", "replicas": 3},
            "compute": [{"name": "worker", "replicas": 0}],
            "platform": {"none": {}},
            "pullSecret": json!({"auths": {host: {"auth": LOGIN}}}).to_string(),
            "additionalTrustBundle": fs::read_to_string(self.registry.ca_file()).expect("there"),
            "imageDigestSources": [{"source": SOURCE, "mirrors": [format!("{host}/mirror")]}],
        });
        fs::create_dir_all(self.path("site")).expect("makes");
        fs::write(self.path("site/install-config.yaml"), config.to_string()).expect("writes");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn has(&self, name: &str) -> bool {
        self.path("site").join(name).exists()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path("site").join(name)).expect("there")
    }

    fn release(&self) -> String {
        format!("{SOURCE}/release@{}", self.payload.digest)
    }

    fn command(&self, target: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command
            .args(["create", target, "--dir"])
            .arg(self.path("site"))
            .arg("--cache-dir")
            .arg(self.path("cache"))
            .args(more)
            .env("TMPDIR", self.folder.path())
            .env("A_SECRET_OF_OURS", "hush")
            .env("OPENSHIFT_INSTALL_INVOKER", "tests")
            .env_remove("HTTPS_PROXY")
            .env_remove("https_proxy");
        command
    }

    /// The first command, by the release's installer.
    fn manifests(&self, change: impl FnOnce(&mut Command)) -> (Output, String) {
        let release = self.release();
        let arguments = ["--assets=release", "--release-image", &release];
        let mut command = self.command("manifests", &arguments);
        change(&mut command);
        run_to_end(command)
    }

    /// Nothing was made, and nothing is left of the attempt.
    fn assert_untouched(&self) {
        let names: Vec<_> = fs::read_dir(self.path("site"))
            .expect("reads")
            .map(|entry| entry.expect("reads").file_name())
            .collect();
        assert_eq!(names, ["install-config.yaml"]);
        let left: Vec<_> = fs::read_dir(self.folder.path())
            .expect("reads")
            .map(|entry| entry.expect("reads").file_name().into_string())
            .filter(|name| name.as_ref().is_ok_and(|name| name.starts_with("muster-")))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

fn run_to_end(mut command: Command) -> (Output, String) {
    let output = command.output().expect("starts");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, text)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_installer_of_the_release_makes_the_assets_apart_from_everything() {
    let site = Site::new().await;
    let (output, errors) = site.manifests(|_| {});
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("Making manifests"), "its words: {errors}");
    assert!(!site.has("install-config.yaml"), "it was used up");
    assert!(site.has("manifests/cluster-infrastructure-02-config.yml"));
    assert_eq!(site.read("release").trim(), site.payload.digest.to_string());
    let ours = fs::read_link("/proc/self/ns/net").expect("there");
    assert_ne!(Path::new(site.read("network").trim()), ours, "no network");
    let environment = site.read("environment");
    assert!(!environment.contains("hush"), "{environment}");
    assert!(environment.contains("OPENSHIFT_INSTALL_INVOKER=tests"));

    // The second command needs neither the install-config nor a word about the release.
    fs::write(site.path("site/manifests/mine.yaml"), "kind: Mine\n").expect("writes");
    let (output, errors) = run_to_end(site.command("ignition-configs", &[]));
    assert!(output.status.success(), "{errors}");
    for file in [
        "bootstrap.ign",
        "master.ign",
        "metadata.json",
        "auth/kubeconfig",
    ] {
        assert!(site.has(file), "{file}");
    }
    assert!(!site.has("manifests") && !site.has("openshift"));
    let (_, errors) = run_to_end(site.command("ignition-configs", &["--assets=muster"]));
    assert!(errors.contains("finish with --assets=release"), "{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_muster_does_not_know_is_left_to_its_own_installer() {
    let version = "4.99.1";
    let site = Site::with(Plan {
        version,
        ..Plan::default()
    })
    .await;
    let release = site.release();
    let named = ["--release-image", &release, "--release-version", version];
    let mut refused = site.command("manifests", &named);
    refused.arg("--assets=muster");
    let (output, errors) = run_to_end(refused);
    assert!(!output.status.success());
    assert!(errors.contains("no profile for release 4.99.1"), "{errors}");
    site.assert_untouched();
    let (output, errors) = run_to_end(site.command("manifests", &named));
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("no profile for release 4.99.1"), "{errors}");
    assert!(
        errors.contains("the release's own installer is used"),
        "{errors}"
    );
    assert!(site.has("manifests/cluster-infrastructure-02-config.yml"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installer_that_fails_is_quoted_and_leaves_nothing() {
    let site = Site::new().await;
    let (output, errors) = site.manifests(|command| {
        command.env("OPENSHIFT_INSTALL_TEST", "fail");
    });
    assert_eq!(output.status.code(), Some(1));
    assert!(
        errors.contains("openshift-install create manifests ended with exit code 3"),
        "{errors}"
    );
    assert!(errors.contains("no such platform"), "{errors}");
    site.assert_untouched();
    let (output, errors) = site.manifests(|command| {
        command.env("OPENSHIFT_INSTALL_TEST", "link");
    });
    assert!(!output.status.success());
    assert!(
        errors.contains("left stolen, which is neither a file"),
        "{errors}"
    );
    site.assert_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installer_that_is_killed_or_does_not_end_leaves_nothing() {
    let site = Site::new().await;
    let pid_file = site.path("pid");
    let killed = {
        let release = site.release();
        let mut command = site.command(
            "manifests",
            &["--assets=release", "--release-image", &release],
        );
        let child = command
            .env("OPENSHIFT_INSTALL_TEST_PID", &pid_file)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        while !pid_file.exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let pid = fs::read_to_string(&pid_file).expect("there");
        let done = Command::new("kill").args(["-KILL", pid.trim()]).status();
        assert!(done.expect("starts").success());
        child.wait_with_output().expect("ends")
    };
    let errors = String::from_utf8_lossy(&killed.stderr);
    assert!(errors.contains("was killed by signal 9"), "{errors}");
    assert!(errors.contains("Making manifests"), "{errors}");
    site.assert_untouched();

    fs::remove_file(&pid_file).expect("there");
    let (_, errors) = site.manifests(|command| {
        command.env("OPENSHIFT_INSTALL_TEST_PID", &pid_file);
        command.args(["--installer-timeout", "2"]);
    });
    assert!(
        errors.contains("did not end within 2 s and was stopped"),
        "{errors}"
    );
    site.assert_untouched();
    let pid = fs::read_to_string(&pid_file).expect("it had begun");
    let process = Path::new("/proc").join(pid.trim());
    while process.exists() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_without_an_installer_for_this_machine_is_reported() {
    let site = Site::with(Plan {
        without: &["installer"],
        ..Plan::default()
    })
    .await;
    let (_, errors) = site.manifests(|_| {});
    assert!(errors.contains("has no component `installer`"), "{errors}");
    site.assert_untouched();

    let site = Site::with(Plan {
        arches: &["s390x"],
        ..Plan::default()
    })
    .await;
    let (_, errors) = site.manifests(|_| {});
    assert!(
        errors.contains("is for s390x and has no openshift-install for this machine"),
        "{errors}"
    );
    site.assert_untouched();

    let mut foreign = b"\x7fELF\x02\x02".to_vec();
    foreign.resize(18, 0);
    foreign.extend([0, 22]);
    let site = Site::with(Plan {
        program: Some(&foreign),
        ..Plan::default()
    })
    .await;
    let (_, errors) = site.manifests(|_| {});
    assert!(errors.contains("it is a program for s390x"), "{errors}");
    site.assert_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_for_other_machines_brings_an_installer_for_this_one() {
    let site = Site::with(Plan {
        arches: &HERE_AND_ELSEWHERE[1..],
        artifacts: &HERE_AND_ELSEWHERE,
        ..Plan::default()
    })
    .await;
    let (output, errors) = site.manifests(|_| {});
    assert!(output.status.success(), "{errors}");
    assert_eq!(site.read("release").trim(), site.payload.digest.to_string());
}
