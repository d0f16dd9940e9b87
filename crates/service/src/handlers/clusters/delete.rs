//! `DELETE /v2/clusters/{cluster_id}`.

use http::StatusCode;
use muster_app::{
    aggregate::Cause,
    clusters::delete::{Why, delete_cluster},
};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// Deletes a cluster.
pub async fn deregister(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cause = Cause::from(&call);
    delete_cluster(&app, call.cluster_id(), &cause, |_| Ok(Why::Asked)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
