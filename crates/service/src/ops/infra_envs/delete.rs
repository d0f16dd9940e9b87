//! Deleting infra-envs.

use http::StatusCode;
use muster_api::error::Failure;
use muster_model::Severity;
use muster_store::{Changes, StoreError};

use super::change::{event, signed};
use crate::{
    aggregate::Cause,
    app::{Shared, missing_infra_env, store_failure},
    http::{Call, Reply},
};

/// How often the hosts are looked at again when others keep coming and going.
const MAX_ATTEMPTS: usize = 20;

/// `DELETE /v2/infra-envs/{infra_env_id}`. Refused while hosts are registered with it: they
/// would lose the place they report to. The store sees to it that none slips in meanwhile.
pub async fn deregister(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cause = Cause::from(&call);
    for _ in 0..MAX_ATTEMPTS {
        let infra_env = app.infra_env(call.infra_env_id()).await?;
        let (id, name) = (infra_env.id, &infra_env.name);
        let hosts = app
            .store
            .hosts_of_infra_env(id)
            .await
            .map_err(store_failure)?;
        let mut changes = Changes::new();
        if !hosts.is_empty() {
            let reason = format!(
                "infra-env {name} still has {} registered hosts; delete them first",
                hosts.len()
            );
            let failed = "infra_env_deregister_failed";
            let told = event(failed, Severity::Error, id, cause.now, reason.clone());
            changes.events(signed(vec![told], &cause));
            app.commit(changes).await.map_err(store_failure)?;
            return Err(Failure::bad_request(reason));
        }
        let text = format!("infra-env {name} was deleted");
        let told = event(
            "infra_env_deregistered",
            Severity::Info,
            id,
            cause.now,
            text,
        );
        changes
            .delete_infra_env(id)
            .events(signed(vec![told], &cause));
        match app.commit(changes).await {
            Ok(()) => return Ok(Reply::empty(StatusCode::NO_CONTENT)),
            // A host registered since we looked.
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::Missing { .. }) => return Err(missing_infra_env(id)),
            Err(other) => return Err(store_failure(other)),
        }
    }
    Err(Failure::conflict(
        "hosts keep registering with the infra-env and leaving it; retry in a moment",
    ))
}
