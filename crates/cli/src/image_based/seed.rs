//! `muster image-based create seed`: what a running single-node cluster needs to become a seed.
//!
//! The cluster's own lifecycle agent packs it up: it must stop the kubelet, expire certificates and
//! archive the disk from inside. This command writes the objects that start it, names what to run, and
//! checks the image that comes of it.

use std::{fs, path::PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use muster_documents::yaml;
use muster_image_based::seed::Findings;
use muster_release::{ImageRef, PullSecret};
use serde_json::json;

use super::{Directory, content, directory, messages::Messages, seeds};
use crate::release::access::Access;

const FILE: &str = "seed-generator.yaml";
const NAMESPACE: &str = "openshift-lifecycle-agent";
/// What helps against a seed that lacks something.
const AGAIN: &str = "make the seed again with a current lifecycle agent";
/// What the cluster must be, for the person who applies it.
const CHECKLIST: &str = "\
Before you apply it, on the seed cluster:
  - it is a single node of the release that sites will run, with the same processors and tuning
  - container storage is on a partition labelled var-lib-containers
  - dnsmasq is configured on the node (clusters made by the Assisted Installer or Muster have it)
  - proxy, FIPS and the number and families of addresses are those of the sites
  - it is detached from its hub, and has no workload or secret that sites must not get
  - the lifecycle agent operator is installed in the namespace openshift-lifecycle-agent
";

/// Write what turns a running single-node cluster into a seed, or check a seed.
#[derive(Debug, Args)]
pub struct Seed {
    #[command(flatten)]
    pub(super) at: Directory,
    #[command(flatten)]
    access: Access,
    /// Where the seed image goes, or is
    #[arg(long, value_name = "IMAGE")]
    image: String,
    /// Credentials that may push it, as JSON
    #[arg(long, value_name = "FILE", required_unless_present = "verify")]
    push_secret: Option<PathBuf>,
    /// Image that renews certificates [default: that of the lifecycle agent]
    #[arg(long, value_name = "IMAGE")]
    recert_image: Option<String>,
    /// Check the image instead: format, labels, what its cluster was, and every file it must hold
    #[arg(long)]
    verify: bool,
    /// With --verify: do not read the layers
    #[arg(long, requires = "verify")]
    labels_only: bool,
}

/// Writes the objects, or checks the image.
pub fn create(options: &Seed, messages: &Messages) -> anyhow::Result<String> {
    if options.verify {
        return verify(options, messages);
    }
    let reference: ImageRef = options
        .image
        .parse()
        .with_context(|| format!("seed image {}", options.image))?;
    let Some(file) = &options.push_secret else {
        bail!("name the credentials that may push the image with --push-secret");
    };
    let secret =
        fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
    PullSecret::parse(&secret).with_context(|| format!("{}", file.display()))?;
    let mut generator = json!({
        "apiVersion": "lca.openshift.io/v1",
        "kind": "SeedGenerator",
        "metadata": { "name": "seedimage" },
        "spec": { "seedImage": reference.to_string() },
    });
    if let Some(recert) = &options.recert_image {
        generator["spec"]["recertImage"] = json!(recert);
    }
    let login = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "seedgen", "namespace": NAMESPACE },
        "type": "Opaque",
        "stringData": { "seedAuth": secret },
    });
    let text = format!("{}---\n{}", yaml::text(&login), yaml::text(&generator));
    let path = options.at.dir.join(FILE);
    directory::write(&path, text.as_bytes(), 0o600)?;
    Ok(format!(
        "{CHECKLIST}\nThen:\n  oc apply -f {}\n  oc wait --for=condition=SeedGenCompleted \
         --timeout=60m seedgenerator/seedimage\n  muster image-based create seed --verify --image {reference}\n",
        path.display()
    ))
}

fn verify(options: &Seed, messages: &Messages) -> anyhow::Result<String> {
    let seed = seeds::inspect(&options.access, None, &options.image, None)?;
    let mut text = seeds::summary(&seed);
    let mut findings = Findings::default();
    if !seed.is_current() {
        findings.error(
            format!("its format is {}, nodes restore 4", seed.format),
            AGAIN,
        );
    }
    match &seed.cluster {
        None => findings.error("it does not describe its cluster", AGAIN),
        Some(cluster) => {
            if cluster.container_storage_mountpoint_target.is_empty() {
                findings.error(
                    "its cluster had no partition for container storage",
                    "install it with container storage on a partition labelled var-lib-containers",
                );
            }
            if cluster.recert_image_pull_spec.is_empty() {
                findings.error("it names no image that renews certificates", AGAIN);
            }
        }
    }
    if options.labels_only {
        text.push_str("  content: not read\n");
    } else {
        let content = content::read(&options.access, None, &seed)?;
        let (about, found) = content::check(&content, &seed);
        text.push_str(&about);
        findings.0.extend(found.0);
    }
    messages.info(&text);
    messages.findings(&findings);
    if findings.has_errors() {
        bail!("{} cannot be used as a seed", seed.image);
    }
    Ok(format!("{} can be used as a seed\n", seed.image))
}
