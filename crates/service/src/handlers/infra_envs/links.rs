//! Addresses: of the boot image and of files.

use http::StatusCode;
use muster_api::wire;
use muster_app::{aggregate::Cause, infra_envs::links};
use muster_model::Timestamp;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET /v2/infra-envs/{infra_env_id}/downloads/image-url`. Writes although it is a GET.
pub async fn image_url(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cause = Cause::from(&call);
    let infra_env = links::new_image_link(&app, call.infra_env_id(), &cause).await?;
    reply(infra_env.download_url, infra_env.expires_at)
}

/// `GET /v2/infra-envs/{infra_env_id}/downloads/files-presigned`.
pub async fn presigned_file(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    let file = call.args.text("file_name").unwrap_or_default();
    let script = call.args.text("ipxe_script_type");
    if script.is_some() && file != "ipxe-script" {
        return Err(Failure::bad_request(
            "ipxe_script_type goes with file_name=ipxe-script only; leave it out",
        ));
    }
    let url = links::file_url(&app, infra_env.id, file, script);
    let signed = links::signed_file(&app, &url, &infra_env, call.now)?;
    reply(
        Some(signed.url),
        signed.expires_at.map(Timestamp::from_unix_seconds),
    )
}

/// `POST /v2/infra-envs/{infra_env_id}/regenerate-signing-key`.
pub async fn regenerate_signing_key(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (id, cause) = (call.infra_env_id(), Cause::from(&call));
    let agent_tokens = call.args.flag("agent_tokens");
    links::regenerate_signing_key(&app, id, agent_tokens, &cause).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn reply(url: Option<String>, expires_at: Option<Timestamp>) -> Result<Reply, Failure> {
    let expires_at =
        expires_at.map_or_else(|| Timestamp::ZERO_MILLIS.to_owned(), Timestamp::millis);
    Reply::json(
        StatusCode::OK,
        &wire::PresignedUrl {
            url,
            expires_at: Some(expires_at),
        },
    )
}
