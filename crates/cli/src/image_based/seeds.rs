//! The seed image: looked up in its registry, summarised, remembered for the site.

use std::{fs, path::Path};

use anyhow::{Context, anyhow};
use muster_documents::image_based_installation_config::InstallationConfig;
use muster_image_based::seed::{Findings, SiteSeed};
use muster_model::Arch;
use muster_release::{Client, ImageRef, Platform, Proxies, Seed};
use serde_json::{Value, json};

use super::messages::Messages;
use crate::release::access::{Access, Known};

/// What `create image` leaves behind for `create config-image`.
pub const INFO: &str = "seed-info.json";

/// What the file of the factory knows about registries.
pub fn known(config: &InstallationConfig) -> Known {
    let mirrors = json!({ "apiVersion": "v1", "imageDigestSources": config.image_digest_sources });
    let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Known {
        pull_secret: Some(config.pull_secret.reveal().to_owned()),
        trusted: filled(&config.additional_trust_bundle),
        mirrors: (!config.image_digest_sources.is_empty()).then(|| mirrors.to_string()),
        proxies: config.proxy.as_ref().map(|proxy| Proxies::Given {
            http: filled(&proxy.http_proxy),
            https: filled(&proxy.https_proxy),
            no_proxy: proxy.no_proxy.clone(),
        }),
        ..Known::default()
    }
}

/// Looks a seed up.
pub fn inspect(
    access: &Access,
    known: Option<&Known>,
    image: &str,
    architecture: Option<&str>,
) -> anyhow::Result<Seed> {
    let reference: ImageRef = image
        .parse()
        .with_context(|| format!("seed image {image}"))?;
    let client: Client = access.client(known)?;
    let platform = match architecture {
        Some(name) => Platform::Exactly(name.parse().unwrap_or(Arch::X86_64)),
        None => Platform::Any,
    };
    let runtime = tokio::runtime::Runtime::new()?;
    runtime
        .block_on(Seed::inspect(&client, &reference, platform))
        .with_context(|| {
            format!("seed image {image} cannot be checked; --offline leaves the check out")
        })
}

/// The seed in a few lines.
pub fn summary(seed: &Seed) -> String {
    let mut text = format!(
        "seed {}\n  architecture {}, format {}, {} MiB to pull",
        seed.image,
        seed.architecture,
        seed.format,
        seed.size >> 20
    );
    if let Some(created) = &seed.created {
        text.push_str(&format!(", made {created}"));
    }
    text.push('\n');
    if let Some(cluster) = &seed.cluster {
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        text.push_str(&format!(
            "  release {} from {}, mirrors {}, proxy {}, FIPS {}\n  certificates renewed by {}\n",
            cluster.seed_cluster_ocp_version,
            cluster.release_registry,
            yes(cluster.mirror_registry_configured),
            yes(cluster.has_proxy),
            yes(cluster.has_fips),
            cluster.recert_image_pull_spec,
        ));
    }
    text
}

/// What is remembered of a seed.
pub fn info(seed: &Seed) -> Value {
    json!({
        "image": seed.image.to_string(),
        "architecture": seed.architecture,
        "format": seed.format,
        "size": seed.size,
        "cluster": seed.cluster,
    })
}

/// A seed named by a file that `create image` left behind, or by its image.
pub fn of_site(
    access: &Access,
    known: &Known,
    named: &str,
    messages: &Messages,
) -> anyhow::Result<SiteSeed> {
    let missing =
        || anyhow!("seed {named} does not describe its cluster, so nothing can be compared");
    if Path::new(named).is_file() {
        return of_file(Path::new(named))?.ok_or_else(missing);
    }
    let seed = inspect(access, Some(known), named, None)?;
    messages.info(&summary(&seed));
    let cluster = seed.cluster.ok_or_else(missing)?;
    Ok(SiteSeed {
        architecture: seed.architecture,
        format: seed.format,
        cluster,
    })
}

/// The seed in a file that `create image` left behind; nothing for one that does not describe its
/// cluster.
pub fn of_file(path: &Path) -> anyhow::Result<Option<SiteSeed>> {
    let cannot = || format!("{} cannot be read", path.display());
    let text = fs::read(path).with_context(cannot)?;
    let value: Value = serde_json::from_slice(&text).with_context(cannot)?;
    if value["cluster"].is_null() && value["format"].is_number() {
        return Ok(None);
    }
    serde_json::from_value(value).map(Some).with_context(cannot)
}

/// Prints what was found; errors end the command.
pub fn settle(findings: &Findings, messages: &Messages) -> anyhow::Result<()> {
    messages.findings(findings);
    match findings.has_errors() {
        true => Err(anyhow!("the seed does not fit; nothing was written")),
        false => Ok(()),
    }
}
