//! Files of a cluster: what the installation generates, and the credentials of the new cluster.

mod generate;
mod kubeconfig;
mod links;
mod placeholders;
pub mod places;

use std::{fmt, sync::Arc};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt as _};
use muster_api::wire;
use muster_catalog::BuiltinOperator;
use muster_model::{Cluster, ClusterId, ClusterStatus};
use muster_store::BlobError;

pub use generate::{
    delete_generated, finish_kubeconfig, generate, generate_for_host, host_ignition_of,
};
pub use links::{link_to_credentials, link_to_generated, link_to_logs, link_to_manifest};
pub use places::{controller_logs, generated, host_logs, logs};

use crate::{App, Error};

/// Who asked for the installation when the agent-based installer runs this service.
const AGENT_INSTALLER: &str = "agent-installer";

/// A generated file of a cluster.
pub async fn download(app: &App, id: ClusterId, name: &str) -> Result<StoredFile, Error> {
    let cluster = app.cluster(id).await?;
    require_files(&cluster, name)?;
    open(app, cluster.id, name)
        .await?
        .ok_or_else(|| not_there(cluster.id, name))
}

/// A file that opens the cluster. A kubeconfig that is not there yet is answered with the one
/// that knows no ingress, under that name.
pub async fn download_credentials(
    app: &Arc<App>,
    id: ClusterId,
    mut name: &str,
) -> Result<StoredFile, Error> {
    let cluster = app.cluster(id).await?;
    let early = app.config.cluster.install_invoker == AGENT_INSTALLER;
    if name == places::KUBECONFIG {
        if has_kubeconfig(cluster.status)
            && let Some(file) = open(app, cluster.id, name).await?
        {
            return Ok(file);
        }
        name = places::KUBECONFIG_NOINGRESS;
    }
    if !(early && hands_out_early(cluster.status)) {
        require_files(&cluster, name)?;
    }
    if let Some(file) = open(app, cluster.id, name).await? {
        return Ok(file);
    }
    if early {
        generate(app, cluster.id).await?;
    }
    open(app, cluster.id, name)
        .await?
        .ok_or_else(|| not_there(cluster.id, name))
}

/// User, password and console of the cluster.
pub async fn credentials(app: &App, id: ClusterId) -> Result<wire::Credentials, Error> {
    let cluster = app.cluster(id).await?;
    let early = app.config.cluster.install_invoker == AGENT_INSTALLER;
    let console = console_of(&cluster);
    if console == Console::Pending && !early {
        return Err(Error::conflict(format!(
            "the console of cluster {} does not answer yet (cluster status {}); credentials are \
             shown once it does",
            cluster.id, cluster.status
        )));
    }
    let path = generated(cluster.id, places::PASSWORD)?;
    let password = app.blobs.get(&path).await?;
    let password = password.ok_or_else(|| not_there(cluster.id, places::PASSWORD))?;
    let console_url = (console != Console::Absent).then(|| {
        let domain = cluster.base_dns_domain.as_deref().unwrap_or("");
        format!(
            "https://console-openshift-console.apps.{}.{domain}",
            cluster.name
        )
    });
    Ok(wire::Credentials {
        username: Some("kubeadmin".to_owned()),
        password: Some(String::from_utf8_lossy(&password).into_owned()),
        console_url,
    })
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
pub(super) fn require_files(cluster: &Cluster, name: &str) -> Result<(), Error> {
    if cluster.status.has_files() {
        return Ok(());
    }
    Err(Error::conflict(format!(
        "file {name} of cluster {} is available once its installation has begun; its status is {}",
        cluster.id, cluster.status
    )))
}

/// A file that was not made; a conflict, because clients of these operations expect it.
fn not_there(cluster: ClusterId, name: &str) -> Error {
    Error::conflict(format!("file {name} of cluster {cluster} does not exist"))
}

/// A stored file on its way out.
pub struct StoredFile {
    /// What it is called.
    pub name: String,
    /// Its length.
    pub size: u64,
    /// Its content.
    pub pieces: BoxStream<'static, Result<Bytes, BlobError>>,
}

impl fmt::Debug for StoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredFile")
            .field("name", &self.name)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

/// A generated file, if there is such a file.
async fn open(app: &App, cluster: ClusterId, name: &str) -> Result<Option<StoredFile>, Error> {
    let found = app.blobs.stream(&generated(cluster, name)?).await?;
    Ok(found.map(|(size, pieces)| StoredFile {
        name: name.to_owned(),
        size,
        pieces: pieces.boxed(),
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
    fn an_unmonitored_console_has_no_address_and_blocks_nothing() {
        let id = ClusterId(uuid::Uuid::from_u128(1));
        let status = ClusterStatus::Installed;
        let cluster = Cluster::blank(id, ClusterKind::Cluster, "c", status, "a", Timestamp(0));
        assert_eq!(console_of(&cluster), Console::Absent);
    }
}
