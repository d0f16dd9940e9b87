//! `muster coreos`: what a release says about its operating system.

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_model::Arch;
use muster_release::{ImageRef, Release};
use serde_json::Value;

use crate::{
    create::{assets::chosen_release, recipe::Product},
    release::access::Access,
};

/// The manifest of a release that holds the description of its boot images.
const MANIFEST: &str = "coreos-bootimages";
/// The component that holds the images themselves.
const COMPONENT: &str = "machine-os-images";

/// What a release says about its operating system.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, disable_version_flag = true)]
pub struct CoreOs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print where the boot images of a release are, for every platform and architecture, as the
    /// stream metadata of CoreOS describes them
    PrintStreamJson(Box<PrintStream>),
}

#[derive(Debug, Args)]
struct PrintStream {
    /// Release: a version such as 4.20.3 or an image [default: the recommended one of the catalogue]
    #[arg(
        long = "release",
        alias = "release-image",
        value_name = "VERSION|IMAGE",
        env = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
    )]
    release: Option<String>,
    /// RHEL that CoreOS is made of: 9, or 10 for releases that carry both
    #[arg(long, value_name = "NUMBER", default_value_t = 9, value_parser = clap::value_parser!(u32).range(9..=99))]
    rhel: u32,
    #[command(flatten)]
    access: Access,
}

/// Runs the command.
pub fn run(coreos: &CoreOs) -> anyhow::Result<String> {
    let Command::PrintStreamJson(print) = &coreos.command;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(print.stream())
}

impl PrintStream {
    async fn stream(&self) -> anyhow::Result<String> {
        let reference: ImageRef = self.image()?.parse()?;
        let client = self.access.client(None)?;
        let release = Release::open(&client, &reference, None).await?;
        let text = match self.in_manifests(&release)? {
            Some(text) => text,
            None => {
                let name = match self.rhel {
                    10.. => format!("coreos/coreos{}-stream.json", self.rhel),
                    _ => "coreos/coreos-stream.json".to_owned(),
                };
                let image = release.component(COMPONENT, None).await?;
                String::from_utf8(image.read(&name).await?).context("the stream is not text")?
            }
        };
        let stream: Value =
            serde_json::from_str(&text).context("the stream of the release is not JSON")?;
        Ok(format!("{stream:#}\n"))
    }

    fn image(&self) -> anyhow::Result<String> {
        let named = self.release.as_deref();
        if let Some(image) = named.filter(|name| name.contains('/')) {
            return Ok(image.to_owned());
        }
        let chosen = chosen_release(None, named, false, Product::Openshift, Arch::X86_64)?;
        match chosen {
            Some(release) => Ok(release.image),
            None => bail!("name the release with --release"),
        }
    }

    /// The usual stream is in a manifest: no further image has to be read.
    fn in_manifests(&self, release: &Release) -> anyhow::Result<Option<String>> {
        if self.rhel >= 10 {
            return Ok(None);
        }
        let mut manifests = release.manifests().iter();
        let Some((name, bytes)) = manifests.find(|(name, _)| name.contains(MANIFEST)) else {
            return Ok(None);
        };
        let map: Value =
            serde_yaml_ng::from_slice(bytes).with_context(|| format!("manifest {name}"))?;
        Ok(map["data"]["stream"].as_str().map(str::to_owned))
    }
}
