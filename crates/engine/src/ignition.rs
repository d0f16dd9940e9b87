//! Facts about a running cluster, read from its Ignition.
//!
//! A day-2 host fetches the Ignition it would boot with; whether the cluster brings its own DNS,
//! how its disks are encrypted and which system it runs is read from there, the only source.

use std::net::IpAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use muster_model::Host;

use crate::{
    agent_json::{self, List, Stored, reported},
    reports,
};

/// Static pods that answer for the names and addresses of a cluster.
const OWN_NETWORK_PODS: [&str; 2] = [
    "/etc/kubernetes/manifests/coredns.yaml",
    "/etc/kubernetes/manifests/keepalived.yaml",
];
const KUBECONFIG: &str = "/etc/kubernetes/kubeconfig";
/// The machine config from which the Ignition was made, kept inside it by the config server.
const MACHINE_CONFIG: &str = "/etc/ignition-machine-config-encapsulated.json";

reported! {
    /// The parts of an Ignition config (version 3) that are asked for.
    Ignition {
        ignition: Option<Head>,
        storage: Option<Storage>,
    }

    /// What kind of config it is.
    Head {
        version: String,
    }

    /// What goes to disk.
    Storage {
        files: List<File>,
        luks: List<Luks>,
    }

    /// A file.
    File {
        contents: Option<Contents>,
        path: String,
    }

    /// What is in a file.
    Contents {
        compression: String,
        source: String,
    }

    /// An encrypted volume.
    Luks {
        clevis: Option<Clevis>,
    }

    /// How it is opened at boot.
    Clevis {
        tang: List<TangServer>,
        tpm2: bool,
    }

    /// A server that helps to open it.
    TangServer {
        thumbprint: String,
        url: String,
    }

    /// The machine config.
    MachineConfig {
        spec: Option<MachineConfigSpec>,
    }

    /// Its settings.
    MachineConfigSpec {
        #[serde(rename = "osImageURL")]
        os_image_url: String,
    }
}

impl Ignition {
    /// Reads a config; `None` unless it is one of version 3.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let config: Self = agent_json::stored(Some(text)).ok()?;
        let version = &config.ignition.as_ref()?.version;
        version.starts_with("3.").then_some(config)
    }

    /// What a day-2 host fetched from the running cluster, if it did and it is readable.
    pub(crate) fn fetched_by(host: &Host) -> Option<Self> {
        match reports::api_vip_of(host) {
            Stored::Here(reply) => Self::parse(&reply.ignition),
            Stored::Missing | Stored::Broken => None,
        }
    }

    /// How the first encrypted disk is opened, if there is one.
    pub(crate) fn clevis(&self) -> Option<&Clevis> {
        let storage = self.storage.as_ref()?;
        storage.luks.items().first()?.clevis.as_ref()
    }

    fn files(&self) -> &[File] {
        let storage = self.storage.as_ref();
        storage.map_or(&[], |storage| storage.files.items())
    }

    /// The cluster brings DNS and load balancing itself, or is reached by address alone.
    pub(crate) fn manages_its_network(&self) -> bool {
        let files = self.files();
        files
            .iter()
            .any(|file| OWN_NETWORK_PODS.contains(&file.path.as_str()))
            || files
                .iter()
                .filter(|file| file.path == KUBECONFIG)
                .filter_map(File::text)
                .any(|kubeconfig| its_only_server_is_an_address(&kubeconfig))
    }

    /// The operating system image the cluster runs.
    pub(crate) fn os_image(&self) -> Option<String> {
        let mut files = self.files().iter();
        let file = files.find(|file| file.path == MACHINE_CONFIG)?;
        let config: MachineConfig = agent_json::stored(Some(&file.text()?)).ok()?;
        Some(config.spec?.os_image_url).filter(|image| !image.is_empty())
    }
}

impl File {
    /// Its content, if it is inside the config as plain text.
    fn text(&self) -> Option<String> {
        let contents = self.contents.as_ref()?;
        let plain = contents.compression.is_empty();
        plain.then(|| unpack(&contents.source)).flatten()
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
        assert!(tpm.tpm2 && tpm.tang.items().is_empty());
        let tang = of(json!([{ "clevis": { "tang": [{ "url": "http://tang" }] } }])).unwrap();
        assert!(!tang.tpm2 && tang.tang.items()[0].url == "http://tang");
    }

    #[test]
    fn null_means_nothing_as_in_everything_an_agent_sends() {
        let config = r#"{"ignition":{"version":"3.2.0"},"storage":{"files":null,"luks":[{"clevis":{"tang":null,"tpm2":null}}]}}"#;
        let ignition = Ignition::parse(config).unwrap();
        assert_eq!(ignition.clevis(), Some(&Clevis::default()));
        assert!(!ignition.manages_its_network());
        assert_eq!(ignition.os_image(), None);
    }

    #[test]
    fn the_os_image_is_found_in_both_spellings_of_the_file_and_nowhere_else() {
        let config = r#"{"spec":{"osImageURL":"quay.io/os@sha256:1"}}"#;
        let percent = config.replace('"', "%22").replace('{', "%7B");
        let image = |source: &str| with_file(MACHINE_CONFIG, source).os_image();
        let plain = image(&format!("data:,{percent}"));
        assert_eq!(plain.as_deref(), Some("quay.io/os@sha256:1"));
        let encoded = STANDARD.encode(config);
        let encoded = image(&format!("data:text/plain;charset=utf-8;base64,{encoded}"));
        assert_eq!(encoded, plain);
        for bad in [
            "",
            "data:",
            "data:,%7",
            "data:,%zz",
            "data:;base64,!",
            "http://x/",
        ] {
            assert_eq!(image(bad), None, "{bad}");
        }
    }
}
