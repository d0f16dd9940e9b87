//! What a minimal image needs before it can fetch the rest: static network and proxy.
//!
//! A packed archive that the boot loader appends to the initrd.

use muster_model::InfraEnv;

use super::{archive::Cpio, discovery::assignment, static_network};

/// Room for the archive in a minimal image.
pub const MAX_SIZE: usize = 1024 * 1024;

const UNIT_FOLDER: &str = "/etc/systemd/system";

/// The archive; `None` if there is nothing to carry.
///
/// # Errors
/// A stored network is damaged.
pub fn initrd(infra_env: &InfraEnv, default_delay: u32) -> Result<Option<Vec<u8>>, String> {
    let proxy = proxy_dropin(infra_env);
    if infra_env.static_network.is_empty() && proxy.is_none() {
        return Ok(None);
    }
    let mut archive = Cpio::default();
    if !infra_env.static_network.is_empty() {
        for (path, content) in static_network::files(&infra_env.static_network)? {
            archive.file(&path, 0o600, content.as_bytes());
        }
        archive.file(
            static_network::SCRIPT_PATH,
            0o755,
            static_network::SCRIPT.as_bytes(),
        );
        let delay = infra_env
            .network_discovery_delay_seconds
            .unwrap_or(default_delay.into());
        let unit = static_network::INITRD_UNIT
            .replace("@DELAY@", &delay.to_string())
            .replace("@TIMEOUT@", &delay.saturating_add(60).to_string());
        let path = format!("{UNIT_FOLDER}/{}", static_network::UNIT_NAME);
        archive.file(&path, 0o644, unit.as_bytes());
        let wish = format!(
            "{UNIT_FOLDER}/initrd.target.wants/{}",
            static_network::UNIT_NAME
        );
        archive.symlink(&wish, &path);
    }
    if let Some(text) = proxy {
        let path = format!("{UNIT_FOLDER}/coreos-livepxe-rootfs.service.d/10-proxy.conf");
        archive.file(&path, 0o664, text.as_bytes());
    }
    Ok(Some(archive.gzip()))
}

/// Checks that the archive fits into a minimal image.
///
/// # Errors
/// It does not; says by how much.
pub fn check_size(infra_env: &InfraEnv, default_delay: u32) -> Result<(), String> {
    let size = initrd(infra_env, default_delay)?.map_or(0, |bytes| bytes.len());
    if size <= MAX_SIZE {
        return Ok(());
    }
    Err(format!(
        "static_network_config is {size} bytes when packed and a boot image has room for \
         {MAX_SIZE}; split the hosts over several infra-envs"
    ))
}

/// The proxy for the unit that fetches the root file system.
fn proxy_dropin(infra_env: &InfraEnv) -> Option<String> {
    let proxy = &infra_env.proxy;
    let mut text = String::from("[Service]\n");
    let mut any = false;
    for (name, value) in [
        ("http_proxy", &proxy.http),
        ("https_proxy", &proxy.https),
        ("no_proxy", &proxy.no_proxy),
    ] {
        let Some(value) = value.as_deref().filter(|value| !value.is_empty()) else {
            continue;
        };
        any = true;
        text.push_str(&assignment(name, value));
        text.push_str(&assignment(&name.to_uppercase(), value));
    }
    any.then_some(text)
}

#[cfg(test)]
mod tests {
    use muster_model::{HostNetwork, MacInterface};

    use super::*;
    use crate::ops::infra_envs::{archive::tests::members, blank::tests::an_infra_env};

    #[test]
    fn with_neither_network_nor_proxy_there_is_nothing_to_carry() {
        let mut infra_env = an_infra_env();
        assert_eq!(initrd(&infra_env, 0), Ok(None));
        infra_env.proxy.http = Some(String::new());
        assert_eq!(initrd(&infra_env, 0), Ok(None));
    }

    #[test]
    fn a_proxy_reaches_the_unit_that_fetches_the_root_file_system() {
        let mut infra_env = an_infra_env();
        infra_env.proxy.https = Some("http://a%20b@proxy:1".to_owned());
        let found = members(&initrd(&infra_env, 0).unwrap().unwrap());
        let (path, mode, text) = found.last().unwrap();
        assert!(
            path.ends_with("coreos-livepxe-rootfs.service.d/10-proxy.conf"),
            "{path}"
        );
        assert_eq!(*mode, 0o100_664);
        assert!(
            text.contains("Environment=HTTPS_PROXY=http://a%%20b@proxy:1\n"),
            "{text}"
        );
    }

    #[test]
    fn a_network_comes_with_its_script_and_a_unit_that_waits_as_long_as_asked() {
        let mut infra_env = an_infra_env();
        infra_env.network_discovery_delay_seconds = Some(7);
        infra_env.static_network = vec![HostNetwork {
            network_yaml: "interfaces:\n- name: eth0\n".to_owned(),
            mac_interface_map: vec![MacInterface {
                logical_nic_name: "eth0".to_owned(),
                mac_address: "02:00:00:00:00:01".to_owned(),
            }],
        }];
        let found = members(&initrd(&infra_env, 3).unwrap().unwrap());
        let text = |ending: &str| {
            found
                .iter()
                .find(|(path, ..)| path.ends_with(ending))
                .map(|found| found.2.as_str())
        };
        let unit = text("/system/pre-network-manager-config.service").unwrap();
        assert!(unit.contains("DISCOVERY_DELAY_SECONDS=7\n"), "{unit}");
        assert!(unit.contains("TimeoutSec=67\n"), "{unit}");
        assert_eq!(
            text("initrd.target.wants/pre-network-manager-config.service"),
            Some("/etc/systemd/system/pre-network-manager-config.service")
        );
        assert_eq!(
            text("host0/mac_interface.ini"),
            Some("02:00:00:00:00:01=eth0")
        );
        assert!(
            text(static_network::SCRIPT_PATH)
                .unwrap()
                .starts_with("#!/bin/bash\n")
        );
    }
}
