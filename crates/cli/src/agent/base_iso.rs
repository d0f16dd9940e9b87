//! The live ISO that an image is made of: a file, a URL, the OS images of a service on this machine,
//! or out of the release payload.

use std::{env, fs, path::PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use muster_assets::agent_based::Planned;
use muster_boot_images::inspect;
use muster_documents::install_config::types::OsImageStream;
use muster_image::{Iso, live::LiveImage};
use muster_model::{Arch, MinorVersion};
use muster_release::{Client, ImageRef, Release};

use super::{log::Log, preflight};
use crate::{
    iso::deliver,
    os_images,
    release::access::{Access, Known},
};

/// Where the ISO comes from.
#[derive(Debug, Args)]
pub struct BaseIso {
    /// Live ISO of CoreOS to make the image of; a URL may end in ?sha256=<digest> [default: OS images
    /// of this machine, else out of the release payload]
    #[arg(
        long,
        value_name = "FILE|URL",
        env = "OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE"
    )]
    base_iso: Option<String>,
    /// Data directory with OS images [default: as `muster serve`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    #[command(flatten)]
    registries: Registries,
}

/// Whether and how registries are asked.
#[derive(Debug, Default, Args)]
pub struct Registries {
    /// Ask no registry: neither about the release, nor for the ISO
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    pub access: Access,
}

/// How the ISO was named.
enum Named {
    File(PathBuf),
    Url(String),
}

/// A file by its path or as `file://`; everything else with a scheme is a URL.
fn named(text: &str) -> Named {
    match text.strip_prefix("file://") {
        Some(path) => Named::File(path.split('?').next().unwrap_or(path).into()),
        None if text.contains("://") => Named::Url(text.to_owned()),
        None => Named::File(text.into()),
    }
}

impl BaseIso {
    /// How registries are asked.
    pub const fn registries(&self) -> &Registries {
        &self.registries
    }

    /// Opens the ISO for the hosts of a cluster; the path says which it is.
    pub fn open(&self, planned: &Planned, log: &Log) -> anyhow::Result<(Iso, PathBuf)> {
        let arch = planned.arch().map_err(|_| {
            anyhow!(
                "there are no images for architecture {}",
                planned.architecture()
            )
        })?;
        if !self.registries.offline {
            preflight::check(self, planned, arch, log)?;
        }
        let path = self.find(planned, arch, log)?;
        let unusable = || {
            let path = path.display();
            format!(
                "{path} cannot be used for hosts of {arch}; name another base ISO with --base-iso"
            )
        };
        let live = inspect(&path, arch).with_context(unusable)?;
        // Which stream a running cluster has is not known here.
        if planned.joining.is_none() {
            check_stream(&live, planned.stream()).with_context(unusable)?;
        }
        log.info(&format!("base ISO: {}", path.display()));
        Ok((deliver::open(&path)?, path))
    }

    fn find(&self, planned: &Planned, arch: Arch, log: &Log) -> anyhow::Result<PathBuf> {
        match self.base_iso.as_deref().map(named) {
            Some(Named::File(path)) => return Ok(path),
            Some(Named::Url(url)) if self.registries.offline => bail!(
                "{url} cannot be fetched with --offline; fetch it before, and name the file with \
                 --base-iso"
            ),
            Some(Named::Url(url)) => return os_images::from_url(&url, arch),
            None => {}
        }
        let version = &planned.state.release.version;
        let version =
            MinorVersion::parse(version).map_or(version.clone(), |minor| minor.to_string());
        let stock = os_images::stock(self.data_dir.clone(), None);
        match stock.and_then(|stock| stock.file(&version, arch)) {
            Ok(Some(file)) => return Ok(file),
            Ok(None) => {}
            Err(cause) => log.debug(&format!("OS images of this machine: {cause:#}")),
        }
        if self.registries.offline {
            bail!(
                "there is no OS image of OpenShift {version} on this machine; name one with \
                 --base-iso, bring one with `muster os-images fetch --release {version}`, or leave \
                 --offline out to take it out of the release payload"
            );
        }
        self.take_from_payload(planned, arch, log)
    }

    fn take_from_payload(
        &self,
        planned: &Planned,
        arch: Arch,
        log: &Log,
    ) -> anyhow::Result<PathBuf> {
        let reference: ImageRef = planned.state.release.image.parse()?;
        let payload = Payload {
            image: &reference,
            arch,
            generation: generation(planned.stream()),
        };
        payload.live_iso(&self.client(planned)?, &mut |text| log.info(text))
    }

    fn client(&self, planned: &Planned) -> anyhow::Result<Client> {
        let secret = planned.manifests.pull_secret.as_ref();
        let mirrors = &planned.mirrors;
        let known = Known {
            pull_secret: secret.map(|s| s.string_data.docker_config.reveal().to_owned()),
            trusted: Some(mirrors.ca_bundle.clone()).filter(|ca| !ca.is_empty()),
            mirrors: (!mirrors.entries.is_empty()).then(|| mirrors.registries_conf.clone()),
            ..Known::default()
        };
        self.registries.access.client(Some(&known))
    }

    /// Asks registries about the release of a cluster, with the cluster's credentials, mirrors and
    /// certificates.
    pub fn in_registry<T>(
        &self,
        planned: &Planned,
        work: impl AsyncFnOnce(&Client, &ImageRef) -> Result<T, muster_release::Error>,
    ) -> anyhow::Result<T> {
        let client = self.client(planned)?;
        let reference: ImageRef = planned.state.release.image.parse()?;
        let runtime = tokio::runtime::Runtime::new()?;
        Ok(runtime.block_on(work(&client, &reference))?)
    }
}

/// The major version of the Enterprise Linux that a stream is of.
const fn generation(stream: OsImageStream) -> u32 {
    match stream {
        OsImageStream::Rhel9 => 9,
        OsImageStream::Rhel10 | OsImageStream::Centos10 => 10,
    }
}

/// A live system boots the hosts of one stream; the generation that its version shows has to be the same.
/// OKD changed streams between releases, so its images are not compared.
fn check_stream(live: &LiveImage, stream: OsImageStream) -> anyhow::Result<()> {
    let wanted = generation(stream);
    match live.generation() {
        Some(found) if found != wanted && stream != OsImageStream::Centos10 => bail!(
            "it is CoreOS {} of Enterprise Linux {found}, and the cluster is installed with stream {stream}",
            live.version
        ),
        Some(_) | None => Ok(()),
    }
}

/// A release whose payload has the live ISO.
pub struct Payload<'a> {
    /// Its image.
    pub image: &'a ImageRef,
    /// Architecture of the ISO.
    pub arch: Arch,
    /// Generation of RHEL it is of.
    pub generation: u32,
}

impl Payload<'_> {
    /// The live ISO, out of the user's cache or the registry.
    pub fn live_iso(&self, client: &Client, say: &mut dyn FnMut(&str)) -> anyhow::Result<PathBuf> {
        let (image, arch) = (self.image.to_string(), self.arch);
        let folder = cache_folder()?.join("image_cache");
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        // By release: the same name is never two images.
        let safe: String = image
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '.' {
                    c
                } else {
                    '-'
                }
            })
            .collect();
        let to = folder.join(format!("{safe}-{arch}-rhel{}.iso", self.generation));
        if to.exists() {
            return Ok(to);
        }
        say(&format!("taking the base ISO out of {image}"));
        let part = to.with_extension("part");
        let runtime = tokio::runtime::Runtime::new()?;
        runtime
            .block_on(async {
                let release = Release::open(client, self.image, Some(arch)).await?;
                release.extract_iso(arch, self.generation, &part).await
            })
            .with_context(|| {
                format!(
                    "the base ISO cannot be taken out of release {image}; name one with --base-iso"
                )
            })?;
        fs::rename(&part, &to).with_context(|| format!("writing {}", to.display()))?;
        Ok(to)
    }
}

/// Where the reference keeps what it fetched, too.
pub fn cache_folder() -> anyhow::Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cache = cache.context("there is no home folder to keep the base ISO in; use --base-iso")?;
    Ok(cache.join("agent"))
}

#[cfg(test)]
mod tests {
    use muster_image::live::{Family, Features};

    use super::*;

    #[test]
    fn a_base_iso_of_another_stream_is_refused() {
        let check = |family, version: &str, stream| {
            let live = LiveImage {
                family,
                version: version.to_owned(),
                architecture: Some("x86_64"),
                features: Features::default(),
            };
            check_stream(&live, stream).map_err(|error| error.to_string())
        };
        let (rhel9, rhel10) = (OsImageStream::Rhel9, OsImageStream::Rhel10);
        for (family, version, stream) in [
            (Family::Rhcos, "9.6.20250523-0", rhel9),
            (Family::Rhcos, "418.94.202501221327-0", rhel9),
            (Family::Rhcos, "10.1.20260101-0", rhel10),
            (Family::Rhcos, "1", rhel9),
            (Family::Scos, "9.0.20250510-0", OsImageStream::Centos10),
            (Family::Fcos, "42.20250901.3.0", rhel9),
        ] {
            assert_eq!(check(family, version, stream), Ok(()));
        }
        let error = check(Family::Rhcos, "9.6.20250523-0", rhel10).unwrap_err();
        assert!(
            error.contains("Enterprise Linux 9") && error.contains("stream rhel-10"),
            "{error}"
        );
        assert!(check(Family::Rhcos, "10.1.20260101-0", rhel9).is_err());
        assert!(check(Family::Rhcos, "418.94.202501221327-0", rhel10).is_err());
    }
}
