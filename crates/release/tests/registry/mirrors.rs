//! Images under other names, and registries that are down.

use muster_model::Arch;
use muster_release::{Client, Fallback, ImageRef, Mirrors, Release, Settings};

use crate::support::{
    payload::{Payload, Plan, push_payload},
    pull_secret,
    server::{Registry, free_port},
    settings,
};

/// A name that never resolves.
const SOURCE: &str = "quay.example.invalid/ocp";

async fn mirrored(registry: &Registry) -> Payload {
    let plan = Plan {
        home: SOURCE,
        path: "mirror/of-ocp",
        ..Plan::default()
    };
    push_payload(registry, &plan).await
}

fn client(registry: &Registry, mirrors: Mirrors) -> Client {
    Client::new(Settings {
        pull_secret: pull_secret(&[registry.host()]),
        mirrors,
        ..settings(registry.authority())
    })
    .expect("sound")
}

fn release_ref(payload: &Payload) -> ImageRef {
    format!("{SOURCE}/release@{}", payload.digest)
        .parse()
        .expect("sound")
}

fn mirror_set(mirrors: &[&str], policy: &str) -> Mirrors {
    let mirrors = mirrors.join(", ");
    Mirrors::parse(&format!(
        "apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec:\n  \
         imageDigestMirrors:\n  - source: {SOURCE}\n    mirrors: [{mirrors}]\n    \
         mirrorSourcePolicy: {policy}\n"
    ))
    .expect("sound")
}

#[tokio::test]
async fn a_mirror_under_another_name_serves_release_and_components() {
    let registry = Registry::start().await;
    let payload = mirrored(&registry).await;
    let host = registry.host();
    let conf = format!(
        "[[registry]]\nlocation = \"{SOURCE}\"\n[[registry.mirror]]\nlocation = \"{host}/mirror/of-ocp\"\n"
    );
    let sources =
        format!("imageContentSources:\n- source: {SOURCE}\n  mirrors: [{host}/mirror/of-ocp]\n");
    let place = format!("{host}/mirror/of-ocp");
    let folder = tempfile::tempdir().expect("a folder");
    for (number, mirrors) in [
        mirror_set(&[&place], "NeverContactSource"),
        Mirrors::parse(&conf).expect("sound"),
        Mirrors::parse(&sources).expect("sound"),
    ]
    .into_iter()
    .enumerate()
    {
        let client = client(&registry, mirrors);
        let release = Release::open(&client, &release_ref(&payload), None)
            .await
            .expect("reads");
        let pullspec = release.image_for("installer").expect("there").to_string();
        assert!(
            pullspec.starts_with(SOURCE),
            "names stay those of the source"
        );
        let to = folder.path().join(number.to_string());
        release
            .extract_iso(Arch::X86_64, 9, &to)
            .await
            .expect("extracts");
    }
}

#[tokio::test]
async fn when_a_mirror_is_down_the_next_one_serves() {
    let registry = Registry::start().await;
    let payload = mirrored(&registry).await;
    let down = format!("127.0.0.1:{}/nothing", free_port());
    let empty = format!("{}/empty", registry.host());
    let good = format!("{}/mirror/of-ocp", registry.host());
    let mirrors = mirror_set(&[&down, &empty, &good], "AllowContactingSource");
    let client = client(&registry, mirrors);
    let release = Release::open(&client, &release_ref(&payload), None)
        .await
        .expect("reads");
    assert_eq!(release.version().as_str(), "4.20.3");
}

#[tokio::test]
async fn when_all_mirrors_are_down_the_message_names_each() {
    let registry = Registry::start().await;
    let payload = mirrored(&registry).await;
    let down = format!("127.0.0.1:{}/nothing", free_port());
    let empty = format!("{}/empty", registry.host());
    let allowed = mirror_set(&[&down, &empty], "AllowContactingSource");
    let mut forbidden = allowed.clone();
    forbidden.set_fallback(Fallback::Never);
    let error_text = async |mirrors: Mirrors| {
        Release::open(&client(&registry, mirrors), &release_ref(&payload), None)
            .await
            .expect_err("nowhere")
            .to_string()
    };
    let text = error_text(allowed).await;
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(
        lines[0].contains("cannot read manifest of quay.example.invalid/ocp/release@sha256:"),
        "{text}"
    );
    assert!(
        lines[1].contains(&down) && lines[1].contains("check the address"),
        "{text}"
    );
    assert!(
        lines[2].contains(&empty) && lines[2].contains("has no manifest sha256:"),
        "{text}"
    );
    assert!(lines[3].contains(SOURCE), "{text}");
    let text = error_text(forbidden).await;
    assert!(
        !text.contains("- quay.example.invalid"),
        "the source is never asked: {text}"
    );
}

#[tokio::test]
async fn a_tag_is_not_looked_for_in_mirrors_of_digests() {
    let registry = Registry::start().await;
    let good = format!("{}/mirror/of-ocp", registry.host());
    let client = client(&registry, mirror_set(&[&good], "NeverContactSource"));
    let by_tag = format!("{SOURCE}/release:4.20.3").parse().expect("sound");
    let error = Release::open(&client, &by_tag, None)
        .await
        .expect_err("blocked");
    assert!(
        error.to_string().contains("name the image by its digest"),
        "{error}"
    );
}
