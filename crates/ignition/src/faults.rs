//! What types alone cannot say about a config: meaning, and things named twice.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::{
    lists::{SHARED, identity, key},
    spec,
};

/// Schemes Ignition can fetch from.
const SCHEMES: &[&str] = &["data", "http", "https", "tftp", "s3", "gs", "arn"];

/// Endings of unit names that systemd knows.
const UNIT_KINDS: &[&str] = &[
    "service",
    "device",
    "swap",
    "target",
    "socket",
    "mount",
    "automount",
    "timer",
    "path",
    "slice",
    "scope",
];

/// Largest file mode: permissions with the three special bits.
const MAX_MODE: i64 = 0o7777;

/// Why a config is refused: one sentence per fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<String>);

impl Faults {
    pub(crate) fn one(fault: String) -> Self {
        Self(vec![fault])
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    /// Each fault by itself.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("; "))
    }
}

impl std::error::Error for Faults {}

/// Everything wrong with a config whose types are right for its version.
pub fn faults(json: &Value) -> Faults {
    let mut faults = Faults::default();
    duplicates("", json, &mut faults);
    match spec::Config::deserialize(json) {
        Ok(config) => meaning(&config, &mut faults),
        Err(cause) => faults.add(format!("it is not an Ignition config: {cause}")),
    }
    faults
}

fn meaning(config: &spec::Config, faults: &mut Faults) {
    if let Some(references) = &config.ignition.config {
        let all = references.merge.iter().flatten().chain(&references.replace);
        all.for_each(|reference| resource("ignition.config", reference, faults));
    }
    let tls = config
        .ignition
        .security
        .as_ref()
        .and_then(|security| security.tls.as_ref());
    for authority in tls
        .into_iter()
        .flat_map(|tls| tls.certificate_authorities.iter().flatten())
    {
        resource("ignition.security.tls", authority, faults);
    }
    if let Some(of) = &config.storage {
        storage(of, faults);
    }
    let units = config
        .systemd
        .as_ref()
        .and_then(|systemd| systemd.units.as_ref());
    units.into_iter().flatten().for_each(|of| unit(of, faults));
}

fn storage(storage: &spec::Storage, faults: &mut Faults) {
    for file in storage.files.iter().flatten() {
        let at = node(&file.path, file.mode, faults);
        for content in file.contents.iter().chain(file.append.iter().flatten()) {
            resource(&at, content, faults);
        }
    }
    for directory in storage.directories.iter().flatten() {
        node(&directory.path, directory.mode, faults);
    }
    for link in storage.links.iter().flatten() {
        let at = node(&link.path, None, faults);
        if link.target.as_deref().is_none_or(str::is_empty) {
            faults.add(format!("{at}: the link has no target"));
        }
    }
    let disks = storage
        .disks
        .iter()
        .flatten()
        .map(|disk| ("disks", &disk.device));
    let filesystems = storage.filesystems.iter().flatten();
    for (list, device) in disks.chain(filesystems.map(|of| ("filesystems", &of.device))) {
        if !device.starts_with('/') {
            faults.add(format!(
                "storage.{list}: device {device:?} must begin with /"
            ));
        }
    }
}

/// Checks what files, directories and links have in common; gives the words for their place.
fn node(path: &str, mode: Option<i64>, faults: &mut Faults) -> String {
    let at = format!("storage, {path}");
    if !path.starts_with('/') {
        faults.add(format!("{at}: the path must begin with /"));
    }
    if path.contains('\0') {
        faults.add(format!("{at:?}: the path has a NUL in it"));
    }
    if mode.is_some_and(|mode| !(0..=MAX_MODE).contains(&mode)) {
        faults.add(format!(
            "{at}: the mode must lie between 0 and 4095 (decimal of 07777)"
        ));
    }
    at
}

fn unit(unit: &spec::Unit, faults: &mut Faults) {
    let at = format!("systemd.units, {}", unit.name);
    let kind = unit.name.rsplit_once('.').map(|(_, kind)| kind);
    if !kind.is_some_and(|kind| UNIT_KINDS.contains(&kind)) {
        faults.add(format!(
            "{at}: a unit name ends in its kind, such as .service"
        ));
    }
    let dropins = unit.dropins.as_deref().unwrap_or_default();
    for dropin in dropins {
        if !dropin.name.ends_with(".conf") {
            faults.add(format!(
                "{at}: the drop-in name {:?} must end in .conf",
                dropin.name
            ));
        }
        if dropin.name.contains('/') {
            faults.add(format!(
                "{at}: the drop-in name {:?} has a / in it",
                dropin.name
            ));
        }
    }
    if unit.name.contains('/') {
        faults.add(format!("{at}: the unit name has a / in it"));
    }
    let additions = dropins.iter().filter_map(|dropin| dropin.contents.as_ref());
    for text in unit.contents.iter().chain(additions) {
        if let Some(line) = stray_line(text) {
            faults.add(format!(
                "{at}: line {line} is neither [Section] nor key=value"
            ));
        }
    }
}

/// The number of the first line of a unit that systemd could not read.
fn stray_line(text: &str) -> Option<usize> {
    let (mut in_section, mut continued) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let is_comment = line.is_empty() || line.starts_with(['#', ';']);
        if !continued && !is_comment {
            if line.starts_with('[') && line.ends_with(']') {
                in_section = true;
            } else if !in_section || !line.contains('=') {
                return Some(index + 1);
            }
        }
        continued = line.ends_with('\\') && (continued || !is_comment);
    }
    None
}

/// Never repeats the address: it may hold content or credentials.
fn resource(at: &str, resource: &spec::Resource, faults: &mut Faults) {
    let source = resource.source.as_deref().unwrap_or_default();
    let scheme = source
        .split_once(':')
        .map(|(scheme, _)| scheme.to_ascii_lowercase());
    match scheme.as_deref() {
        _ if source.is_empty() => {}
        Some("data") if !source.contains(',') => {
            faults.add(format!(
                "{at}: the data URL has no comma before its content"
            ));
        }
        Some(scheme) if SCHEMES.contains(&scheme) => {}
        Some(_) | None => faults.add(format!(
            "{at}: the source must be a URL that begins with one of {}",
            SCHEMES.join(", ")
        )),
    }
    if !matches!(resource.compression.as_deref(), None | Some("" | "gzip")) {
        faults.add(format!("{at}: the compression must be gzip or empty"));
    }
}

/// Things named twice, in one list or in lists that share their keys; and things without name.
fn duplicates(at: &str, value: &Value, faults: &mut Faults) {
    match value {
        Value::Object(members) => {
            let below = |name: &str| match at {
                "" => name.to_owned(),
                at => format!("{at}.{name}"),
            };
            for (name, member) in members {
                // Lists that share their keys are looked at once, as one.
                let group = SHARED.iter().find(|group| group.contains(&name.as_str()));
                let lists: Vec<&str> = match group {
                    Some(group) => group.to_vec(),
                    None => vec![name],
                };
                let present = lists
                    .iter()
                    .copied()
                    .filter(|list| members.contains_key(*list));
                if present.clone().next() == Some(name) {
                    let place = if group.is_some() {
                        at.to_owned()
                    } else {
                        below(name)
                    };
                    let lists = present.filter_map(|list| Some((list, members[list].as_array()?)));
                    twice(&place, lists, faults);
                }
                duplicates(&below(name), member, faults);
            }
        }
        Value::Array(entries) => {
            for entry in entries {
                duplicates(at, entry, faults);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn twice<'a>(
    at: &str,
    lists: impl Iterator<Item = (&'a str, &'a Vec<Value>)>,
    faults: &mut Faults,
) {
    let mut seen = std::collections::HashSet::new();
    for (name, entries) in lists {
        for entry in entries {
            let identity = identity(name, Some(entry));
            let Some((member, value)) = key(entry, identity) else {
                continue;
            };
            if value.as_str() == Some("") && member != "value" {
                faults.add(format!("{at}: an entry has an empty {member}"));
            } else if !seen.insert((member, value.to_string())) {
                // What is fetched may carry credentials, and keys are long.
                match member {
                    "source" | "url" | "value" => {
                        faults.add(format!("{at}: a {member} occurs twice"));
                    }
                    _ => faults.add(format!("{at}: {member} {value} occurs twice")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
