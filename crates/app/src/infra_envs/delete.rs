//! Deleting infra-envs.

use muster_model::{InfraEnvId, Severity};
use muster_store::{Changes, StoreError};

use super::change::{event, signed};
use crate::{App, Error, Missing, aggregate::Cause};

/// How often the hosts are looked at again when others keep coming and going.
const MAX_ATTEMPTS: usize = 20;

/// Deletes an infra-env. Refused while hosts are registered with it: they would lose the place
/// they report to. The store sees to it that none slips in meanwhile.
pub async fn deregister(app: &App, id: InfraEnvId, cause: &Cause) -> Result<(), Error> {
    for _ in 0..MAX_ATTEMPTS {
        let infra_env = app.infra_env(id).await?;
        let name = &infra_env.name;
        let hosts = app.store.hosts_of_infra_env(id).await?;
        let mut changes = Changes::new();
        if !hosts.is_empty() {
            let reason = format!(
                "infra-env {name} still has {} registered hosts; delete them first",
                hosts.len()
            );
            let failed = "infra_env_deregister_failed";
            let failed = event(failed, Severity::Error, id, cause.now, reason.clone());
            changes.events(signed(vec![failed], cause));
            app.commit(changes).await?;
            return Err(Error::invalid(reason));
        }
        let text = format!("infra-env {name} was deleted");
        let deleted = event(
            "infra_env_deregistered",
            Severity::Info,
            id,
            cause.now,
            text,
        );
        changes
            .delete_infra_env(id)
            .events(signed(vec![deleted], cause));
        match app.commit(changes).await {
            Ok(()) => return Ok(()),
            // A host registered since we looked.
            Err(StoreError::Conflict { .. }) => {}
            Err(StoreError::Missing { .. }) => return Err(Missing::InfraEnv(id).into()),
            Err(other) => return Err(other.into()),
        }
    }
    Err(Error::conflict(
        "hosts keep registering with the infra-env and leaving it; retry in a moment",
    ))
}
