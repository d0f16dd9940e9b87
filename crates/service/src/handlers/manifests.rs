//! Extra manifests a user adds to the installation.

use http::StatusCode;
use muster_api::wire;
use muster_app::{
    aggregate::Cause,
    manifests::{self, Place, Source, place, require_before_install},
};
use muster_auth::Role;

use crate::{
    http::{Call, Failure, Reply},
    redact,
    service::Shared,
};

/// `GET /v2/clusters/{cluster_id}/manifests`.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let with_system = call.args.flag("include_system_generated");
    let found = manifests::list(&app, call.cluster_id(), with_system).await?;
    let list: Vec<_> = found
        .iter()
        .map(|(place, source)| shown(place, *source))
        .collect();
    Reply::json(StatusCode::OK, &list)
}

/// `POST /v2/clusters/{cluster_id}/manifests`.
pub async fn create(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let wanted: wire::CreateManifestParams = call.body()?;
    let cluster = app.cluster(call.cluster_id()).await?;
    let place = place(wanted.folder.as_deref(), wanted.file_name.as_deref())?;
    let content = wanted.content.as_deref().unwrap_or_default();
    manifests::create(&app, cluster.id, &place, content, &Cause::from(&call)).await?;
    Reply::json(StatusCode::CREATED, &shown(&place, Source::User))
}

/// `PATCH /v2/clusters/{cluster_id}/manifests`: new content, new name, new folder, or all three.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let wanted: wire::UpdateManifestParams = call.body()?;
    let cluster = app.cluster(call.cluster_id()).await?;
    require_before_install(&cluster)?;
    let (folder, name) = (wanted.folder.as_deref(), wanted.file_name.as_deref());
    let from = place(folder, name)?;
    let to = place(
        wanted.updated_folder.as_deref().or(folder),
        wanted.updated_file_name.as_deref().or(name),
    )?;
    let content = wanted.updated_content.as_deref();
    let cause = Cause::from(&call);
    let source = manifests::update(&app, cluster.id, &from, &to, content, &cause).await?;
    Reply::json(StatusCode::OK, &shown(&to, source))
}

/// `DELETE /v2/clusters/{cluster_id}/manifests`. What is not there is deleted already.
pub async fn delete(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    require_before_install(&cluster)?;
    let place = place(call.args.text("folder"), call.args.text("file_name"))?;
    manifests::delete(&app, cluster.id, &place, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::OK))
}

/// `GET /v2/clusters/{cluster_id}/manifests/files`.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    let place = place(call.args.text("folder"), call.args.text("file_name"))?;
    let content = manifests::read(&app, cluster.id, &place).await?;
    if call.principal.role == Role::ReadOnly && redact::manifest(&content).is_some() {
        return Err(Failure::infra(
            StatusCode::FORBIDDEN,
            format!(
                "manifest {} holds secrets; reading it needs role user",
                place.name
            ),
        ));
    }
    Ok(Reply::file(place.name.as_str(), content))
}

/// The manifest on the wire.
fn shown(place: &Place, source: Source) -> wire::Manifest {
    wire::Manifest {
        folder: Some(place.folder.as_str().to_owned()),
        file_name: Some(place.name.as_str().to_owned()),
        manifest_source: Some(source.as_str().to_owned()),
    }
}
