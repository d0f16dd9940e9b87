//! `muster image-based create seed`: what a running single-node cluster needs to become a seed.
//!
//! The cluster's own lifecycle agent packs it up: it must stop the kubelet, expire certificates and
//! archive the disk from inside. This command checks the cluster, predicts the labels of the seed,
//! writes the objects that start the agent, names what to run, and checks the image that comes of it.

use std::{fs, path::PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use muster_documents::yaml;
use muster_image_based::{candidate::differences, seed::Findings};
use muster_release::{ImageRef, PullSecret};
use serde_json::{Value, json};

use super::{Directory, candidate, content, directory, messages::Messages, seeds};
use crate::release::access::Access;

const FILE: &str = "seed-generator.yaml";
/// What the labels of the seed will say, for sites and for `--verify`.
const FORECAST: &str = "seed-forecast.json";
/// What installs the lifecycle agent.
const AGENT: &str = "lifecycle-agent.yaml";
const NAMESPACE: &str = "openshift-lifecycle-agent";
/// What helps against a seed that lacks something.
const AGAIN: &str = "make the seed again with a current lifecycle agent";
/// What the cluster must be where it was not looked at.
const CHECKLIST: &str = "\
The cluster was not checked (--kubeconfig does it). Before you go on, make sure that
  - it is a single node of the release that sites will run, with the same processors and tuning
  - container storage is on a partition labelled var-lib-containers
  - dnsmasq is configured on the node (clusters made by the Assisted Installer or Muster have it)
  - proxy, FIPS and the number and families of addresses are those of the sites
  - it is detached from its hub, and has no add-on of the hub
  - it has no persistent volume, local volume, LVM cluster or settings of backups
  - the lifecycle agent operator is installed in the namespace openshift-lifecycle-agent
";
/// What no program can check.
const BESIDES: &str =
    "Workloads and secrets of the cluster go to every site: remove those that must not.\n";

/// Check a running single-node cluster and write what turns it into a seed, or check a seed.
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
    /// Kubeconfig of the cluster, which is checked and not changed
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    kubeconfig: Option<PathBuf>,
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
    let dir = &options.at.dir;
    let mut text = String::new();
    match &options.kubeconfig {
        None => text.push_str(CHECKLIST),
        Some(kubeconfig) => {
            let cluster = candidate::read(kubeconfig)?;
            messages.info(&cluster.summary());
            let findings = cluster.check();
            messages.findings(&findings);
            if findings.has_errors() {
                bail!("the cluster cannot become a seed; nothing was written");
            }
            let forecast =
                cluster.forecast(&reference.to_string(), options.recert_image.as_deref());
            let file = dir.join(FORECAST);
            directory::write(&file, format!("{forecast:#}\n").as_bytes(), 0o644)?;
            text.push_str(&format!(
                "The cluster can become a seed; what its labels will say is in {}.\n",
                file.display()
            ));
            if !cluster.has_lifecycle_agent() {
                let file = dir.join(AGENT);
                directory::write(&file, lifecycle_agent().as_bytes(), 0o644)?;
                text.push_str(&format!(
                    "First install its lifecycle agent:\n  oc apply -f {}\n  until oc wait \
                     --for=condition=Established crd/seedgenerators.lca.openshift.io; do sleep 10; done\n",
                    file.display()
                ));
            }
        }
    }
    let path = dir.join(FILE);
    let objects = objects(&reference, options.recert_image.as_deref(), &secret);
    directory::write(&path, objects.as_bytes(), 0o600)?;
    text.push_str(&format!(
        "{BESIDES}Then:\n  oc apply -f {}\n  oc wait --for=condition=SeedGenCompleted \
         --timeout=60m seedgenerator/seedimage\n  muster image-based create seed --verify --image \
         {reference} --dir {}\n",
        path.display(),
        dir.display()
    ));
    Ok(text)
}

/// What starts the lifecycle agent, and lets it push the image.
fn objects(image: &ImageRef, recert_image: Option<&str>, secret: &str) -> String {
    let mut generator = json!({
        "apiVersion": "lca.openshift.io/v1",
        "kind": "SeedGenerator",
        "metadata": { "name": "seedimage" },
        "spec": { "seedImage": image.to_string() },
    });
    if let Some(recert) = recert_image {
        generator["spec"]["recertImage"] = json!(recert);
    }
    let login = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "seedgen", "namespace": NAMESPACE },
        "type": "Opaque",
        "stringData": { "seedAuth": secret },
    });
    documents(&[login, generator])
}

/// What installs the lifecycle agent from the catalog of the cluster.
fn lifecycle_agent() -> String {
    let named = |version: &str, kind: &str, name: &str| {
        json!({
            "apiVersion": version,
            "kind": kind,
            "metadata": { "name": name, "namespace": NAMESPACE },
        })
    };
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": NAMESPACE,
            "annotations": { "workload.openshift.io/allowed": "management" },
        },
    });
    let mut group = named(
        "operators.coreos.com/v1",
        "OperatorGroup",
        "lifecycle-agent",
    );
    group["spec"] = json!({ "targetNamespaces": [NAMESPACE] });
    let mut subscription = named(
        "operators.coreos.com/v1alpha1",
        "Subscription",
        "lifecycle-agent",
    );
    subscription["spec"] = json!({
        "channel": "stable",
        "name": "lifecycle-agent",
        "source": "redhat-operators",
        "sourceNamespace": "openshift-marketplace",
    });
    documents(&[namespace, group, subscription])
}

fn documents(objects: &[Value]) -> String {
    let texts: Vec<String> = objects.iter().map(yaml::text).collect();
    texts.join("---\n")
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
    if let Some(forecast) = directory::read(&options.at.dir, FORECAST)? {
        let forecast: Value = serde_json::from_slice(&forecast)
            .with_context(|| format!("{FORECAST} cannot be read"))?;
        let found = differences(&forecast, &serde_json::to_value(&seed.cluster)?);
        findings.0.extend(found.0);
    }
    messages.info(&text);
    messages.findings(&findings);
    if findings.has_errors() {
        bail!("{} cannot be used as a seed", seed.image);
    }
    Ok(format!("{} can be used as a seed\n", seed.image))
}
