//! `muster release` as people use it, against a real registry.

#[path = "../../release/tests/registry/support/mod.rs"]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::atomic::Ordering::SeqCst,
    time::Duration,
};

use muster_image::{View, config_iso::ConfigIso};
use support::{
    link::Link,
    payload::{COREOS, Payload, Plan, VERSION, iso, push_payload},
    secret_text,
    server::{PASSWORD, Registry},
};
use tempfile::TempDir;

/// A name that never resolves: everything comes from the mirror.
const SOURCE: &str = "quay.example.invalid/ocp";
const ISO_SIZE: usize = 6 << 20;

struct Site {
    registry: Registry,
    link: Link,
    payload: Payload,
    folder: TempDir,
}

impl Site {
    async fn new() -> Self {
        Self::with_iso(None).await
    }

    async fn with_iso(iso: Option<&[u8]>) -> Self {
        let registry = Registry::start().await;
        let plan = Plan {
            home: SOURCE,
            path: "mirror",
            iso_size: ISO_SIZE,
            iso,
            ..Plan::default()
        };
        let payload = push_payload(&registry, &plan).await;
        let link = Link::to(registry.host()).await;
        let site = Self {
            folder: tempfile::tempdir().expect("a folder"),
            registry,
            link,
            payload,
        };
        let mirrors = format!(
            "kind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n  - source: {SOURCE}\n    \
             mirrors: [{}/mirror]\n    mirrorSourcePolicy: NeverContactSource\n",
            site.link.host()
        );
        fs::write(site.path("mirrors.yaml"), mirrors).expect("writes");
        site.write_secret(PASSWORD);
        site
    }

    fn write_secret(&self, password: &str) {
        let secret = secret_text(&[&self.link.host()], password);
        fs::write(self.path("secret.json"), secret).expect("writes");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn release(&self) -> String {
        format!("{SOURCE}/release@{}", self.payload.digest)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command
            .arg("release")
            .args(args)
            .arg("--pull-secret")
            .arg(self.path("secret.json"))
            .arg("--mirrors")
            .arg(self.path("mirrors.yaml"))
            .arg("--ca")
            .arg(self.registry.ca_file())
            .arg("--cache-dir")
            .arg(self.path("cache"))
            .env_remove("HTTPS_PROXY")
            .env_remove("https_proxy");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("starts")
    }

    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).expect("text")
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_described_and_extracted() {
    let site = Site::new().await;
    let release = site.release();
    let info = site.ok(&["info", &release]);
    assert!(info.contains(&format!("OpenShift {VERSION}")), "{info}");
    assert!(info.contains("kubernetes     1.33.5"), "{info}");
    let json = site.ok(&["info", "--json", &release]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["digest"], site.payload.digest.to_string());
    let image = site.ok(&["image-for", &release, "machine-os-images"]);
    assert_eq!(
        image.trim(),
        format!("{SOURCE}/content@{}", site.payload.machine_os[0].digest)
    );
    let installer = site.path("openshift-install");
    site.ok(&[
        "extract",
        &release,
        "--tool",
        "openshift-install",
        "--to",
        &text(&installer),
    ]);
    let bytes = fs::read(&installer).expect("there");
    let stamped = bytes
        .windows(release.len())
        .any(|part| part == release.as_bytes());
    assert!(stamped, "the installer knows its release");
    let manifests = site.path("manifests");
    site.ok(&[
        "extract",
        &release,
        "--manifests",
        "--to",
        &text(&manifests),
    ]);
    assert!(manifests.join("image-references").exists());
    let base = site.path("base.iso");
    let json = site.ok(&["iso", &release, "--json", "--to", &text(&base)]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["coreos_version"], COREOS);
    assert!(fs::read(&base).expect("there") == iso("amd64", ISO_SIZE));
    let again = site.run(&["iso", &release, "--to", &text(&base)]);
    let again = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.contains("--force overwrites it"), "{again}");
    site.ok(&["iso", &release, "--force", "--to", &text(&base)]);
    let file = "/release-manifests/image-references";
    let printed = site.ok(&["extract", &release, "--file", file, "--to", "-"]);
    assert!(
        printed.starts_with('{') && printed.contains("ImageStream"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn after_kill_9_only_the_rest_is_fetched() {
    let site = Site::new().await;
    let release = site.release();
    site.ok(&["info", &release]);
    site.link.behaviour.cut_after.store(4 << 20, SeqCst);
    site.link.behaviour.cuts.store(1, SeqCst);
    site.link.behaviour.stall.store(true, SeqCst);
    let base = site.path("base.iso");
    let mut child = site
        .command(&["iso", &release, "--to", &text(&base)])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("starts");
    let layer = site.payload.machine_os[0].layers[1].hex();
    let part = site.path("cache").join(format!("{layer}.part"));
    while fs::metadata(&part).map_or(0, |meta| meta.len()) < 3 << 20 {
        assert!(
            child.try_wait().expect("waits").is_none(),
            "it must be fetching"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    child.kill().expect("kills");
    child.wait().expect("ends");
    assert!(!base.exists(), "nothing half done is shown");
    let before = site.link.delivered();
    site.ok(&["iso", &release, "--to", &text(&base)]);
    let rest = site.link.delivered() - before;
    assert!(
        rest < ISO_SIZE as u64 - (2 << 20),
        "only the rest came: {rest}"
    );
    assert!(fs::read(&base).expect("there") == iso("amd64", ISO_SIZE));
    let left: Vec<_> = fs::read_dir(site.folder.path())
        .expect("reads")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().ends_with(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_reported_with_a_way_out() {
    let site = Site::new().await;
    let release = site.release();
    let outcome = |output: Output| {
        let code = output.status.code();
        (code, String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, errors) = outcome(site.run(&["image-for", &release, "machine-os"]));
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("did you mean machine-os-images?"),
        "{errors}"
    );
    let (code, errors) = outcome(site.run(&["info", "not-an-image"]));
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("write registry.example.com/path@sha256:"),
        "{errors}"
    );
    let tool = ["extract", &release, "--tool", "kubectl", "--to", "x"];
    let (_, errors) = outcome(site.run(&tool));
    assert!(errors.contains("there are openshift-install,"), "{errors}");
    site.write_secret("expired");
    let (code, errors) = outcome(site.run(&["info", &release, "--no-cache"]));
    assert_eq!(
        code,
        Some(2),
        "--no-cache and --cache-dir exclude each other: {errors}"
    );
    let other = format!("{SOURCE}/content@{}", site.payload.machine_os[0].digest);
    let (code, errors) =
        outcome(site.run(&["extract", &other, "--file", "/etc/os-release", "--to", "x"]));
    assert_eq!(code, Some(1));
    assert!(
        errors.contains("refuses the credentials of the pull secret"),
        "{errors}"
    );
    assert!(!errors.contains("expired;"), "{errors}");
    fs::write(site.path("mirrors.yaml"), "kind: Secret\n").expect("writes");
    let (code, errors) = outcome(site.run(&["info", &release]));
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("kind `Secret` holds no mirrors"),
        "{errors}"
    );
}

/// As much of a live image as is looked at before an OS image is taken.
fn live_image() -> Vec<u8> {
    let image = ConfigIso::new("rhcos-1")
        .and_then(|iso| iso.file("images/ignition.img", View::bytes(vec![0; 4096])))
        .and_then(|iso| iso.file("images/pxeboot/vmlinuz", View::bytes(vec![5; 3000])))
        .and_then(|iso| iso.file("images/pxeboot/initrd.img", View::bytes(vec![6; 3000])))
        .and_then(|iso| iso.file("images/pxeboot/rootfs.img", View::bytes(vec![7; 9000])))
        .and_then(|iso| iso.build())
        .expect("builds");
    let mut bytes = Vec::new();
    std::io::copy(&mut image.reader(), &mut bytes).expect("reads");
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn an_os_image_comes_out_of_a_release() {
    let live = live_image();
    let site = Site::with_iso(Some(&live)).await;
    let fetch = |release: &str| {
        Command::new(env!("CARGO_BIN_EXE_muster"))
            .args(["os-images", "fetch", "--version", "4.20", "--data-dir"])
            .arg(site.path("data"))
            .args(["--url", &format!("release://{release}")])
            .env(
                "MUSTER_IMAGES_REGISTRY_PULL_SECRET_FILE",
                site.path("secret.json"),
            )
            .env(
                "MUSTER_IMAGES_REGISTRY_MIRRORS_FILE",
                site.path("mirrors.yaml"),
            )
            .env("MUSTER_IMAGES_FETCH_CA_FILE", site.registry.ca_file())
            .env_remove("HTTPS_PROXY")
            .env_remove("https_proxy")
            .output()
            .expect("starts")
    };
    let output = fetch(&format!("{SOURCE}/release:4.20.3"));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("name the image by its digest"), "{errors}");
    let output = fetch(&site.release());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let files: Vec<PathBuf> = fs::read_dir(site.path("data/os-images"))
        .expect("reads")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let images: Vec<&PathBuf> = files
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "iso"))
        .collect();
    assert_eq!(images.len(), 1, "{files:?}");
    assert!(fs::read(images[0]).expect("there") == live);
    let unfinished = files.iter().any(|path| {
        let name = path.display().to_string();
        name.contains(".part") || name.ends_with("taken-out")
    });
    assert!(!unfinished, "{files:?}");
}
