//! Changing the settings of an infra-env.

use muster_api::wire;
use muster_model::{InfraEnv, InfraEnvId};

use super::{
    change::{change_infra_env, image_info_updated},
    files::content,
    links::{self, renew_image_link},
    settings::{Rules, apply},
};
use crate::{Error, Shared, aggregate::Cause, clusters::features_in_use};

/// Changes an infra-env. A patch that changes nothing leaves no trace, so the image address stays
/// good; any other makes a new one.
pub async fn update(
    app: &Shared,
    id: InfraEnvId,
    given: &wire::InfraEnvUpdateParams,
    cause: &Cause,
) -> Result<InfraEnv, Error> {
    let rules = Rules {
        config: &app.config,
        catalog: &app.catalog,
    };
    let cluster = match app.infra_env(id).await?.cluster {
        Some(id) => app.store.cluster(id).await?,
        None => None,
    };
    let ((), infra_env) = change_infra_env(app, id, cause, |infra_env, events| {
        let before = infra_env.clone();
        apply(infra_env, given, rules)?;
        let is_expired = before.expires_at.is_some_and(|end| end <= cause.now);
        if *infra_env == before && !is_expired {
            return Ok(());
        }
        // Other settings have no say in what can be installed.
        if let Some(cluster) = cluster
            .as_ref()
            .filter(|_| infra_env.image_type != before.image_type)
        {
            features_in_use::check(cluster, &[], [&*infra_env])?;
        }
        let content = content(app, infra_env)?;
        renew_image_link(app, infra_env, cause.now)?;
        if infra_env.download_url.is_some() {
            events.push(image_info_updated(infra_env, cause.now, &content));
        }
        Ok(())
    })
    .await?;
    links::image_is_needed(app, &infra_env);
    Ok(infra_env)
}
