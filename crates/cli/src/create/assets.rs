//! `muster create manifests | ignition-configs | single-node-ignition-config`: reads a directory,
//! has one of two generators decide, and writes the directory.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use muster_assets::profiles::Release;
use muster_assets::workdir::{STATE_FILE, State, Target};
use muster_catalog::ReleaseCatalog;
use muster_model::Arch;
use serde_json::{Value, json};

use super::directory::{self, Made, read_one};
use super::native::{Answer, Work};
use super::recipe::Product;
use super::{by_release, native};
use crate::{format, output::Printed};

/// The generator of the assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Generator {
    /// Muster's own generator: no network, no download.
    Muster,
    /// The release's own openshift-install, extracted from its payload and run in a sandbox.
    Release,
}

/// What to make assets from.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Assets {
    /// Directory with the install-config; the assets go there
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Release to install: a version such as 4.20.3 or an image, by digest in disconnected networks
    /// [default: as the last command, or the recommended one of the catalogue]
    #[arg(
        long = "release",
        alias = "release-image",
        value_name = "VERSION|IMAGE",
        env = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
    )]
    release: Option<String>,
    /// Version of the image, as 4.20.3, if its tag does not contain it
    #[arg(long, value_name = "VERSION")]
    release_version: Option<String>,
    /// Discard edited manifests if install-config.yaml was changed after them
    #[arg(long)]
    force: bool,
    /// Generator of the assets [default: the one that started in this directory; else Muster, or the release's
    /// own installer if Muster does not know the release]
    #[arg(long, value_name = "GENERATOR")]
    assets: Option<Generator>,
    /// Derive every key from this number instead of random data; insecure, for tests only
    #[arg(long, value_name = "NUMBER", hide = true)]
    insecure_seed: Option<u64>,
    #[command(flatten)]
    pub(super) output: format::Output,
    #[command(flatten)]
    installer: by_release::Installer,
}

/// Makes the assets; the text says what there is now.
pub fn create(assets: &Assets, target: Target) -> anyhow::Result<Printed> {
    let directory = &assets.dir;
    let begun = by_release::begun(directory)?;
    let mut used = None;
    let made = match (assets.assets, &begun) {
        (Some(Generator::Release), _) | (None, Some(_)) => by_its_release(assets, begun, target)?,
        (Some(Generator::Muster), Some(_)) => bail!(
            "the release's own installer began in this directory, and Muster's generator cannot \
             continue with its keys: finish with --assets=release, or start with the install-config in \
             another directory"
        ),
        (chosen, None) => {
            let state = read_state(assets)?;
            let release = release(assets, state.as_ref())?;
            used.clone_from(&release);
            let work = Work {
                target,
                on_disk: directory::read(directory, native::TOP, native::FOLDERS)?,
                release,
                state,
                seed: assets.insecure_seed,
                force: assets.force,
            };
            match native::make(work)? {
                Answer::Made(made) => made,
                Answer::NotOurs(why) if chosen.is_some() => bail!(why),
                Answer::NotOurs(why) => {
                    let _ = writeln!(io::stderr(), "note: {why}");
                    let _ = writeln!(
                        io::stderr(),
                        "note: no generator was chosen, so the release's own installer is used \
                         (--assets=muster would refuse)"
                    );
                    by_its_release(assets, None, target)?
                }
            }
        }
    };
    directory::apply(directory, &made)?;
    Ok(summary(assets, &made, target, used.as_ref()))
}

/// What was made of what, and what comes next.
fn summary(assets: &Assets, made: &Made, target: Target, used: Option<&Release>) -> Printed {
    let directory = assets.dir.display();
    let mut text = String::new();
    if let Some(release) = used {
        let why = match &assets.release {
            Some(_) => "",
            None => "   (--release chooses another)",
        };
        text += &format!("release: {}, {}{why}\n", release.version, release.image);
    }
    text += &format!(
        "created in {directory}: {}\n",
        folded(made.write.iter().map(|file| file.path.as_str()))
    );
    if !made.remove.is_empty() {
        text += &format!(
            "used up: {}\n",
            folded(made.remove.iter().map(String::as_str))
        );
    }
    let next = match target {
        Target::Manifests => format!(
            "review and change the manifests, then muster create \
             ignition-configs --dir {directory}"
        ),
        Target::IgnitionConfigs => "boot one machine with bootstrap.ign and the others with the \
                                    config of their role; auth/kubeconfig logs you in"
            .to_owned(),
        Target::SingleNodeIgnitionConfig => format!(
            "muster iso ignition embed LIVE.iso -i \
             {directory}/bootstrap-in-place-for-live-iso.ign -o node.iso, and boot the machine from \
             it; auth/kubeconfig logs you in"
        ),
    };
    text += &format!("next: {next}");
    let visible = |path: &&str| !path.starts_with('.');
    let created = made.write.iter().map(|file| file.path.as_str());
    let json = json!({
        "release": used.map(|release| json!({"version": release.version, "image": release.image})),
        "directory": assets.dir,
        "created": created.filter(visible).collect::<Vec<_>>(),
        "used_up": made.remove.iter().map(String::as_str).filter(visible).collect::<Vec<_>>(),
        "next": next,
    });
    Printed { text, json }
}

/// Names of files, with folders of many files as one.
fn folded<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut shown: Vec<&str> = paths
        .filter(|path| !path.starts_with('.'))
        .map(|path| match path.split_once('/') {
            Some((folder @ ("manifests" | "openshift" | "cluster-api"), _)) => folder,
            _ => path,
        })
        .collect();
    shown.dedup();
    shown.join(" ")
}

/// Has the release's own installer make the assets.
fn by_its_release(assets: &Assets, begun: Option<String>, target: Target) -> anyhow::Result<Made> {
    if assets.insecure_seed.is_some() {
        bail!("--insecure-seed is for Muster's own generator; the release's installer takes none");
    }
    // Asked for by name, by version, or what began here.
    let image = match (assets.image(), begun) {
        (Some(image), _) => image.to_owned(),
        (None, Some(image)) if assets.version().is_none() => image,
        (None, _) => match release(assets, None)? {
            Some(release) => release.image,
            None => bail!("name the release to install with --release"),
        },
    };
    by_release::make(&assets.dir, &image, target, &assets.installer)
}

fn read_state(assets: &Assets) -> anyhow::Result<Option<State>> {
    let Some(bytes) = read_one(&assets.dir, STATE_FILE)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).with_context(|| format!("{STATE_FILE} is not text"))?;
    Ok(Some(State::from_text(&text)?))
}

/// The release asked for; nothing if the state knows it.
fn release(assets: &Assets, state: Option<&State>) -> anyhow::Result<Option<Release>> {
    chosen_release(
        assets.image(),
        assets.version(),
        state.is_some(),
        product(&assets.dir)?,
        Arch::X86_64,
    )
}

/// The release of these flags; without any the newest of the catalogue, or nothing where an earlier
/// command knows it.
pub fn chosen_release(
    image: Option<&str>,
    version: Option<&str>,
    known_earlier: bool,
    product: Product,
    arch: Arch,
) -> anyhow::Result<Option<Release>> {
    let catalogue = ReleaseCatalog::embedded();
    if let Some(image) = image {
        let Some(version) = version.map(str::to_owned).or_else(|| version_of(image)) else {
            bail!(
                "the version of {image} is not known; name it with --release-version, or let the \
                 release's own installer make the assets with --assets=release"
            );
        };
        return Ok(Some(Release {
            version,
            image: image.to_owned(),
        }));
    }
    if let Some(version) = version {
        let found = catalogue
            .resolve(version, arch)
            .with_context(|| format!("name the image of release {version} with --release IMAGE"))?;
        return Ok(Some(Release {
            version: found.version.to_string(),
            image: found.url.clone(),
        }));
    }
    if known_earlier {
        return Ok(None);
    }
    let newest = match product {
        Product::Openshift => catalogue.recommended(arch),
        Product::Okd => catalogue.recommended_okd(arch),
    };
    Ok(newest.map(|found| Release {
        version: found.version.to_string(),
        image: found.url.clone(),
    }))
}

/// The version of an image, as far as the catalogue or its tag has it.
pub fn version_of(image: &str) -> Option<String> {
    let catalogue = ReleaseCatalog::embedded();
    let known = catalogue.by_url(image);
    let known = known.map(|known| known.version.to_string());
    known.or_else(|| version_in_tag(image))
}

/// What the install-config in the directory is for.
pub fn product(directory: &Path) -> anyhow::Result<Product> {
    let bytes = read_one(directory, "install-config.yaml")?.unwrap_or_default();
    // A file that cannot be read is reported when it is validated.
    let config: Value = serde_yaml_ng::from_slice(&bytes).unwrap_or_default();
    Ok(Product::of_pull_secret(
        config["pullSecret"].as_str().unwrap_or_default(),
    ))
}

impl Assets {
    /// The release, if an image was named.
    fn image(&self) -> Option<&str> {
        self.release.as_deref().filter(|name| name.contains('/'))
    }

    /// The version, if one was named.
    fn version(&self) -> Option<&str> {
        let named = self.release.as_deref().filter(|name| !name.contains('/'));
        self.release_version.as_deref().or(named)
    }
}

/// `4.20.3` of `quay.io/x/ocp-release:4.20.3-x86_64`.
fn version_in_tag(image: &str) -> Option<String> {
    let (image, _digest) = image.split_once('@').unwrap_or((image, ""));
    let (_, tag) = image.rsplit_once('/')?.1.split_once(':')?;
    let architectures = ["-x86_64", "-aarch64", "-ppc64le", "-s390x", "-multi"];
    let version = architectures
        .iter()
        .find_map(|arch| tag.strip_suffix(arch))
        .unwrap_or(tag);
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_tags() {
        let version = |image| version_in_tag(image).unwrap_or_default();
        assert_eq!(version("quay.io/x/ocp-release:4.20.3-x86_64"), "4.20.3");
        assert_eq!(
            version("quay.io/okd/scos-release:4.20.0-okd-scos.1"),
            "4.20.0-okd-scos.1"
        );
        assert_eq!(version("localhost:5000/x@sha256:00"), "");
        assert_eq!(version("quay.io/x/release:latest"), "");
    }
}
