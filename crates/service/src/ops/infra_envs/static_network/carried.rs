//! How static networks travel: the files of all hosts, and the script that picks one's own.
//!
//! Every host boots the same image, so each carries the networks of all and finds its own by
//! hardware address.

use muster_model::{HostNetwork, Timestamp};

use super::policy::policy;

/// Folder of the files on a host.
const FOLDER: &str = "/etc/assisted/network";

/// Picks and applies the network of the machine it runs on.
pub const SCRIPT: &str = include_str!("../discovery/assets/pre-network-manager-config.sh");

/// Where the script lies.
pub const SCRIPT_PATH: &str = "/usr/local/bin/pre-network-manager-config.sh";

/// The unit that runs it, in the live system and in the initrd.
pub const UNIT_NAME: &str = "pre-network-manager-config.service";

/// The unit for the initrd; `@DELAY@` and `@TIMEOUT@` are seconds.
pub const INITRD_UNIT: &str = include_str!("../discovery/assets/initrd-network.service");

const FULL_ISO_UNIT: &str = include_str!("../discovery/assets/live-network.service");

/// The unit for the live system of a full image.
#[must_use]
pub fn full_iso_unit() -> String {
    FULL_ISO_UNIT.to_owned()
}

/// Path and content of every file.
///
/// # Errors
/// A stored document is damaged.
pub fn files(hosts: &[HostNetwork]) -> Result<Vec<(String, String)>, String> {
    let mut files = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        let mut cards: Vec<String> = host
            .mac_interface_map
            .iter()
            .map(|item| format!("{}={}", item.mac_address, item.logical_nic_name))
            .collect();
        cards.sort();
        files.push((
            format!("{FOLDER}/host{index}/mac_interface.ini"),
            cards.join("\n"),
        ));
        files.push((
            format!("{FOLDER}/host{index}/ymlFile{index}.yml"),
            policy(host)?,
        ));
    }
    Ok(files)
}

/// The files as a tar archive, for people and for the image service.
///
/// # Errors
/// A stored document is damaged.
pub fn tar(hosts: &[HostNetwork], changed: Timestamp) -> Result<Vec<u8>, String> {
    let mut archive = tar::Builder::new(Vec::new());
    let broken = |cause: std::io::Error| format!("the archive cannot be written: {cause}");
    for (path, content) in files(hosts)? {
        let mut header = tar::Header::new_gnu();
        // Names with a leading slash are part of the contract; the library's own way to set a
        // name refuses them. Ours are short.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_mode(0o600);
        header.set_size(content.len() as u64);
        header.set_mtime(u64::try_from(changed.unix_seconds()).unwrap_or_default());
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        archive
            .append(&header, content.as_bytes())
            .map_err(broken)?;
    }
    archive.into_inner().map_err(broken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::infra_envs::static_network::{read, tests::wire_host};

    #[test]
    fn the_archive_has_two_files_per_host_readable_by_root_alone() {
        let yaml = "interfaces:\n- name: eth0\n  type: ethernet\n";
        let hosts = read(&[
            wire_host(
                yaml,
                &[("eth0", "02:00:00:00:00:01"), ("eth1", "02:00:00:00:00:00")],
            ),
            wire_host(yaml, &[("eth0", "02:00:00:00:00:03")]),
        ])
        .unwrap();
        let bytes = tar(&hosts, Timestamp::from_unix_seconds(7)).unwrap();
        let mut archive = tar::Archive::new(bytes.as_slice());
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            assert_eq!(entry.header().mode().unwrap(), 0o600);
            let path = String::from_utf8(entry.path_bytes().to_vec()).unwrap();
            let mut text = String::new();
            std::io::Read::read_to_string(&mut entry, &mut text).unwrap();
            found.push((path, text));
        }
        let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/etc/assisted/network/host0/mac_interface.ini",
                "/etc/assisted/network/host0/ymlFile0.yml",
                "/etc/assisted/network/host1/mac_interface.ini",
                "/etc/assisted/network/host1/ymlFile1.yml",
            ]
        );
        assert_eq!(found[2].1, "02:00:00:00:00:00=eth1\n02:00:00:00:00:01=eth0");
    }
}
