//! Manifests, manifest lists and image configurations, limited to what is needed here.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{Digest, settings::Limits};

/// A pointer to a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub digest: Digest,
    pub size: u64,
}

#[derive(Deserialize)]
struct RawDescriptor {
    #[serde(default, rename = "mediaType")]
    media_type: String,
    digest: String,
    size: u64,
    platform: Option<RawPlatform>,
}

#[derive(Deserialize)]
struct RawPlatform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawManifest {
    schema_version: u64,
    manifests: Option<Vec<RawDescriptor>>,
    config: Option<RawDescriptor>,
    layers: Option<Vec<RawDescriptor>>,
}

/// One of the two things a reference leads to.
#[derive(Debug)]
pub(crate) enum Manifest {
    /// One image per platform.
    List(Vec<(String, Descriptor)>),
    /// One image.
    Image {
        config: Descriptor,
        layers: Vec<Descriptor>,
    },
}

impl Manifest {
    /// Reads and checks what can be checked without the image.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self, String> {
        let raw: RawManifest = serde_json::from_slice(bytes)
            .map_err(|cause| format!("its manifest is not sound JSON: {cause}"))?;
        if raw.schema_version != 2 {
            return Err(format!(
                "its manifest has schema {}; only schema 2 is read, push the image again with a \
                 current tool",
                raw.schema_version
            ));
        }
        match (raw.manifests, raw.config, raw.layers) {
            (Some(entries), None, None) => Ok(Self::List(platforms(entries, limits)?)),
            (None, Some(config), Some(layers)) => {
                if layers.len() > limits.layers {
                    return Err(format!(
                        "it claims {} layers, more than the {} any image has",
                        layers.len(),
                        limits.layers
                    ));
                }
                Ok(Self::Image {
                    config: descriptor(&config, limits.config)?,
                    layers: layers
                        .iter()
                        .map(|layer| descriptor(layer, limits.layer))
                        .collect::<Result<_, _>>()?,
                })
            }
            _ => Err("its manifest is neither that of an image nor a list of images".to_owned()),
        }
    }
}

fn platforms(
    entries: Vec<RawDescriptor>,
    limits: &Limits,
) -> Result<Vec<(String, Descriptor)>, String> {
    if entries.len() > limits.layers {
        return Err(format!(
            "its manifest list claims {} entries",
            entries.len()
        ));
    }
    let mut found = Vec::new();
    for entry in &entries {
        // Signatures and attestations travel in lists too, for no platform.
        if let Some(platform) = &entry.platform
            && platform.os == "linux"
        {
            let pointer = descriptor(entry, limits.manifest)?;
            found.push((platform.architecture.clone(), pointer));
        }
    }
    Ok(found)
}

fn descriptor(raw: &RawDescriptor, limit: u64) -> Result<Descriptor, String> {
    let shown: String = raw.digest.chars().take(80).collect();
    let digest = Digest::parse(&raw.digest)
        .ok_or_else(|| format!("its manifest names `{shown}`, which is no SHA-256 digest"))?;
    if raw.size > limit {
        return Err(format!(
            "its manifest claims {} bytes for {digest}, more than the {limit} allowed",
            raw.size
        ));
    }
    if raw.media_type.contains("foreign") || raw.media_type.contains("nondistributable") {
        return Err(format!(
            "layer {digest} is not in registries ({})",
            raw.media_type
        ));
    }
    Ok(Descriptor {
        digest,
        size: raw.size,
    })
}

/// What an image says about itself.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct ImageConfig {
    /// Its architecture, as Go calls it.
    #[serde(default)]
    pub architecture: String,
    /// Its operating system.
    #[serde(default)]
    pub os: String,
    /// When it was made.
    pub created: Option<String>,
    #[serde(default)]
    config: RunConfig,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct RunConfig {
    #[serde(default, rename = "Labels")]
    labels: Option<BTreeMap<String, String>>,
}

impl ImageConfig {
    /// A label.
    pub fn label(&self, name: &str) -> Option<&str> {
        Some(self.config.labels.as_ref()?.get(name)?.as_str())
    }

    /// All labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let labels = self.config.labels.iter().flatten();
        labels.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_manifests_are_refused_with_a_reason() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let layer = format!(r#"{{"digest": "{digest}", "size": 5}}"#);
        let many = vec![layer.as_str(); 600].join(",");
        for (text, why) in [
            ("[", "not sound JSON"),
            (r#"{"schemaVersion": 1}"#, "schema 1"),
            (r#"{"schemaVersion": 2}"#, "neither"),
            (
                &format!(r#"{{"schemaVersion": 2, "config": {layer}, "layers": [{many}]}}"#),
                "600 layers",
            ),
            (
                &format!(
                    r#"{{"schemaVersion": 2, "config": {layer}, "layers": [{{"digest": "{digest}", "size": 99999999999999}}]}}"#
                ),
                "99999999999999 bytes",
            ),
            (
                &format!(
                    r#"{{"schemaVersion": 2, "config": {layer}, "layers": [{{"digest": "sha256:../../x", "size": 9}}]}}"#
                ),
                "no SHA-256 digest",
            ),
            (
                &format!(
                    r#"{{"schemaVersion": 2, "manifests": [], "config": {layer}, "layers": []}}"#
                ),
                "neither",
            ),
            (
                &format!(
                    r#"{{"schemaVersion": 2, "config": {layer}, "layers": [{{"digest": "{digest}", "size": -1}}]}}"#
                ),
                "not sound JSON",
            ),
        ] {
            let error = Manifest::parse(text.as_bytes(), &Limits::default()).expect_err(text);
            assert!(error.contains(why), "{error}");
        }
    }
}
