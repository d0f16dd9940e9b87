//! How static networks travel: the files of all hosts, and the script that picks one's own.

use muster_model::{HostNetwork, Timestamp};

use super::{NetworkFault, keyfiles, policy::policy};

/// Folder of the files on a host.
const FOLDER: &str = "/etc/assisted/network";

/// Picks the network of the machine it runs on.
pub const SCRIPT: &str = include_str!("assets/pre-network-manager-config.sh");

/// Where the script lies.
pub const SCRIPT_PATH: &str = "/usr/local/bin/pre-network-manager-config.sh";

/// The unit that runs it, in the live system and in the initrd.
pub const UNIT_NAME: &str = "pre-network-manager-config.service";

/// Seconds the script may take. It reads its tools from the medium, and one that a BMC brings over
/// a slow line, or a busy virtual machine, needs more than the reference's 60.
const SCRIPT_SECONDS: i64 = 300;

/// A file for a host, for root's eyes.
#[derive(Clone, PartialEq, Eq)]
pub struct Carried {
    /// Absolute path.
    pub path: String,
    /// Content.
    pub text: String,
}

/// Leaves out the content: keyfiles may hold passwords for networks.
impl std::fmt::Debug for Carried {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.path, self.text.len())
    }
}

/// The unit for the live system of a full image.
#[must_use]
pub fn live_unit() -> &'static str {
    include_str!("assets/live-network.service")
}

/// The unit for the initrd, which waits `delay` seconds for cards that come up slowly.
#[must_use]
pub fn initrd_unit(delay: i64) -> String {
    include_str!("assets/initrd-network.service")
        .replace("@DELAY@", &delay.to_string())
        .replace(
            "@TIMEOUT@",
            &delay.saturating_add(SCRIPT_SECONDS).to_string(),
        )
}

/// The files of all hosts: which cards a host has, its profiles, and its name if it has one.
///
/// # Errors
/// A stored document is damaged.
pub fn carried(hosts: &[HostNetwork]) -> Result<Vec<Carried>, NetworkFault> {
    let mut files = Vec::new();
    for (index, host) in hosts.iter().enumerate() {
        let at = |name: &str| format!("{FOLDER}/host{index}/{name}");
        let mut cards: Vec<String> = host
            .mac_interface_map
            .iter()
            .map(|item| format!("{}={}", item.mac_address, item.logical_nic_name))
            .collect();
        cards.sort();
        files.push(Carried {
            path: at("mac_interface.ini"),
            text: cards.join("\n"),
        });
        let profiles = keyfiles(&host.network_yaml).map_err(|fault| NetworkFault::Stored {
            index,
            fault: Box::new(fault),
        })?;
        files.extend(profiles.into_iter().map(|file| Carried {
            path: at(&file.name),
            text: file.text,
        }));
        if let Some(name) = host_name(&host.network_yaml) {
            files.push(Carried {
                path: at("hostname"),
                text: format!("{name}\n"),
            });
        }
    }
    Ok(files)
}

/// The host name a document requests. Keyfiles have no place for it.
fn host_name(yaml: &str) -> Option<String> {
    let document: serde_yaml_ng::Value = serde_yaml_ng::from_str(yaml).ok()?;
    let name = document["hostname"]["config"].as_str()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    (!name.is_empty() && name.len() <= 253 && name.chars().all(is_name)).then(|| name.to_owned())
}

/// The files as a tar archive, for people. `with_policies` adds each host's document in the
/// form that nmstate applies on a host, as the reference does for images from 4.18 on.
///
/// # Errors
/// A stored document is damaged.
pub fn tar(
    hosts: &[HostNetwork],
    changed: Timestamp,
    with_policies: bool,
) -> Result<Vec<u8>, NetworkFault> {
    let mut files = carried(hosts)?;
    if with_policies {
        for (index, host) in hosts.iter().enumerate() {
            files.push(Carried {
                path: format!("{FOLDER}/host{index}/ymlFile{index}.yml"),
                text: policy(host)?,
            });
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut archive = tar::Builder::new(Vec::new());
    for file in files {
        let mut header = tar::Header::new_gnu();
        // Names with a leading slash are part of the contract; the library's own way to set a
        // name refuses them.
        let field = &mut header.as_old_mut().name;
        let Some(place) = field.get_mut(..file.path.len()) else {
            return Err(NetworkFault::PathTooLong(file.path));
        };
        place.copy_from_slice(file.path.as_bytes());
        header.set_mode(0o600);
        header.set_size(file.text.len() as u64);
        header.set_mtime(u64::try_from(changed.unix_seconds()).unwrap_or_default());
        header.set_entry_type(tar::EntryType::Regular);
        header.set_cksum();
        archive.append(&header, file.text.as_bytes())?;
    }
    Ok(archive.into_inner()?)
}
