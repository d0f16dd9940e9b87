//! NetworkManager keyfiles from an nmstate document, made by nmstate itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use nmstate::NetworkState;
use serde_yaml_ng::Value;

use super::NetworkFault;

/// What nmstate calls the files of NetworkManager.
const BACK_END: &str = "NetworkManager";

/// What a profile of ours says besides what nmstate wrote: it is used without being asked for,
/// and before profiles that NetworkManager makes up itself.
const PREFERRED: [(&str, &str); 2] = [("autoconnect", "true"), ("autoconnect-priority", "1")];

/// A profile of NetworkManager.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Keyfile {
    /// File name, such as `eth0.nmconnection`.
    pub name: String,
    /// Content.
    pub text: String,
}

/// The profiles of a document, sorted by name. Equal documents give equal bytes: nmstate derives
/// the ids of profiles from the names of their interfaces.
///
/// # Errors
/// What nmstate says about the document; it knows nothing of lines then.
pub fn keyfiles(yaml: &str) -> Result<Vec<Keyfile>, NetworkFault> {
    let mut made = guarded(|| {
        NetworkState::new_from_yaml(yaml)
            .and_then(|state| state.gen_conf())
            .map_err(|cause| NetworkFault::Nmstate(cause.msg().trim().to_owned()))
    })?;
    let mut files: Vec<Keyfile> = made
        .remove(BACK_END)
        .unwrap_or_default()
        .into_iter()
        .map(|(name, text)| Keyfile {
            name,
            text: preferred(&text),
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(NetworkFault::NoProfile);
    }
    for file in &files {
        check_name(&file.name)?;
    }
    if let Some(one) = files.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(NetworkFault::SameProfileName(one[0].name.clone()));
    }
    Ok(files)
}

/// Whether nmstate understands an interface by itself.
///
/// # Errors
/// What nmstate says about it.
pub fn check_interface(interface: &Value) -> Result<(), NetworkFault> {
    guarded(|| {
        let parsed = serde_yaml_ng::from_value::<nmstate::Interface>(interface.clone())
            .map_err(|cause| NetworkFault::Nmstate(cause.to_string()))?;
        // nmstate takes any word and makes no profile of it.
        match (parsed, interface["type"].as_str()) {
            (nmstate::Interface::Unknown(_), Some(word)) if word != "unknown" => {
                Err(NetworkFault::InterfaceType(word.to_owned()))
            }
            _ => Ok(()),
        }
    })
}

/// A document of a user's must not take the service down, whatever is in it.
fn guarded<T>(ask: impl FnOnce() -> Result<T, NetworkFault>) -> Result<T, NetworkFault> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| {
        let silent = "nmstate gave up on it without saying why";
        Err(NetworkFault::Nmstate(silent.to_owned()))
    })
}

/// The profile with our settings in its section `[connection]`.
fn preferred(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut in_connection = false;
    for line in text.trim_end().lines() {
        if line.starts_with('[') {
            in_connection = line == "[connection]";
            lines.push(line.to_owned());
            if in_connection {
                lines.extend(PREFERRED.map(|(key, value)| format!("{key}={value}")));
            }
            continue;
        }
        let key = line.split_once('=').map(|(key, _)| key);
        let is_ours = in_connection && PREFERRED.iter().any(|(ours, _)| key == Some(ours));
        if !is_ours {
            lines.push(line.to_owned());
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Names come from the document and become names of files on the host.
fn check_name(name: &str) -> Result<(), NetworkFault> {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !matches!(c, '/' | '\\');
    if name.len() <= 128 && !name.starts_with('.') && name.chars().all(is_plain) {
        Ok(())
    } else {
        Err(NetworkFault::ProfileName(name.to_owned()))
    }
}
