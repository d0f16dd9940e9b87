//! The discovery config: what turns a live system into a host that reports to us.
//!
//! Pure functions of the infra-env and of what the service says about itself ([`Site`]), so that
//! the same infra-env always gives the same bytes (downloads are resumed). [`config`] makes the
//! Ignition config, [`ramdisk`] what the initrd needs before it can run Ignition, and
//! [`agent::payload`] carries the agent itself; [`size`] says how much all of it takes.

pub mod agent;
mod environment;
mod fault;
mod files;
mod ramdisk;
pub mod size;
mod units;

use std::time::Duration;

use muster_ignition::{Builder, Config, Version, file, spec, unit, user};
use muster_model::{ImageType, InfraEnv, Secret};

use crate::static_network;

pub use fault::DiscoveryFault;
pub use ramdisk::{early, ramdisk};

/// Oldest version of the specification that has all we write; the first images know it.
const SPEC: Version = Version::V3_1;

/// What the service says about itself to its hosts.
#[derive(Clone, Debug, Default)]
pub struct Site<'a> {
    /// Where hosts report.
    pub base_url: &'a str,
    /// Container image of the agent, for hosts whose boot image does not have it; also the
    /// version the agent says it is.
    pub agent_image: &'a str,
    /// Time in which the agent must be there and start.
    pub agent_start_timeout: Duration,
    /// Hosts do not check our certificate.
    pub skip_cert_verification: bool,
    /// CA that signed our certificate.
    pub ca_certificate: Option<&'a str>,
    /// What an agent shows to be let in; `None` where none is needed.
    pub token: Option<Secret>,
    /// `user:password` of the service's own for the staging registry; empty if it has none.
    pub registry_credentials: Secret,
    /// Registries that stand in for others.
    pub mirrors: Option<Mirrors<'a>>,
    /// Let hosts run images without checking signatures, if there are mirrors.
    pub insecure_policy: bool,
    /// Image with the packages of OKD; `None` for OpenShift.
    pub okd_rpms_image: Option<&'a str>,
}

/// Registries that stand in for others.
#[derive(Clone, Copy, Debug)]
pub struct Mirrors<'a> {
    /// `registries.conf` as containers read it.
    pub registries_conf: &'a str,
    /// PEM certificates of the mirrors; may be empty.
    pub ca_bundle: &'a str,
}

/// The discovery config of an infra-env for a kind of image, its override laid over it.
///
/// # Errors
/// Stored parts that are damaged, or an override that does not fit on top.
pub fn config(
    infra_env: &InfraEnv,
    image: ImageType,
    site: &Site<'_>,
) -> Result<Config, DiscoveryFault> {
    let base = base(infra_env, image, site)?;
    match filled(&infra_env.ignition_config_override) {
        Some(text) => Ok(base.with(Config::read(text)?)?),
        None => Ok(base),
    }
}

fn base(infra_env: &InfraEnv, image: ImageType, site: &Site<'_>) -> Result<Config, DiscoveryFault> {
    let mut builder = Builder::new(SPEC);
    if let Some(proxy) = proxy(infra_env) {
        builder.proxy(proxy);
    }
    // Empty lists are written out: clients of the reference look into them.
    builder.edit(|config| config.passwd.get_or_insert_default().users = Some(users(infra_env)));
    for unit in units::units(infra_env, site) {
        builder.unit(unit);
    }
    for file in files::files(infra_env, site)? {
        builder.file(file);
    }
    // Minimal images get it with their initrd: they need a network to fetch the rest.
    if image == ImageType::FullIso && !infra_env.static_network.is_empty() {
        for carried in static_network::carried(&infra_env.static_network)? {
            builder.file(file::text(&carried.path, 0o600, &carried.text));
        }
        let script = static_network::SCRIPT;
        builder.file(file::text(static_network::SCRIPT_PATH, 0o755, script));
        let text = static_network::live_unit();
        builder.unit(unit::enabled(static_network::UNIT_NAME, text));
    }
    Ok(builder.finish()?)
}

/// Ignition's own proxy, for configs it fetches; exceptions alone mean nothing to it.
fn proxy(infra_env: &InfraEnv) -> Option<spec::Proxy> {
    let proxy = &infra_env.proxy;
    let (http, https) = (filled(&proxy.http), filled(&proxy.https));
    if http.is_none() && https.is_none() {
        return None;
    }
    let exceptions = filled(&proxy.no_proxy).map(|list| {
        let mut words: Vec<String> = Vec::new();
        for word in list
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            // Ignition refuses a word that occurs twice.
            if words.iter().all(|known| known != word) {
                words.push(word.to_owned());
            }
        }
        words
    });
    Some(spec::Proxy {
        http_proxy: http.map(str::to_owned),
        https_proxy: https.map(str::to_owned),
        no_proxy: exceptions,
    })
}

fn users(infra_env: &InfraEnv) -> Vec<spec::User> {
    let keys = infra_env.ssh_authorized_key.as_deref().unwrap_or_default();
    let mut core = user::with_keys("core", keys.lines());
    if core.ssh_authorized_keys.as_ref().is_none_or(Vec::is_empty) {
        return Vec::new();
    }
    core.password_hash = Some("!".to_owned());
    core.groups = Some(vec!["sudo".to_owned()]);
    vec![core]
}

fn filled(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

#[cfg(test)]
pub mod tests;
