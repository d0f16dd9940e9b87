//! What registries say before an image is made: whether the release is there, whether the mirrors hold
//! everything hosts will pull, whether the pull secret is accepted, and whether the release is the one
//! that was named. A registry that answers with a refusal ends the command, because it will refuse the
//! hosts, too; one that cannot be reached from here is a warning, because hosts may reach it.

use anyhow::{Context, anyhow, bail};
use muster_assets::agent_based::Planned;
use muster_model::Arch;
use muster_release::{Client, Error, ImageRef, Release};

use super::{base_iso::BaseIso, log::Log};

/// Images that a message names.
const NAMED: usize = 5;
/// Without mirrors one component stands for all: they are in one repository.
const COMPONENT: &str = "machine-config-operator";

/// What was found.
struct Found {
    version: String,
    images: usize,
    missing: Vec<(String, Error)>,
}

/// Asks registries.
pub fn check(base: &BaseIso, planned: &Planned, arch: Arch, log: &Log) -> anyhow::Result<()> {
    let image = &planned.state.release.image;
    let has_mirrors = !planned.mirrors.entries.is_empty();
    let found = base.in_registry(planned, async |client, reference| {
        look(client, reference, arch, has_mirrors).await
    });
    let found = match found {
        Ok(found) => found,
        Err(error) if is_answered(&error) => {
            return Err(error).with_context(|| {
                format!(
                    "release {image} cannot be installed from here, and hosts would fail in the same \
                     way (--offline leaves this check out)"
                )
            });
        }
        Err(error) => {
            log.warn(&format!(
                "release {image} cannot be read from this machine: {error:#}; hosts will need it \
                 (--offline leaves this check out)"
            ));
            return Ok(());
        }
    };
    check_version(planned, &found.version)?;
    let (refused, unknown): (Vec<_>, Vec<_>) = found
        .missing
        .into_iter()
        .partition(|(_, error)| error.is_answered());
    if let Some((_, first)) = refused.first() {
        let (names, count) = (names(&refused), refused.len());
        bail!(
            "{count} of {} images of release {image} cannot be pulled: {names}. The first: {first}. \
             Mirror the whole release again, for example with oc-mirror (--offline leaves this check \
             out)",
            found.images
        );
    }
    if let Some((_, first)) = unknown.first() {
        log.warn(&format!(
            "whether {} images of release {image} can be pulled cannot be checked from this machine: {}; \
             the first: {first}",
            unknown.len(),
            names(&unknown)
        ));
    } else {
        log.info(&format!(
            "release {} found, {} of its images checked",
            found.version, found.images
        ));
    }
    Ok(())
}

async fn look(
    client: &Client,
    reference: &ImageRef,
    arch: Arch,
    has_mirrors: bool,
) -> Result<Found, Error> {
    // What was read earlier may have gone since.
    client.look_up(reference).await?;
    let release = Release::open(client, reference, Some(arch)).await?;
    let (images, missing) = if has_mirrors {
        (
            release.components().count(),
            release.missing_components().await,
        )
    } else if let Ok(component) = release.image_for(COMPONENT) {
        let missing = client.look_up(component).await.err();
        (
            1,
            missing
                .map(|error| (COMPONENT.to_owned(), error))
                .into_iter()
                .collect(),
        )
    } else {
        (0, Vec::new())
    };
    Ok(Found {
        version: release.version().to_string(),
        images,
        missing,
    })
}

fn is_answered(error: &anyhow::Error) -> bool {
    error.downcast_ref().is_none_or(Error::is_answered)
}

/// The version that was named is the release's own, or its beginning.
fn check_version(planned: &Planned, found: &str) -> anyhow::Result<()> {
    let named = &*planned.state.release.version;
    let rest = found.strip_prefix(named);
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-'])) {
        return Ok(());
    }
    Err(anyhow!(
        "the release calls itself {found}, and {named} was named; leave --release-version out, or name \
         the other release with --release"
    ))
}

fn names(missing: &[(String, Error)]) -> String {
    let mut shown: Vec<&str> = missing
        .iter()
        .take(NAMED)
        .map(|(name, _)| name.as_str())
        .collect();
    if missing.len() > NAMED {
        shown.push("…");
    }
    shown.join(", ")
}
