//! Files of the image, by path without the leading slash.

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_documents::cluster_manifests::{self, ClusterManifests, Proxy};
use muster_model::{HostNetwork, MacInterface};
use serde_json::json;

use super::{
    AgentError, Joining, Planned, Secrets, release_images::release_images, state::service_url,
};
use crate::{
    file::File,
    static_network::{self, NetworkFault, carried},
};

/// Requirements of hosts, as the reference has them for this way of installing; larger disks where a
/// registry inside the cluster holds the release.
fn requirements(internal_registry: bool) -> String {
    let disk = if internal_registry { 220 } else { 100 };
    json!([{
        "version": "default",
        "master": {
            "cpu_cores": 4, "ram_mib": 16384, "disk_size_gb": disk,
            "installation_disk_speed_threshold_ms": 10,
            "network_latency_threshold_ms": 100, "packet_loss_percentage": 0,
        },
        "arbiter": {
            "cpu_cores": 2, "ram_mib": 8192, "disk_size_gb": 50,
            "installation_disk_speed_threshold_ms": 10,
            "network_latency_threshold_ms": 1000, "packet_loss_percentage": 0,
        },
        "worker": {
            "cpu_cores": 2, "ram_mib": 8192, "disk_size_gb": 100,
            "installation_disk_speed_threshold_ms": 10,
            "network_latency_threshold_ms": 1000, "packet_loss_percentage": 10,
        },
        "sno": {
            "cpu_cores": 4, "ram_mib": 16384, "disk_size_gb": disk,
            "installation_disk_speed_threshold_ms": 10,
        },
    }])
    .to_string()
}

/// A cluster that runs has its applications where it chose to have them: a host that joins it does not
/// need their names.
const NOT_FOR_JOINING: &str = "apps-domain-name-resolved-correctly";

/// Everything that hosts get but programs and units.
///
/// # Errors
/// A network cannot be written as profiles; validation has looked at it before. The version of the
/// release is none.
pub fn files(planned: &Planned, secrets: &Secrets) -> Result<Vec<File>, AgentError> {
    let mut files = common(planned)?;
    files.push(File::secret(
        "etc/assisted/rendezvous-host.env",
        settings(planned),
    ));
    for (name, text) in cluster_manifests::render(&planned.manifests) {
        let path = format!("etc/assisted/manifests/{name}");
        files.push(File::secret(path, text));
    }
    if let Some(text) = planned.state.inputs.get(super::AGENT_CONFIG) {
        let path = "etc/assisted/manifests/agent-config.yaml";
        files.push(File::secret(path, text.as_str()));
    }
    files.extend(super::hosts::files(&planned.hosts, &planned.fencing));
    files.extend(planned.joining.as_ref().map(Joining::file));
    for (name, text) in &planned.extra_manifests {
        let path = format!("etc/assisted/extra-manifests/{name}");
        files.push(File::public(path, text.as_str()));
    }
    files.extend(network_files(&planned.manifests)?);
    files.extend(trust(planned));
    files.extend(keys(planned, secrets));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// The profiles of all hosts and the script that picks one's own.
pub(super) fn network_files(manifests: &ClusterManifests) -> Result<Vec<File>, NetworkFault> {
    let networks = networks(manifests);
    if networks.is_empty() {
        return Ok(Vec::new());
    }
    let mut files: Vec<File> = carried(&networks)?
        .into_iter()
        .map(|file| File::secret(file.path.trim_start_matches('/'), file.text))
        .collect();
    let path = static_network::SCRIPT_PATH.trim_start_matches('/');
    files.push(File::with_mode(path, static_network::SCRIPT, 0o755));
    Ok(files)
}

/// The networks of hosts, in the order of their folders.
#[must_use]
pub fn networks(manifests: &ClusterManifests) -> Vec<HostNetwork> {
    let mut networks: Vec<HostNetwork> = manifests
        .nm_state_configs
        .iter()
        .map(|object| {
            let cards = object.spec.interfaces.iter();
            let cards: Vec<(&str, &str)> = cards
                .map(|card| (&*card.name, &*card.mac_address))
                .collect();
            host_network(&object.spec.config, &cards)
        })
        .collect();
    networks.sort_by(|a, b| {
        let key = |host: &HostNetwork| (host.network_yaml.clone(), host.mac_interface_map.clone());
        key(a).cmp(&key(b))
    });
    networks
}

/// Files that do not depend on the cluster, or hardly.
fn common(planned: &Planned) -> Result<Vec<File>, AgentError> {
    let deployment = planned.manifests.cluster_deployment.as_ref();
    let name = deployment.map(|deployment| {
        let spec = &deployment.spec;
        format!(" for {}.{}", spec.cluster_name, spec.base_domain)
    });
    let requirements_of = |role: fn(&cluster_manifests::ProvisionRequirements) -> u32| {
        let install = planned.manifests.agent_cluster_install.as_ref();
        install.map_or(0, |install| role(&install.spec.provision_requirements))
    };
    let start = format!(
        "REQUIRED_MASTER_NODES={}\nREQUIRED_ARBITER_NODES={}\nREQUIRED_WORKER_NODES={}\n",
        requirements_of(|all| all.control_plane_agents),
        requirements_of(|all| all.arbiter_agents),
        requirements_of(|all| all.worker_agents),
    );
    let purpose = match &planned.joining {
        Some(joining) => format!("Image for a node of {}", joining.name),
        None => format!(
            "Image of an agent-based installation{}",
            name.unwrap_or_default()
        ),
    };
    let image = &planned.state.release.image;
    let mut files = of_live_system(image, &purpose, planned.proxy().as_ref());
    files.push(File::public(
        "usr/local/share/start-cluster/start-cluster.env",
        start,
    ));
    files.push(File::secret(
        "usr/local/share/assisted-service/assisted-service.env",
        service_settings(planned)?,
    ));
    Ok(files)
}

/// Files of every live system, also of one whose cluster is not known yet.
pub(super) fn of_live_system(release: &str, purpose: &str, proxy: Option<&Proxy>) -> Vec<File> {
    vec![
        File::secret(
            "etc/assisted/agent-installer.env",
            format!("RELEASE_IMAGE={release}\n"),
        ),
        File::public("etc/issue", format!("\\S\n{purpose}\n\n")),
        File::public("etc/motd.d/10-agent-installer", include_str!("assets/motd")),
        File::public(
            "etc/multipath.conf",
            include_str!("../discovery/assets/multipath.conf"),
        ),
        File::public(
            "etc/NetworkManager/conf.d/clientid.conf",
            "[connection]\nipv6.dhcp-duid=ll\nipv6.dhcp-iaid=mac\n",
        ),
        File::with_mode(
            "usr/local/bin/oci-eval-user-data.sh",
            include_str!("../discovery/assets/oci-eval-user-data.sh"),
            0o755,
        ),
        File::public(
            "etc/systemd/system.conf.d/10-default-env.conf",
            default_environment(proxy),
        ),
    ]
}

/// What every unit on a host reads.
fn settings(planned: &Planned) -> String {
    let (tokens, ids) = (planned.state.tokens(), planned.state.ids());
    let url = service_url(planned.rendezvous);
    let (workflow, cluster) = match &planned.joining {
        Some(joining) => ("addnodes", joining.id),
        None => ("install", ids.cluster),
    };
    let expiry = match planned.state.tokens_expire {
        Some(second) => format!("AUTH_TOKEN_EXPIRY={second}\n"),
        None => String::new(),
    };
    format!(
        "# Where the hosts of this installation meet.\n\
         NODE_ZERO_IP={}\n\
         SERVICE_BASE_URL={url}\n\
         PULL_SECRET_TOKEN={}\n\
         USER_AUTH_TOKEN={}\n\
         WORKFLOW_TYPE={workflow}\n\
         CLUSTER_ID={cluster}\n\
         INFRA_ENV_ID={}\n\
         {expiry}",
        planned.rendezvous, tokens.agent, tokens.user, ids.infra_env,
    )
}

/// Settings of the service, by the names of the reference.
fn service_settings(planned: &Planned) -> Result<String, AgentError> {
    let (tokens, ids) = (planned.state.tokens(), planned.state.ids());
    let internal = planned.has_internal_registry();
    let mirror = planned.mirrors.release_mirror(&planned.state.release.image);
    let disabled = match planned.joining {
        Some(_) => NOT_FOR_JOINING,
        None => "",
    };
    let mut text = format!(
        "AUTH_TYPE=agent-installer-local\n\
         EC_PUBLIC_KEY_PEM={}\n\
         USER_AUTH_TOKEN={}\n\
         WATCHER_AUTH_TOKEN={}\n\
         INFRA_ENV_ID={}\n\
         INSTALL_INVOKER=agent-installer\n\
         HW_VALIDATOR_REQUIREMENTS={}\n\
         NTP_DEFAULT_SERVER=\n\
         PUBLIC_CONTAINER_REGISTRIES={}\n\
         RELEASE_IMAGES={}\n\
         HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT=90m\n\
         DISABLED_HOST_VALIDATIONS={disabled}\n",
        tokens.public_key,
        tokens.user,
        tokens.watcher,
        ids.infra_env,
        requirements(internal),
        planned.mirrors.public_registries(),
        release_images(&planned.state.release, planned.architecture())?,
    );
    if let Some(mirror) = mirror {
        text.push_str(&format!(
            "OPENSHIFT_INSTALL_RELEASE_IMAGE_MIRROR={mirror}\n"
        ));
    }
    Ok(text)
}

/// The proxy for everything that systemd starts.
fn default_environment(proxy: Option<&Proxy>) -> String {
    let Some(proxy) = proxy else {
        return String::new();
    };
    let mut text = String::from("[Manager]\n");
    for (name, value) in [
        ("HTTP_PROXY", proxy.http_proxy.replace('%', "%%")),
        ("HTTPS_PROXY", proxy.https_proxy.replace('%', "%%")),
        ("NO_PROXY", proxy.no_proxy.clone()),
    ] {
        if !value.is_empty() {
            text.push_str(&format!("DefaultEnvironment={name}=\"{value}\"\n"));
        }
    }
    text
}

/// Mirrors, certificates, credentials and time.
fn trust(planned: &Planned) -> Vec<File> {
    let mut files = vec![File::public(
        "etc/containers/registries.conf",
        planned.mirrors.registries_conf.as_str(),
    )];
    if !planned.mirrors.ca_bundle.is_empty() {
        files.push(File::public(
            "etc/pki/ca-trust/source/anchors/domain.crt",
            planned.mirrors.ca_bundle.as_str(),
        ));
    }
    if let Some(secret) = &planned.manifests.pull_secret {
        files.push(File::secret(
            "root/.docker/config.json",
            secret.string_data.docker_config.reveal(),
        ));
    }
    let infra_env = planned.manifests.infra_env.as_ref();
    let sources = infra_env.map_or(&[][..], |infra_env| {
        &infra_env.spec.additional_ntp_sources[..]
    });
    let chrony = planned.joining.as_ref();
    if let Some(chrony) = chrony.and_then(|joining| joining.chrony.as_deref()) {
        files.push(File::public("etc/chrony.conf", chrony));
    } else if !sources.is_empty() {
        let mut text: String = sources
            .iter()
            .map(|source| format!("server {source} iburst\n"))
            .collect();
        text.push_str(
            "driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n",
        );
        files.push(File::public("etc/chrony.conf", text));
    }
    files
}

/// TLS of the service, the seed of the cluster's keys, and the signers it gives.
fn keys(planned: &Planned, secrets: &Secrets) -> Vec<File> {
    let tls = |name: &str, content: &str| File::secret(format!("opt/agent/tls/{name}"), content);
    let seed = json!({
        "seed": STANDARD.encode(planned.state.seed),
        "created": planned.state.created.to_string(),
    });
    let mut files = vec![
        File::public(
            "opt/agent/tls/service-ca.crt",
            secrets.service.authority.as_str(),
        ),
        tls("service.crt", &secrets.service.certificate),
        tls("service.key", &secrets.service.key),
    ];
    if planned.joining.is_some() {
        return files;
    }
    files.push(tls("cluster-seed.json", &format!("{seed}\n")));
    files.push(tls("kubeadmin-password.hash", &secrets.kubeadmin.hash));
    for (name, issued) in secrets
        .pki
        .issued()
        .filter(|(name, _)| name.ends_with("-signer"))
    {
        files.push(tls(&format!("{name}.crt"), &issued.file_pem));
        files.push(tls(&format!("{name}.key"), &issued.key_pem));
    }
    files
}

/// A network as the generator of profiles takes it.
#[must_use]
pub fn host_network(config: &serde_json::Value, cards: &[(&str, &str)]) -> HostNetwork {
    let mut map: Vec<MacInterface> = cards
        .iter()
        .map(|(name, mac)| MacInterface {
            mac_address: mac.replace('-', ":").to_uppercase(),
            logical_nic_name: (*name).to_owned(),
        })
        .collect();
    map.sort();
    HostNetwork {
        network_yaml: muster_documents::yaml::text(config),
        mac_interface_map: map,
    }
}
