//! The configuration of the service on the rendezvous host: what the image says, and what follows
//! from there being one cluster only.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::Path,
};

use muster_config::{Config, ConfigErrors, Overrides, Sources};
use uuid::Uuid;

use crate::{environment::Environment, files::Places};

/// The port of the service where the image names none.
const PORT: u16 = 8090;
/// Where the kernel lists IPv6 addresses.
const IPV6_ADDRESSES: &str = "/proc/net/if_inet6";
/// Files of the service's TLS, below the folder of keys.
pub const CERTIFICATE: &str = "service.crt";
/// Private key of the service.
pub const KEY: &str = "service.key";
/// The authority behind it.
pub const AUTHORITY: &str = "service-ca.crt";

/// What the image does not say though it must.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable is missing or unusable.
    #[error("{name} of the settings of the image {problem}")]
    Variable {
        /// Which.
        name: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The configuration as a whole.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
}

/// What an image is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workflow {
    /// Install a cluster.
    Install,
    /// Add this host to a running cluster.
    AddNodes,
}

/// The ids that were chosen at the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids {
    /// Of the cluster.
    pub cluster: Uuid,
    /// Of the infra-env.
    pub infra_env: Uuid,
}

impl Ids {
    /// From the variables of the image.
    ///
    /// # Errors
    /// One of them is missing or no UUID.
    pub fn of(environment: &Environment) -> Result<Self, SettingsError> {
        let id = |name: &'static str| {
            let text = environment.get(name).ok_or(SettingsError::Variable {
                name,
                problem: "is missing; make the image again".to_owned(),
            })?;
            text.parse().map_err(|_| SettingsError::Variable {
                name,
                problem: format!("{text:?} is not a UUID"),
            })
        };
        Ok(Self {
            cluster: id("CLUSTER_ID")?,
            infra_env: id("INFRA_ENV_ID")?,
        })
    }
}

/// What the image is for.
///
/// # Errors
/// The variable has an unknown value.
pub fn workflow(environment: &Environment) -> Result<Workflow, SettingsError> {
    match environment.get("WORKFLOW_TYPE") {
        None | Some("install") => Ok(Workflow::Install),
        Some("addnodes") => Ok(Workflow::AddNodes),
        Some(other) => Err(SettingsError::Variable {
            name: "WORKFLOW_TYPE",
            problem: format!("{other:?} is neither install nor addnodes"),
        }),
    }
}

/// The configuration.
///
/// # Errors
/// See [`SettingsError`].
pub fn config(
    environment: &Environment,
    places: &Places,
    data: &Path,
) -> Result<Config, SettingsError> {
    let url = environment
        .get("SERVICE_BASE_URL")
        .ok_or(SettingsError::Variable {
            name: "SERVICE_BASE_URL",
            problem: "is missing; make the image again".to_owned(),
        })?;
    let parsed = url::Url::parse(url).map_err(|cause| SettingsError::Variable {
        name: "SERVICE_BASE_URL",
        problem: format!("{url:?} is not a URL: {cause}"),
    })?;
    let address = environment
        .get("NODE_ZERO_IP")
        .ok_or(SettingsError::Variable {
            name: "NODE_ZERO_IP",
            problem: "is missing; make the image again".to_owned(),
        })?;
    let address: IpAddr = address.parse().map_err(|_| SettingsError::Variable {
        name: "NODE_ZERO_IP",
        problem: format!("{address:?} is not an IP address"),
    })?;
    let workflow = workflow(environment)?;
    let address = match workflow {
        // No other network of this host is concerned.
        Workflow::Install => address,
        // Who follows the host knows its address; the image does not.
        Workflow::AddNodes => everywhere(Path::new(IPV6_ADDRESSES)),
    };
    let listen = SocketAddr::new(address, parsed.port_or_known_default().unwrap_or(PORT));
    // Without it the service would know all releases but perhaps the one of the image.
    if environment.get("RELEASE_IMAGES").is_none() && workflow == Workflow::Install {
        return Err(SettingsError::Variable {
            name: "RELEASE_IMAGES",
            problem: "is missing; make the image again".to_owned(),
        });
    }
    let mut fixed = vec![
        ("data_dir", data.display().to_string()),
        ("server.listen", listen.to_string()),
        ("server.base_url", url.trim_end_matches('/').to_owned()),
        ("auth.mode", "agent-installer-local".to_owned()),
        ("cluster.install_invoker", "agent-installer".to_owned()),
        // The kubeconfig and the password of the desk belong to what is there.
        (
            "cluster.cluster_tls_override_dir",
            places.tls.display().to_string(),
        ),
        // No image is served, and hosts bring agent, installer and controller with them.
        ("images.enabled", "false".to_owned()),
        ("images.installer", String::new()),
        ("images.controller", String::new()),
        ("features.upgrade_agent", "false".to_owned()),
        ("features.tna_clusters", "true".to_owned()),
        ("features.tnf_clusters", "true".to_owned()),
        ("features.single_node_dnsmasq", "true".to_owned()),
    ];
    if parsed.scheme() == "https" {
        let file = |name: &str| places.tls.join(name).display().to_string();
        fixed.push(("server.tls_cert", file(CERTIFICATE)));
        fixed.push(("server.tls_key", file(KEY)));
        fixed.push(("server.service_ca_cert", file(AUTHORITY)));
    }
    if has_mirrors(&places.mirrors) {
        fixed.push(("images.mirrors_file", places.mirrors.display().to_string()));
    }
    if places.authorities.exists() {
        let file = places.authorities.display().to_string();
        if has_mirrors(&places.mirrors) {
            fixed.push(("images.mirrors_ca_file", file.clone()));
        }
        fixed.push(("images.fetch_ca_file", file));
    }
    let flags = fixed
        .into_iter()
        .fold(Overrides::default(), |flags, (key, value)| {
            flags.set("muster node0", key, value)
        });
    let variables = environment.iter();
    let sources = Sources {
        flags,
        env: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        root: true,
        ..Sources::default()
    };
    Ok(Config::load(&sources)?.config)
}

/// All addresses of both families, or of the only one that the kernel knows.
fn everywhere(ipv6_addresses: &Path) -> IpAddr {
    match std::fs::read_to_string(ipv6_addresses) {
        Ok(list) if !list.is_empty() => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    }
}

/// The usual file of a system has mirrors in comments only.
fn has_mirrors(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .any(|line| line.trim() == "[[registry.mirror]]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_joins_a_cluster_listens_at_every_address_that_its_kernel_can_have() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("if_inet6");
        assert_eq!(everywhere(&list).to_string(), "0.0.0.0");
        std::fs::write(&list, "00000000000000000000000000000001 01 80 10 80 lo\n").unwrap();
        assert_eq!(everywhere(&list).to_string(), "::");
    }

    #[test]
    fn the_image_decides_address_ids_and_release() {
        const RELEASE: &str = r#"RELEASE_IMAGES=[{"openshift_version":"4.20","version":"4.20.1","cpu_architecture":"multi","cpu_architectures":["x86_64"],"url":"registry.example.com/release@sha256:1"}]"#;
        let mut environment = Environment::default();
        environment.add(
            "NODE_ZERO_IP=fd00::1\nSERVICE_BASE_URL=https://[fd00::1]:8090/\n\
             CLUSTER_ID=00000000-0000-0000-0000-00000000000a\n\
             INFRA_ENV_ID=00000000-0000-0000-0000-00000000000b\n\
             BOOTSTRAP_HOST_MAC=52:54:00:00:00:01\nEC_PUBLIC_KEY_PEM=abc\n",
        );
        let places = Places {
            config: "/etc/assisted".into(),
            tls: "/opt/agent/tls".into(),
            environment: Vec::new(),
            mirrors: "/nowhere".into(),
            authorities: "/nowhere".into(),
        };
        let data = Path::new("/var/lib/muster");
        let lacking = config(&environment, &places, data).unwrap_err();
        assert!(
            lacking.to_string().starts_with("RELEASE_IMAGES"),
            "{lacking}"
        );
        environment.add(RELEASE);
        let config = config(&environment, &places, data).unwrap();
        assert_eq!(config.server.listen.to_string(), "[fd00::1]:8090");
        assert_eq!(config.cluster.bootstrap_host_mac, "52:54:00:00:00:01");
        assert_eq!(config.cluster.infra_env_id, Some(Uuid::from_u128(0xb)));
        assert_eq!(config.auth.ec_public_key, "abc");
        let releases = &config.catalog.release_images.as_ref().unwrap().0;
        assert_eq!(releases[0]["version"], "4.20.1");
        assert!(!config.images.enabled);
        assert_eq!(
            config.cluster.cluster_tls_override_dir.as_deref(),
            Some(Path::new("/opt/agent/tls"))
        );
        assert_eq!(Ids::of(&environment).unwrap().cluster, Uuid::from_u128(0xa));
        assert_eq!(workflow(&environment).unwrap(), Workflow::Install);
        let lacking = Ids::of(&Environment::default()).unwrap_err();
        assert!(lacking.to_string().starts_with("CLUSTER_ID"), "{lacking}");
    }
}
