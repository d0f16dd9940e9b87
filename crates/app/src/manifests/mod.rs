//! Extra manifests a user adds to the installation.
//!
//! They may be added at any time, but changed and removed only before the installation: what
//! a running installation used should still be readable afterwards.

mod content;
mod name;
mod shelf;

use std::sync::Arc;

use bytes::Bytes;
use muster_model::{Cluster, ClusterId, ClusterStatus, FeatureUse};

pub use name::{Folder, ManifestName};
pub use shelf::{Place, Shelf, Source};

use crate::{App, Error, aggregate::Cause};

/// How the use of extra manifests is recorded; validations of some networks look for it.
const USAGE: &str = "Custom manifest";

/// The manifests of a cluster; those the service made only if asked for.
pub async fn list(
    app: &App,
    id: ClusterId,
    with_system: bool,
) -> Result<Vec<(Place, Source)>, Error> {
    let cluster = app.cluster(id).await?;
    let found = Shelf::of(app, cluster.id).list(with_system).await?;
    Ok(found.into_iter().collect())
}

/// The content of a manifest.
pub async fn read(app: &App, id: ClusterId, place: &Place) -> Result<Bytes, Error> {
    let found = Shelf::of(app, id).read(place).await?;
    let (_, content) = found.ok_or_else(|| missing(place))?;
    Ok(content)
}

/// Adds a manifest, whose content comes as base64.
pub async fn create(
    app: &Arc<App>,
    id: ClusterId,
    place: &Place,
    base64: &str,
    cause: &Cause,
) -> Result<(), Error> {
    let content = checked(place, base64).await?;
    let shelf = Shelf::of(app, id);
    refuse_twin(&shelf, place).await?;
    shelf.put(place, content).await?;
    record_usage(app, id, cause, true).await
}

/// Gives a manifest new content (as base64), a new place, or both; returns whose it is then.
pub async fn update(
    app: &Arc<App>,
    id: ClusterId,
    from: &Place,
    to: &Place,
    base64: Option<&str>,
    cause: &Cause,
) -> Result<Source, Error> {
    let shelf = Shelf::of(app, id);
    let content = match base64 {
        Some(base64) => checked(from, base64).await?,
        None => {
            let (source, content) = shelf.read(from).await?.ok_or_else(|| missing(from))?;
            if to == from {
                return Ok(source);
            }
            content
        }
    };
    if to != from && to.twin() != *from {
        refuse_twin(&shelf, to).await?;
    }
    shelf.put(to, content).await?;
    if to != from {
        shelf.remove(from).await?;
    }
    record_usage(app, id, cause, true).await?;
    Ok(Source::User)
}

/// Deletes a manifest; it need not be there.
pub async fn delete(
    app: &Arc<App>,
    id: ClusterId,
    place: &Place,
    cause: &Cause,
) -> Result<(), Error> {
    let shelf = Shelf::of(app, id);
    shelf.remove(place).await?;
    if shelf.list(false).await?.is_empty() {
        record_usage(app, id, cause, false).await?;
    }
    Ok(())
}

async fn checked(place: &Place, base64: &str) -> Result<Bytes, Error> {
    let format = place.name.format()?;
    let content = content::decode(&place.name, base64)?;
    content::check(&place.name, format, content.clone()).await?;
    Ok(content)
}

/// The place that a folder and a file name mean.
pub fn place(folder: Option<&str>, name: Option<&str>) -> Result<Place, Error> {
    Ok(Place {
        folder: Folder::from_request(folder)?,
        name: ManifestName::parse(name.unwrap_or_default())?,
    })
}

/// There is no such manifest.
pub fn missing(place: &Place) -> Error {
    Error::not_found(format!(
        "manifest {} was not found in folder {}",
        place.name,
        place.folder.as_str()
    ))
}

/// The installer puts both folders together, so one name in both would lose one of the two.
async fn refuse_twin(shelf: &Shelf<'_>, place: &Place) -> Result<(), Error> {
    let twin = place.twin();
    if shelf.locate(&twin).await?.is_some() {
        return Err(Error::invalid(format!(
            "manifest {} exists in folder {} already, and a name may be used in one folder only; \
             choose another name or update that one",
            twin.name,
            twin.folder.as_str()
        )));
    }
    Ok(())
}

/// Refuses to change manifests that an installation uses.
pub fn require_before_install(cluster: &Cluster) -> Result<(), Error> {
    use ClusterStatus::{
        AddingHosts, Cancelled, Finalizing, Installed, Installing, InstallingPendingUserAction,
        Insufficient, PendingForInput, PreparingForInstallation, Ready, Unmonitored,
    };
    match cluster.status {
        PendingForInput | Insufficient | Ready => Ok(()),
        ClusterStatus::Error
        | PreparingForInstallation
        | Installing
        | Finalizing
        | Installed
        | AddingHosts
        | Cancelled
        | InstallingPendingUserAction
        | Unmonitored => Err(Error::invalid(format!(
            "manifests of cluster {} can be changed before the installation only, and it is {}; \
             reset it first",
            cluster.id, cluster.status
        ))),
    }
}

async fn record_usage(
    app: &Arc<App>,
    id: ClusterId,
    cause: &Cause,
    used: bool,
) -> Result<(), Error> {
    app.change_cluster(id, cause, |all| {
        let usage = &mut all.cluster_mut()?.feature_usage;
        if used {
            usage.insert(USAGE.to_owned(), FeatureUse::of(USAGE));
        } else {
            usage.remove(USAGE);
        }
        Ok(())
    })
    .await
    .map(drop)
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterKind, Timestamp};

    use super::*;

    #[test]
    fn manifests_change_before_the_installation_only() {
        let id = ClusterId(uuid::Uuid::from_u128(1));
        for status in ClusterStatus::ALL {
            let cluster = Cluster::blank(
                id,
                ClusterKind::Cluster,
                "c",
                *status,
                "admin",
                Timestamp(0),
            );
            let early = matches!(
                status.as_str(),
                "pending-for-input" | "insufficient" | "ready"
            );
            let answer = require_before_install(&cluster);
            assert_eq!(answer.is_ok(), early, "{status}");
            assert!(
                answer
                    .err()
                    .is_none_or(|error| matches!(error, Error::Invalid(_)))
            );
        }
    }

    #[test]
    fn moving_a_manifest_to_the_other_folder_does_not_clash_with_itself() {
        let from = place(Some("manifests"), Some("a.yaml")).unwrap();
        let to = place(Some("openshift"), Some("a.yaml")).unwrap();
        assert_eq!(to.twin(), from);
        assert_ne!(
            place(Some("openshift"), Some("b.yaml")).unwrap().twin(),
            from
        );
    }
}
