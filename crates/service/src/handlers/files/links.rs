//! Links to a file that need no further credentials.

use http::StatusCode;
use muster_app::files;

use crate::{
    handlers::logs,
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/clusters/{cluster_id}/downloads/files-presigned`.
pub async fn presign(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (id, now) = (call.cluster_id(), call.now);
    let link = match call.args.text("file_name").unwrap_or_default() {
        "logs" => {
            let wanted = logs::wanted_by_link(&call.args)?;
            files::link_to_logs(&app, id, &wanted, now).await?
        }
        "manifests" => {
            let name = call.args.text("additional_name");
            files::link_to_manifest(&app, id, name, now).await?
        }
        generated => files::link_to_generated(&app, id, generated, now).await?,
    };
    Reply::json(StatusCode::OK, &link)
}

/// `GET /v2/clusters/{cluster_id}/downloads/credentials-presigned`.
pub async fn presign_credentials(app: Shared, call: Call) -> Result<Reply, Failure> {
    let name = call.args.text("file_name").unwrap_or_default();
    let link = files::link_to_credentials(&app, call.cluster_id(), name, call.now).await?;
    Reply::json(StatusCode::OK, &link)
}
