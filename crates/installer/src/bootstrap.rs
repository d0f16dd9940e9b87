//! The temporary control plane: started on the bootstrap host, watched until the cluster stands
//! on its own.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use muster_api::{
    requests::{self, DownloadClusterFilesFileName, GetClusterOptions, ListClusterHostsOptions},
    wire::HostProgress,
};
use muster_ignition::{Config, file};
use muster_machine::{Machine, Task};
use muster_model::HostStage;
use serde_json::{Value, json};
use tracing::{info, warn};
use uuid::Uuid;

use crate::{
    apply,
    cluster_nodes::{self, SeenNode},
    controller_manifests,
    error::InstallError,
    node::Node,
    options::Role,
    tasks::run,
};

const ASSETS: &str = "/opt/openshift";
const DONE: &str = "/opt/openshift/.bootkube.done";
/// What a single node becomes, made by its own bootstrap.
const IN_PLACE: &str = "/opt/openshift/master.ign";
const KUBECONFIG: &str = "/opt/openshift/auth/kubeconfig";
/// Names whose certificate requests the bootstrap host may approve.
const KNOWN_NODES: &str = "/opt/openshift/known-nodes";
const REGISTRY_AUTH: &str = "/root/.docker/config.json";
const CONTAINER_LOGS: &str = "/var/log/containers";
const SSH_KEY: &str = "/root/.ssh/id_rsa";
/// In the order they are started.
const SERVICES: &[&str] = &[
    "bootkube.service",
    "approve-csr.service",
    "progress.service",
];
/// Bring `oc` and the kubelet onto a live image that has none.
const NODE_IMAGE: &[&str] = &["node-image-pull.service", "node-image-overlay.service"];
const POLL: Duration = Duration::from_secs(5);
/// A reason to wait is shown for so long at least.
const SHOWN: Duration = Duration::from_secs(30);
/// Longer than any limit of the service, which gives up first and says so.
const LONGEST_WAIT: Duration = Duration::from_secs(4 * 3600);
/// Nodes that disagree for longer cost a reboot more, and no installation.
const MACHINE_CONFIG_LIMIT: Duration = Duration::from_secs(30 * 60);
/// An API that lists nodes, but no configs for so long, does not have that kind.
const UNKNOWN_KIND: Duration = Duration::from_secs(60);
/// How often it is asked who started the installation.
const INVOKER_ATTEMPTS: usize = 3;
/// The event by which the controller says that it runs.
const CONTROLLER_READY: &str = "AssistedControllerIsReady";

/// What a look at a condition found.
enum Look {
    Done,
    /// Not yet; what is waited for.
    Waiting(String),
}

/// The reason to wait that the service shows. Services keep each as an event, and some reasons
/// change with every look.
#[derive(Debug, Default)]
struct Shown {
    last: Option<(String, Duration)>,
}

impl Shown {
    fn is_due(&mut self, reason: &str, now: Duration) -> bool {
        let is_shown = |(last, at): &(String, Duration)| last == reason || now < *at + SHOWN;
        if self.last.as_ref().is_some_and(is_shown) {
            return false;
        }
        self.last = Some((reason.to_owned(), now));
        true
    }
}

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
        self.blocking(move |machine| apply::apply(machine, &config))
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

    async fn bring_node_image(&self) -> Result<(), InstallError> {
        let start = Task::new("systemctl", "bring the node image of the release")
            .args(["start", "--no-block"])
            .args(NODE_IMAGE.iter().copied());
        self.task(start).await?;
        for unit in NODE_IMAGE {
            self.wait(HostStage::StartingInstallation, async || {
                let state = Task::new("systemctl", "look at a unit").args([
                    "show",
                    "--property=ActiveState",
                    "--value",
                    unit,
                ]);
                let state = self.program(state).await?;
                match state.out().trim() {
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

    /// Waits until `bootkube.sh` is through.
    pub(crate) async fn wait_for_bootkube(&self) -> Result<(), InstallError> {
        self.wait(HostStage::WaitingForBootkube, async || {
            if (&*self.machine as &dyn Machine).exists(DONE) {
                return Ok(Look::Done);
            }
            let line = self.last_line("bootkube.service").await;
            Ok(Look::Waiting(format!("bootkube: {line}")))
        })
        .await
    }

    /// Waits until the cluster has taken over etcd: the unit that reports it has ended.
    pub(crate) async fn wait_for_etcd(&self) -> Result<(), InstallError> {
        self.wait(HostStage::WaitingForBootkube, async || {
            let ask = Task::new("systemctl", "see whether the cluster runs on its own").args([
                "show",
                "--property=ActiveState",
                "--value",
                "progress.service",
            ]);
            let state = self.program(ask).await?;
            match state.out().trim() {
                "inactive" => Ok(Look::Done),
                _ => Ok(Look::Waiting(format!(
                    "waiting for the cluster to run etcd and the API on its own: {}",
                    self.last_line("progress.service").await
                ))),
            }
        })
        .await
    }

    /// Waits for enough other control-plane nodes, and reports for them what they cannot report
    /// themselves: that they fetched their config, and that they joined.
    pub(crate) async fn wait_for_nodes(&self) -> Result<(), InstallError> {
        let mut reported = cluster_nodes::Reported::default();
        self.wait(HostStage::WaitingForControlPlane, async || {
            let hosts = self.cluster_hosts().await.unwrap_or_default();
            self.report_configuring(&hosts, &mut reported).await;
            let (nodes, config) = match self.look_at_cluster().await {
                Ok(found) => found,
                Err(cause) => {
                    return Ok(Look::Waiting(format!(
                        "the API does not answer yet: {cause}"
                    )));
                }
            };
            self.untaint(&nodes, &config).await;
            let nodes = SeenNode::all(&nodes);
            for (host, stage) in reported.joined(&nodes, &hosts, self.options.host_id) {
                self.report_for(&hosts, host, stage).await;
            }
            let needed = cluster_nodes::needed(&config);
            let missing = needed.missing(&nodes);
            match missing {
                None => Ok(Look::Done),
                Some(what) => Ok(Look::Waiting(what)),
            }
        })
        .await
    }

    /// Waits until the controller runs in the cluster.
    pub(crate) async fn wait_for_controller(&self) -> Result<(), InstallError> {
        self.wait(HostStage::WaitingForController, async || {
            let events = self
                .oc(&["get", "events", "--namespace", "assisted-installer"])
                .await;
            let events = match events {
                Ok(events) => events,
                Err(cause) => {
                    return Ok(Look::Waiting(format!("the API does not answer: {cause}")));
                }
            };
            let ready = events["items"].as_array().is_some_and(|items| {
                items
                    .iter()
                    .any(|event| event["metadata"]["name"] == CONTROLLER_READY)
            });
            match ready {
                true => Ok(Look::Done),
                false => Ok(Look::Waiting(self.controller_pod().await)),
            }
        })
        .await
    }

    /// In an agent-based installation the service goes away with this host, so workers that still
    /// need it are waited for.
    pub(crate) async fn wait_for_workers(&self) -> Result<(), InstallError> {
        if !self.is_agent_based().await {
            return Ok(());
        }
        self.wait(HostStage::WaitingForController, async || {
            Ok(match self.cluster_hosts().await {
                None => Look::Waiting("the service does not list its hosts".to_owned()),
                Some(hosts) => match cluster_nodes::dependent_workers(&hosts) {
                    names if names.is_empty() => Look::Done,
                    names => Look::Waiting(format!(
                        "workers still need the service on this host: {}",
                        names.join(", ")
                    )),
                },
            })
        })
        .await
    }

    /// Who started the installation is in the cluster; where that cannot be read, it was not the
    /// agent-based installer.
    async fn is_agent_based(&self) -> bool {
        for _ in 0..INVOKER_ATTEMPTS {
            let words = [
                "get",
                "configmap",
                "openshift-install-manifests",
                "--namespace",
                "openshift-config",
            ];
            match self.oc(&words).await {
                Ok(map) => return map["data"]["invoker"] == "agent-installer",
                Err(cause) => info!(%cause, "the invoker of the installation is not known"),
            }
            tokio::time::sleep(POLL).await;
        }
        false
    }

    /// Waits until all control-plane nodes are to have the same config: one that this host fetched
    /// in between would be replaced at once. A cluster whose API has no such configs is not waited
    /// for.
    pub(crate) async fn wait_for_machine_configs(&self) -> Result<(), InstallError> {
        let began = tokio::time::Instant::now();
        let stage = HostStage::WaitingForController;
        self.wait_at_most(MACHINE_CONFIG_LIMIT, stage, async || {
            let nodes = match self.oc(&["get", "nodes"]).await {
                Ok(nodes) => nodes,
                Err(cause) => {
                    return Ok(Look::Waiting(format!("the API does not answer: {cause}")));
                }
            };
            let known = match self.oc(&["get", "machineconfigs"]).await {
                Ok(known) => known,
                Err(cause) if began.elapsed() > UNKNOWN_KIND => {
                    return Err(InstallError::part("the API lists no MachineConfigs")(cause));
                }
                Err(cause) => {
                    return Ok(Look::Waiting(format!(
                        "the API lists no MachineConfigs: {cause}"
                    )));
                }
            };
            Ok(match cluster_nodes::unsettled(&nodes, &known) {
                None => Look::Done,
                Some(what) => Look::Waiting(what),
            })
        })
        .await
    }

    /// Takes the taint of a missing cloud provider off nodes that wait for it: on these platforms it
    /// is not configured during an assisted installation.
    async fn untaint(&self, nodes: &Value, config: &Value) {
        let version = &self.options.openshift_version;
        if !cluster_nodes::has_unconfigured_provider(config) {
            return;
        }
        let tainted = cluster_nodes::tainted(nodes);
        if tainted.is_empty()
            || cluster_nodes::has_credentials(config, version) && self.is_agent_based().await
        {
            return;
        }
        for (node, patch) in tainted {
            let task = Task::new(
                "oc",
                "take the taint of a missing cloud provider off a node",
            )
            .args(["patch", "node", &node, "--type=json"])
            .arg(format!("--patch={patch}"))
            .arg(format!("--kubeconfig={KUBECONFIG}"));
            match self.task(task).await {
                Ok(()) => info!(node, "taint of the missing cloud provider removed"),
                Err(cause) => warn!(node, %cause, "taint not removed, retrying"),
            }
        }
    }

    async fn controller_pod(&self) -> String {
        let pods = self
            .oc(&["get", "pods", "--namespace", "assisted-installer"])
            .await
            .unwrap_or_default();
        let pod = &pods["items"][0];
        match pod["status"]["phase"].as_str() {
            None => "the controller has no pod yet".to_owned(),
            Some(phase) => format!(
                "the pod of the controller is {phase}: {}",
                cluster_nodes::pod_reason(pod)
            ),
        }
    }

    /// Puts what the bootstrap made of a single node together with the config of this host.
    pub(crate) async fn merge_in_place(&self, host_config: &Path) -> Result<PathBuf, InstallError> {
        let read = |path: &Path| -> Result<Config, InstallError> {
            let bytes = self.machine.read(path).map_err(InstallError::file(format!(
                "{} cannot be read",
                path.display()
            )))?;
            Config::read(&String::from_utf8_lossy(&bytes)).map_err(|faults| {
                InstallError::Unusable(format!("{} is not usable: {faults}", path.display()))
            })
        };
        let made = read(Path::new(IN_PLACE))?;
        // The host's config points to the config server of a running cluster; everything that
        // server would answer is in what the bootstrap made.
        let mut own = read(host_config)?.json().clone();
        if let Some(ignition) = own["ignition"].as_object_mut() {
            ignition.remove("config");
        }
        let own =
            Config::from_json(&own).map_err(|faults| InstallError::unusable(faults.to_string()))?;
        let whole = made.with(own).map_err(|faults| {
            InstallError::Unusable(format!("the configs cannot be merged: {faults}"))
        })?;
        let path = PathBuf::from(IN_PLACE);
        self.machine
            .write(&path, whole.to_text().as_bytes(), 0o600)
            .map_err(InstallError::file(format!(
                "{} cannot be written",
                path.display()
            )))?;
        Ok(path)
    }

    /// The host's config with this program in it, for the controller that will run on the node.
    pub(crate) fn with_program(&self, text: String) -> Result<String, InstallError> {
        let is_control_plane = matches!(self.options.role, Role::Bootstrap | Role::Master);
        if !is_control_plane || !controller_manifests::brings_its_program(&self.options) {
            return Ok(text);
        }
        let Some(program) = &self.program else {
            return Ok(text);
        };
        let bytes = self
            .machine
            .read(program)
            .map_err(InstallError::file(format!(
                "{} cannot be read",
                program.display()
            )))?;
        let bad = |cause: serde_json::Error| InstallError::unusable(cause.to_string());
        let mut config: Value = serde_json::from_str(&text).map_err(bad)?;
        let entry = file::packed(controller_manifests::PROGRAM_ON_NODES, 0o755, &bytes);
        let mut entry = serde_json::to_value(entry).map_err(bad)?;
        entry["overwrite"] = json!(true);
        match config["storage"]["files"].as_array_mut() {
            Some(files) => files.push(entry),
            None => config["storage"]["files"] = json!([entry]),
        }
        Ok(config.to_string())
    }

    /// Looks again and again; the service shows the reason to wait.
    async fn wait(
        &self,
        stage: HostStage,
        look: impl AsyncFnMut() -> Result<Look, InstallError>,
    ) -> Result<(), InstallError> {
        self.wait_at_most(LONGEST_WAIT, stage, look).await
    }

    async fn wait_at_most(
        &self,
        limit: Duration,
        stage: HostStage,
        mut look: impl AsyncFnMut() -> Result<Look, InstallError>,
    ) -> Result<(), InstallError> {
        let began = tokio::time::Instant::now();
        let mut shown = Shown::default();
        loop {
            let reason = match look().await? {
                Look::Done => return Ok(()),
                Look::Waiting(reason) => reason,
            };
            if began.elapsed() > limit {
                return Err(InstallError::TimedOut {
                    what: "gave up",
                    limit,
                    missing: reason,
                });
            }
            if shown.is_due(&reason, began.elapsed()) {
                info!(%stage, reason, "waiting");
                self.progress.report(stage, reason);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn look_at_cluster(&self) -> Result<(Value, Value), InstallError> {
        let config = self
            .oc(&[
                "get",
                "configmap",
                "cluster-config-v1",
                "--namespace",
                "kube-system",
            ])
            .await?;
        let nodes = self.oc(&["get", "nodes"]).await?;
        Ok((nodes, config))
    }

    async fn oc(&self, words: &[&str]) -> Result<Value, InstallError> {
        let task = Task::new("oc", "look at the new cluster")
            .args(words.iter().copied())
            .args(["--output=json", "--request-timeout=20s"])
            .arg(format!("--kubeconfig={KUBECONFIG}"))
            .keep(32 << 20)
            .deadline(Duration::from_secs(60));
        let finished = self.program(task).await?;
        serde_json::from_str(&finished.out())
            .map_err(|cause| InstallError::Unusable(format!("oc did not answer in JSON: {cause}")))
    }

    /// The hosts with their inventories, which hold the addresses that they are known by in logs.
    async fn cluster_hosts(&self) -> Option<Vec<Value>> {
        let options = ListClusterHostsOptions {
            with_inventory: Some(true),
            ..ListClusterHostsOptions::default()
        };
        let request = requests::list_cluster_hosts(self.options.cluster_id, &options);
        self.client.fetch(&request.answered_as()).await.ok()
    }

    /// Leaves the names of the cluster's nodes to the script that approves certificate requests, so
    /// that it lets in no machine the service does not know.
    async fn write_known_nodes(&self) -> Result<(), InstallError> {
        let options = GetClusterOptions::default();
        let request = requests::get_cluster(self.options.cluster_id, &options);
        let request = request.answered_as::<Value>();
        let what = "the hosts of the cluster";
        let cluster = self
            .fetch(what, HostStage::StartingInstallation, async || {
                self.client.fetch(&request).await
            })
            .await?;
        let names = cluster_nodes::names(&cluster).join("\n");
        if names.is_empty() {
            warn!("the service names no hosts; every certificate request is approved here");
            return Ok(());
        }
        self.machine
            .write(
                Path::new(KNOWN_NODES),
                format!("{names}\n").as_bytes(),
                0o600,
            )
            .map_err(InstallError::file(format!(
                "{KNOWN_NODES} cannot be written"
            )))
    }

    /// Hosts whose request for their config is in the log of the config server.
    async fn report_configuring(&self, hosts: &[Value], reported: &mut cluster_nodes::Reported) {
        let machine: &dyn Machine = &*self.machine;
        let Some(log) = machine
            .names(CONTAINER_LOGS)
            .into_iter()
            .filter(|name| name.contains("machine-config-server") && name.ends_with(".log"))
            .find_map(|name| machine.text(format!("{CONTAINER_LOGS}/{name}")))
        else {
            return;
        };
        for (host, stage) in reported.configuring(&log, hosts, self.options.host_id) {
            self.report_for(hosts, host, stage).await;
        }
    }

    async fn report_for(&self, hosts: &[Value], host: Uuid, stage: HostStage) {
        let infra_env = hosts
            .iter()
            .find(|known| known["id"] == host.to_string())
            .and_then(|known| known["infra_env_id"].as_str()?.parse().ok())
            .unwrap_or_default();
        let body = HostProgress {
            current_stage: Some(stage.as_str().to_owned()),
            progress_info: Some(String::new()),
        };
        let request = requests::update_host_install_progress(infra_env, host, &body);
        match self.client.send(&request).await {
            Ok(()) => info!(%host, %stage, "reported for another host"),
            // Another program may have reported it already.
            Err(cause) => {
                warn!(%host, %stage, %cause, "the service refuses a report for another host")
            }
        }
    }

    async fn last_line(&self, unit: &str) -> String {
        let ask = Task::new("journalctl", "see what a unit said last").args([
            "--unit",
            unit,
            "--lines=40",
            "--output=cat",
            "--no-pager",
        ]);
        let said = self.program(ask).await;
        let said = said.map(|finished| finished.out()).unwrap_or_default();
        last_telling(&said)
            .unwrap_or("it has said nothing yet")
            .to_owned()
    }
}

/// The last line that is neither one of podman's own records of what containers do nor one of systemd's
/// accounts of a unit that has ended.
fn last_telling(said: &str) -> Option<&str> {
    let is_record = |line: &str| {
        line.contains(" m=+") && line.contains(" UTC ")
            || line.contains(".service: Consumed ")
            || line.ends_with(".service: Deactivated successfully.")
    };
    said.lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty() && !is_record(line))
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
    fn reasons_that_change_with_every_look_are_shown_now_and_then() {
        let mut shown = Shown::default();
        let at = Duration::from_secs;
        assert!(shown.is_due("one image", at(0)));
        assert!(!shown.is_due("two images", at(5)));
        assert!(!shown.is_due("three images", at(25)));
        assert!(shown.is_due("four images", at(30)));
        assert!(!shown.is_due("four images", at(90)));
        assert!(shown.is_due("five images", at(95)));
    }

    #[test]
    fn what_a_script_said_last_is_not_hidden_behind_records_of_podman() {
        let said = "== etcd-bootstrap\n2026-11-17 01:37:47.6 +0000 UTC m=+3.8 container died 53c\n\
             progress.service: Deactivated successfully.\n\
             progress.service: Consumed 23.584s CPU time.\n\n";
        assert_eq!(last_telling(said), Some("== etcd-bootstrap"));
        assert_eq!(last_telling("\n"), None);
    }

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
