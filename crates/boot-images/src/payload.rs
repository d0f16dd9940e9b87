//! OS images out of release payloads: the CoreOS that a release was built with, from the registry
//! or mirror that the site has anyway.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use muster_catalog::OsImage;
use muster_config::sections::Images;
use muster_release::{Cache, Client, ImageRef, Mirrors, Progress, PullSecret, Release, Settings};

use crate::{
    base::{BaseImages, Origin, Record, change::check_digest},
    fetch::FetchError,
    inspect::inspect,
    part::Part,
};

/// How often progress is reported.
const REPORT_EVERY: Duration = Duration::from_millis(500);

/// Which ISO of which release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InRelease {
    /// The release image.
    pub release: ImageRef,
    /// The RHEL that CoreOS is made of.
    pub rhel: u32,
}

impl InRelease {
    /// Reads what follows `release://`: a reference, and `?rhel=10` for the newer CoreOS.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (reference, rhel) = match text.split_once('?') {
            Some((reference, query)) => {
                let rhel = query
                    .strip_prefix("rhel=")
                    .and_then(|rhel| rhel.parse().ok());
                let rhel = rhel.ok_or("after ? there may only be rhel=9 or rhel=10")?;
                (reference, rhel)
            }
            None => (text, 9),
        };
        let release = reference
            .parse()
            .map_err(|cause: muster_release::Error| cause.to_string())?;
        Ok(Self { release, rhel })
    }
}

/// A client by the settings. What it reads is kept only until it is whole: for going on after a
/// restart, not for keeping layers beside the images made of them.
fn client(settings: &Images, folder: &Path) -> Result<Client, muster_release::Error> {
    let mut reach = Settings {
        cache: Some(Cache::open(folder, Some(0))?),
        ..Settings::default()
    };
    if let Some(file) = &settings.registry_pull_secret_file {
        reach.pull_secret = PullSecret::read(file)?;
    }
    if let Some(file) = &settings.registry_mirrors_file {
        reach.mirrors = Mirrors::read(file)?;
    }
    if let Some(file) = &settings.fetch_ca_file {
        reach.trust_file(file)?;
    }
    Client::new(reach)
}

/// Takes the ISO out of the payload and makes it the image.
pub(crate) async fn fetch(
    settings: &Images,
    wanted: &InRelease,
    store: &BaseImages,
    image: &OsImage,
    make_room: impl FnOnce(u64) -> Result<(), FetchError>,
    mut progress: impl FnMut(u64, Option<u64>),
) -> Result<Record, FetchError> {
    store.make_folder()?;
    // Its lock shows others that we are at it; the registry client keeps what has arrived.
    let lock = Part::open(store, image)?;
    let amount = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let reported = Arc::clone(&amount);
    let client = client(settings, &store.layers())?.watched(move |event| {
        if let Progress::Layer { done, total, .. } = event {
            reported.0.store(done, Relaxed);
            reported.1.store(total, Relaxed);
        }
    });
    let to = store.taken_out(image);
    let arch = image.cpu_architecture;
    let work = async {
        let release = Release::open(&client, &wanted.release, Some(arch)).await?;
        release.extract_iso(arch, wanted.rhel, &to).await
    };
    tokio::pin!(work);
    let iso = loop {
        match tokio::time::timeout(REPORT_EVERY, &mut work).await {
            Ok(outcome) => break outcome?,
            Err(_) => progress(amount.0.load(Relaxed), Some(amount.1.load(Relaxed))),
        }
    };
    let record = Record {
        sha256: iso.written.sha256.hex(),
        size: iso.written.size,
        origin: Origin::Fetched,
    };
    let taken = tokio::task::block_in_place(|| {
        check_digest(&record.sha256, image.sha256.as_deref())?;
        inspect(&to, arch).map_err(std::io::Error::other)?;
        make_room(record.size)?;
        store.take(image, &to, &record)?;
        Ok::<_, FetchError>(())
    });
    if taken.is_err() {
        let _ = std::fs::remove_file(&to);
    }
    let removed = std::fs::remove_file(store.part(image));
    drop(lock);
    taken?;
    removed?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_may_say_which_coreos() {
        let text = "quay.io/ocp/release:4.20.3";
        let read = InRelease::parse(text).expect("sound");
        assert_eq!((read.release.to_string().as_str(), read.rhel), (text, 9));
        let read = InRelease::parse(&format!("{text}?rhel=10")).expect("sound");
        assert_eq!(read.rhel, 10);
        for bad in ["quay.io/ocp/release?arch=1", "release", "quay.io/a?rhel=x"] {
            InRelease::parse(bad).expect_err(bad);
        }
    }
}
