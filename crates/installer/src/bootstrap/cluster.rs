//! What the bootstrap host waits for until the cluster stands on its own.

use std::time::Duration;

use muster_api::requests::{self, ListClusterHostsOptions};
use muster_machine::{Machine, Task};
use muster_model::HostStage;
use serde_json::Value;
use tracing::{info, warn};

use super::{KUBECONFIG, Look, POLL, controller_logs};
use crate::{
    cluster_nodes::{self, SeenNode},
    error::InstallError,
    node::Node,
    proxies,
};

const DONE: &str = "/opt/openshift/.bootkube.done";
/// Nodes that disagree for longer cost a reboot more, and no installation.
const MACHINE_CONFIG_LIMIT: Duration = Duration::from_secs(30 * 60);
/// An API that lists nodes, but no configs for so long, does not have that kind.
const UNKNOWN_KIND: Duration = Duration::from_secs(60);
/// How often it is asked who started the installation.
const INVOKER_ATTEMPTS: usize = 3;
/// The event by which the controller says that it runs.
const CONTROLLER_READY: &str = "AssistedControllerIsReady";

impl Node {
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
            match self.unit_state("progress.service").await.as_str() {
                "inactive" => Ok(Look::Done),
                _ => Ok(Look::Waiting(format!(
                    "waiting for the cluster to run etcd and the API on its own: {}",
                    self.last_line("progress.service").await
                ))),
            }
        })
        .await
    }

    /// Waits for enough other control-plane nodes.
    pub(crate) async fn wait_for_nodes(&self) -> Result<(), InstallError> {
        self.wait(HostStage::WaitingForControlPlane, async || {
            let (nodes, config) = match self.look_at_cluster().await {
                Ok(found) => found,
                Err(cause) => {
                    return Ok(Look::Waiting(format!(
                        "the API does not answer yet: {cause}"
                    )));
                }
            };
            self.untaint(&nodes, &config).await;
            let missing = cluster_nodes::needed(&config).missing(&SeenNode::all(&nodes));
            match missing {
                None => Ok(Look::Done),
                Some(what) => Ok(Look::Waiting(what)),
            }
        })
        .await
    }

    /// Waits until the controller runs in the cluster. Its logs are sent meanwhile.
    pub(crate) async fn wait_for_controller(&self) -> Result<(), InstallError> {
        let mut sent = tokio::time::Instant::now();
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
            if ready {
                return Ok(Look::Done);
            }
            if sent.elapsed() > controller_logs::INTERVAL {
                self.send_controller_logs().await;
                sent = tokio::time::Instant::now();
            }
            Ok(Look::Waiting(self.controller_pod().await))
        })
        .await?;
        self.send_last_controller_logs().await;
        Ok(())
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
            match self.task(proxies::past(task)).await {
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

    /// The hosts with their inventories, which hold the addresses that they are known by in logs.
    pub(super) async fn cluster_hosts(&self) -> Option<Vec<Value>> {
        let options = ListClusterHostsOptions {
            with_inventory: Some(true),
            ..ListClusterHostsOptions::default()
        };
        let request = requests::list_cluster_hosts(self.options.cluster_id, &options);
        self.client.fetch(&request.answered_as()).await.ok()
    }
}
