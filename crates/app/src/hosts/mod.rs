//! Use cases on hosts.

pub mod actions;
pub mod overrides;
pub mod progress;
pub mod register;
pub mod steps;
pub mod update;

use muster_model::{Cluster, Host};
use muster_store::Row;

use super::{App, Error};

/// The host's cluster, if it has one and it lives.
pub async fn cluster_of(app: &App, host: &Host) -> Result<Option<Row<Cluster>>, Error> {
    match host.cluster {
        Some(id) => Ok(app.store.cluster(id).await?),
        None => Ok(None),
    }
}
