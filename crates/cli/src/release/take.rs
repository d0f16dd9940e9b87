//! Taking things out of a release: tools, files, manifests, the base ISO.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;
use muster_model::Arch;
use muster_release::{Client, Platform, Release, TOOLS, Written};
use serde_json::json;
use tempfile::TempDir;

use super::{Destination, Which};
use crate::output::Printed;

/// Extract a tool, a file or the manifests from a release.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["tool", "file", "manifests"]))]
pub struct Extract {
    #[command(flatten)]
    which: Which,
    /// A tool: openshift-install, openshift-baremetal-install, openshift-install-fips, oc, ccoctl
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// A file, by its path in the component (or in the image itself, without --component)
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Component that has the file
    #[arg(long, value_name = "NAME", requires = "file")]
    component: Option<String>,
    /// All manifests of the release, into a folder
    #[arg(long)]
    manifests: bool,
    #[command(flatten)]
    pub(super) destination: Destination,
}

/// Extract the base live ISO of CoreOS from a release.
#[derive(Debug, Args)]
pub struct BaseIso {
    #[command(flatten)]
    which: Which,
    /// RHEL that CoreOS is made of: 9, or 10 for releases that carry both
    #[arg(long, value_name = "NUMBER", default_value_t = 9, value_parser = clap::value_parser!(u32).range(9..=99))]
    rhel: u32,
    #[command(flatten)]
    pub(super) destination: Destination,
}

impl Extract {
    pub async fn run(&self, client: &Client) -> anyhow::Result<Printed> {
        self.destination.check()?;
        if self.manifests && self.destination.is_stdout() {
            bail!("--manifests writes a folder; name it with --to");
        }
        let (to, stdout) = place(&self.destination)?;
        let to = to.as_path();
        let reference = &self.which.release;
        if let (Some(path), None) = (&self.file, &self.component) {
            let platform = self.which.arch.map_or(Platform::Any, Platform::Exactly);
            let image = client.image(reference, platform).await?;
            return delivered(&image.extract(path, to).await?, stdout.is_some());
        }
        let tool =
            match &self.tool {
                Some(name) => Some(TOOLS.iter().find(|tool| tool.name == name).with_context(
                    || {
                        let known: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
                        format!("there is no tool `{name}`; there are {}", known.join(", "))
                    },
                )?),
                None => None,
            };
        let release = Release::open(client, reference, self.which.arch).await?;
        if let Some(tool) = tool {
            let done = release.extract_tool(tool, self.which.arch, to).await?;
            return delivered(&done, stdout.is_some());
        }
        match (&self.component, &self.file) {
            (Some(component), Some(path)) => {
                let image = release.component(component, self.which.arch).await?;
                delivered(&image.extract(path, to).await?, stdout.is_some())
            }
            _ => manifests(&release, to, self.destination.force),
        }
    }
}

impl BaseIso {
    pub async fn run(&self, client: &Client) -> anyhow::Result<Printed> {
        self.destination.check()?;
        let (to, stdout) = place(&self.destination)?;
        let release = Release::open(client, &self.which.release, self.which.arch).await?;
        let arch = match (self.which.arch, release.arch()) {
            (Some(arch), _) => arch,
            (None, Arch::Multi) => bail!(
                "this release is for several architectures; say which with --arch x86_64 (or \
                 arm64, ppc64le, s390x)"
            ),
            (None, arch) => arch,
        };
        let iso = release.extract_iso(arch, self.rhel, &to).await?;
        if stdout.is_some() {
            return delivered(&iso.written, true);
        }
        let mut printed = written(&iso.written);
        if let Some(build) = &iso.coreos_version {
            printed.text += &format!("\nCoreOS {build} for {}", arch.go());
        }
        printed.json["coreos_version"] = json!(iso.coreos_version);
        printed.json["architecture"] = json!(arch.go());
        Ok(printed)
    }
}

/// Where to write, and the folder that lives until it was copied to standard output.
fn place(destination: &super::Destination) -> anyhow::Result<(PathBuf, Option<TempDir>)> {
    if !destination.is_stdout() {
        return Ok((destination.to.clone(), None));
    }
    let folder = tempfile::tempdir().context("making a folder for what goes to standard output")?;
    Ok((folder.path().join("output"), Some(folder)))
}

/// What was written, or the thing itself on standard output.
fn delivered(done: &Written, stdout: bool) -> anyhow::Result<Printed> {
    if !stdout {
        return Ok(written(done));
    }
    let mut file = fs::File::open(&done.path)?;
    io::copy(&mut file, &mut io::stdout().lock()).context("writing to standard output")?;
    Ok(Printed {
        text: String::new(),
        json: json!({}),
    })
}

fn written(done: &Written) -> Printed {
    let path = done.path.display();
    Printed {
        text: format!("{path}: {} bytes, {}", done.size, done.sha256),
        json: json!({"path": path.to_string(), "size": done.size, "sha256": done.sha256.hex()}),
    }
}

/// Only plain names: what a payload calls its files decides nothing about where they go.
fn manifests(release: &Release, to: &Path, force: bool) -> anyhow::Result<Printed> {
    fs::create_dir_all(to).with_context(|| format!("making {}", to.display()))?;
    let mut names = Vec::new();
    for (name, bytes) in release.manifests() {
        if name.contains('/') || name.starts_with('.') {
            continue;
        }
        let path = to.join(name);
        if path.exists() && !force {
            bail!("{} exists already; --force overwrites it", path.display());
        }
        fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
        names.push(name);
    }
    Ok(Printed {
        text: format!("{}: {} manifests", to.display(), names.len()),
        json: json!({"path": to.display().to_string(), "files": names}),
    })
}
