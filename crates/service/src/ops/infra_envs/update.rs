//! Changing the settings of an infra-env.

use http::StatusCode;
use muster_api::{error::Failure, wire};

use super::{
    change::{change_infra_env, image_info_updated},
    files::content,
    links::{self, renew_image_link},
    settings::{Rules, apply},
};
use crate::{
    aggregate::Cause,
    app::Shared,
    http::{Call, Reply},
    views,
};

/// `PATCH /v2/infra-envs/{infra_env_id}`. A patch that changes nothing leaves no trace, so the
/// image address stays good; any other makes a new one.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::InfraEnvUpdateParams = call.body()?;
    let cause = Cause::from(&call);
    let rules = Rules {
        config: &app.config,
        catalog: &app.catalog,
    };
    let ((), infra_env) =
        change_infra_env(&app, call.infra_env_id(), &cause, |infra_env, events| {
            let before = infra_env.clone();
            apply(infra_env, &given, rules)?;
            let is_expired = before.expires_at.is_some_and(|end| end <= cause.now);
            if *infra_env == before && !is_expired {
                return Ok(());
            }
            let content = content(&app, infra_env)?;
            renew_image_link(&app, infra_env, cause.now)?;
            if infra_env.download_url.is_some() {
                events.push(image_info_updated(infra_env, cause.now, &content));
            }
            Ok(())
        })
        .await?;
    links::image_is_needed(&app, &infra_env);
    Reply::json(StatusCode::CREATED, &views::infra_env(&infra_env))
}
