//! `muster create manifests | ignition-configs | single-node-ignition-config`: reads a directory,
//! has one of two generators decide, and writes the directory.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use muster_assets::profiles::Release;
use muster_assets::workdir::{STATE_FILE, State, Target};
use muster_catalog::{Arch, ReleaseCatalog};

use super::directory::{self, Made, read_one};
use super::native::{Answer, Work};
use super::{by_release, native};

/// Who makes the assets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Generator {
    /// Muster's own generator: no network, no download.
    Muster,
    /// The release's own openshift-install, taken out of its payload and run apart.
    Release,
}

/// What to make assets from.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Assets {
    /// Directory with the install-config; the assets go there
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Release to install, by digest in disconnected networks [default: as the last command, or
    /// the newest of the catalogue]
    #[arg(
        long,
        value_name = "IMAGE",
        env = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
    )]
    release_image: Option<String>,
    /// Its version, as 4.20.3, if the image's tag does not contain it
    #[arg(long, value_name = "VERSION")]
    release_version: Option<String>,
    /// Throw edited manifests away where install-config.yaml was changed after them
    #[arg(long)]
    force: bool,
    /// Who makes the assets [default: who began in this directory; else Muster, and the release's
    /// own installer if Muster does not know the release]
    #[arg(long, value_name = "GENERATOR")]
    assets: Option<Generator>,
    /// Derive every key from this number instead of chance: for tests only, anybody can guess them
    #[arg(long, value_name = "NUMBER", hide = true)]
    insecure_seed: Option<u64>,
    #[command(flatten)]
    installer: by_release::Installer,
}

/// Makes the assets; the text says what there is now.
pub fn create(assets: &Assets, target: Target) -> anyhow::Result<String> {
    let directory = &assets.dir;
    let begun = by_release::begun(directory)?;
    let made = match (assets.assets, &begun) {
        (Some(Generator::Release), _) | (None, Some(_)) => by_its_release(assets, begun, target)?,
        (Some(Generator::Muster), Some(_)) => bail!(
            "the release's own installer began in this directory, and Muster's generator cannot go \
             on with its keys: finish with --assets=release, or start with the install-config in \
             another directory"
        ),
        (chosen, None) => {
            let state = read_state(assets)?;
            let work = Work {
                target,
                on_disk: directory::read(directory, native::TOP, native::FOLDERS)?,
                release: release(assets, state.as_ref())?,
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
    let mut shown: Vec<&str> = made
        .write
        .iter()
        .filter(|file| !file.path.starts_with('.'))
        .map(|file| match file.path.split_once('/') {
            Some((folder @ ("manifests" | "openshift" | "cluster-api"), _)) => folder,
            _ => file.path.as_str(),
        })
        .collect();
    shown.dedup();
    Ok(format!(
        "created in {}: {}",
        directory.display(),
        shown.join(" ")
    ))
}

/// Has the release's own installer make the assets.
fn by_its_release(assets: &Assets, begun: Option<String>, target: Target) -> anyhow::Result<Made> {
    if assets.insecure_seed.is_some() {
        bail!("--insecure-seed is for Muster's own generator; the release's installer takes none");
    }
    // Asked for by name, by version, or what began here.
    let image = match (&assets.release_image, begun) {
        (Some(image), _) => image.clone(),
        (None, Some(image)) if assets.release_version.is_none() => image,
        (None, _) => match release(assets, None)? {
            Some(release) => release.image,
            None => bail!("name the release to install with --release-image"),
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
    let catalogue = ReleaseCatalog::embedded();
    if let Some(image) = &assets.release_image {
        let known = catalogue
            .by_url(image)
            .map(|known| known.version.to_string());
        let version = assets
            .release_version
            .clone()
            .or(known)
            .or_else(|| version_in_tag(image));
        let Some(version) = version else {
            bail!(
                "the version of {image} is not known; name it with --release-version, or let the \
                 release's own installer make the assets with --assets=release"
            );
        };
        return Ok(Some(Release {
            version,
            image: image.clone(),
        }));
    }
    if let Some(version) = &assets.release_version {
        let found = catalogue
            .resolve(version, Arch::X86_64)
            .with_context(|| format!("name the image of release {version} with --release-image"))?;
        return Ok(Some(Release {
            version: found.version.to_string(),
            image: found.url.clone(),
        }));
    }
    if state.is_some() {
        return Ok(None);
    }
    let newest = catalogue.recommended(Arch::X86_64);
    Ok(newest.map(|found| Release {
        version: found.version.to_string(),
        image: found.url.clone(),
    }))
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
