//! What a seed image holds, read out of its layers while they stream by: nothing is kept.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context;
use muster_image_based::seed::Findings;
use muster_installer::image_based::seed as files;
use muster_release::{Platform, Seed, Visitor};
use serde_json::Value;

use crate::release::access::{Access, Known};

/// What a machine is restored from.
const ARCHIVES: &[&str] = &["etc.tgz", "ostree.tgz", "var.tgz"];
/// What says how; small enough to be read.
const TEXTS: &[&str] = &[
    "containers.list",
    "etc.deletions",
    "manifest.json",
    MACHINE_CONFIG,
    "rpm-ostree.json",
];
/// What the node runs.
const MACHINE_CONFIG: &str = "mco-currentconfig.json";
/// The installer inside the seed, which nodes need at their site.
const PROGRAM: &str = "lca-cli";
/// Largest text that makes sense.
const LARGEST: u64 = 32 << 20;
/// What is wrong with a seed without dnsmasq, and what helps.
pub const NO_DNSMASQ: (&str, &str) = (
    "the seed does not configure dnsmasq, which names the cluster's API on its node",
    "make the seed of a cluster that the Assisted Installer or Muster installed",
);
const HELP: &str = "make the seed again with a current lifecycle agent";

/// Files at the root of the image, by layer.
#[derive(Debug, Default)]
pub struct Content {
    layers: Vec<BTreeMap<String, Vec<u8>>>,
}

impl Visitor for Content {
    fn begin(&mut self, layer: usize) -> io::Result<()> {
        self.layers.truncate(layer);
        self.layers.push(BTreeMap::new());
        Ok(())
    }

    fn file(&mut self, path: &str, _: u64, content: &mut dyn Read) -> io::Result<()> {
        // Of archives and programs the first bytes are enough.
        let most = match TEXTS.contains(&path) {
            true => LARGEST,
            false => 2,
        };
        let mut start = Vec::new();
        content.take(most).read_to_end(&mut start)?;
        if let Some(files) = self.layers.last_mut().filter(|_| !path.contains('/')) {
            files.insert(path.to_owned(), start);
        }
        Ok(())
    }
}

/// What a visitor ends with when it has seen enough.
const ENOUGH: &str = "enough was read";
/// A file larger than this, such as the object store, is not waited for.
const LARGEST_BEFORE: u64 = 512 << 20;

/// Reads an image until the machine config is found, which the seed's own tool packs before the large
/// archives.
struct Beginning(Arc<Mutex<Option<Vec<u8>>>>);

impl Visitor for Beginning {
    fn begin(&mut self, _: usize) -> io::Result<()> {
        Ok(())
    }

    fn file(&mut self, path: &str, size: u64, content: &mut dyn Read) -> io::Result<()> {
        if path == MACHINE_CONFIG {
            let mut text = Vec::new();
            content.take(LARGEST).read_to_end(&mut text)?;
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
        } else if path != "ostree.tgz" && size <= LARGEST_BEFORE {
            return Ok(());
        }
        Err(io::Error::other(ENOUGH))
    }
}

/// Whether the node runs dnsmasq, by the beginning of a seed; nothing where that does not say so.
pub fn runs_dnsmasq(access: &Access, known: Option<&Known>, seed: &Seed) -> Option<bool> {
    let client = access.client(known).ok()?;
    let runtime = tokio::runtime::Runtime::new().ok()?;
    let found = Arc::default();
    let visitor = Beginning(Arc::clone(&found));
    // It ends with a failure of the visitor's own; any other leaves the question open, too.
    let _ = runtime.block_on(async {
        let image = client.image(&seed.image, Platform::Any).await?;
        image.visit(visitor).await.map(drop)
    });
    let found = found.lock().unwrap_or_else(PoisonError::into_inner).take();
    found.map(|config| has_dnsmasq(&config))
}

/// Reads the content of a seed: all of its layers, verified by digest.
pub fn read(access: &Access, known: Option<&Known>, seed: &Seed) -> anyhow::Result<Content> {
    let client = access.client(known)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime
        .block_on(async {
            let image = client.image(&seed.image, Platform::Any).await?;
            image.visit(Content::default()).await
        })
        .with_context(|| format!("content of seed image {}", seed.image))
}

/// Compares the content with what machines and nodes look for, and says what it is.
pub fn check(content: &Content, seed: &Seed) -> (String, Findings) {
    let mut findings = Findings::default();
    let file = |name: &str| {
        content
            .layers
            .iter()
            .rev()
            .find_map(|files| files.get(name))
    };
    for name in ARCHIVES.iter().chain(TEXTS).chain([&PROGRAM]) {
        match file(name) {
            None => findings.error(format!("the seed has no file {name}"), HELP),
            Some(start) if ARCHIVES.contains(name) && start != b"\x1f\x8b" => {
                findings.error(format!("{name} of the seed is not a gzip archive"), HELP);
            }
            Some(_) => {}
        }
    }
    let mut about = Vec::new();
    if let Some(status) = file("rpm-ostree.json") {
        match files::booted(status) {
            Ok(booted) => {
                let origin = format!("ostree-{}.origin", booted.id);
                if file(&origin).is_none() {
                    findings.error(format!("the seed has no file {origin}"), HELP);
                }
                about.push(format!("deployment {}", &booted.commit[..12]));
            }
            Err(why) => findings.error(why.to_string(), HELP),
        }
    }
    let labelled = seed.cluster.as_ref();
    let labelled = labelled.map(|cluster| cluster.seed_cluster_ocp_version.as_str());
    if let Some(info) = file("manifest.json") {
        match files::Info::read(info) {
            Ok(info) if labelled.is_some_and(|own| own != info.seed_cluster_ocp_version) => {
                findings.error(
                    format!(
                        "manifest.json of the seed names version {}, its label {}",
                        info.seed_cluster_ocp_version,
                        labelled.unwrap_or_default()
                    ),
                    HELP,
                );
            }
            Ok(_) => {}
            Err(why) => findings.error(why.to_string(), HELP),
        }
    }
    if let Some(list) = file("containers.list") {
        let list = String::from_utf8_lossy(list);
        let images = list.lines().filter(|line| !line.trim().is_empty()).count();
        about.push(format!("{images} images to precache"));
    }
    if let Some(config) = file(MACHINE_CONFIG) {
        match files::kernel_arguments(config) {
            Ok(arguments) => about.push(format!("{} kernel arguments", arguments.len())),
            Err(why) => findings.error(why.to_string(), HELP),
        }
        let has_dnsmasq = has_dnsmasq(config);
        about.push(format!(
            "dnsmasq {}",
            if has_dnsmasq { "yes" } else { "no" }
        ));
        if !has_dnsmasq {
            findings.error(NO_DNSMASQ.0, NO_DNSMASQ.1);
        }
    }
    (format!("  content: {}\n", about.join(", ")), findings)
}

/// Whether the machine config of the seed runs dnsmasq.
fn has_dnsmasq(config: &[u8]) -> bool {
    let config: Value = serde_json::from_slice(config).unwrap_or_default();
    let units = config["spec"]["config"]["systemd"]["units"].as_array();
    units
        .into_iter()
        .flatten()
        .any(|unit| unit["name"] == "dnsmasq.service")
}
