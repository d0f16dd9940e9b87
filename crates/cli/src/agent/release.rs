//! The release to install: as it was named, but by digest where mirrors serve nothing else, and with the
//! version it calls itself where neither a flag nor its name says one.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use muster_assets::{
    agent_based::{INSTALL_CONFIG, State},
    profiles::Release,
};
use muster_model::Arch;
use muster_release::{ImageRef, Mirrors};
use serde_json::Value;

use super::{base_iso::Registries, log::Log};
use crate::{
    create::{
        assets::{chosen_release, version_of},
        recipe::Product,
    },
    release::access::Known,
};

/// How a release was named, if at all.
pub struct Named<'a> {
    /// Its image, or its version.
    pub release: Option<&'a str>,
    /// The version of the image.
    pub version: Option<&'a str>,
}

/// A release, and what hosts cannot do with it. That is an error once the files are known to be good:
/// what is wrong with them may be the reason.
pub struct Settled {
    pub release: Option<Release>,
    pub fault: Option<anyhow::Error>,
}

/// Files that count, by path.
type Inputs = BTreeMap<String, String>;

/// Settles which release is installed.
pub fn settle(
    named: &Named<'_>,
    inputs: &Inputs,
    earlier: Option<&State>,
    registries: &Registries,
    log: &Log,
) -> anyhow::Result<Settled> {
    let settings = Settings::of(inputs);
    let Some((image, version)) = chosen(named, &settings, earlier)? else {
        return Ok(Settled {
            release: None,
            fault: None,
        });
    };
    // A malformed name is reported where it is used.
    let needs_digest = image
        .parse()
        .is_ok_and(|image| settings.mirrors().need_digest(&image));
    let version = match version {
        Some(version) if !needs_digest => {
            let release = Some(Release { version, image });
            return Ok(Settled {
                release,
                fault: None,
            });
        }
        other => other,
    };
    match (settings.read(&image, registries), version) {
        (Ok((pinned, own)), _) => {
            let release = Release {
                // A version that a flag names is compared with the release's own before the image is made.
                version: named.version_of_image().map_or(own, str::to_owned),
                image: if needs_digest { pinned } else { image.clone() },
            };
            log.info(&format!(
                "release {image} is version {}, {}",
                release.version, release.image
            ));
            Ok(Settled {
                release: Some(release),
                fault: None,
            })
        }
        (Err(cause), None) => Err(cause.context(format!(
            "the version of release {image} is not in its name and cannot be read from it; name it with \
             --release-version"
        ))),
        (Err(cause), Some(version)) => Ok(Settled {
            fault: Some(cause.context(by_digest(&image, &version))),
            release: Some(Release { version, image }),
        }),
    }
}

/// What to do where a digest cannot be looked up.
fn by_digest(image: &str, version: &str) -> String {
    let repository = image.parse().map_or_else(
        |_| image.to_owned(),
        |image: ImageRef| image.repository.to_string(),
    );
    format!(
        "release {image} is named by its tag, and its mirrors serve digests only, so hosts could not \
         pull it; name it by digest: --release {repository}@sha256:<digest> --release-version {version} \
         (`muster release info {image}` prints the digest where a registry can be reached)"
    )
}

impl Named<'_> {
    /// The version that a flag names beside an image.
    fn version_of_image(&self) -> Option<&str> {
        self.release.filter(|name| is_image(name)).and(self.version)
    }
}

/// Images have a slash in their names, versions have none.
fn is_image(name: &str) -> bool {
    name.contains('/')
}

/// Image, and version as far as it is known.
fn chosen(
    named: &Named<'_>,
    settings: &Settings,
    earlier: Option<&State>,
) -> anyhow::Result<Option<(String, Option<String>)>> {
    if let Some(image) = named.release.filter(|name| is_image(name)) {
        let version = named.version.map(str::to_owned);
        return Ok(Some((
            image.to_owned(),
            version.or_else(|| version_of(image)),
        )));
    }
    let version = named.release.or(named.version);
    let product =
        Product::of_pull_secret(settings.known.pull_secret.as_deref().unwrap_or_default());
    let found = chosen_release(None, version, earlier.is_some(), product, settings.arch)?;
    let found = found.or_else(|| Some(earlier?.release.clone()));
    Ok(found.map(|found| (found.image, Some(found.version))))
}

/// What the inputs say about registries, valid or not.
struct Settings {
    known: Known,
    arch: Arch,
}

impl Settings {
    fn of(inputs: &Inputs) -> Self {
        let value = |name: &str| -> Value {
            let text = inputs.get(name).map_or("", String::as_str);
            serde_yaml_ng::from_str(text).unwrap_or_default()
        };
        let install = value(INSTALL_CONFIG);
        let mut known = Known {
            mirrors_serve_tags: true,
            ..Known::of_install_config(&install)
        };
        let secret = value("cluster-manifests/pull-secret.yaml");
        if let Some(text) = secret["stringData"][".dockerconfigjson"].as_str() {
            known.pull_secret = Some(text.to_owned());
        }
        for (name, setting) in [
            ("mirror/registries.conf", &mut known.mirrors),
            ("mirror/ca-bundle.crt", &mut known.trusted),
        ] {
            if let Some(text) = inputs.get(name) {
                *setting = Some(text.clone());
            }
        }
        let infra_env = value("cluster-manifests/infraenv.yaml");
        let arch = [
            &infra_env["spec"]["cpuArchitecture"],
            &install["controlPlane"]["architecture"],
        ];
        let arch = arch
            .into_iter()
            .find_map(|word| word.as_str()?.parse().ok());
        Self {
            known,
            arch: arch.unwrap_or(Arch::X86_64),
        }
    }

    /// None where they are wrong, which validation reports.
    fn mirrors(&self) -> Mirrors {
        let text = self.known.mirrors.as_deref().unwrap_or_default();
        Mirrors::parse(text).unwrap_or_default()
    }

    /// The image by its digest, and its version.
    fn read(&self, image: &str, registries: &Registries) -> anyhow::Result<(String, String)> {
        if registries.offline {
            return Err(anyhow!("with --offline no registry is asked"));
        }
        let client = registries.access.client(Some(&self.known))?;
        let reference: ImageRef = image.parse()?;
        let runtime = tokio::runtime::Runtime::new().context("starting to ask registries")?;
        let opening = muster_release::Release::open(&client, &reference, Some(self.arch));
        let release = runtime.block_on(opening)?;
        let pinned = release.image().pinned().to_string();
        Ok((pinned, release.version().to_string()))
    }
}
