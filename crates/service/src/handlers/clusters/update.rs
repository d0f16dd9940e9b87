//! `PATCH /v2/clusters/{cluster_id}`.

use muster_api::wire;
use muster_app::{aggregate::Cause, clusters::update::update as update_cluster};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// Changes settings of a cluster. The answer shows the validations of the changed settings.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let id = call.cluster_id();
    let request: wire::V2ClusterUpdateParams = call.body()?;
    update_cluster(&app, id, &request, &Cause::from(&call)).await?;
    super::read::changed(&app, id).await
}
