//! What a release, a component or a seed is, in words and as JSON.

use std::fmt::Write;

use muster_model::Product;
use muster_release::{Client, ImageRef, Platform, Release, Seed};
use serde_json::json;

use super::Which;
use crate::output::Printed;

pub async fn info(client: &Client, which: &Which, pullspecs: bool) -> anyhow::Result<Printed> {
    let release = Release::open(client, &which.release, which.arch).await?;
    let product = match release.product() {
        Product::Openshift => "OpenShift",
        Product::Okd => "OKD",
    };
    let image = release.image();
    let versions = release.versions();
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<14} {value}");
    };
    line("Release", &format!("{product} {}", release.version()));
    line("Image", &image.pinned().to_string());
    line("Architecture", release.arch().go());
    line("Created", release.created().unwrap_or("unknown"));
    if let Some(url) = release.url() {
        line("About", url);
    }
    if !release.channels().is_empty() {
        line("Channels", &release.channels().join(", "));
    }
    for (name, version) in &versions {
        line(name, version);
    }
    if !release.previous().is_empty() {
        line("Updates from", &release.previous().join(", "));
    }
    let count = release.components().count();
    line("Components", &count.to_string());
    if pullspecs {
        text.push('\n');
        let width = release.components().map(|one| one.name.len()).max();
        for component in release.components() {
            let name = &component.name;
            let _ = writeln!(text, "{name:<0$} {1}", width.unwrap_or(0), component.image);
        }
    }
    let components: serde_json::Map<_, _> = release
        .components()
        .map(|one| {
            let value = json!({"image": one.image.to_string(), "annotations": one.annotations});
            (one.name.clone(), value)
        })
        .collect();
    let json = json!({
        "version": release.version().as_str(),
        "product": product,
        "image": image.pinned().to_string(),
        "digest": image.pinned().digest.map(|digest| digest.to_string()),
        "architecture": release.arch().go(),
        "created": release.created(),
        "url": release.url(),
        "channels": release.channels(),
        "previous": release.previous(),
        "next": release.next(),
        "versions": versions,
        "components": components,
    });
    Ok(Printed { text, json })
}

pub async fn image_for(client: &Client, which: &Which, component: &str) -> anyhow::Result<Printed> {
    let release = Release::open(client, &which.release, which.arch).await?;
    let image = release.image_for(component)?.to_string();
    Ok(Printed {
        json: json!(image),
        text: image,
    })
}

pub async fn seed(client: &Client, image: &ImageRef) -> anyhow::Result<Printed> {
    let seed = Seed::inspect(client, image, Platform::Any).await?;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<14} {value}");
    };
    line("Seed", &seed.image.to_string());
    line("Architecture", &seed.architecture);
    let usable = match seed.is_current() {
        true => "",
        false => " (nodes restore format 4 only: make the seed again with a current agent)",
    };
    line("Format", &format!("{}{usable}", seed.format));
    line("Size", &format!("{} MiB", seed.size >> 20));
    if let Some(cluster) = &seed.cluster {
        line("OpenShift", &cluster.seed_cluster_ocp_version);
        let yes = |flag| if flag { "yes" } else { "no" };
        line("Proxy", yes(cluster.has_proxy));
        line("FIPS", yes(cluster.has_fips));
        line("Mirrors", yes(cluster.mirror_registry_configured));
        if !cluster.container_storage_mountpoint_target.is_empty() {
            line("Storage", &cluster.container_storage_mountpoint_target);
        }
    }
    let json = json!({
        "image": seed.image.to_string(),
        "architecture": seed.architecture,
        "format": seed.format,
        "current": seed.is_current(),
        "size": seed.size,
        "created": seed.created,
        "cluster": seed.cluster,
    });
    Ok(Printed { text, json })
}
