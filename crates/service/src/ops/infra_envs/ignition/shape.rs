//! What a config must look like: types by serde, meaning by hand.
//!
//! Members that Ignition does not know are ignored there (with a warning on the console), so
//! they are no fault here either.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::VERSIONS;

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
    "netdev",
    "network",
    "link",
];

/// Largest file mode: permissions with the three special bits.
const MAX_MODE: i64 = 0o7777;

#[derive(Deserialize)]
struct Document {
    ignition: Head,
    passwd: Option<Passwd>,
    storage: Option<Storage>,
    systemd: Option<Systemd>,
}

#[derive(Deserialize)]
struct Head {
    version: String,
    config: Option<References>,
    security: Option<Security>,
    #[expect(dead_code, reason = "read for its types alone")]
    proxy: Option<Proxy>,
}

#[derive(Deserialize)]
struct References {
    merge: Option<Vec<Resource>>,
    replace: Option<Resource>,
}

#[derive(Deserialize)]
struct Security {
    tls: Option<Tls>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tls {
    certificate_authorities: Option<Vec<Resource>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "read for its types alone")]
struct Proxy {
    http_proxy: Option<String>,
    https_proxy: Option<String>,
    no_proxy: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Resource {
    source: Option<String>,
    compression: Option<String>,
}

#[derive(Deserialize)]
struct Passwd {
    users: Option<Vec<Account>>,
    groups: Option<Vec<Account>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "most members are read for their types alone")]
struct Account {
    name: String,
    password_hash: Option<String>,
    ssh_authorized_keys: Option<Vec<String>>,
    groups: Option<Vec<String>>,
    uid: Option<i64>,
    gid: Option<i64>,
}

#[derive(Deserialize)]
struct Storage {
    files: Option<Vec<Node>>,
    directories: Option<Vec<Node>>,
    links: Option<Vec<Node>>,
    disks: Option<Vec<Device>>,
    filesystems: Option<Vec<Device>>,
    raid: Option<Vec<Named>>,
    luks: Option<Vec<Named>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "some members are read for their types alone")]
struct Node {
    path: String,
    mode: Option<i64>,
    overwrite: Option<bool>,
    contents: Option<Resource>,
    append: Option<Vec<Resource>>,
    target: Option<String>,
    hard: Option<bool>,
}

#[derive(Deserialize)]
struct Device {
    device: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Systemd {
    units: Option<Vec<UnitEntry>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "some members are read for their types alone")]
struct UnitEntry {
    name: String,
    enabled: Option<bool>,
    mask: Option<bool>,
    contents: Option<String>,
    dropins: Option<Vec<Dropin>>,
}

#[derive(Deserialize)]
struct Dropin {
    name: String,
    contents: Option<String>,
}

/// Everything wrong with a config.
pub fn faults(value: &Value) -> Vec<String> {
    let document = match Document::deserialize(value) {
        Ok(document) => document,
        Err(cause) => return vec![format!("it is not an Ignition config: {cause}")],
    };
    let mut faults = Faults::default();
    let version = document.ignition.version.as_str();
    if !VERSIONS.contains(&version) {
        faults.add(format!(
            "ignition.version {version:?} is not understood; write one of {}",
            VERSIONS.join(", ")
        ));
    }
    head(&document.ignition, &mut faults);
    if let Some(passwd) = &document.passwd {
        for (list, accounts) in [("users", &passwd.users), ("groups", &passwd.groups)] {
            let names = accounts
                .iter()
                .flatten()
                .map(|account| account.name.as_str());
            faults.unique(&format!("passwd.{list}"), "name", names);
        }
    }
    if let Some(on) = &document.storage {
        storage(on, &mut faults);
    }
    units(
        document
            .systemd
            .and_then(|systemd| systemd.units)
            .as_deref(),
        &mut faults,
    );
    faults.0
}

fn head(head: &Head, faults: &mut Faults) {
    if let Some(config) = &head.config {
        for reference in config.merge.iter().flatten().chain(&config.replace) {
            faults.resource("ignition.config", reference);
        }
    }
    let tls = head
        .security
        .as_ref()
        .and_then(|security| security.tls.as_ref());
    for authority in tls
        .into_iter()
        .flat_map(|tls| tls.certificate_authorities.iter().flatten())
    {
        faults.resource("ignition.security.tls", authority);
    }
}

fn storage(storage: &Storage, faults: &mut Faults) {
    let nodes = || {
        [&storage.files, &storage.directories, &storage.links]
            .into_iter()
            .flatten()
            .flatten()
    };
    faults.unique("storage", "path", nodes().map(|node| node.path.as_str()));
    for node in nodes() {
        let at = format!("storage, {}", node.path);
        if !node.path.starts_with('/') {
            faults.add(format!("{at}: the path must begin with /"));
        }
        if node
            .mode
            .is_some_and(|mode| !(0..=MAX_MODE).contains(&mode))
        {
            faults.add(format!(
                "{at}: the mode must lie between 0 and 4095 (decimal of 07777)"
            ));
        }
        for resource in node.contents.iter().chain(node.append.iter().flatten()) {
            faults.resource(&at, resource);
        }
    }
    for link in storage
        .links
        .iter()
        .flatten()
        .filter(|link| link.target.is_none())
    {
        faults.add(format!("storage, {}: the link has no target", link.path));
    }
    for (list, devices) in [
        ("disks", &storage.disks),
        ("filesystems", &storage.filesystems),
    ] {
        let names = devices
            .iter()
            .flatten()
            .map(|device| device.device.as_str());
        faults.unique(&format!("storage.{list}"), "device", names.clone());
        for name in names.filter(|name| !name.starts_with('/')) {
            faults.add(format!("storage.{list}: device {name:?} must begin with /"));
        }
    }
    for (list, named) in [("raid", &storage.raid), ("luks", &storage.luks)] {
        let names = named.iter().flatten().map(|named| named.name.as_str());
        faults.unique(&format!("storage.{list}"), "name", names);
    }
}

fn units(units: Option<&[UnitEntry]>, faults: &mut Faults) {
    let units = units.unwrap_or_default();
    faults.unique(
        "systemd.units",
        "name",
        units.iter().map(|unit| unit.name.as_str()),
    );
    for unit in units {
        let at = format!("systemd.units, {}", unit.name);
        let kind = unit.name.rsplit_once('.').map(|(_, kind)| kind);
        if !kind.is_some_and(|kind| UNIT_KINDS.contains(&kind)) {
            faults.add(format!(
                "{at}: a unit name ends in its kind, such as .service"
            ));
        }
        let dropins = unit.dropins.as_deref().unwrap_or_default();
        faults.unique(
            &at,
            "drop-in",
            dropins.iter().map(|dropin| dropin.name.as_str()),
        );
        for dropin in dropins
            .iter()
            .filter(|dropin| !dropin.name.ends_with(".conf"))
        {
            faults.add(format!(
                "{at}: the drop-in name {:?} must end in .conf",
                dropin.name
            ));
        }
        for text in unit
            .contents
            .iter()
            .chain(dropins.iter().filter_map(|d| d.contents.as_ref()))
        {
            if let Some(line) = stray_line(text) {
                faults.add(format!(
                    "{at}: line {line} is neither [Section] nor key=value"
                ));
            }
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

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    fn unique<'a>(&mut self, at: &str, key: &str, names: impl Iterator<Item = &'a str>) {
        let mut seen = HashSet::new();
        for name in names {
            if name.is_empty() {
                self.add(format!("{at}: an entry has an empty {key}"));
            } else if !seen.insert(name) {
                self.add(format!("{at}: {key} {name:?} occurs twice"));
            }
        }
    }

    /// Never repeats the address: it may hold content or credentials.
    fn resource(&mut self, at: &str, resource: &Resource) {
        let source = resource.source.as_deref().unwrap_or_default();
        let scheme = source
            .split_once(':')
            .map(|(scheme, _)| scheme.to_ascii_lowercase());
        match scheme.as_deref() {
            _ if source.is_empty() => {}
            Some("data") if !source.contains(',') => {
                self.add(format!(
                    "{at}: the data URL has no comma before its content"
                ));
            }
            Some(scheme) if SCHEMES.contains(&scheme) => {}
            Some(_) | None => self.add(format!(
                "{at}: the source must be a URL that begins with one of {}",
                SCHEMES.join(", ")
            )),
        }
        if !matches!(resource.compression.as_deref(), None | Some("" | "gzip")) {
            self.add(format!("{at}: the compression must be gzip or empty"));
        }
    }
}

#[cfg(test)]
mod tests;
