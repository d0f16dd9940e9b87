//! The registry client: finds images in the configured locations.

use std::sync::Arc;

use muster_model::Arch;

use crate::{
    Digest, Error, Failure, Image, ImageRef, Location, Progress,
    error::Fault,
    image::Platform,
    manifest::{Descriptor, ImageConfig, Manifest},
    progress::Watcher,
    settings::Settings,
    transport::{Asked, Transport, bounded, manifest_headers},
};

/// Whether something is there need not be asked for minutes.
const LOOK_UP_TRIES: u32 = 2;

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
        let locations = self.locations(image)?;
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
            && config.architecture != arch.go()
        {
            return Err(broken(format!(
                "it is for {} and {} was asked for; take the release of that architecture or a \
                 multi-architecture one",
                config.architecture,
                arch.go()
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

    /// Asks registries, never the cache, whether one of them has an image.
    ///
    /// # Errors
    /// When none has it; [`Error::is_answered`] returns whether that was an answer.
    pub async fn look_up(&self, image: &ImageRef) -> Result<(), Error> {
        let locations = self.locations(image)?;
        let what = What::Manifest(image.version(), image.digest);
        let tries = self.settings().retry.tries.min(LOOK_UP_TRIES);
        let found = self.ask_registries(image, &locations, &what, tries).await;
        found.map(drop)
    }

    /// Where an image may be, in the order to try.
    fn locations(&self, image: &ImageRef) -> Result<Vec<Location>, Error> {
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
        Ok(locations)
    }

    /// A manifest or configuration from the cache or the first location that has it.
    async fn small(
        &self,
        image: &ImageRef,
        locations: &[Location],
        what: What,
    ) -> Result<(Vec<u8>, Digest), Error> {
        let cache = self.settings().cache.as_ref();
        if let (Some(cache), Some(digest)) = (cache, what.expected())
            && let Some(bytes) = cache.small(&digest, self.limit(&what))
        {
            return Ok((bytes, digest));
        }
        let tries = self.settings().retry.tries;
        let found = self.ask_registries(image, locations, &what, tries).await;
        let (bytes, digest) = found?;
        if let Some(cache) = cache {
            cache.keep_small(&digest, &bytes);
        }
        Ok((bytes, digest))
    }

    /// How many bytes of it are read.
    fn limit(&self, what: &What) -> u64 {
        let limits = &self.settings().limits;
        match what {
            What::Manifest(..) => limits.manifest,
            What::Config(_) => limits.config,
        }
    }

    /// The same from the first location that has it.
    async fn ask_registries(
        &self,
        image: &ImageRef,
        locations: &[Location],
        what: &What,
        tries: u32,
    ) -> Result<(Vec<u8>, Digest), Error> {
        let limit = self.limit(what);
        let mut failures = Vec::new();
        for location in locations {
            match self.patiently(location, what, limit, tries).await {
                Ok(answer) => return Ok(answer),
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
        most: u32,
    ) -> Result<(Vec<u8>, Digest), Failure> {
        let retry = &self.settings().retry;
        let mut tries = 1;
        loop {
            let fault = match self.ask(location, what, limit).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let last = tries >= most || !fault.is_passing();
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
        match what.expected() {
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
    /// Its digest, if that is known.
    fn expected(&self) -> Option<Digest> {
        match self {
            Self::Manifest(_, digest) => *digest,
            Self::Config(blob) => Some(blob.digest),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Manifest(..) => "manifest",
            Self::Config(_) => "configuration",
        }
    }
}

fn choose(entries: &[(String, Descriptor)], platform: Platform) -> Result<&Descriptor, String> {
    let find = |arch: Arch| {
        let wanted = arch.go();
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
            Platform::Exactly(arch) => arch.go(),
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
