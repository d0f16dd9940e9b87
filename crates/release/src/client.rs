//! The registry client: finds images in the configured locations.

use std::sync::Arc;

use muster_catalog::Arch;

use crate::{
    Digest, Error, Failure, Image, ImageRef, Location, Progress,
    error::Fault,
    image::Platform,
    manifest::{Descriptor, ImageConfig, Manifest, go_arch},
    progress::Watcher,
    settings::Settings,
    transport::{Asked, Transport, bounded, manifest_headers},
};

/// A client for any number of registries. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    inner: Arc<(Settings, Transport)>,
    watcher: Watcher,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Client").field(&self.inner.0).finish()
    }
}

impl Client {
    /// From settings; sends nothing yet.
    ///
    /// # Errors
    /// When a CA bundle or a proxy is unusable.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let transport = Transport::new(&settings)?;
        Ok(Self {
            inner: Arc::new((settings, transport)),
            watcher: Watcher::default(),
        })
    }

    /// The same client, reporting progress to `receiver`.
    #[must_use]
    pub fn watched(&self, receiver: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        Self {
            inner: self.inner.clone(),
            watcher: Watcher::new(receiver),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.inner.0
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.inner.1
    }

    pub(crate) fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Finds an image and reads what it says about itself, not yet its layers.
    ///
    /// # Errors
    /// When no location has it, or it is not for the platform.
    pub async fn image(&self, image: &ImageRef, platform: Platform) -> Result<Image, Error> {
        let locations = self.settings().mirrors.locations(image);
        if locations.is_empty() {
            return Err(Error::Blocked {
                image: Box::new(image.clone()),
                hint: match image.digest {
                    Some(_) => "; add one",
                    None => "; mirrors of digests serve no tags: name the image by its digest",
                },
            });
        }
        let broken = |why: String| Error::Image {
            image: Box::new(image.clone()),
            why,
        };
        let limits = &self.settings().limits;
        let (bytes, digest) = self
            .small(
                image,
                &locations,
                What::Manifest(image.version(), image.digest),
            )
            .await?;
        let mut manifest = Manifest::parse(&bytes, limits).map_err(broken)?;
        let mut list = None;
        let mut image_digest = digest;
        if let Manifest::List(entries) = &manifest {
            let chosen = choose(entries, platform).map_err(broken)?;
            list = Some(digest);
            image_digest = chosen.digest;
            let what = What::Manifest(chosen.digest.to_string(), Some(chosen.digest));
            let (bytes, _) = self.small(image, &locations, what).await?;
            manifest = Manifest::parse(&bytes, limits).map_err(broken)?;
        }
        let Manifest::Image { config, layers } = manifest else {
            return Err(broken("its manifest list holds another list".to_owned()));
        };
        let (bytes, _) = self.small(image, &locations, What::Config(config)).await?;
        let config: ImageConfig = serde_json::from_slice(&bytes)
            .map_err(|cause| broken(format!("its configuration is not sound JSON: {cause}")))?;
        if let Platform::Exactly(arch) = platform
            && list.is_none()
            && config.architecture != go_arch(arch)
        {
            return Err(broken(format!(
                "it is for {} and {} was asked for; take the release of that architecture or a \
                 multi-architecture one",
                config.architecture,
                go_arch(arch)
            )));
        }
        Ok(Image {
            client: self.clone(),
            reference: image.clone(),
            list,
            digest: image_digest,
            config,
            layers,
            locations,
        })
    }

    /// A manifest or configuration from the cache or the first location that has it.
    async fn small(
        &self,
        image: &ImageRef,
        locations: &[Location],
        what: What,
    ) -> Result<(Vec<u8>, Digest), Error> {
        let limits = &self.settings().limits;
        let (limit, expected) = match &what {
            What::Manifest(_, digest) => (limits.manifest, *digest),
            What::Config(blob) => (limits.config, Some(blob.digest)),
        };
        let cache = self.settings().cache.as_ref();
        if let (Some(cache), Some(digest)) = (cache, expected)
            && let Some(bytes) = cache.small(&digest, limit)
        {
            return Ok((bytes, digest));
        }
        let mut failures = Vec::new();
        for location in locations {
            match self.patiently(location, &what, limit).await {
                Ok((bytes, digest)) => {
                    if let Some(cache) = cache {
                        cache.keep_small(&digest, &bytes);
                    }
                    return Ok((bytes, digest));
                }
                Err(failure) => {
                    self.watcher.report(Progress::GivenUp { failure: &failure });
                    failures.push(failure);
                }
            }
        }
        Err(Error::Nowhere {
            image: Box::new(image.clone()),
            what: what.name().to_owned(),
            failures,
        })
    }

    async fn patiently(
        &self,
        location: &Location,
        what: &What,
        limit: u64,
    ) -> Result<(Vec<u8>, Digest), Failure> {
        let retry = &self.settings().retry;
        let mut tries = 1;
        loop {
            let fault = match self.ask(location, what, limit).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let last = tries >= retry.tries || !fault.is_passing();
            let failure = Failure {
                location: location.repository.to_string(),
                fault,
            };
            if last {
                return Err(failure);
            }
            let pause = failure.fault.pause(retry.pause, tries);
            self.watcher.report(Progress::Again {
                failure: &failure,
                pause,
            });
            tokio::time::sleep(pause).await;
            tries += 1;
        }
    }

    async fn ask(
        &self,
        location: &Location,
        what: &What,
        limit: u64,
    ) -> Result<(Vec<u8>, Digest), Fault> {
        let asked = match what {
            What::Manifest(version, _) => Asked::Manifest(version),
            What::Config(blob) => Asked::Blob(&blob.digest),
        };
        let response = self
            .transport()
            .get(self.settings(), location, asked, &manifest_headers())
            .await?;
        let bytes = bounded(response, limit, what.name()).await?;
        let found = Digest::of(&bytes);
        let expected = match what {
            What::Manifest(_, digest) => *digest,
            What::Config(blob) => Some(blob.digest),
        };
        match expected {
            Some(expected) if expected != found => Err(Fault::WrongDigest { expected, found }),
            Some(_) | None => Ok((bytes, found)),
        }
    }
}

/// Small things that are read whole.
enum What {
    Manifest(String, Option<Digest>),
    Config(Descriptor),
}

impl What {
    fn name(&self) -> &'static str {
        match self {
            Self::Manifest(..) => "manifest",
            Self::Config(_) => "configuration",
        }
    }
}

fn choose(entries: &[(String, Descriptor)], platform: Platform) -> Result<&Descriptor, String> {
    let find = |arch: Arch| {
        let wanted = go_arch(arch);
        entries.iter().find(|(arch, _)| arch == wanted)
    };
    let chosen = match platform {
        Platform::Exactly(arch) => find(arch),
        Platform::Any => this_machine()
            .and_then(find)
            .or_else(|| find(Arch::X86_64))
            .or_else(|| entries.first()),
    };
    chosen.map(|(_, pointer)| pointer).ok_or_else(|| {
        let there: Vec<&str> = entries.iter().map(|(arch, _)| arch.as_str()).collect();
        let wanted = match platform {
            Platform::Exactly(arch) => go_arch(arch),
            Platform::Any => "Linux",
        };
        format!(
            "it has no image for {wanted}, only for: {}",
            there.join(", ")
        )
    })
}

/// What we run on, if it is something releases exist for.
pub(crate) fn this_machine() -> Option<Arch> {
    std::env::consts::ARCH.parse().ok()
}
