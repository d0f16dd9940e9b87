//! What a machine needs before it can run Ignition: static network and proxy.
//!
//! A minimal image and a network boot fetch their root file system first, so these come as one
//! more initrd.

use muster_image::initrd::Archive;
use muster_model::{HostNetwork, InfraEnv};

use super::{
    DiscoveryFault,
    environment::{assignment, proxy},
};
use crate::static_network;

const UNIT_FOLDER: &str = "etc/systemd/system";

/// The archive; `None` if there is nothing to carry.
///
/// # Errors
/// A stored network is damaged.
pub fn ramdisk(
    infra_env: &InfraEnv,
    default_delay: u32,
) -> Result<Option<Vec<u8>>, DiscoveryFault> {
    let delay = infra_env.network_discovery_delay_seconds;
    let delay = delay.unwrap_or(default_delay.into());
    early(&infra_env.static_network, delay, proxy(infra_env))
}

/// The same for networks and a proxy of another origin.
///
/// # Errors
/// A network is damaged.
pub fn early(
    networks: &[HostNetwork],
    delay: i64,
    proxy: [(&'static str, &str); 3],
) -> Result<Option<Vec<u8>>, DiscoveryFault> {
    let mut archive = Archive::default();
    if !networks.is_empty() {
        for carried in static_network::carried(networks)? {
            archive.put(&carried.path, 0o100_600, carried.text);
        }
        let name = static_network::UNIT_NAME;
        let unit = format!("{UNIT_FOLDER}/{name}");
        let link = format!("{UNIT_FOLDER}/initrd.target.wants/{name}");
        archive.put(
            static_network::SCRIPT_PATH,
            0o100_755,
            static_network::SCRIPT,
        );
        archive.put(&unit, 0o100_644, static_network::initrd_unit(delay));
        archive.put(&link, 0o120_777, format!("/{unit}"));
    }
    if let Some(text) = proxy_dropin(proxy) {
        let path = format!("{UNIT_FOLDER}/coreos-livepxe-rootfs.service.d/10-proxy.conf");
        archive.put(&path, 0o100_644, text);
    }
    if archive.is_empty() {
        return Ok(None);
    }
    Ok(Some(archive.gzip()?))
}

/// The proxy for the unit that fetches the root file system.
fn proxy_dropin(proxy: [(&'static str, &str); 3]) -> Option<String> {
    let mut text = String::from("[Service]\n");
    let mut any = false;
    for (name, value) in proxy {
        if !value.is_empty() {
            any = true;
            text.push_str(&assignment(&name.to_lowercase(), value));
            text.push_str(&assignment(name, value));
        }
    }
    any.then_some(text)
}
