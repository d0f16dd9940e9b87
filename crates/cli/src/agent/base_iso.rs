//! The live ISO that an image is made of: a file, the OS images of a service on this machine, or out
//! of the release payload.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use muster_assets::agent_based::Planned;
use muster_boot_images::inspect;
use muster_catalog::Arch;
use muster_documents::install_config::types::OsImageStream;
use muster_image::Iso;
use muster_release::{Client, ImageRef, Release};

use super::log::Log;
use crate::{
    iso::deliver,
    os_images,
    release::access::{Access, Known},
};

/// Where the ISO comes from.
#[derive(Debug, Args)]
pub struct BaseIso {
    /// Live ISO of CoreOS to make the image of [default: OS images of this machine, else out of the
    /// release payload]
    #[arg(long, value_name = "FILE")]
    base_iso: Option<PathBuf>,
    /// Data directory with OS images [default: as `muster serve`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Ask no registry: neither whether the release is there, nor for the ISO
    #[arg(long)]
    pub offline: bool,
    #[command(flatten)]
    access: Access,
}

impl BaseIso {
    /// Opens the ISO for the hosts of a cluster; the path says which it is.
    pub fn open(&self, planned: &Planned, log: &Log) -> anyhow::Result<(Iso, PathBuf)> {
        let arch: Arch = planned.architecture().parse().map_err(|_| {
            anyhow!(
                "there are no images for architecture {}",
                planned.architecture()
            )
        })?;
        let path = self.find(planned, arch, log)?;
        inspect(&path, arch).with_context(|| format!("{} cannot be used", path.display()))?;
        log.info(&format!("base ISO: {}", path.display()));
        Ok((deliver::open(&path)?, path))
    }

    fn find(&self, planned: &Planned, arch: Arch, log: &Log) -> anyhow::Result<PathBuf> {
        if let Some(file) = &self.base_iso {
            self.look_for_release(planned, arch, log);
            return Ok(file.clone());
        }
        if let Some(url) = file_override()? {
            return Ok(url);
        }
        let version = minor(&planned.state.release.version);
        let stock = os_images::stock(self.data_dir.clone(), None);
        match stock.and_then(|stock| stock.file(&version, arch)) {
            Ok(Some(file)) => {
                self.look_for_release(planned, arch, log);
                return Ok(file);
            }
            Ok(None) => {}
            Err(cause) => log.debug(&format!("OS images of this machine: {cause:#}")),
        }
        if self.offline {
            bail!(
                "there is no OS image of OpenShift {version} on this machine; name one with \
                 --base-iso, bring one with `muster os-images fetch --release {version}`, or leave \
                 --offline out to take it out of the release payload"
            );
        }
        self.take_from_payload(planned, arch, log)
    }

    /// Warns if the release cannot be read from here: hosts will need it.
    fn look_for_release(&self, planned: &Planned, arch: Arch, log: &Log) {
        if self.offline {
            return;
        }
        let image = &planned.state.release.image;
        match self.has_release(planned, arch) {
            Ok(()) => log.info(&format!("release {image} found")),
            Err(cause) => log.warn(&format!(
                "release {image} cannot be read from this machine: {cause:#}; hosts will need it \
                 (--offline leaves this out)"
            )),
        }
    }

    fn has_release(&self, planned: &Planned, arch: Arch) -> anyhow::Result<()> {
        let client = self.client(planned)?;
        let reference: ImageRef = planned.state.release.image.parse()?;
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.block_on(Release::open(&client, &reference, Some(arch)))?;
        Ok(())
    }

    fn take_from_payload(
        &self,
        planned: &Planned,
        arch: Arch,
        log: &Log,
    ) -> anyhow::Result<PathBuf> {
        let release = &planned.state.release;
        let rhel = match release.usual_stream() {
            OsImageStream::Rhel9 => 9,
            OsImageStream::Rhel10 | OsImageStream::Centos10 => 10,
        };
        let reference: ImageRef = release.image.parse()?;
        let payload = Payload {
            image: &reference,
            arch,
            generation: rhel,
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
            proxies: None,
        };
        self.access.client(Some(&known))
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

/// `4.20` of `4.20.3`.
fn minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// The file that `OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE` names.
fn file_override() -> anyhow::Result<Option<PathBuf>> {
    let Some(url) = env::var("OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE").ok() else {
        return Ok(None);
    };
    let path = url.split('?').next().unwrap_or(&url);
    if let Some(path) = path.strip_prefix("file://") {
        return Ok(Some(Path::new(path).to_owned()));
    }
    bail!(
        "OPENSHIFT_INSTALL_OS_IMAGE_OVERRIDE names {path}; fetch it with `muster os-images fetch \
         --url`, and give the file with --base-iso"
    )
}

/// Where the reference keeps what it fetched, too.
pub fn cache_folder() -> anyhow::Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let cache = cache.context("there is no home folder to keep the base ISO in; use --base-iso")?;
    Ok(cache.join("agent"))
}
