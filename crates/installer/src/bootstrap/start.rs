//! Brings the temporary control plane up on the bootstrap host.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use muster_api::requests::{
    self, DownloadClusterFilesFileName, GetClusterOptions, ListClusterHostsOptions,
};
use muster_ignition::Config;
use muster_machine::{Machine, Task};
use muster_model::HostStage;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Look;
use crate::{
    apply, cluster_nodes, controller_manifests, error::InstallError, node::Node, tasks::run,
};

const ASSETS: &str = "/opt/openshift";
/// Names and addresses whose certificate requests the bootstrap host may approve.
pub(super) const KNOWN_NODES: &str = "/opt/openshift/known-nodes";
const REGISTRY_AUTH: &str = "/root/.docker/config.json";
const SSH_KEY: &str = "/root/.ssh/id_rsa";
/// In the order they are started.
const SERVICES: &[&str] = &[
    "bootkube.service",
    "approve-csr.service",
    "progress.service",
];
/// Bring `oc` and the kubelet onto a live image that has none.
const NODE_IMAGE: &[&str] = &["node-image-pull.service", "node-image-overlay.service"];

impl Node {
    /// Fetches the config of the temporary control plane and applies it to the live system.
    pub(crate) async fn apply_bootstrap(&self) -> Result<(), InstallError> {
        let request = requests::download_cluster_files(
            self.options.cluster_id,
            DownloadClusterFilesFileName::BootstrapIgn,
        );
        let what = "the config of the bootstrap";
        let text = self
            .fetch(what, HostStage::StartingInstallation, async || {
                self.client.fetch_text(&request).await
            })
            .await?;
        let config = Config::read(&text).map_err(|faults| {
            InstallError::Unusable(format!(
                "the config of the bootstrap is not usable: {faults}"
            ))
        })?;
        match config.file(REGISTRY_AUTH) {
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => {
                return Err(InstallError::Unusable(format!(
                    "the config of the bootstrap has no {REGISTRY_AUTH}, so no image could be pulled"
                )));
            }
        }
        let what = "applying the config of the bootstrap";
        self.attempts(HostStage::StartingInstallation, what, || {
            let config = config.clone();
            self.blocking(move |machine| apply::apply(machine, &config))
        })
        .await
    }

    /// Starts the temporary control plane. Starting it again changes nothing.
    pub(crate) async fn start_bootstrap(&self, single: bool) -> Result<(), InstallError> {
        let token = self.token.clone();
        let options = self.options.clone();
        self.blocking(move |machine| {
            if !single {
                offer_ssh_access(machine)?;
            }
            let folder = PathBuf::from(format!("{ASSETS}/manifests"));
            let what = "the manifests of the controller";
            machine
                .make_directory(&folder, 0o755)
                .map_err(InstallError::file(what))?;
            for (name, text) in controller_manifests::manifests(&options, &token) {
                let file = folder.join(name);
                machine
                    .write(&file, text.as_bytes(), 0o600)
                    .map_err(InstallError::file(what))?;
            }
            set_hostname(machine)?;
            if !single {
                // Its dispatcher puts the addresses of the cluster into resolv.conf.
                systemctl(machine, &["restart", "NetworkManager.service"])?;
            }
            Ok(())
        })
        .await?;
        self.write_known_nodes().await?;
        if !(&*self.machine as &dyn Machine).exists("/usr/bin/oc") {
            self.bring_node_image().await?;
        }
        for service in SERVICES {
            self.task(Task::new("systemctl", "start the control plane").args([
                "start",
                "--no-block",
                service,
            ]))
            .await?;
        }
        Ok(())
    }

    pub(crate) async fn bring_node_image(&self) -> Result<(), InstallError> {
        let start = Task::new("systemctl", "bring the node image of the release")
            .args(["start", "--no-block"])
            .args(NODE_IMAGE.iter().copied());
        self.task(start).await?;
        for unit in NODE_IMAGE {
            self.wait(HostStage::StartingInstallation, async || {
                match self.unit_state(unit).await.as_str() {
                    "active" => Ok(Look::Done),
                    "failed" => Err(InstallError::Unusable(format!(
                        "{unit} failed: {}",
                        self.last_line(unit).await
                    ))),
                    other => Ok(Look::Waiting(format!("{unit} is {other}"))),
                }
            })
            .await?;
        }
        Ok(())
    }

    /// Leaves the names and addresses of the cluster's nodes to the script that approves certificate
    /// requests, so that it lets in no machine the service does not know.
    async fn write_known_nodes(&self) -> Result<(), InstallError> {
        let stage = HostStage::StartingInstallation;
        let without_hosts = GetClusterOptions {
            exclude_hosts: Some(true),
            ..GetClusterOptions::default()
        };
        let request = requests::get_cluster(self.options.cluster_id, &without_hosts);
        let request = request.answered_as::<Value>();
        let cluster = self
            .fetch("the name of the cluster", stage, async || {
                self.client.fetch(&request).await
            })
            .await?;
        let with_inventory = ListClusterHostsOptions {
            with_inventory: Some(true),
            ..ListClusterHostsOptions::default()
        };
        let request = requests::list_cluster_hosts(self.options.cluster_id, &with_inventory);
        let request = request.answered_as::<Vec<Value>>();
        let hosts = self
            .fetch("the hosts of the cluster", stage, async || {
                self.client.fetch(&request).await
            })
            .await?;
        let known = cluster_nodes::identities(&cluster, &hosts).join("\n");
        if known.is_empty() {
            // The script would let in every machine.
            return Err(InstallError::unusable(
                "the service names none of the cluster's hosts, so certificate requests could not be \
                 distinguished from those of strangers",
            ));
        }
        self.machine
            .write(
                Path::new(KNOWN_NODES),
                format!("{known}\n").as_bytes(),
                0o600,
            )
            .map_err(InstallError::file(format!(
                "{KNOWN_NODES} cannot be written"
            )))
    }
}

/// Lets the bootstrap host log in to the other control-plane nodes, to gather their logs.
fn offer_ssh_access(machine: &dyn Machine) -> Result<(), InstallError> {
    if !machine.exists(SSH_KEY) {
        machine
            .make_directory(Path::new("/root/.ssh"), 0o700)
            .map_err(InstallError::file("/root/.ssh cannot be created"))?;
        let make = Task::new("ssh-keygen", "make a key for gathering logs")
            .args(["-q", "-t", "rsa", "-N", "", "-f", SSH_KEY])
            .deadline(Duration::from_secs(300));
        run(machine, &make)?;
    }
    let key = machine
        .text(format!("{SSH_KEY}.pub"))
        .ok_or_else(|| InstallError::Unusable(format!("{SSH_KEY}.pub cannot be read")))?;
    let name = "99-assisted-installer-master-ssh";
    let object = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfig",
        "metadata": {
            "name": name,
            "labels": {"machineconfiguration.openshift.io/role": "master"},
        },
        "spec": {"config": {
            "ignition": {"version": "3.1.0"},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [key]}]},
        }},
    });
    let folder = PathBuf::from(format!("{ASSETS}/openshift"));
    let file = folder.join(format!("99_openshift-machineconfig_{name}.yaml"));
    machine
        .make_directory(&folder, 0o755)
        .and_then(|()| machine.write(&file, format!("{object:#}\n").as_bytes(), 0o644))
        .map_err(InstallError::file(format!(
            "{} cannot be written",
            file.display()
        )))
}

/// NetworkManager rewrites resolv.conf of hosts without a proper name.
fn set_hostname(machine: &dyn Machine) -> Result<(), InstallError> {
    if is_proper(&machine.kernel().hostname) {
        return Ok(());
    }
    let name = format!("random-hostname-{}", Uuid::new_v4());
    let set = Task::new("hostnamectl", "give this machine a name").args(["set-hostname", &name]);
    run(machine, &set)?;
    Ok(())
}

fn is_proper(hostname: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = |c: char| alphanumeric(c) || matches!(c, '-' | '.');
    hostname != "localhost"
        && (2..=63).contains(&hostname.len())
        && hostname.chars().all(inner)
        && hostname.starts_with(alphanumeric)
        && hostname.ends_with(alphanumeric)
}

fn systemctl(machine: &dyn Machine, words: &[&str]) -> Result<(), InstallError> {
    let task = Task::new("systemctl", "start the control plane").args(words.iter().copied());
    run(machine, &task)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_the_network_manager_would_replace_are_not_proper() {
        for (name, proper) in [
            ("master-0", true),
            ("a.example.com", true),
            ("localhost", false),
            ("Master", false),
            ("-a", false),
            ("", false),
        ] {
            assert_eq!(is_proper(name), proper, "{name}");
        }
    }
}
