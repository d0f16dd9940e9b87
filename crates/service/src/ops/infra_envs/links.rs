//! Addresses: of the boot image, of files, of what firmware fetches.

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_auth::{LinkTerms, Scope, SignError, SignedUrl};
use muster_catalog::OsImage;
use muster_model::{InfraEnv, InfraEnvId, Timestamp};

use super::{
    blank,
    change::{change_infra_env, image_info_updated},
    files,
    settings::Rules,
};
use crate::{
    aggregate::Cause,
    app::{App, Shared},
    http::{
        Call, Reply,
        link_place::{BOOT_IMAGE, place_of_address},
    },
    images,
};

/// `GET /v2/infra-envs/{infra_env_id}/downloads/image-url`. Writes although it is a GET: the
/// address it makes is the one the infra-env shows from now on.
pub async fn image_url(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cause = Cause::from(&call);
    let ((), infra_env) = change_infra_env(&app, call.infra_env_id(), &cause, |infra_env, _| {
        if !app.config.images.enabled {
            return Err(Failure::bad_request(
                "this service hands out no boot images (images.enabled is off)",
            ));
        }
        infra_env.updated_at = cause.now;
        renew_image_link(&app, infra_env, cause.now)
    })
    .await?;
    // Whoever wants the address wants the image next.
    if let Some(image) = os_image(&app, &infra_env)? {
        images::asked(&app, image);
    }
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
    let url = file_url(&app, infra_env.id, file, script);
    let signed = signed_file(&app, &url, &infra_env, call.now)?;
    reply(
        Some(signed.url),
        signed.expires_at.map(Timestamp::from_unix_seconds),
    )
}

/// `POST /v2/infra-envs/{infra_env_id}/regenerate-signing-key`. Ends every link and image address
/// made before, and gives the infra-env a new address if it had one.
pub async fn regenerate_signing_key(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cause = Cause::from(&call);
    change_infra_env(&app, call.infra_env_id(), &cause, |infra_env, events| {
        infra_env.image_token_key = blank::token_key();
        let Some(before) = infra_env.download_url.take() else {
            return Ok(());
        };
        // The old links must end even if there is no new one, say because the image has left
        // the catalogue meanwhile.
        if let Err(failure) = renew_image_link(&app, infra_env, cause.now) {
            tracing::warn!(infra_env = %infra_env.id, reason = %failure.reason, "no new image address");
            infra_env.expires_at = None;
        } else if infra_env.download_url.as_ref() != Some(&before) {
            // What was saved earlier could be made then; if not now, its download says why.
            if let Ok(content) = files::content(&app, infra_env) {
                events.push(image_info_updated(infra_env, cause.now, &content));
            }
        }
        Ok(())
    })
    .await?;
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

/// Gives the infra-env a new image address; none if this service hands out no images.
pub fn renew_image_link(
    app: &App,
    infra_env: &mut InfraEnv,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(image) = os_image(app, infra_env)? else {
        infra_env.download_url = None;
        infra_env.expires_at = None;
        return Ok(());
    };
    let link = app
        .auth
        .image_link(
            infra_env.id,
            &infra_env.image_token_key,
            BOOT_IMAGE,
            now.unix_seconds(),
        )
        .map_err(unsigned)?;
    infra_env.download_url = Some(format!(
        "{}/{}/{}/{}/{}",
        app.config.server.image_service_url.as_str(),
        link.path(),
        image.openshift_version,
        image.cpu_architecture,
        infra_env.image_type.file_name()
    ));
    infra_env.expires_at = link.expires_at.map(Timestamp::from_unix_seconds);
    Ok(())
}

/// Has the OS image of an infra-env fetched if it is to be there before anybody asks.
pub fn image_is_needed(app: &Shared, infra_env: &InfraEnv) {
    if let Ok(Some(image)) = os_image(app, infra_env) {
        images::needed(app, image);
    }
}

/// The OS image an infra-env boots; `None` if this service hands out no images.
pub fn os_image<'a>(app: &'a App, infra_env: &InfraEnv) -> Result<Option<&'a OsImage>, Failure> {
    let rules = Rules {
        config: &app.config,
        catalog: &app.catalog,
    };
    let found = rules.os_image(&infra_env.openshift_version, &infra_env.cpu_architecture);
    found.map_err(Failure::bad_request)
}

/// Where one of the infra-env's own files is served.
pub fn file_url(app: &App, id: InfraEnvId, file: &str, script_type: Option<&str>) -> String {
    let base = app.config.server.base_url.as_str();
    let script = script_type
        .map(|kind| format!("&ipxe_script_type={kind}"))
        .unwrap_or_default();
    format!(
        "{base}/api/assisted-install/v2/infra-envs/{id}/downloads/files?file_name={file}{script}"
    )
}

/// The address of a file, made usable without further credentials, for this file only.
pub fn signed_file(
    app: &App,
    url: &str,
    infra_env: &InfraEnv,
    now: Timestamp,
) -> Result<SignedUrl, Failure> {
    let opens = place_of_address("v2DownloadInfraEnvFiles", url);
    signed(app, url, infra_env, &opens, now)
}

/// The address made usable without further credentials, as a key to the places it `opens`.
pub fn signed(
    app: &App,
    url: &str,
    infra_env: &InfraEnv,
    opens: &str,
    now: Timestamp,
) -> Result<SignedUrl, Failure> {
    let terms = LinkTerms {
        scope: Scope::InfraEnv(infra_env.id),
        signing_key: Some(&infra_env.image_token_key),
        opens,
    };
    app.auth
        .sign_file_url(url, &terms, now.unix_seconds())
        .map_err(unsigned)
}

/// The service cannot sign: its key is missing or broken.
pub fn unsigned(error: SignError) -> Failure {
    tracing::error!(error = ?error, "signing failed");
    Failure::internal("the service could not sign; its log says why")
}
