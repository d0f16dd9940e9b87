//! The logs of the controller, which the bootstrap host sends while it waits for it: a controller that
//! does not get ready may not be able to send its own.

use std::{io, time::Duration};

use flate2::{Compression, write::GzEncoder};
use muster_api::{
    client::ClientError,
    requests::{self, UploadLogsLogsType, UploadLogsOptions},
    wire::LogsProgressParams,
};
use muster_machine::Task;
use tracing::info;

use super::KUBECONFIG;
use crate::{error::InstallError, node::Node, proxies};

/// Between two uploads.
pub(super) const INTERVAL: Duration = Duration::from_secs(5 * 60);
/// For one; nothing else is waited for meanwhile.
const UPLOAD_LIMIT: Duration = Duration::from_secs(60);
/// The end of a log is what explains a failure.
const LONGEST: usize = 16 << 20;
const ENTRY: &str = "assisted-installer-controller.logs";

impl Node {
    /// Sends what the controller has logged within the last hour. A failure is only logged: the wait is
    /// what matters.
    pub(super) async fn send_controller_logs(&self) {
        let sent = match self.controller_logs().await {
            Ok(log) if log.is_empty() => return,
            Ok(log) => self.upload_controller_logs(&log).await,
            Err(cause) => Err(cause.to_string()),
        };
        match sent {
            Ok(()) => info!("logs of the controller sent"),
            Err(cause) => info!(cause, "logs of the controller not sent"),
        }
    }

    /// Lets the service expect logs of the cluster, and sends those of the controller.
    pub(super) async fn send_last_controller_logs(&self) {
        let body = LogsProgressParams {
            logs_state: Some("requested".to_owned()),
        };
        let request = requests::update_cluster_logs_progress(self.options.cluster_id, &body);
        if let Err(cause) = self.client.send(&request).await {
            info!(%cause, "state of the cluster's logs not delivered");
        }
        self.send_controller_logs().await;
    }

    async fn controller_logs(&self) -> Result<Vec<u8>, InstallError> {
        let task = Task::new("oc", "read the logs of the controller")
            .args(["logs", "--namespace=assisted-installer"])
            .args(["--selector=job-name=assisted-installer-controller"])
            // With a selector only ten lines are the default.
            .args(["--tail=-1", "--since=3600s", "--request-timeout=20s"])
            .arg(format!("--kubeconfig={KUBECONFIG}"))
            .keep(LONGEST);
        Ok(self.program(proxies::past(task)).await?.stdout)
    }

    async fn upload_controller_logs(&self, log: &[u8]) -> Result<(), String> {
        let archive = archive(log).map_err(|cause| cause.to_string())?;
        let options = UploadLogsOptions::default();
        let kind = UploadLogsLogsType::Controller;
        let upload = requests::upload_logs(self.options.cluster_id, kind, &options);
        let sent = self
            .client
            .upload_file(&upload, "controller_logs.tar.gz", &archive);
        let sent = tokio::time::timeout(UPLOAD_LIMIT, sent).await;
        sent.unwrap_or(Err(ClientError::Silent(UPLOAD_LIMIT)))
            .map_err(|cause| cause.to_string())
    }
}

/// One file as `tar.gz`.
fn archive(log: &[u8]) -> io::Result<Vec<u8>> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut header = tar::Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(log.len() as u64);
    builder.append_data(&mut header, ENTRY, log)?;
    builder.into_inner()?.finish()
}
