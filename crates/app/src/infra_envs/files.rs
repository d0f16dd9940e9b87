//! Files of an infra-env: discovery config, static network, minimal initrd.

use std::{fmt, sync::Arc};

use muster_assets::discovery::{self, Site, size::Sizes};
use muster_auth::Scope;
use muster_boot_images::{agents::NoAgent, base::State, mirrors::MirrorFiles};
use muster_ignition::Config;
use muster_image::View;
use muster_model::{ArchName, ImageType, InfraEnv, OpenshiftVersion, Secret};

use super::links;
use crate::{App, Error};

/// What goes into the initrd besides the discovery config; `None` if there is nothing.
///
/// # Errors
/// When a stored network is damaged.
pub fn ramdisk(app: &App, infra_env: &InfraEnv) -> Result<Option<Vec<u8>>, Error> {
    let delay = app.config.images.network_discovery_delay_seconds;
    discovery::ramdisk(infra_env, delay)
        .map_err(|fault| Error::caused("the early files of the image cannot be made", fault))
}

/// The discovery config for a kind of image.
///
/// # Errors
/// When none can be made for it.
pub fn discovery_config(
    app: &App,
    infra_env: &InfraEnv,
    image: ImageType,
) -> Result<Config, Error> {
    if image == ImageType::DisconnectedIso {
        let reason = "the discovery config of a disconnected image";
        return Err(match infra_env.cluster {
            None => Error::not_found(format!(
                "{reason} is made for a cluster, and this infra-env has none; \
                 register it with cluster_id"
            )),
            Some(_) => Error::conflict(format!(
                "{reason} cannot be made by this version of the service; \
                 choose full-iso or minimal-iso"
            )),
        });
    }
    let token = app
        .auth
        .agent_token_of(
            Scope::InfraEnv(infra_env.id),
            infra_env.agent_token_generation,
        )
        .map_err(links::unsigned)?;
    discovery::config(infra_env, image, &site(app, token.map(Secret::new)))
        .map_err(|cause| Error::invalid(format!("the discovery config: {cause}")))
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
    agent: Carried,
    is_disconnected: bool,
    /// Why nothing can be downloaded yet, if so.
    missing: Option<String>,
}

/// Where the agent of a host comes from.
#[derive(Debug)]
enum Carried {
    Inside,
    /// Pulled, because of this.
    Pulled(Arc<NoAgent>),
    /// From nowhere, because of this: no image can be made.
    Nowhere(Arc<NoAgent>),
}

impl Content {
    /// Why the image cannot be downloaded yet, if so.
    #[must_use]
    pub fn missing(&self) -> Option<&str> {
        self.missing.as_deref()
    }
}

/// The agent for hosts of an architecture that goes into their image; none if they pull it.
///
/// # Errors
/// Hosts would have no agent.
pub fn agent(app: &App, architecture: &ArchName) -> Result<Option<View>, Error> {
    match app.images.agents.payload(architecture) {
        Ok(agent) => Ok(Some(agent)),
        Err(_) if !app.config.images.agent.is_empty() => Ok(None),
        Err(why) => Err(Error::Unavailable(no_agent(&why))),
    }
}

fn no_agent(why: &NoAgent) -> String {
    format!(
        "there is no agent for this image: {why}; install Muster with its agents, build them with \
         `make agents` and set images.agent_dir, or name a container image in images.agent"
    )
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
            Carried::Inside => Ok(()),
            Carried::Pulled(why) => write!(f, "; the agent is not in it and hosts pull it: {why}"),
            Carried::Nowhere(why) => write!(f, "; {}", no_agent(why)),
        }
    }
}

/// What keeps the image of an infra-env from being downloaded right now: its OS image.
fn missing_image(app: &App, infra_env: &InfraEnv) -> Option<String> {
    let image = links::os_image(app, infra_env).ok()??;
    let state = match app.images.base.state(image) {
        State::Ready(_) => return None,
        State::Missing => "is not here",
        State::Fetching { .. } => "is being fetched",
        State::Broken { .. } => "is broken",
    };
    Some(format!(
        "its OS image {} {state} (`muster os-images list` shows it, `fetch` and `add` bring it)",
        image.version
    ))
}

/// Makes everything an infra-env puts into its images once, to learn whether it can be made and
/// how much it is: at the time it is saved, not when an image is fetched.
///
/// # Errors
/// What is wrong or too large.
pub fn content(app: &App, infra_env: &InfraEnv) -> Result<Content, Error> {
    let is_disconnected = infra_env.image_type == ImageType::DisconnectedIso;
    let agent = app.images.agents.payload(&infra_env.cpu_architecture);
    let sizes = if is_disconnected {
        Sizes::default()
    } else {
        let config = discovery_config(app, infra_env, infra_env.image_type)?;
        let delay = app.config.images.network_discovery_delay_seconds;
        let carried = agent.as_ref().map_or(0, |view| view.len());
        let carried = usize::try_from(carried).unwrap_or(usize::MAX);
        Sizes::measure(infra_env, &config, delay, carried)
            .map_err(|fault| Error::invalid(fault.to_string()))?
    };
    let content = Content {
        sizes,
        agent: match agent {
            Ok(_) => Carried::Inside,
            Err(why) if !app.config.images.agent.is_empty() => Carried::Pulled(why),
            Err(why) => Carried::Nowhere(why),
        },
        is_disconnected,
        missing: missing_image(app, infra_env),
    };
    tracing::info!(infra_env = %infra_env.id, %content, "an image was measured");
    Ok(content)
}

/// Whether hosts of this version get nmstate documents in the reference.
pub fn has_policies(app: &App, infra_env: &InfraEnv) -> bool {
    let least = &app.config.catalog.min_version_for_nmstate_service;
    let (own, least) = (infra_env.openshift_version.parse(), least.parse());
    matches!((own, least), (Ok::<OpenshiftVersion, _>(own), Ok(least)) if own >= least)
}
