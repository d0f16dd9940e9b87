//! The seed of a cluster: generated once, kept encrypted in its record until the cluster is reset.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_model::{Cluster, ClusterId, Secret};

use crate::{App, Error, aggregate::Cause};

/// Draws the seed if there is none. Two replicas that draw at once end up with one of the two:
/// the record has versions.
pub(super) async fn draw(app: &Arc<App>, id: ClusterId) -> Result<(), Error> {
    if !app.cluster(id).await?.recipe.seed.is_empty() {
        return Ok(());
    }
    let mut seed = [0_u8; 32];
    rand::fill(&mut seed);
    let seed = Secret::new(STANDARD.encode(seed));
    let cause = Cause::internal();
    app.change_cluster(id, &cause, |all| {
        let recipe = &mut all.cluster_mut()?.recipe;
        if recipe.seed.is_empty() {
            recipe.seed = seed.clone();
            recipe.drawn_at = Some(cause.now);
        }
        Ok(())
    })
    .await
    .map(drop)
}

/// The seed as the generators take it.
pub(super) fn seed_of(cluster: &Cluster) -> Result<[u8; 32], Error> {
    STANDARD
        .decode(cluster.recipe.seed.reveal())
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| {
            Error::conflict(format!(
                "the seed of cluster {} is damaged; reset the cluster to generate a new one",
                cluster.id
            ))
        })
}
