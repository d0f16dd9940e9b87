//! Reading from a working registry.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use muster_model::{Arch, Product};
use muster_release::{
    Cache, Client, Digest, Error, ImageRef, Platform, Progress, Release, Seed, Settings, TOOLS,
};
use serde_json::json;

use crate::support::{
    client,
    images::{Packing, Recipe, layer, push},
    payload::{COREOS, Plan, VERSION, installer, iso, push_payload},
    pull_secret,
    server::Registry,
    settings,
};

fn release_ref(registry: &Registry, digest: &Digest) -> ImageRef {
    let text = format!("{}/ocp/release@{digest}", registry.host());
    text.parse().expect("a reference")
}

#[tokio::test]
async fn a_payload_names_its_version_and_components() {
    let registry = Registry::start().await;
    let home = format!("{}/ocp", registry.host());
    let plan = Plan {
        home: &home,
        docker: true,
        ..Plan::default()
    };
    let payload = push_payload(&registry, &plan).await;
    let by_tag: ImageRef = format!("{home}/release:{VERSION}").parse().expect("sound");
    let release = Release::open(&client(&registry), &by_tag, None)
        .await
        .expect("reads");
    assert_eq!(release.version().as_str(), VERSION);
    assert_eq!(release.arch(), Arch::X86_64);
    assert_eq!(release.product(), Product::Openshift);
    assert_eq!(
        release.image().pinned(),
        release_ref(&registry, &payload.digest)
    );
    assert_eq!(release.created(), Some("2026-01-02T03:04:05Z"));
    assert_eq!(release.previous(), ["4.20.1", "4.20.2"]);
    assert_eq!(release.channels(), ["fast-4.20", "stable-4.20"]);
    assert_eq!(release.versions()["kubernetes"], "1.33.5");
    let names: Vec<&str> = release.components().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["hyperkube", "installer", "machine-os-images"]);
    assert_eq!(
        release
            .image_for("machine-os-images")
            .expect("there")
            .to_string(),
        format!("{home}/content@{}", payload.machine_os[0].digest)
    );
    let error = release.image_for("machine-os").expect_err("not there");
    assert_eq!(
        error.to_string(),
        "release 4.20.3 has no component `machine-os`; did you mean machine-os-images?"
    );
    assert_eq!(release.manifests()["0000_00_a.yaml"], b"kind: Namespace\n");
}

#[tokio::test]
async fn the_installer_comes_out_whole_and_knows_its_release() {
    let registry = Registry::start().await;
    let home = format!("{}/ocp", registry.host());
    let payload = push_payload(
        &registry,
        &Plan {
            home: &home,
            ..Plan::default()
        },
    )
    .await;
    let reference = release_ref(&registry, &payload.digest);
    let release = Release::open(&client(&registry), &reference, None)
        .await
        .expect("reads");
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("openshift-install");
    let written = release
        .extract_tool(&TOOLS[0], None, &to)
        .await
        .expect("extracts");
    let bytes = fs::read(&to).expect("there");
    let made = installer("amd64");
    assert_eq!(bytes.len(), made.len());
    assert_eq!(bytes[..100_000], made[..100_000]);
    let mut stamp = reference.to_string().into_bytes();
    stamp.push(0);
    assert!(bytes[100_000..].starts_with(&stamp));
    assert_eq!(written.sha256, Digest::of(&bytes));
    let mode = fs::metadata(&to).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    let left: Vec<_> = fs::read_dir(folder.path()).expect("reads").collect();
    assert_eq!(left.len(), 1, "nothing unfinished stays behind");
    let installer = release.component("installer", None).await.expect("there");
    let gone = installer.read("/etc/gone").await.expect_err("whited out");
    assert!(matches!(gone, Error::NoSuchFile { .. }), "{gone}");
}

#[tokio::test]
async fn a_multi_architecture_payload_gives_the_iso_of_each() {
    let registry = Registry::start().await;
    let home = format!("{}/ocp", registry.host());
    let plan = Plan {
        home: &home,
        arches: &["amd64", "arm64"],
        docker: true,
        ..Plan::default()
    };
    let payload = push_payload(&registry, &plan).await;
    let seen = Arc::new(AtomicU64::new(0));
    let most = seen.clone();
    let client = client(&registry).watched(move |progress| {
        if let Progress::Layer { done, total, .. } = progress {
            assert!(done <= total);
            most.fetch_max(done, SeqCst);
        }
    });
    let release = Release::open(&client, &release_ref(&registry, &payload.digest), None)
        .await
        .expect("reads");
    assert_eq!(release.arch(), Arch::Multi);
    assert_eq!(release.image().pinned().digest, Some(payload.digest));
    let folder = tempfile::tempdir().expect("a folder");
    for (arch, go) in [(Arch::X86_64, "amd64"), (Arch::Arm64, "arm64")] {
        let to = folder.path().join(go);
        let iso_file = release.extract_iso(arch, 9, &to).await.expect("extracts");
        assert!(
            iso_file.stated,
            "compared with the digest the payload states"
        );
        assert_eq!(iso_file.coreos_version.as_deref(), Some(COREOS));
        assert!(fs::read(&to).expect("there") == iso(go, plan.iso_size));
    }
    assert!(
        seen.load(SeqCst) > plan.iso_size as u64,
        "progress was reported"
    );
    let error = release
        .extract_iso(Arch::S390x, 9, &folder.path().join("z"))
        .await
        .expect_err("none for it");
    let text = error.to_string();
    assert!(
        text.contains("no image for s390x, only for: amd64, arm64"),
        "{text}"
    );
    let error = release
        .extract_iso(Arch::X86_64, 10, &folder.path().join("ten"))
        .await
        .expect_err("no such generation");
    let text = error.to_string();
    assert!(text.contains("/coreos/coreos10-x86_64.iso"), "{text}");
    assert!(!folder.path().join("ten").exists());
}

#[tokio::test]
async fn an_iso_that_is_not_what_the_payload_states_is_not_shown() {
    let registry = Registry::start().await;
    let home = format!("{}/ocp", registry.host());
    let plan = Plan {
        home: &home,
        honest: false,
        ..Plan::default()
    };
    let payload = push_payload(&registry, &plan).await;
    let release = Release::open(
        &client(&registry),
        &release_ref(&registry, &payload.digest),
        Some(Arch::X86_64),
    )
    .await
    .expect("reads");
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("base.iso");
    let error = release
        .extract_iso(Arch::X86_64, 9, &to)
        .await
        .expect_err("lies");
    assert!(error.to_string().contains(".iso.sha256 says"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).expect("reads").count(), 0);
}

#[tokio::test]
async fn payloads_of_the_community_distribution_are_read_too() {
    let registry = Registry::start().await;
    let home = format!("{}/okd", registry.host());
    let plan = Plan {
        home: &home,
        version: "4.20.0-okd-scos.7",
        ..Plan::default()
    };
    let payload = push_payload(&registry, &plan).await;
    let release = Release::open(
        &client(&registry),
        &release_ref(&registry, &payload.digest),
        None,
    )
    .await
    .expect("reads");
    assert_eq!(release.product(), Product::Okd);
}

#[tokio::test]
async fn an_image_that_is_no_payload_is_called_so() {
    let registry = Registry::start().await;
    let recipe = Recipe::new(vec![layer(Packing::Plain, &[("a", b"b")])]);
    push(&registry, "some/thing", "1", recipe).await;
    let reference = format!("{}/some/thing:1", registry.host())
        .parse()
        .expect("sound");
    let error = Release::open(&client(&registry), &reference, None)
        .await
        .expect_err("no payload");
    let text = error.to_string();
    assert!(text.contains("no folder /release-manifests"), "{text}");
    let error = Release::open(&client(&registry), &reference, Some(Arch::Arm64))
        .await
        .expect_err("another architecture");
    assert!(
        error
            .to_string()
            .contains("it is for amd64 and arm64 was asked for"),
        "{error}"
    );
}

#[tokio::test]
async fn what_is_in_the_cache_needs_no_registry() {
    let mut registry = Registry::start().await;
    let home = format!("{}/ocp", registry.host());
    let payload = push_payload(
        &registry,
        &Plan {
            home: &home,
            ..Plan::default()
        },
    )
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let client = Client::new(Settings {
        pull_secret: pull_secret(&[registry.host()]),
        cache: Some(Cache::open(folder.path().join("cache"), None).expect("opens")),
        ..settings(registry.authority())
    })
    .expect("sound");
    let reference = release_ref(&registry, &payload.digest);
    let first = folder.path().join("first.iso");
    let second = folder.path().join("second.iso");
    let release = Release::open(&client, &reference, None)
        .await
        .expect("reads");
    release
        .extract_iso(Arch::X86_64, 9, &first)
        .await
        .expect("extracts");
    registry.stop();
    let release = Release::open(&client, &reference, None)
        .await
        .expect("from the cache");
    release
        .extract_iso(Arch::X86_64, 9, &second)
        .await
        .expect("from the cache");
    assert!(fs::read(first).expect("there") == fs::read(second).expect("there"));
}

#[tokio::test]
async fn a_seed_is_known_by_its_labels() {
    let registry = Registry::start().await;
    let info = json!({"seed_cluster_ocp_version": "4.20.3", "cluster_name": "seed", "has_proxy": true,
        "node_ips": ["192.0.2.1"]});
    let seed = Recipe {
        labels: json!({
            "com.openshift.lifecycle-agent.seed_format_version": "4",
            "com.openshift.lifecycle-agent.seed_cluster_info": info.to_string(),
        }),
        ..Recipe::new(vec![layer(Packing::Gzip, &[("lca-cli", b"x")])])
    };
    let pushed = push(&registry, "seeds/a", "4.20.3", seed).await;
    push(&registry, "seeds/b", "1", Recipe::new(vec![])).await;
    let client = client(&registry);
    let named = |name: &str| {
        format!("{}/seeds/{name}", registry.host())
            .parse::<ImageRef>()
            .expect("sound")
    };
    let seed = Seed::inspect(&client, &named("a:4.20.3"), Platform::Any)
        .await
        .expect("a seed");
    assert!(seed.is_current());
    assert_eq!(seed.image.digest, Some(pushed.digest));
    let cluster = seed.cluster.expect("the seed describes its cluster");
    assert_eq!(cluster.seed_cluster_ocp_version, "4.20.3");
    assert!(cluster.has_proxy && !cluster.has_fips);
    assert_eq!(cluster.rest["node_ips"], json!(["192.0.2.1"]));
    let error = Seed::inspect(&client, &named("b:1"), Platform::Any)
        .await
        .expect_err("no seed");
    assert!(error.to_string().contains("not a seed image"), "{error}");
}
