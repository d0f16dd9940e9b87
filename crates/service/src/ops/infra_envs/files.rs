//! Files of an infra-env: discovery config, iPXE script, static network, minimal initrd.

use http::StatusCode;
use muster_api::error::Failure;
use muster_auth::Scope;
use muster_model::{ImageType, InfraEnv, Secret};

use super::{
    discovery::{self, Service},
    ignition, initrd, ipxe, links, static_network,
};
use crate::{
    app::{App, Shared},
    http::{Call, Reply},
};

/// `GET /v2/infra-envs/{infra_env_id}/downloads/files`.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    let file = call.args.text("file_name").unwrap_or_default();
    let script_type = call.args.text("ipxe_script_type");
    if script_type.is_some() && file != ipxe::FILE {
        return Err(Failure::bad_request(
            "ipxe_script_type goes with file_name=ipxe-script only; leave it out",
        ));
    }
    let reply = match file {
        "discovery.ign" => {
            let image = match call.args.text("discovery_iso_type") {
                Some(kind) => kind.parse().map_err(|cause| {
                    Failure::bad_request(format!("discovery_iso_type: {cause}"))
                })?,
                None => infra_env.image_type,
            };
            Reply::file(file, discovery_config(&app, &infra_env, image)?.to_text())
        }
        ipxe::FILE => {
            let mac = call.args.text("mac");
            let script = ipxe::script(&app, &infra_env, mac, script_type, call.now).await?;
            Reply::file(&format!("{}-{file}", infra_env.id), script)
        }
        // Clients tell "no static network" by the empty name and body.
        "static-network-config" if infra_env.static_network.is_empty() => Reply::file("", ""),
        "static-network-config" => {
            let archive = static_network::tar(&infra_env.static_network, infra_env.updated_at);
            let name = format!("{}-{file}.tar", infra_env.id);
            Reply::file(&name, archive.map_err(Failure::internal)?)
        }
        other => return Err(Failure::bad_request(format!("there is no file {other:?}"))),
    };
    Ok(reply.last_modified(infra_env.updated_at))
}

/// `GET /v2/infra-envs/{infra_env_id}/downloads/minimal-initrd`.
pub async fn minimal_initrd(app: Shared, call: Call) -> Result<Reply, Failure> {
    let infra_env = app.infra_env(call.infra_env_id()).await?;
    Ok(match ramdisk(&app, &infra_env)? {
        Some(archive) => Reply::octets(archive),
        None => Reply::empty(StatusCode::NO_CONTENT),
    })
}

/// What goes into the initrd besides the discovery config; `None` if there is nothing.
///
/// # Errors
/// When a stored network is damaged.
pub fn ramdisk(app: &App, infra_env: &InfraEnv) -> Result<Option<Vec<u8>>, Failure> {
    let delay = app.config.images.network_discovery_delay_seconds;
    initrd::initrd(infra_env, delay).map_err(Failure::internal)
}

/// The discovery config for a kind of image.
///
/// # Errors
/// When none can be made for it.
pub fn discovery_config(
    app: &App,
    infra_env: &InfraEnv,
    image: ImageType,
) -> Result<ignition::Config, Failure> {
    if image == ImageType::DisconnectedIso {
        let reason = "the discovery config of a disconnected image";
        return Err(match infra_env.cluster {
            None => Failure::not_found(format!(
                "{reason} is made for a cluster, and this infra-env has none; \
                 register it with cluster_id"
            )),
            Some(_) => Failure::conflict(format!(
                "{reason} cannot be made by this version of the service; \
                 choose full-iso or minimal-iso"
            )),
        });
    }
    let token = app
        .auth
        .agent_token(Scope::InfraEnv(infra_env.id))
        .map_err(links::unsigned)?;
    let service = Service {
        config: &app.config,
        ca_certificate: app.ca_certificate.as_deref(),
        token: token.map(Secret::new),
    };
    discovery::config(infra_env, image, &service)
        .map_err(|cause| Failure::bad_request(format!("the discovery config: {cause}")))
}

/// Checks that everything made from the infra-env fits into its boot images.
///
/// # Errors
/// 400 with what is too large.
pub fn check_sizes(app: &App, infra_env: &InfraEnv) -> Result<(), Failure> {
    if infra_env.image_type == ImageType::DisconnectedIso {
        return Ok(());
    }
    let config = discovery_config(app, infra_env, infra_env.image_type)?;
    let delay = app.config.images.network_discovery_delay_seconds;
    discovery::check_size(&config)
        .and_then(|()| initrd::check_size(infra_env, delay))
        .map_err(Failure::bad_request)
}
