//! Extra manifests a user adds to the installation.
//!
//! They may be added at any time, but changed and removed only before the installation: what
//! a running installation used should still be readable afterwards.

mod content;
mod name;
mod shelf;

use std::sync::Arc;

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_model::{Cluster, ClusterId, ClusterStatus, FeatureUse};

pub use name::{Folder, ManifestName};
pub use shelf::{Place, Shelf, Source};

use crate::{
    aggregate::Cause,
    app::{App, Shared},
    http::{Call, Reply},
};

/// How the use of extra manifests is recorded; validations of some networks look for it.
const USAGE: (&str, &str) = ("Custom manifest", "CUSTOM_MANIFEST");

/// `GET /v2/clusters/{cluster_id}/manifests`.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    let found = Shelf::of(&app, cluster.id)
        .list(call.args.flag("include_system_generated"))
        .await?;
    let list: Vec<_> = found
        .iter()
        .map(|(place, source)| place.shown(*source))
        .collect();
    Reply::json(StatusCode::OK, &list)
}

/// `POST /v2/clusters/{cluster_id}/manifests`.
pub async fn create(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let wanted: wire::CreateManifestParams = call.body()?;
    let cluster = app.cluster(call.cluster_id()).await?;
    let place = place(wanted.folder.as_deref(), wanted.file_name.as_deref())?;
    let format = place.name.format()?;
    let content = content::decode(&place.name, wanted.content.as_deref().unwrap_or_default())?;
    content::check(&place.name, format, content.clone()).await?;
    let shelf = Shelf::of(&app, cluster.id);
    refuse_twin(&shelf, &place).await?;
    shelf.put(&place, content).await?;
    record_usage(&app, cluster.id, &Cause::from(&call), true).await?;
    Reply::json(StatusCode::CREATED, &place.shown(Source::User))
}

/// `PATCH /v2/clusters/{cluster_id}/manifests`: new content, new name, new folder, or all three.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let wanted: wire::UpdateManifestParams = call.body()?;
    let cluster = app.cluster(call.cluster_id()).await?;
    require_before_install(&cluster)?;
    let from = place(wanted.folder.as_deref(), wanted.file_name.as_deref())?;
    let to = place(
        wanted
            .updated_folder
            .as_deref()
            .or(wanted.folder.as_deref()),
        wanted
            .updated_file_name
            .as_deref()
            .or(wanted.file_name.as_deref()),
    )?;
    let shelf = Shelf::of(&app, cluster.id);
    let content = match &wanted.updated_content {
        Some(packed) => {
            let format = from.name.format()?;
            let content = content::decode(&from.name, packed)?;
            content::check(&from.name, format, content.clone()).await?;
            content
        }
        None => {
            let (source, content) = shelf.read(&from).await?.ok_or_else(|| missing(&from))?;
            if to == from {
                return Reply::json(StatusCode::OK, &from.shown(source));
            }
            content
        }
    };
    if to != from && to.twin() != from {
        refuse_twin(&shelf, &to).await?;
    }
    shelf.put(&to, content).await?;
    if to != from {
        shelf.remove(&from).await?;
    }
    record_usage(&app, cluster.id, &Cause::from(&call), true).await?;
    Reply::json(StatusCode::OK, &to.shown(Source::User))
}

/// `DELETE /v2/clusters/{cluster_id}/manifests`. What is not there is deleted already.
pub async fn delete(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    require_before_install(&cluster)?;
    let place = place(call.args.text("folder"), call.args.text("file_name"))?;
    let shelf = Shelf::of(&app, cluster.id);
    shelf.remove(&place).await?;
    if shelf.list(false).await?.is_empty() {
        record_usage(&app, cluster.id, &Cause::from(&call), false).await?;
    }
    Ok(Reply::empty(StatusCode::OK))
}

/// `GET /v2/clusters/{cluster_id}/manifests/files`.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    let place = place(call.args.text("folder"), call.args.text("file_name"))?;
    let found = Shelf::of(&app, cluster.id).read(&place).await?;
    let (_, content) = found.ok_or_else(|| missing(&place))?;
    Ok(Reply::file(place.name.as_str(), content))
}

fn place(folder: Option<&str>, name: Option<&str>) -> Result<Place, Failure> {
    Ok(Place {
        folder: Folder::from_request(folder)?,
        name: ManifestName::parse(name.unwrap_or_default())?,
    })
}

/// 404 for a manifest.
pub fn missing(place: &Place) -> Failure {
    Failure::not_found(format!(
        "manifest {} was not found in folder {}",
        place.name,
        place.folder.as_str()
    ))
}

/// The installer puts both folders together, so one name in both would lose one of the two.
async fn refuse_twin(shelf: &Shelf<'_>, place: &Place) -> Result<(), Failure> {
    let twin = place.twin();
    if shelf.locate(&twin).await?.is_some() {
        return Err(Failure::bad_request(format!(
            "manifest {} exists in folder {} already, and a name may be used in one folder only; \
             choose another name or update that one",
            twin.name,
            twin.folder.as_str()
        )));
    }
    Ok(())
}

fn require_before_install(cluster: &Cluster) -> Result<(), Failure> {
    use ClusterStatus::*;
    match cluster.status {
        PendingForInput | Insufficient | Ready => Ok(()),
        Error
        | PreparingForInstallation
        | Installing
        | Finalizing
        | Installed
        | AddingHosts
        | Cancelled
        | InstallingPendingUserAction
        | Unmonitored => Err(Failure::bad_request(format!(
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
) -> Result<(), Failure> {
    let (name, machine_name) = USAGE;
    app.change_cluster(id, cause, |all| {
        let usage = &mut all.cluster_mut()?.feature_usage;
        if used {
            let entry = FeatureUse {
                id: machine_name.to_owned(),
                data: Default::default(),
            };
            usage.entry(name.to_owned()).or_insert(entry);
        } else {
            usage.remove(name);
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
            let verdict = require_before_install(&cluster);
            assert_eq!(verdict.is_ok(), early, "{status}");
            assert!(
                verdict
                    .err()
                    .is_none_or(|failure| failure.status == StatusCode::BAD_REQUEST)
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
