//! Seed images: single-node clusters packed up to be restored on other machines.
//!
//! What a seed holds is in its labels, so it can be checked before anything is pulled or a disk is
//! wiped.

use serde::{Deserialize, Serialize};

use crate::{Client, Error, ImageRef, Platform};

const FORMAT: &str = "com.openshift.lifecycle-agent.seed_format_version";
const INFO: &str = "com.openshift.lifecycle-agent.seed_cluster_info";
/// The format that nodes can restore.
const CURRENT_FORMAT: u32 = 4;

/// What a seed says about the cluster it was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedCluster {
    /// Version of OpenShift.
    pub seed_cluster_ocp_version: String,
    /// Its domain.
    #[serde(default)]
    pub base_domain: String,
    /// Its name.
    #[serde(default)]
    pub cluster_name: String,
    /// Host name of its node.
    #[serde(default)]
    pub sno_hostname: String,
    /// Registry its release came from.
    #[serde(default)]
    pub release_registry: String,
    /// Whether it used mirrors.
    #[serde(default)]
    pub mirror_registry_configured: bool,
    /// Whether it had a proxy; a site must do likewise.
    #[serde(default)]
    pub has_proxy: bool,
    /// Whether it was in FIPS mode; a site must do likewise.
    #[serde(default)]
    pub has_fips: bool,
    /// Image that renews certificates.
    #[serde(default)]
    pub recert_image_pull_spec: String,
    /// Where container storage was mounted from.
    #[serde(default)]
    pub container_storage_mountpoint_target: String,
    /// What else it says.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// A seed image, inspected without pulling its layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// Pinned reference.
    pub image: ImageRef,
    /// Architecture, as Go calls it.
    pub architecture: String,
    /// Format of the seed.
    pub format: u32,
    /// The cluster; old seeds do not record it.
    pub cluster: Option<SeedCluster>,
    /// Bytes to pull.
    pub size: u64,
    /// When it was made.
    pub created: Option<String>,
}

impl Seed {
    /// Inspects a seed image.
    ///
    /// # Errors
    /// When it cannot be read or is no seed.
    pub async fn inspect(
        client: &Client,
        image: &ImageRef,
        platform: Platform,
    ) -> Result<Self, Error> {
        let found = client.image(image, platform).await?;
        let bad = |why: String| Error::Image {
            image: Box::new(image.clone()),
            why,
        };
        let format = found
            .config()
            .label(FORMAT)
            .ok_or_else(|| bad(format!("it is not a seed image: it has no label {FORMAT}")))?;
        let format = format
            .parse()
            .map_err(|_| bad(format!("label {FORMAT} is `{format}`, not a number")))?;
        let cluster =
            match found.config().label(INFO) {
                Some(text) => Some(serde_json::from_str(text).map_err(|cause| {
                    bad(format!("label {INFO} is not as it should be: {cause}"))
                })?),
                None => None,
            };
        Ok(Self {
            image: found.pinned(),
            architecture: found.config().architecture.clone(),
            format,
            cluster,
            size: found.size(),
            created: found.config().created.clone(),
        })
    }

    /// Whether nodes can restore this format.
    pub fn is_current(&self) -> bool {
        self.format == CURRENT_FORMAT
    }
}
