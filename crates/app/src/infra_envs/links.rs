//! Addresses: of the boot image, of files, of what firmware fetches.

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
    App, Error, Shared,
    aggregate::Cause,
    error_chain, images,
    link_places::{BOOT_IMAGE, place_of_address},
};

/// Makes a new image address, which is the one the infra-env shows from now on.
pub async fn new_image_link(
    app: &Shared,
    id: InfraEnvId,
    cause: &Cause,
) -> Result<InfraEnv, Error> {
    let ((), infra_env) = change_infra_env(app, id, cause, |infra_env, _| {
        if !app.config.images.enabled {
            return Err(Error::invalid(
                "this service does not serve boot images (images.enabled is off)",
            ));
        }
        infra_env.updated_at = cause.now;
        renew_image_link(app, infra_env, cause.now)
    })
    .await?;
    // The image is usually downloaded next.
    if let Some(image) = os_image(app, &infra_env)? {
        images::asked(app, image, images::Asker::Entitled);
    }
    Ok(infra_env)
}

/// Ends every link and image address made before, and gives the infra-env a new address if it had
/// one. With `agent_tokens` also ends the token inside every image made before; machines keep the
/// tokens of their own.
pub async fn regenerate_signing_key(
    app: &App,
    id: InfraEnvId,
    agent_tokens: bool,
    cause: &Cause,
) -> Result<(), Error> {
    change_infra_env(app, id, cause, |infra_env, events| {
        infra_env.image_token_key = blank::token_key();
        infra_env.agent_token_generation += i64::from(agent_tokens);
        let Some(before) = infra_env.download_url.take() else {
            return Ok(());
        };
        // The old links must end even if there is no new one, say because the image has left
        // the catalogue meanwhile.
        if let Err(error) = renew_image_link(app, infra_env, cause.now) {
            tracing::warn!(infra_env = %infra_env.id, error = error_chain(&error), "no new image address");
            infra_env.expires_at = None;
        } else if infra_env.download_url.as_ref() != Some(&before) {
            // What was saved earlier could be made then; if not now, its download says why.
            if let Ok(content) = files::content(app, infra_env) {
                events.push(image_info_updated(infra_env, cause.now, &content));
            }
        }
        Ok(())
    })
    .await
    .map(drop)
}

/// Gives the infra-env a new image address; none if this service hands out no images.
pub fn renew_image_link(app: &App, infra_env: &mut InfraEnv, now: Timestamp) -> Result<(), Error> {
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

/// Fetches the OS image of an infra-env before the first request, if the settings say so.
pub fn image_is_needed(app: &Shared, infra_env: &InfraEnv) {
    if let Ok(Some(image)) = os_image(app, infra_env) {
        images::needed(app, image);
    }
}

/// The OS image an infra-env boots; `None` if this service hands out no images.
pub fn os_image<'a>(app: &'a App, infra_env: &InfraEnv) -> Result<Option<&'a OsImage>, Error> {
    let rules = Rules {
        config: &app.config,
        catalog: &app.catalog,
    };
    let found = rules.os_image(&infra_env.openshift_version, &infra_env.cpu_architecture);
    Ok(found?)
}

/// Whether there is an infra-env that boots this OS image.
pub async fn is_booted(app: &App, image: &OsImage) -> Result<bool, Error> {
    let infra_envs = app.store.infra_envs().await?;
    Ok(infra_envs
        .iter()
        .any(|infra_env| boots(app, infra_env, image)))
}

/// Whether this infra-env boots this OS image.
pub fn boots(app: &App, infra_env: &InfraEnv, image: &OsImage) -> bool {
    let own = os_image(app, infra_env);
    own.is_ok_and(|own| own.is_some_and(|own| muster_boot_images::same_file(own, image)))
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
) -> Result<SignedUrl, Error> {
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
) -> Result<SignedUrl, Error> {
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
pub fn unsigned(error: SignError) -> Error {
    Error::caused("the service could not sign; its log says why", error)
}
