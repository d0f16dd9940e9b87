//! Images whose cluster is not known yet, and the configuration that is brought to them later.

use std::collections::BTreeMap;

use muster_documents::{
    agent_config,
    cluster_manifests::{self, Expected, Purpose},
};
use muster_ignition::{Builder, Config, Version, file, unit, user};

use super::{
    AGENT_CONFIG, AgentError, Planned, Request, Secrets, derive, inputs::Effective, network_faults,
    planned::host_files, state::service_url, units::units,
};
use crate::file::File;

/// Paths that a configuration image brings: those that contain one of these. The settings come last,
/// because hosts begin when they appear.
const BROUGHT: &[&str] = &[
    "etc/assisted/manifests/",
    "etc/assisted/add-nodes.json",
    "etc/assisted/extra-manifests",
    "etc/assisted/hostconfig",
    "etc/assisted/hostnames",
    "etc/assisted/network",
    "etc/NetworkManager/conf.d/clientid.conf",
    "etc/issue",
    "etc/systemd/system.conf.d/10-default-env.conf",
    "root/.docker/config.json",
    "usr/local/share/start-cluster/start-cluster.env",
    "usr/local/share/assisted-service/assisted-service.env",
    "opt/agent/tls/",
    "etc/containers/registries.conf",
    "etc/pki/ca-trust/source/anchors/domain.crt",
    "etc/chrony.conf",
    "etc/assisted/rendezvous-host.env",
];

/// The files of a configuration image, in the order in which hosts apply them.
///
/// # Errors
/// A network cannot be written as profiles.
pub fn config_files(planned: &Planned, secrets: &Secrets) -> Result<Vec<File>, AgentError> {
    let all = host_files(planned, secrets)?;
    let place = |file: &File| BROUGHT.iter().position(|part| file.path.starts_with(part));
    let mut files: Vec<File> = all
        .into_iter()
        .filter(|file| place(file).is_some())
        .collect();
    files.sort_by_key(place);
    Ok(files)
}

/// The Ignition config of an image whose cluster is not known: it waits for a configuration image.
///
/// # Errors
/// What is wrong with the inputs.
pub fn unconfigured(request: &Request<'_>) -> Result<Config, AgentError> {
    let Effective { inputs, .. } = Effective::of(request)?;
    let release = request.release.clone().ok_or(AgentError::NoRelease)?;
    let mut reports = Vec::new();
    let mut agent = None;
    if let Some(text) = inputs.get(AGENT_CONFIG) {
        let around = agent_config::Around {
            cluster: None,
            network_faults: &network_faults,
            purpose: agent_config::Purpose::Unconfigured,
        };
        match agent_config::load_with(AGENT_CONFIG, text.as_bytes(), &around) {
            Ok(loaded) => agent = Some(loaded.config),
            Err(report) => reports.push(report),
        }
    }
    let files: BTreeMap<String, Vec<u8>> = inputs
        .iter()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("cluster-manifests/")?;
            Some((name.to_owned(), text.clone().into_bytes()))
        })
        .collect();
    let expected = Expected {
        purpose: Purpose::Unconfigured,
        release_image: Some(&release.image),
        network_faults: &network_faults,
    };
    let mut manifests = match cluster_manifests::load(&files, &expected) {
        Ok(loaded) => loaded.manifests,
        Err(found) => {
            reports.extend(found);
            return Err(AgentError::Findings {
                reports,
                is_unparsable: false,
            });
        }
    };
    if !reports.is_empty() {
        return Err(AgentError::Findings {
            reports,
            is_unparsable: false,
        });
    }
    let image_set = derive::image_set(&release, "");
    manifests.cluster_image_set.get_or_insert(image_set);

    let mut builder = Builder::new(Version::V3_2);
    let keys = manifests.infra_env.as_ref();
    let keys = keys.map_or("", |infra_env| &infra_env.spec.ssh_authorized_key);
    if !keys.trim().is_empty() {
        builder.user(user::with_keys("core", keys.lines()));
    }
    let mut put = |path: &str, mode: u32, text: &str| {
        builder.file(file::text(path, mode, text));
    };
    for (name, text) in cluster_manifests::render(&manifests) {
        put(&format!("/etc/assisted/manifests/{name}"), 0o600, &text);
    }
    if let Some(ip) = agent.and_then(|agent| agent.rendezvous_ip) {
        let url = service_url(ip);
        let text = format!("NODE_ZERO_IP={ip}\nSERVICE_BASE_URL={url}\nWORKFLOW_TYPE=install\n");
        put("/etc/assisted/rendezvous-host.env", 0o600, &text);
    }
    if let Some(secret) = &manifests.pull_secret {
        let text = secret.string_data.docker_config.reveal();
        put("/root/.docker/config.json", 0o600, text);
    }
    let rule = include_str!("assets/80-agent-config-image.rules");
    put("/etc/udev/rules.d/80-agent-config-image.rules", 0o644, rule);
    let script = include_str!("assets/load-config-iso.sh");
    put("/usr/local/bin/load-config-iso.sh", 0o755, script);
    let multipath = include_str!("../discovery/assets/multipath.conf");
    put("/etc/multipath.conf", 0o644, multipath);
    let oracle = include_str!("../discovery/assets/oci-eval-user-data.sh");
    put("/usr/local/bin/oci-eval-user-data.sh", 0o755, oracle);
    let network = crate::static_network::SCRIPT;
    put(crate::static_network::SCRIPT_PATH, 0o755, network);
    for unit in units(false) {
        builder.unit(unit);
    }
    let loader = include_str!("assets/load-config-iso@.service");
    builder.unit(unit::passive("load-config-iso@.service", loader));
    let wrong = |faults: muster_ignition::Faults| AgentError::File(faults.to_string());
    builder.finish().map_err(wrong)
}
