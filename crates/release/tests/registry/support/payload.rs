//! A synthetic release payload: few components, real structure.

use muster_release::Digest;
use serde_json::json;

use super::{
    images::{Packing, Pushed, Recipe, layer, push, push_list},
    noise,
    server::Registry,
};

pub const VERSION: &str = "4.20.3";
pub const COREOS: &str = "9.6.20260101-0";

/// What to put into the payload.
pub struct Plan<'a> {
    /// Repository prefix (`host/path`) by which the payload names its components.
    pub home: &'a str,
    /// Where in the registry everything is pushed, below it `release` and `content`.
    pub path: &'a str,
    pub version: &'a str,
    /// More than one makes a multi-architecture payload.
    pub arches: &'a [&'static str],
    pub iso_size: usize,
    /// Instead of noise of that size.
    pub iso: Option<&'a [u8]>,
    /// Whether `.iso.sha256` is correct.
    pub honest: bool,
    pub docker: bool,
    /// Instead of noise with markers.
    pub program: Option<&'a [u8]>,
    /// An `openshift-install` for these architectures beside the payload's own.
    pub artifacts: &'a [&'static str],
    /// Components that are left out.
    pub without: &'a [&'a str],
}

impl Default for Plan<'_> {
    fn default() -> Self {
        Self {
            home: "quay.example.invalid/ocp",
            path: "ocp",
            version: VERSION,
            arches: &["amd64"],
            iso_size: 300_000,
            iso: None,
            honest: true,
            docker: false,
            program: None,
            artifacts: &[],
            without: &[],
        }
    }
}

/// A payload that was pushed.
pub struct Payload {
    /// Of the manifest or the manifest list.
    pub digest: Digest,
    pub installer: Vec<Pushed>,
    pub machine_os: Vec<Pushed>,
    pub release: Vec<Pushed>,
}

pub fn rpm(arch: &str) -> &str {
    match arch {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

pub fn iso(arch: &str, size: usize) -> Vec<u8> {
    noise(size, 7 + arch.len() as u64 * 31)
}

/// An executable with the markers that hold an installer's release.
pub fn installer(arch: &str) -> Vec<u8> {
    with_places(noise(100_000, arch.len() as u64))
}

fn with_places(mut bytes: Vec<u8>) -> Vec<u8> {
    for name in [
        "_RELEASE_IMAGE_LOCATION_",
        "_RELEASE_VERSION_LOCATION_",
        "_RELEASE_ARCHITECTURE_LOCATION_",
    ] {
        bytes.extend_from_slice(format!("\0{name}\0{}\0", "X".repeat(300)).as_bytes());
    }
    bytes
}

pub async fn push_payload(registry: &Registry, plan: &Plan<'_>) -> Payload {
    let content = format!("{}/content", plan.path);
    let mut installers = Vec::new();
    let mut machine_os = Vec::new();
    for &arch in plan.arches {
        installers.push(push(registry, &content, "", installer_image(arch, plan)).await);
        machine_os.push(push(registry, &content, "", machine_os_image(arch, plan)).await);
    }
    let one = |images: &[Pushed]| images[0].digest;
    let (installer, os) = match plan.arches.len() {
        1 => (one(&installers), one(&machine_os)),
        _ => (
            push_list(registry, &content, "", &installers, plan.docker).await,
            push_list(registry, &content, "", &machine_os, plan.docker).await,
        ),
    };
    let artifacts = match plan.artifacts {
        [] => None,
        _ => Some(
            push(
                registry,
                &content,
                "",
                artifacts_image(plan.arches[0], plan),
            )
            .await,
        ),
    };
    let artifacts = artifacts.map(|pushed| pushed.digest);
    let repository = format!("{}/release", plan.path);
    let mut release = Vec::new();
    for &arch in plan.arches {
        let tag = if plan.arches.len() == 1 {
            plan.version
        } else {
            ""
        };
        let recipe = release_image(arch, plan, &installer, artifacts.as_ref(), &os);
        release.push(push(registry, &repository, tag, recipe).await);
    }
    let digest = match plan.arches.len() {
        1 => one(&release),
        _ => push_list(registry, &repository, plan.version, &release, plan.docker).await,
    };
    Payload {
        digest,
        installer: installers,
        machine_os,
        release,
    }
}

fn program(arch: &str, plan: &Plan<'_>) -> Vec<u8> {
    match plan.program {
        Some(program) => with_places(program.to_vec()),
        None => installer(arch),
    }
}

/// What runs on machines of other architectures.
fn artifacts_image(arch: &'static str, plan: &Plan<'_>) -> Recipe {
    let files: Vec<(String, Vec<u8>)> = plan
        .artifacts
        .iter()
        .map(|other| {
            let path = format!("usr/share/openshift/linux_{other}/openshift-install");
            (path, program(other, plan))
        })
        .collect();
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
        .collect();
    Recipe {
        arch,
        ..Recipe::new(vec![layer(Packing::Gzip, &files)])
    }
}

fn installer_image(arch: &'static str, plan: &Plan<'_>) -> Recipe {
    let program = program(arch, plan);
    let old = layer(
        Packing::Gzip,
        &[
            ("usr/bin/openshift-install", b"an old one"),
            ("etc/gone", b"x"),
        ],
    );
    let new = layer(
        Packing::Zstd,
        &[
            ("usr/bin/openshift-install", &program),
            ("etc/.wh.gone", b""),
        ],
    );
    Recipe {
        arch,
        docker: plan.docker,
        ..Recipe::new(vec![old, new])
    }
}

fn machine_os_image(arch: &'static str, plan: &Plan<'_>) -> Recipe {
    let name = format!("coreos/coreos-{}.iso", rpm(arch));
    let iso = match plan.iso {
        Some(iso) => iso.to_vec(),
        None => iso(arch, plan.iso_size),
    };
    let sum = match plan.honest {
        true => Digest::of(&iso).hex(),
        false => Digest::of(b"another").hex(),
    };
    let stream = json!({"stream": "rhcos-4.20", "architectures": {rpm(arch): {
        "artifacts": {"metal": {"release": COREOS}}}}})
    .to_string();
    let top = layer(
        Packing::Gzip,
        &[
            (&name, &iso),
            (&format!("{name}.sha256"), sum.as_bytes()),
            ("coreos/coreos-stream.json", stream.as_bytes()),
        ],
    );
    let base = layer(Packing::Gzip, &[("etc/os-release", b"ID=rhel")]);
    Recipe {
        arch,
        docker: plan.docker,
        ..Recipe::new(vec![base, top])
    }
}

fn release_image(
    arch: &'static str,
    plan: &Plan<'_>,
    installer: &Digest,
    artifacts: Option<&Digest>,
    os: &Digest,
) -> Recipe {
    let tag = |name: &str, digest: &Digest, versions: &str| {
        json!({
            "name": name,
            "from": {"kind": "DockerImage", "name": format!("{}/content@{digest}", plan.home)},
            "annotations": {
                "io.openshift.build.commit.id": "0123abc",
                "io.openshift.build.versions": versions,
            },
        })
    };
    let mut tags = vec![
        tag("installer", installer, ""),
        tag("machine-os-images", os, ""),
        tag("hyperkube", os, "kubernetes=1.33.5"),
        json!({"name": "not-an-image", "from": {"kind": "ImageStreamTag", "name": "x"}}),
    ];
    tags.extend(artifacts.map(|digest| tag("installer-artifacts", digest, "")));
    tags.retain(|tag| !plan.without.iter().any(|name| tag["name"] == *name));
    let references = json!({
        "kind": "ImageStream",
        "apiVersion": "image.openshift.io/v1",
        "metadata": {"name": plan.version, "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"tags": tags},
    });
    let mut metadata = json!({
        "kind": "cincinnati-metadata-v0",
        "version": plan.version,
        "previous": ["4.20.1", "4.20.2"],
        "metadata": {"url": "https://example.com/errata", "io.openshift.upgrades.graph.release.channels": "fast-4.20,stable-4.20"},
    });
    if plan.arches.len() > 1 {
        metadata["metadata"]["release.openshift.io/architecture"] = json!("multi");
    }
    let top = layer(
        Packing::Gzip,
        &[
            (
                "release-manifests/image-references",
                references.to_string().as_bytes(),
            ),
            (
                "release-manifests/release-metadata",
                metadata.to_string().as_bytes(),
            ),
            ("release-manifests/0000_00_a.yaml", b"kind: Namespace\n"),
        ],
    );
    let base = layer(
        Packing::Gzip,
        &[("usr/bin/cluster-version-operator", &noise(50_000, 3))],
    );
    Recipe {
        arch,
        docker: plan.docker,
        labels: json!({"io.openshift.release": plan.version}),
        ..Recipe::new(vec![base, top])
    }
}
