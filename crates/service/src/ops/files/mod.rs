//! Files of a cluster: what the installation generates, and the way into the new cluster.

mod flow;
mod generate;
mod kubeconfig;
mod links;
mod placeholders;
pub mod places;

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_catalog::BuiltinOperator;
use muster_model::{Cluster, ClusterId, ClusterStatus};

pub use flow::{Outlet, produced};
pub use generate::{
    delete_generated, finish_kubeconfig, generate, generate_for_host, host_ignition_of,
};
pub use links::{presign, presign_credentials};
pub use places::{controller_logs, generated, host_logs};

use crate::{
    app::{App, Shared, blob_failure},
    http::{Call, Reply},
};

/// Who asked for the installation when the agent-based installer runs this service.
const AGENT_INSTALLER: &str = "agent-installer";

/// `GET /v2/clusters/{cluster_id}/downloads/files`.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let name = call.args.text("file_name").unwrap_or_default();
    let cluster = app.cluster(call.cluster_id()).await?;
    require_files(&cluster, name)?;
    send(&app, cluster.id, name)
        .await?
        .ok_or_else(|| not_there(cluster.id, name))
}

/// `GET /v2/clusters/{cluster_id}/downloads/credentials`. A kubeconfig that is not there yet
/// is answered with the one that knows no ingress, under that name.
pub async fn download_credentials(app: Shared, call: Call) -> Result<Reply, Failure> {
    let mut name = call.args.text("file_name").unwrap_or_default();
    let cluster = app.cluster(call.cluster_id()).await?;
    let early = app.config.cluster.install_invoker == AGENT_INSTALLER;
    if name == places::KUBECONFIG {
        if has_kubeconfig(cluster.status)
            && let Some(reply) = send(&app, cluster.id, name).await?
        {
            return Ok(reply);
        }
        name = places::KUBECONFIG_NOINGRESS;
    }
    if !(early && hands_out_early(cluster.status)) {
        require_files(&cluster, name)?;
    }
    if let Some(reply) = send(&app, cluster.id, name).await? {
        return Ok(reply);
    }
    if early {
        generate(&app, cluster.id).await?;
    }
    send(&app, cluster.id, name)
        .await?
        .ok_or_else(|| not_there(cluster.id, name))
}

/// `GET /v2/clusters/{cluster_id}/credentials`.
pub async fn credentials(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    let early = app.config.cluster.install_invoker == AGENT_INSTALLER;
    let console = console_of(&cluster);
    if console == Console::Pending && !early {
        return Err(Failure::conflict(format!(
            "the console of cluster {} does not answer yet (cluster status {}); credentials are \
             shown once it does",
            cluster.id, cluster.status
        )));
    }
    let path = generated(cluster.id, places::PASSWORD)?;
    let password = app.blobs.get(&path).await.map_err(blob_failure)?;
    let password = password.ok_or_else(|| not_there(cluster.id, places::PASSWORD))?;
    let console_url = (console != Console::Absent).then(|| {
        let domain = cluster.base_dns_domain.as_deref().unwrap_or("");
        format!(
            "https://console-openshift-console.apps.{}.{domain}",
            cluster.name
        )
    });
    let shown = wire::Credentials {
        username: Some("kubeadmin".to_owned()),
        password: Some(String::from_utf8_lossy(&password).into_owned()),
        console_url,
    };
    Reply::json(StatusCode::OK, &shown)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Console {
    /// It will never be there.
    Absent,
    Pending,
    Ready,
}

fn console_of(cluster: &Cluster) -> Console {
    let name = BuiltinOperator::Console.as_str();
    match cluster
        .monitored_operators
        .iter()
        .flatten()
        .find(|operator| operator.name == name)
    {
        None => Console::Absent,
        Some(operator) if operator.status.as_deref() == Some("available") => Console::Ready,
        Some(_) => Console::Pending,
    }
}

const fn has_kubeconfig(status: ClusterStatus) -> bool {
    use ClusterStatus::*;
    match status {
        Finalizing | Installed | Error | AddingHosts | Cancelled | InstallingPendingUserAction => {
            true
        }
        Insufficient
        | Ready
        | PreparingForInstallation
        | PendingForInput
        | Installing
        | Unmonitored => false,
    }
}

/// The agent-based installer wants the credentials before the service goes away with its host.
const fn hands_out_early(status: ClusterStatus) -> bool {
    use ClusterStatus::*;
    match status {
        Ready | PreparingForInstallation => true,
        Insufficient
        | Error
        | PendingForInput
        | Installing
        | Finalizing
        | Installed
        | AddingHosts
        | Cancelled
        | InstallingPendingUserAction
        | Unmonitored => false,
    }
}

/// Refuses while the files of the cluster may not be handed out.
pub(super) fn require_files(cluster: &Cluster, name: &str) -> Result<(), Failure> {
    if cluster.status.has_files() {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "file {name} of cluster {} is handed out once its installation has begun; its status is {}",
        cluster.id, cluster.status
    )))
}

/// 409 for a file that was not made; clients of this operation expect no 404 here.
fn not_there(cluster: ClusterId, name: &str) -> Failure {
    Failure::conflict(format!("file {name} of cluster {cluster} does not exist"))
}

/// A generated file as a download, if there is such a file.
pub async fn send(app: &App, cluster: ClusterId, name: &str) -> Result<Option<Reply>, Failure> {
    let path = generated(cluster, name)?;
    let found = app.blobs.stream(&path).await.map_err(blob_failure)?;
    Ok(found.map(|(size, pieces)| {
        let chunks = produced(|out| async move { out.copy(size, pieces).await });
        Reply::stream(name, chunks, Some(size))
    }))
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterKind, Timestamp};

    use super::*;

    #[test]
    fn the_final_kubeconfig_needs_a_cluster_that_came_as_far_as_finalizing() {
        let open: Vec<_> = ClusterStatus::ALL
            .iter()
            .filter(|status| has_kubeconfig(**status))
            .map(|status| status.as_str())
            .collect();
        assert_eq!(
            open,
            [
                "error",
                "finalizing",
                "installed",
                "adding-hosts",
                "cancelled",
                "installing-pending-user-action"
            ]
        );
    }

    #[test]
    fn a_console_nobody_watches_has_no_address_and_blocks_nothing() {
        let id = ClusterId(uuid::Uuid::from_u128(1));
        let status = ClusterStatus::Installed;
        let cluster = Cluster::blank(id, ClusterKind::Cluster, "c", status, "a", Timestamp(0));
        assert_eq!(console_of(&cluster), Console::Absent);
    }
}
