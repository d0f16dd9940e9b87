//! What a machine needs before it can run Ignition: static network and proxy.
//!
//! A minimal image and a network boot fetch their root file system first, so these come as one
//! more initrd.

use muster_image::initrd::Archive;
use muster_model::InfraEnv;

use super::environment::{assignment, proxy};
use crate::static_network;

const UNIT_FOLDER: &str = "etc/systemd/system";

/// The archive; `None` if there is nothing to carry.
///
/// # Errors
/// A stored network is damaged.
pub fn ramdisk(infra_env: &InfraEnv, default_delay: u32) -> Result<Option<Vec<u8>>, String> {
    let mut archive = Archive::default();
    if !infra_env.static_network.is_empty() {
        for carried in static_network::carried(&infra_env.static_network)? {
            archive.put(&carried.path, 0o100_600, carried.text);
        }
        let delay = infra_env
            .network_discovery_delay_seconds
            .unwrap_or(default_delay.into());
        let name = static_network::UNIT_NAME;
        let unit = format!("{UNIT_FOLDER}/{name}");
        let wish = format!("{UNIT_FOLDER}/initrd.target.wants/{name}");
        archive.put(
            static_network::SCRIPT_PATH,
            0o100_755,
            static_network::SCRIPT,
        );
        archive.put(&unit, 0o100_644, static_network::initrd_unit(delay));
        archive.put(&wish, 0o120_777, format!("/{unit}"));
    }
    if let Some(text) = proxy_dropin(infra_env) {
        let path = format!("{UNIT_FOLDER}/coreos-livepxe-rootfs.service.d/10-proxy.conf");
        archive.put(&path, 0o100_644, text);
    }
    if archive.is_empty() {
        return Ok(None);
    }
    archive.gzip().map(Some).map_err(|cause| cause.to_string())
}

/// The proxy for the unit that fetches the root file system.
fn proxy_dropin(infra_env: &InfraEnv) -> Option<String> {
    let mut text = String::from("[Service]\n");
    let mut any = false;
    for (name, value) in proxy(infra_env) {
        if !value.is_empty() {
            any = true;
            text.push_str(&assignment(&name.to_lowercase(), value));
            text.push_str(&assignment(name, value));
        }
    }
    any.then_some(text)
}
