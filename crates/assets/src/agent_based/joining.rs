//! Hosts for a cluster that runs already: from `nodes-config.yaml`, and what the cluster says of
//! itself, to the image that they boot.
//!
//! Every host is its own rendezvous host: its service knows the cluster as one that was installed
//! elsewhere, and installs this one host. `muster agent monitor` follows it with a token of the image.
//! Nothing in the image opens the cluster but the pull secret.

use std::net::{IpAddr, Ipv4Addr};

use jiff::{SignedDuration, Timestamp};
use muster_documents::{
    agent_config::{self, Host},
    cluster_manifests::{self, Expected, Proxy, Purpose, rpm_architecture},
    install_config::types::{HostRole, ImageDigestSource, InstallConfig, Metadata},
    yaml,
};
use muster_model::{Arch, Secret};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{AgentError, Mirrors, Planned, State, derive, network_faults};
use crate::{file::File, profiles::Release};

/// Name of the file with the hosts.
pub const NODES_CONFIG: &str = "nodes-config.yaml";
/// What the service on a host reads.
const JOIN_FILE: &str = "etc/assisted/add-nodes.json";
/// Namespace of the manifests, as in the reference.
const NAMESPACE: &str = "cluster0";
/// How long an image can be booted: who finds an old one cannot use it.
const LASTS: SignedDuration = SignedDuration::from_hours(48);
/// Platforms whose hosts can be added by hand.
const PLATFORMS: &[&str] = &["baremetal", "external", "none", "nutanix", "vsphere"];

/// What a running cluster says of itself.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Its id.
    pub id: Uuid,
    /// Host of its API, `api.<name>.<base domain>`.
    pub api: String,
    /// What it runs.
    pub release: Release,
    /// In lower case, for example `baremetal`.
    pub platform: String,
    /// Of its control plane, for example `amd64`.
    pub architecture: String,
    /// Credentials of registries.
    pub pull_secret: Secret,
    /// Its proxy.
    pub proxy: Option<Proxy>,
    /// Authorities that it trusts beside the usual ones, PEM.
    pub trust: String,
    /// Mirrors of registries.
    pub mirrors: Vec<ImageDigestSource>,
    /// Key that opens its nodes.
    pub ssh_key: String,
    /// It runs in FIPS mode.
    pub fips: bool,
    /// Configuration of chrony on its workers.
    pub chrony: Option<String>,
    /// Where workers fetch their config, without the name of the pool, and base64 of the PEM
    /// certificate behind it.
    pub ignition: Option<(String, String)>,
    /// Names and addresses of its nodes.
    pub nodes: Vec<String>,
}

/// What an image needs to know of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    pub(super) id: Uuid,
    pub(super) name: String,
    api: String,
    version: String,
    user_managed_networking: bool,
    ignition: Option<(String, String)>,
    pub(super) fips: bool,
    pub(super) chrony: Option<String>,
}

impl Joining {
    /// The file that describes the cluster to the service of a host.
    pub(super) fn file(&self) -> File {
        let endpoint = self.ignition.as_ref();
        let endpoint = endpoint.map(|(url, ca)| json!({"url": url, "ca_certificate": ca}));
        let content = json!({
            "name": self.name,
            "api_vip_dnsname": self.api,
            "openshift_cluster_id": self.id,
            "openshift_version": self.version,
            "user_managed_networking": self.user_managed_networking,
            "ignition_endpoint": endpoint,
        });
        File::secret(JOIN_FILE, format!("{content:#}\n"))
    }
}

/// Reads and validates `nodes-config.yaml` against the cluster.
///
/// # Errors
/// All that is wrong with it, at once.
pub fn plan_joining(
    running: &Running,
    config: &str,
    seed: [u8; 32],
    now: Timestamp,
) -> Result<Planned, AgentError> {
    let wrong = |text: String| AgentError::File(format!("{NODES_CONFIG}: {text}"));
    let own = Own::of(config).map_err(wrong)?;
    let around = agent_config::Around {
        cluster: None,
        network_faults: &network_faults,
        purpose: agent_config::Purpose::Cluster,
    };
    let loaded = agent_config::load_with(NODES_CONFIG, own.rest.as_bytes(), &around);
    let findings = |reports| AgentError::Findings {
        reports,
        is_unparsable: false,
    };
    let loaded = loaded.map_err(|report| findings(vec![report]))?;
    let (mut agent, mut reports) = (loaded.config, vec![loaded.report]);
    let mut notes = Vec::new();
    for host in &mut agent.hosts {
        if !matches!(host.role, None | Some(HostRole::Worker)) {
            let name = &host.hostname;
            notes.push(format!(
                "host {name:?} becomes a worker, whatever its role says"
            ));
        }
        host.role = Some(HostRole::Worker);
    }
    check_hosts(&agent.hosts, running).map_err(wrong)?;
    let architecture = own.architecture.unwrap_or(running.architecture.clone());
    let architecture = rpm_architecture(&architecture);
    check_cluster(running, &architecture).map_err(AgentError::File)?;

    let name = running.api.split('.').nth(1).unwrap_or_default().to_owned();
    let install = InstallConfig {
        metadata: Metadata {
            name: name.clone(),
            namespace: NAMESPACE.to_owned(),
            ..Metadata::default()
        },
        pull_secret: running.pull_secret.clone(),
        ssh_key: own.ssh_key.unwrap_or(running.ssh_key.clone()),
        proxy: running.proxy.clone(),
        additional_trust_bundle: running.trust.clone(),
        image_digest_sources: running.mirrors.clone(),
        ..InstallConfig::default()
    };
    let mut manifests = derive::manifests(&install, Some(&agent), &agent.hosts, &running.release);
    manifests.agent_cluster_install = None;
    manifests.cluster_deployment = None;
    if let Some(infra_env) = &mut manifests.infra_env {
        infra_env.spec.cpu_architecture = architecture;
    }
    let rendered = cluster_manifests::render(&manifests).into_iter();
    let rendered = rendered
        .map(|(name, text)| (name, text.into_bytes()))
        .collect();
    let expected = Expected {
        purpose: Purpose::AddNodes,
        release_image: Some(&running.release.image),
        network_faults: &network_faults,
    };
    let checked = cluster_manifests::load(&rendered, &expected).map_err(findings)?;
    reports.extend(checked.reports);
    reports.retain(|report| !report.findings().is_empty());
    // For the agent of the host; others reach it at an address that is not known yet.
    let rendezvous = IpAddr::V4(Ipv4Addr::LOCALHOST);
    Ok(Planned {
        manifests: checked.manifests,
        hosts: agent.hosts.clone(),
        agent_config: Some(agent),
        fencing: Vec::new(),
        rendezvous,
        mirrors: Mirrors::of(Some(&install)),
        extra_manifests: Default::default(),
        state: State {
            seed,
            created: now,
            release: running.release.clone(),
            inputs: Default::default(),
            rendezvous: Some(rendezvous),
            service_authority: String::new(),
            tokens_expire: Some((now + LASTS).as_second()),
        },
        reports,
        notes,
        used: Vec::new(),
        joining: Some(Joining {
            id: running.id,
            name,
            api: running.api.clone(),
            version: running.release.version.clone(),
            user_managed_networking: matches!(&*running.platform, "none" | "external"),
            ignition: running.ignition.clone(),
            fips: running.fips,
            chrony: running.chrony.clone(),
        }),
    })
}

fn check_hosts(hosts: &[Host], running: &Running) -> Result<(), String> {
    if hosts.is_empty() {
        return Err(
            "`hosts` is empty; name at least one host with one of its hardware addresses"
                .to_owned(),
        );
    }
    let taken = |text: &str| {
        running
            .nodes
            .iter()
            .any(|one| one.eq_ignore_ascii_case(text))
    };
    for host in hosts {
        if taken(&host.hostname) {
            return Err(format!(
                "the cluster has a node with the name or address {}; choose another host name, or \
                 remove that node first",
                host.hostname
            ));
        }
        if let Some(address) = host.addresses().find(|ip| taken(&ip.to_string())) {
            return Err(format!(
                "the address {address} of host {:?} is that of a node of the cluster; choose \
                 another one",
                host.hostname
            ));
        }
    }
    Ok(())
}

fn check_cluster(running: &Running, architecture: &str) -> Result<(), String> {
    let platform = &*running.platform;
    if !PLATFORMS.contains(&platform) {
        return Err(format!(
            "nodes of platform {platform} are made by the cluster itself; hosts can be added on {}",
            PLATFORMS.join(", ")
        ));
    }
    if matches!(architecture.parse(), Ok(Arch::Ppc64le | Arch::S390x)) && platform != "none" {
        return Err(format!(
            "hosts with {architecture} can be added to clusters of platform none only, and this \
             one has platform {platform}"
        ));
    }
    if running.ignition.is_none() && platform != "none" && platform != "external" {
        return Err(
            "the cluster does not say where workers fetch their config: Secret \
             openshift-machine-api/worker-user-data-managed is missing or empty"
                .to_owned(),
        );
    }
    Ok(())
}

/// What `nodes-config.yaml` has beyond an agent-config.
struct Own {
    architecture: Option<String>,
    ssh_key: Option<String>,
    /// The same text as an agent-config. Lines stay where they are, so that messages name the right
    /// ones.
    rest: String,
}

impl Own {
    /// Members at the top that an agent-config does not have, or that have to be others there.
    const TAKEN_OUT: &[&str] = &[
        "apiVersion",
        "kind",
        "metadata",
        "cpuArchitecture",
        "sshKey",
    ];

    fn of(text: &str) -> Result<Self, String> {
        let value: Value = serde_yaml_ng::from_str(text).map_err(|cause| cause.to_string())?;
        let word = |name: &str| -> Result<Option<String>, String> {
            match value.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.trim().to_owned())),
                Some(_) => Err(format!("`{name}` is not a text")),
            }
        };
        let (architecture, ssh_key) = (word("cpuArchitecture")?, word("sshKey")?);
        let mut rest = match text.trim_start().starts_with('{') {
            // One value in braces has no lines of its own.
            true => {
                let mut value = value;
                if let Some(fields) = value.as_object_mut() {
                    fields.retain(|name, _| !Self::TAKEN_OUT.contains(&name.as_str()));
                }
                yaml::text(&value)
            }
            false => without(text, Self::TAKEN_OUT),
        };
        rest.push_str("\napiVersion: v1beta1\nkind: AgentConfig\nmetadata: {name: nodes}\n");
        Ok(Self {
            architecture,
            ssh_key,
            rest,
        })
    }
}

/// Replaces members at the top of a YAML document by empty lines.
fn without(text: &str, names: &[&str]) -> String {
    let mut inside = false;
    let lines = text.lines().map(|line| {
        let continues = line.starts_with([' ', '\t', '#', '-']) || line.trim().is_empty();
        if !continues {
            let name = line.split(':').next().unwrap_or_default();
            inside = names.contains(&name.trim_matches(['"', '\'']));
        }
        match inside {
            true => "",
            false => line,
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_based::{Secrets, ignition, planned::host_files};

    fn running() -> Running {
        Running {
            id: Uuid::from_u128(0xc),
            api: "api.lab.example.org".to_owned(),
            release: Release {
                version: "4.20.1".to_owned(),
                image: "quay.io/x/release@sha256:00".to_owned(),
            },
            platform: "baremetal".to_owned(),
            architecture: "amd64".to_owned(),
            pull_secret: Secret::new(r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#),
            ssh_key: "ssh-ed25519 AAAA of-the-cluster".to_owned(),
            chrony: Some("server 192.0.2.1 iburst\n".to_owned()),
            ignition: Some((
                "https://api-int.lab.example.org:22623/config".to_owned(),
                "Q0E=".to_owned(),
            )),
            nodes: vec!["master-0".to_owned(), "192.0.2.10".to_owned()],
            ..Running::default()
        }
    }

    fn planned(text: &str) -> Result<Planned, AgentError> {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        plan_joining(&running(), text, [7; 32], now)
    }

    const HOST: &str = "hosts:\n- hostname: worker-5\n  role: master\n  interfaces:\n  - {name: eth0, \
                        macAddress: '52:54:00:00:00:05'}\n";

    #[test]
    fn an_image_knows_its_cluster_and_holds_no_key_of_it() {
        let planned = planned(HOST).unwrap();
        assert_eq!(planned.notes.len(), 1, "{:?}", planned.notes);
        let secrets = Secrets::for_joining(&planned).unwrap();
        let config = ignition(&planned, &secrets).unwrap().to_text();
        let config: Value = serde_json::from_str(&config).unwrap();
        let files = config["storage"]["files"].as_array().unwrap();
        let has = |name: &str| files.iter().any(|file| file["path"] == name);
        assert!(has("/etc/assisted/add-nodes.json") && has("/etc/chrony.conf"));
        assert!(has("/etc/assisted/hostconfig/worker-5/mac_addresses"));
        assert!(!has("/opt/agent/tls/cluster-seed.json"));
        assert!(!has("/etc/assisted/manifests/cluster-deployment.yaml"));
        let tls = files.iter().filter(|file| {
            file["path"]
                .as_str()
                .is_some_and(|path| path.starts_with("/opt/agent/tls/"))
        });
        assert_eq!(tls.count(), 3, "only the service's own");
        let core = &config["passwd"]["users"][0];
        assert!(core["passwordHash"].is_null());
        assert_eq!(
            core["sshAuthorizedKeys"][0],
            "ssh-ed25519 AAAA of-the-cluster"
        );
        assert_eq!(planned.file_prefix(), "node");
        let described: Value =
            serde_json::from_slice(&planned.joining.unwrap().file().content).unwrap();
        assert_eq!(described["api_vip_dnsname"], "api.lab.example.org");
        assert_eq!(described["user_managed_networking"], false);
    }

    #[test]
    fn its_service_knows_the_release_and_asks_for_no_names_of_applications() {
        let planned = planned(HOST).unwrap();
        let secrets = Secrets::for_joining(&planned).unwrap();
        let files = host_files(&planned, &secrets).unwrap();
        let mut files = files.into_iter();
        let settings = files.find(|file| file.path.ends_with("/assisted-service.env"));
        let settings = settings.unwrap().text();
        let disabled = "DISABLED_HOST_VALIDATIONS=apps-domain-name-resolved-correctly\n";
        assert!(settings.contains(disabled), "{settings}");
        assert!(
            settings.contains("quay.io/x/release@sha256:00"),
            "{settings}"
        );
    }

    #[test]
    fn a_config_has_its_own_key_and_messages_name_its_lines() {
        let text = format!(
            "apiVersion: v1\ncpuArchitecture: arm64\nsshKey: |\n  ssh-ed25519 BBBB mine\n{HOST}"
        );
        let found = planned(&text).unwrap();
        assert_eq!(found.architecture(), "aarch64");
        let infra_env = found.manifests.infra_env.unwrap();
        assert_eq!(infra_env.spec.ssh_authorized_key, "ssh-ed25519 BBBB mine");
        let wrong = format!("sshKey: x\n{HOST}  colour: red\n");
        let Err(AgentError::Findings { reports, .. }) = planned(&wrong) else {
            panic!("accepted");
        };
        let report = reports[0].to_string();
        assert!(
            report.contains("nodes-config.yaml") && report.contains(":7"),
            "{report}"
        );
    }

    #[test]
    fn hosts_that_cannot_join_are_refused_with_the_reason() {
        let taken = HOST.replace("worker-5", "master-0");
        let network = format!(
            "{HOST}  networkConfig:\n    interfaces:\n    - {{name: eth0, type: ethernet, state: up, \
             ipv4: {{enabled: true, address: [{{ip: 192.0.2.10, prefix-length: 24}}]}}}}\n"
        );
        let power = format!("cpuArchitecture: ppc64le\n{HOST}");
        for (text, expected) in [
            ("hosts: []\n", "`hosts` is empty"),
            (&taken, "has a node with the name"),
            (&network, "the address 192.0.2.10"),
            (&power, "platform none only"),
            ("[", "nodes-config.yaml: "),
        ] {
            let error = planned(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
