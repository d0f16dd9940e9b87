//! Files of a cluster: what the installation generates, and its credentials.

mod flow;
mod links;

use http::StatusCode;
use muster_app::{
    files::{self, StoredFile},
    one_shot,
};

pub use flow::{Outlet, produced};
pub use links::{presign, presign_credentials};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/clusters/{cluster_id}/downloads/files`.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let name = call.args.text("file_name").unwrap_or_default();
    let file = files::download(&app, call.cluster_id(), name).await?;
    Ok(send(file))
}

/// `GET /v2/clusters/{cluster_id}/downloads/credentials`.
pub async fn download_credentials(app: Shared, call: Call) -> Result<Reply, Failure> {
    let name = call.args.text("file_name").unwrap_or_default();
    let file = files::download_credentials(&app, call.cluster_id(), name).await?;
    one_shot::downloaded(&app, call.cluster_id(), &file.name, call.principal.role).await?;
    Ok(send(file))
}

/// `GET /v2/clusters/{cluster_id}/credentials`.
pub async fn credentials(app: Shared, call: Call) -> Result<Reply, Failure> {
    let credentials = files::credentials(&app, call.cluster_id()).await?;
    Reply::json(StatusCode::OK, &credentials)
}

fn send(file: StoredFile) -> Reply {
    let StoredFile { name, size, pieces } = file;
    let chunks = produced(|out| async move { out.copy(size, pieces).await });
    Reply::stream(&name, chunks, Some(size))
}
