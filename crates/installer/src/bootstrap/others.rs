//! What the bootstrap host reports for hosts that cannot report it themselves: that they fetched their
//! config, and that they joined.
//!
//! Others may be further than this host, which still writes its disk, so this begins with the control
//! plane and goes on beside the steps until the installation ends.

use std::time::Duration;

use muster_api::{client::ClientError, requests, wire::HostProgress};
use muster_machine::Machine;
use muster_model::HostStage;
use serde_json::Value;
use tracing::{debug, info, warn};
use uuid::Uuid;

use crate::{
    cluster_nodes::{Reported, SeenNode},
    node::Node,
};

const CONTAINER_LOGS: &str = "/var/log/containers";
/// Between two looks. The machine has a control plane to run.
const PAUSE: Duration = Duration::from_secs(10);

impl Node {
    /// Reports for other hosts, without end.
    pub(crate) async fn report_for_others(self) {
        let mut reported = Reported::default();
        loop {
            if let Some(hosts) = self.cluster_hosts().await {
                let mut news = self.configuring(&hosts, &mut reported);
                news.extend(self.joined(&hosts, &mut reported).await);
                for (host, stage) in news {
                    self.report_for(&hosts, host, stage, &mut reported).await;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Hosts whose request for their config is in the log of the config server.
    fn configuring(&self, hosts: &[Value], reported: &mut Reported) -> Vec<(Uuid, HostStage)> {
        let machine: &dyn Machine = &*self.machine;
        let logs = machine
            .names(CONTAINER_LOGS)
            .into_iter()
            .filter(|name| name.contains("machine-config-server") && name.ends_with(".log"));
        // A server that was started again has a new one.
        logs.filter_map(|name| machine.text(format!("{CONTAINER_LOGS}/{name}")))
            .flat_map(|log| reported.configuring(&log, hosts, self.options.host_id))
            .collect()
    }

    /// Hosts whose nodes are ready.
    async fn joined(&self, hosts: &[Value], reported: &mut Reported) -> Vec<(Uuid, HostStage)> {
        match self.oc(&["get", "nodes"]).await {
            Ok(nodes) => reported.joined(&SeenNode::all(&nodes), hosts, self.options.host_id),
            Err(cause) => {
                debug!(%cause, "the API lists no nodes yet");
                Vec::new()
            }
        }
    }

    async fn report_for(
        &self,
        hosts: &[Value],
        host: Uuid,
        stage: HostStage,
        reported: &mut Reported,
    ) {
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
            Err(cause) if is_refusal(&cause) => {
                warn!(%host, %stage, %cause, "the service refuses a report for another host");
            }
            Err(cause) => {
                warn!(%host, %stage, %cause, "a report for another host could not be delivered, retrying");
                reported.forget(host, stage);
            }
        }
    }
}

/// Whether the service has an opinion about the report, and not trouble of its own.
fn is_refusal(cause: &ClientError) -> bool {
    cause
        .status()
        .is_some_and(|status| status.is_client_error())
}
