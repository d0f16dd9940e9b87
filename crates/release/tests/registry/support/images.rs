//! Hand-made images: layers, configurations, manifests, manifest lists.

use std::io::Write;

use muster_release::Digest;
use serde_json::{Value, json};

use super::server::Registry;

const OCI: &str = "application/vnd.oci.image";
const DOCKER: &str = "application/vnd.docker.distribution.manifest";

/// How a layer is packed.
#[derive(Debug, Clone, Copy)]
pub enum Packing {
    Gzip,
    Zstd,
    Plain,
}

/// A layer of files with content.
pub fn layer(packing: Packing, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_size(content.len() as u64);
        builder
            .append_data(&mut header, path, *content)
            .expect("appends");
    }
    pack(packing, &builder.into_inner().expect("ends"))
}

pub fn pack(packing: Packing, tar: &[u8]) -> Vec<u8> {
    match packing {
        Packing::Plain => tar.to_vec(),
        Packing::Zstd => zstd::encode_all(tar, 1).expect("packs"),
        Packing::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(tar).expect("packs");
            out.finish().expect("packs")
        }
    }
}

/// An image to be pushed.
pub struct Recipe {
    pub arch: &'static str,
    pub layers: Vec<Vec<u8>>,
    pub labels: Value,
    pub docker: bool,
}

impl Recipe {
    pub fn new(layers: Vec<Vec<u8>>) -> Self {
        Self {
            arch: "amd64",
            layers,
            labels: json!({}),
            docker: false,
        }
    }
}

/// What was pushed.
#[derive(Debug, Clone)]
pub struct Pushed {
    pub digest: Digest,
    pub size: usize,
    pub arch: &'static str,
    /// From the bottom up.
    pub layers: Vec<Digest>,
    pub config: Digest,
}

pub async fn push(registry: &Registry, repository: &str, tag: &str, recipe: Recipe) -> Pushed {
    let config = json!({
        "architecture": recipe.arch,
        "os": "linux",
        "created": "2026-01-02T03:04:05Z",
        "config": {"Labels": recipe.labels},
        "rootfs": {"type": "layers", "diff_ids": []},
    })
    .to_string()
    .into_bytes();
    let config_size = config.len();
    let config = registry.push_blob(repository, config).await;
    let mut layers = Vec::new();
    let mut entries = Vec::new();
    for layer in recipe.layers {
        let size = layer.len();
        let digest = registry.push_blob(repository, layer).await;
        layers.push(digest);
        entries.push(json!({
            "mediaType": match recipe.docker {
                true => "application/vnd.docker.image.rootfs.diff.tar.gzip".to_owned(),
                false => format!("{OCI}.layer.v1.tar+gzip"),
            },
            "digest": digest.to_string(),
            "size": size,
        }));
    }
    let (media_type, config_type) = match recipe.docker {
        true => (
            format!("{DOCKER}.v2+json"),
            "application/vnd.docker.container.image.v1+json".to_owned(),
        ),
        false => (
            format!("{OCI}.manifest.v1+json"),
            format!("{OCI}.config.v1+json"),
        ),
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": {"mediaType": config_type, "digest": config.to_string(), "size": config_size},
        "layers": entries,
    })
    .to_string()
    .into_bytes();
    let size = manifest.len();
    let digest = registry
        .push_manifest(repository, tag, &media_type, manifest)
        .await;
    Pushed {
        digest,
        size,
        arch: recipe.arch,
        layers,
        config,
    }
}

pub async fn push_list(
    registry: &Registry,
    repository: &str,
    tag: &str,
    images: &[Pushed],
    docker: bool,
) -> Digest {
    let (list_type, image_type) = match docker {
        true => (
            format!("{DOCKER}.list.v2+json"),
            format!("{DOCKER}.v2+json"),
        ),
        false => (
            format!("{OCI}.index.v1+json"),
            format!("{OCI}.manifest.v1+json"),
        ),
    };
    let entries: Vec<Value> = images
        .iter()
        .map(|image| {
            json!({
                "mediaType": image_type,
                "digest": image.digest.to_string(),
                "size": image.size,
                "platform": {"os": "linux", "architecture": image.arch},
            })
        })
        .collect();
    let list = json!({"schemaVersion": 2, "mediaType": list_type, "manifests": entries});
    registry
        .push_manifest(repository, tag, &list_type, list.to_string().into_bytes())
        .await
}
