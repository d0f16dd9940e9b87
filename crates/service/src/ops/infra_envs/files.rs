//! Files of an infra-env: discovery config, iPXE script, static network, minimal initrd.

use std::fmt;

use http::StatusCode;
use muster_api::error::Failure;
use muster_assets::{
    discovery::{self, Site, size::Sizes},
    static_network,
};
use muster_auth::Scope;
use muster_catalog::OpenshiftVersion;
use muster_ignition::Config;
use muster_model::{ImageType, InfraEnv, Secret};

use super::{ipxe, links};
use crate::{
    app::{App, Shared},
    http::{Call, Reply},
    images::MirrorFiles,
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
            let (hosts, changed) = (&infra_env.static_network, infra_env.updated_at);
            let archive = static_network::tar(hosts, changed, has_policies(&app, &infra_env));
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
    discovery::ramdisk(infra_env, delay).map_err(Failure::internal)
}

/// The discovery config for a kind of image.
///
/// # Errors
/// When none can be made for it.
pub fn discovery_config(
    app: &App,
    infra_env: &InfraEnv,
    image: ImageType,
) -> Result<Config, Failure> {
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
    discovery::config(infra_env, image, &site(app, token.map(Secret::new)))
        .map_err(|cause| Failure::bad_request(format!("the discovery config: {cause}")))
}

/// What this service says about itself to its hosts.
fn site(app: &App, token: Option<Secret>) -> Site<'_> {
    let config = &app.config;
    let okd = &config.catalog;
    Site {
        base_url: config.server.base_url.as_str(),
        agent_image: &config.images.agent,
        agent_start_timeout: config.images.agent_start_timeout,
        skip_cert_verification: config.server.skip_cert_verification,
        ca_certificate: app.ca_certificate.as_deref(),
        token,
        registry_credentials: config.images.registry_credentials.clone(),
        mirrors: app.images.mirrors.as_ref().map(MirrorFiles::as_mirrors),
        insecure_policy: config.images.insecure_policy,
        okd_rpms_image: Some(okd.okd_rpms_image.as_str())
            .filter(|image| okd.okd_support && !image.is_empty()),
    }
}

/// What the images of an infra-env carry, for its history.
#[derive(Debug)]
pub struct Content {
    sizes: Sizes,
    agent: Result<(), String>,
    is_disconnected: bool,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_disconnected {
            return f.write_str("its discovery config is made when it is asked for");
        }
        write!(f, "{}", self.sizes)?;
        if !self.sizes.fits_embed_area() {
            write!(
                f,
                " (more than the {} that another image service could embed)",
                discovery::size::EMBED_AREA
            )?;
        }
        match &self.agent {
            Ok(()) => Ok(()),
            Err(why) => write!(f, "; the agent is not in it and hosts pull it: {why}"),
        }
    }
}

/// Makes everything an infra-env puts into its images once, to learn whether it can be made and
/// how much it is: at the time it is saved, not when an image is fetched.
///
/// # Errors
/// 400 with what is wrong or too large.
pub fn content(app: &App, infra_env: &InfraEnv) -> Result<Content, Failure> {
    let is_disconnected = infra_env.image_type == ImageType::DisconnectedIso;
    let agent = app.images.agents.payload(&infra_env.cpu_architecture);
    let sizes = if is_disconnected {
        Sizes::default()
    } else {
        let config = discovery_config(app, infra_env, infra_env.image_type)?;
        let delay = app.config.images.network_discovery_delay_seconds;
        let carried = agent.as_ref().map_or(0, |view| view.len());
        let carried = usize::try_from(carried).unwrap_or(usize::MAX);
        Sizes::measure(infra_env, &config, delay, carried).map_err(Failure::bad_request)?
    };
    let content = Content {
        sizes,
        agent: agent.map(|_| ()),
        is_disconnected,
    };
    tracing::info!(infra_env = %infra_env.id, %content, "an image was measured");
    Ok(content)
}

/// Whether hosts of this version get nmstate documents in the reference.
fn has_policies(app: &App, infra_env: &InfraEnv) -> bool {
    let least = &app.config.catalog.min_version_for_nmstate_service;
    let (own, least) = (infra_env.openshift_version.parse(), least.parse());
    matches!((own, least), (Ok::<OpenshiftVersion, _>(own), Ok(least)) if own >= least)
}
