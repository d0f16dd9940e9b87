//! The discovery config: what turns a live system into a host that reports to us.
//!
//! A pure function of the infra-env and of what the service says about itself, so that the same
//! infra-env always gives the same bytes (downloads are resumed). The agent comes as a container
//! image for now; a later issue puts it into the boot image itself. Not written yet, as nothing
//! in the records asks for them: registry mirrors, OKD's overlay, the disconnected variant.

mod contents;
mod units;

use muster_config::Config;
use muster_model::{ImageType, InfraEnv};
use serde_json::{Value, json};

use super::{archive, ignition, static_network};

pub use units::assignment;

/// Room for the packed config in a boot image.
pub const MAX_PAYLOAD: usize = 256 * 1024;

/// Oldest version of the specification that has all we write; the first images know it.
const SPEC: &str = "3.1.0";

/// What the service says about itself to its hosts.
#[derive(Debug)]
pub struct Service<'a> {
    /// Settings in force.
    pub config: &'a Config,
    /// CA that signed our certificate.
    pub ca_certificate: Option<&'a str>,
    /// What an agent shows to be let in; `None` where nobody asks.
    pub token: Option<muster_model::Secret>,
}

/// The discovery config of an infra-env, its override laid over it.
///
/// # Errors
/// Stored parts that are damaged, or an override that does not fit on top.
pub fn config(
    infra_env: &InfraEnv,
    image: ImageType,
    service: &Service<'_>,
) -> Result<ignition::Config, String> {
    let base = ignition::Config::check(base(infra_env, image, service)?)?;
    match infra_env
        .ignition_config_override
        .as_deref()
        .filter(|text| !text.is_empty())
    {
        Some(text) => base.with(ignition::Config::read(text)?),
        None => Ok(base),
    }
}

/// Checks that the config fits into a boot image.
///
/// # Errors
/// It does not; says by how much.
pub fn check_size(config: &ignition::Config) -> Result<(), String> {
    let size = archive::ignition_payload(&config.to_text()).len();
    if size <= MAX_PAYLOAD {
        return Ok(());
    }
    Err(format!(
        "the discovery config is {size} bytes when packed and a boot image has room for \
         {MAX_PAYLOAD}; shorten ignition_config_override or static_network_config"
    ))
}

fn base(infra_env: &InfraEnv, image: ImageType, service: &Service<'_>) -> Result<Value, String> {
    let mut files = contents::files(infra_env, service)?;
    let mut units = units::units(infra_env, service);
    // Minimal images get it with their initrd: they need a network to fetch the rest.
    if image == ImageType::FullIso && !infra_env.static_network.is_empty() {
        for (path, content) in static_network::files(&infra_env.static_network)? {
            files.push(ignition::file(&path, 0o600, &content));
        }
        let script = static_network::SCRIPT;
        files.push(ignition::file(static_network::SCRIPT_PATH, 0o755, script));
        let contents = Some(static_network::full_iso_unit());
        units.push(ignition::Unit {
            name: static_network::UNIT_NAME,
            contents,
        });
    }
    let units: Vec<Value> = units.iter().map(ignition::Unit::enabled).collect();
    let mut head = json!({"version": SPEC});
    if let Some(proxy) = proxy(infra_env) {
        head["proxy"] = proxy;
    }
    Ok(json!({
        "ignition": head,
        "passwd": {"users": users(infra_env)},
        "systemd": {"units": units},
        "storage": {"files": files},
    }))
}

/// Ignition's own proxy, for configs it fetches; exceptions alone mean nothing to it.
fn proxy(infra_env: &InfraEnv) -> Option<Value> {
    let proxy = &infra_env.proxy;
    let [http, https, exceptions] = [&proxy.http, &proxy.https, &proxy.no_proxy]
        .map(|text| text.as_deref().filter(|text| !text.is_empty()));
    if http.is_none() && https.is_none() {
        return None;
    }
    let mut members = json!({});
    if let Some(http) = http {
        members["httpProxy"] = json!(http);
    }
    if let Some(https) = https {
        members["httpsProxy"] = json!(https);
    }
    if let Some(list) = exceptions {
        members["noProxy"] = json!(list.split(',').collect::<Vec<_>>());
    }
    Some(members)
}

fn users(infra_env: &InfraEnv) -> Vec<Value> {
    let text = infra_env.ssh_authorized_key.as_deref().unwrap_or_default();
    let mut keys: Vec<&str> = Vec::new();
    for key in text.lines().map(str::trim).filter(|key| !key.is_empty()) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    if keys.is_empty() {
        return Vec::new();
    }
    vec![json!({
        "name": "core",
        "passwordHash": "!",
        "groups": ["sudo"],
        "sshAuthorizedKeys": keys,
    })]
}

#[cfg(test)]
mod tests;
