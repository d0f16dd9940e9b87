//! `muster agent create …`: which release is written into the files of a site, asked of a real registry that
//! stands in for another by mirrors of digests.

#[path = "../../release/tests/registry/support/mod.rs"]
mod support;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::json;
use support::{
    payload::{Payload, Plan, VERSION, push_payload},
    server::Registry,
};
use tempfile::TempDir;

/// A name that never resolves: everything comes from the mirror.
const SOURCE: &str = "quay.example.invalid/ocp";
/// User and password of the registry, as pull secrets hold them.
const LOGIN: &str = "bXVzdGVyOm9wZW4tc2VzYW1l";
const AGENT_CONFIG: &str = "apiVersion: v1beta1\nrendezvousIP: 192.168.111.80\n";

struct Site {
    registry: Registry,
    payload: Payload,
    folder: TempDir,
}

impl Site {
    async fn new() -> Self {
        let registry = Registry::start().await;
        let plan = Plan {
            home: SOURCE,
            path: "mirror",
            arches: &["amd64", "arm64"],
            ..Plan::default()
        };
        let payload = push_payload(&registry, &plan).await;
        Self {
            registry,
            payload,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    /// A directory of its own with the configs of the site.
    fn directory(&self, name: &str) -> PathBuf {
        let host = self.registry.host();
        let config = json!({
            "apiVersion": "v1",
            "baseDomain": "example.org",
            "metadata": {"name": "site"},
            "networking": {"machineNetwork": [{"cidr": "192.168.111.0/24"}]},
            "controlPlane": {"name": "master", "replicas": 1},
            "compute": [{"name": "worker", "replicas": 0}],
            "platform": {"none": {}},
            "pullSecret": json!({"auths": {host: {"auth": LOGIN}}}).to_string(),
            "additionalTrustBundle": fs::read_to_string(self.registry.ca_file()).expect("there"),
            "imageDigestSources": [{"source": SOURCE, "mirrors": [format!("{host}/mirror")]}],
        });
        let directory = self.folder.path().join(name);
        fs::create_dir_all(&directory).expect("makes");
        fs::write(directory.join("install-config.yaml"), config.to_string()).expect("writes");
        fs::write(directory.join("agent-config.yaml"), AGENT_CONFIG).expect("writes");
        directory
    }

    fn cluster_manifests(&self, name: &str, more: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_muster"))
            .args([
                "agent",
                "create",
                "cluster-manifests",
                "--no-cache",
                "--dir",
            ])
            .arg(self.folder.path().join(name))
            .args(more)
            .env_remove("HTTPS_PROXY")
            .env_remove("https_proxy")
            .output()
            .expect("runs")
    }

    fn image_set(&self, name: &str) -> String {
        let path = "cluster-manifests/cluster-image-set.yaml";
        fs::read_to_string(self.folder.path().join(name).join(path)).expect("there")
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_with_mirrors_of_digests_becomes_the_digest_in_the_mirror() {
    let site = Site::new().await;
    let tag = format!("{SOURCE}/release:{VERSION}");
    site.directory("lab");
    let output = site.cluster_manifests("lab", &["--release", &tag]);
    assert!(output.status.success(), "{}", errors(&output));
    let image_set = site.image_set("lab");
    let pinned = format!("releaseImage: {SOURCE}/release@{}", site.payload.digest);
    assert!(image_set.contains(&pinned), "{image_set}");
    assert!(
        image_set.contains(&format!("name: openshift-{VERSION}")),
        "{image_set}"
    );
    // The next command knows it from the state.
    let output = site.cluster_manifests("lab", &["--offline"]);
    assert!(output.status.success(), "{}", errors(&output));
    assert!(site.image_set("lab").contains(&pinned));

    for (name, release, more) in [
        ("offline", &tag, Some("--offline")),
        ("missing", &format!("{SOURCE}/release:4.20.99"), None),
    ] {
        let directory = site.directory(name);
        let mut words = vec!["--release", release];
        words.extend(more);
        let output = site.cluster_manifests(name, &words);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let fix = format!("--release {SOURCE}/release@sha256:");
        assert!(said.contains(&fix), "{said}");
        assert!(
            directory.join("install-config.yaml").exists(),
            "nothing is used up"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_version_of_a_digest_is_read_from_the_release() {
    let site = Site::new().await;
    let digest = format!("{SOURCE}/release@{}", site.payload.digest);
    site.directory("lab");
    let output = site.cluster_manifests("lab", &["--release", &digest]);
    assert!(output.status.success(), "{}", errors(&output));
    let image_set = site.image_set("lab");
    assert!(
        image_set.contains(&format!("name: openshift-{VERSION}")),
        "{image_set}"
    );

    site.directory("offline");
    let output = site.cluster_manifests("offline", &["--release", &digest, "--offline"]);
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("--release-version"), "{said}");
}
