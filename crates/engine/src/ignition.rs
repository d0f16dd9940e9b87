//! What the Ignition of a running cluster tells about it.
//!
//! A day-2 host fetches the Ignition it would boot with; whether the cluster brings its own DNS
//! and how its disks are encrypted is read from there, as nobody else knows.

use std::net::IpAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;

/// Static pods that answer for the names and addresses of a cluster.
const OWN_NETWORK_PODS: [&str; 2] = [
    "/etc/kubernetes/manifests/coredns.yaml",
    "/etc/kubernetes/manifests/keepalived.yaml",
];
const KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";

/// The parts of an Ignition config (version 3) that are asked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Ignition {
    #[serde(default)]
    storage: Storage,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Storage {
    #[serde(default)]
    files: Vec<File>,
    #[serde(default)]
    luks: Vec<Luks>,
}

#[derive(Clone, Debug, Deserialize)]
struct File {
    path: String,
    #[serde(default)]
    contents: Contents,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Contents {
    #[serde(default)]
    source: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
struct Luks {
    #[serde(default)]
    clevis: Option<Clevis>,
}

/// How an encrypted disk is opened at boot.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Clevis {
    #[serde(default)]
    tpm2: Option<bool>,
    #[serde(default)]
    tang: Vec<serde_json::Value>,
}

impl Clevis {
    pub(crate) fn uses_tpm(&self) -> bool {
        self.tpm2 == Some(true)
    }

    pub(crate) const fn uses_tang(&self) -> bool {
        !self.tang.is_empty()
    }
}

impl Ignition {
    /// Reads a config; `None` unless it is one of version 3.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Head {
            ignition: Version,
        }
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let head: Head = serde_json::from_str(text).ok()?;
        if !head.ignition.version.starts_with("3.") {
            return None;
        }
        serde_json::from_str(text).ok()
    }

    /// How the first encrypted disk is opened, if there is one.
    pub(crate) fn clevis(&self) -> Option<&Clevis> {
        self.storage.luks.first()?.clevis.as_ref()
    }

    /// The cluster brings DNS and load balancing itself, or is reached by address alone.
    pub(crate) fn manages_its_network(&self) -> bool {
        let files = &self.storage.files;
        files
            .iter()
            .any(|file| OWN_NETWORK_PODS.contains(&file.path.as_str()))
            || files
                .iter()
                .filter(|file| file.path == KUBECONFIG)
                .filter_map(|file| unpack(file.contents.source.as_deref()?))
                .any(|kubeconfig| its_only_server_is_an_address(&kubeconfig))
    }
}

/// Only clusters have a `server` in a kubeconfig, so counting those lines counts clusters.
fn its_only_server_is_an_address(kubeconfig: &str) -> bool {
    let mut servers = kubeconfig.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("- ");
        Some(
            line.strip_prefix("server:")?
                .trim()
                .trim_matches(['"', '\'']),
        )
    });
    match (servers.next(), servers.next()) {
        (Some(only), None) => address_of(only).is_some(),
        _ => false,
    }
}

/// The address in a URL, if its host is one.
fn address_of(url: &str) -> Option<IpAddr> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next()?;
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split(']').next()?,
        None => host.split(':').next()?,
    };
    host.parse().ok()
}

/// The text of a `data:` URL.
fn unpack(url: &str) -> Option<String> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(',')?;
    let bytes = if kind.ends_with(";base64") {
        STANDARD.decode(data).ok()?
    } else {
        from_percent(data)?
    };
    String::from_utf8(bytes).ok()
}

fn from_percent(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_file(path: &str, source: &str) -> Ignition {
        let config = json!({
            "ignition": { "version": "3.2.0" },
            "storage": { "files": [{ "path": path, "contents": { "source": source } }] },
        });
        Ignition::parse(&config.to_string()).unwrap()
    }

    #[test]
    fn only_version_3_is_understood() {
        for bad in ["", "{}", "[]", r#"{"ignition":{"version":"2.2.0"}}"#] {
            assert!(Ignition::parse(bad).is_none(), "{bad}");
        }
        assert!(Ignition::parse(r#"{"ignition":{"version":"3.4.0"}}"#).is_some());
    }

    #[test]
    fn a_cluster_with_its_own_dns_pods_manages_its_network() {
        for path in OWN_NETWORK_PODS {
            assert!(with_file(path, "data:,").manages_its_network(), "{path}");
        }
        assert!(!with_file("/etc/motd", "data:,hello").manages_its_network());
    }

    #[test]
    fn a_kubeconfig_with_one_server_by_address_means_the_same() {
        let cases = [
            ("data:,server:%20https://192.0.2.5:6443", true),
            ("data:,server:%20https://[2001:db8::5]:6443", true),
            (
                "data:text/plain;base64,c2VydmVyOiAiaHR0cHM6Ly8xOTIuMC4yLjU6NjQ0MyI=",
                true,
            ),
            ("data:,server:%20https://api-int.c.example.com:6443", false),
            (
                "data:,server:%20https://192.0.2.5%0Aserver:%20https://192.0.2.6",
                false,
            ),
            ("data:,users:%20%5B%5D", false),
            ("data:;base64,***", false),
            ("data:,%zz", false),
            ("http://elsewhere/kubeconfig", false),
        ];
        for (source, expected) in cases {
            let ignition = with_file(KUBECONFIG, source);
            assert_eq!(ignition.manages_its_network(), expected, "{source}");
        }
    }

    #[test]
    fn the_first_encrypted_disk_counts() {
        let of = |luks: serde_json::Value| {
            let config = json!({ "ignition": { "version": "3.2.0" }, "storage": { "luks": luks } });
            Ignition::parse(&config.to_string())
                .unwrap()
                .clevis()
                .cloned()
        };
        assert_eq!(of(json!([])), None);
        assert_eq!(of(json!([{ "name": "root" }])), None);
        let tpm = of(json!([{ "clevis": { "tpm2": true } }])).unwrap();
        assert!(tpm.uses_tpm() && !tpm.uses_tang());
        let tang = of(json!([{ "clevis": { "tang": [{ "url": "http://tang" }] } }])).unwrap();
        assert!(tang.uses_tang() && !tang.uses_tpm());
    }
}
