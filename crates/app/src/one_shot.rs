//! A service that was started for one installation, and when its work is done.
//!
//! It is when there is an installed cluster, the credentials of each installed cluster were downloaded, and
//! nothing is being installed. What was downloaded is kept in the database, so that a restart in
//! between does not make a person download it again.

use muster_auth::Role;
use muster_model::{Cluster, ClusterId, ClusterStatus, Host, HostStatus};
use muster_store::Deleted;

use crate::{App, Error, files::places};

/// Notes that a person downloaded a file, if it opens an installed cluster.
///
/// # Errors
/// The database does not answer.
pub async fn downloaded(app: &App, id: ClusterId, name: &str, by: Role) -> Result<(), Error> {
    let is_person = match by {
        Role::Admin | Role::User | Role::ReadOnly => true,
        Role::Agent => false,
    };
    if app.config.server.stop_when_installed.is_none()
        || !is_person
        || !matches!(name, places::KUBECONFIG | places::PASSWORD)
        || !is_installed(app.cluster(id).await?.status)
    {
        return Ok(());
    }
    Ok(app.store.put_setting(&key(id), "1").await?)
}

/// Whether the work is done.
///
/// # Errors
/// The database does not answer.
pub async fn is_done(app: &App) -> Result<bool, Error> {
    let clusters = app.store.clusters(Deleted::Excluded).await?;
    let mut found = Vec::with_capacity(clusters.len());
    for cluster in &clusters {
        let taken = app.store.setting(&key(cluster.value.id)).await?.is_some();
        found.push((&*cluster.value, taken));
    }
    let hosts = app.store.hosts().await?;
    Ok(done(&found, hosts.iter().map(|host| &*host.value)))
}

fn key(id: ClusterId) -> String {
    format!("credentials_downloaded/{id}")
}

/// Clusters with whether their credentials were downloaded, and all hosts.
fn done<'a>(clusters: &[(&Cluster, bool)], mut hosts: impl Iterator<Item = &'a Host>) -> bool {
    let mut installed = clusters
        .iter()
        .filter(|(cluster, _)| is_installed(cluster.status))
        .peekable();
    installed.peek().is_some()
        && installed.all(|(_, taken)| *taken)
        && !clusters.iter().any(|(cluster, _)| is_busy(cluster.status))
        && !hosts.any(|host| is_host_busy(host.status))
}

const fn is_installed(status: ClusterStatus) -> bool {
    use ClusterStatus::*;
    match status {
        Installed | AddingHosts => true,
        Insufficient
        | Ready
        | Error
        | PreparingForInstallation
        | PendingForInput
        | Installing
        | Finalizing
        | Unmonitored
        | Cancelled
        | InstallingPendingUserAction => false,
    }
}

const fn is_busy(status: ClusterStatus) -> bool {
    use ClusterStatus::*;
    match status {
        PreparingForInstallation | Installing | Finalizing | InstallingPendingUserAction => true,
        Installed | AddingHosts | Insufficient | Ready | Error | PendingForInput | Unmonitored
        | Cancelled => false,
    }
}

const fn is_host_busy(status: HostStatus) -> bool {
    use HostStatus::*;
    match status {
        PreparingForInstallation
        | PreparingSuccessful
        | Installing
        | InstallingInProgress
        | InstallingPendingUserAction => true,
        Discovering
        | Known
        | Disconnected
        | Insufficient
        | Disabled
        | PreparingFailed
        | PendingForInput
        | ResettingPendingUserAction
        | Installed
        | Error
        | Resetting
        | AddedToExistingCluster
        | Cancelled
        | Binding
        | Unbinding
        | UnbindingPendingUserAction
        | KnownUnbound
        | DisconnectedUnbound
        | InsufficientUnbound
        | DisabledUnbound
        | DiscoveringUnbound
        | Reclaiming
        | ReclaimingRebooting => false,
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterKind, HostId, HostKey, InfraEnvId, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn cluster(status: ClusterStatus) -> Cluster {
        let id = ClusterId(Uuid::new_v4());
        Cluster::blank(id, ClusterKind::Cluster, "c", status, "me", Timestamp(1))
    }

    fn host(status: HostStatus) -> Host {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::new_v4()),
            host: HostId(Uuid::new_v4()),
        };
        let mut host = Host::registered(key, None, "me", Timestamp(1));
        host.status = status;
        host
    }

    #[test]
    fn the_work_is_done_when_all_that_is_installed_was_downloaded_and_nothing_goes_on() {
        use ClusterStatus::*;
        for (clusters, hosts, expected) in [
            (vec![], vec![], false),
            (vec![(Ready, false)], vec![], false),
            (vec![(Installed, false)], vec![], false),
            (vec![(Installed, true)], vec![HostStatus::Installed], true),
            (vec![(AddingHosts, true)], vec![HostStatus::Known], true),
            (vec![(Installed, true), (Installed, false)], vec![], false),
            (vec![(Installed, true), (Installing, false)], vec![], false),
            (vec![(Installed, true), (Finalizing, true)], vec![], false),
            (vec![(Installed, true), (Error, false)], vec![], true),
            (
                vec![(AddingHosts, true)],
                vec![HostStatus::InstallingInProgress],
                false,
            ),
        ] {
            let found: Vec<(Cluster, bool)> = clusters
                .iter()
                .map(|(status, taken)| (cluster(*status), *taken))
                .collect();
            let found: Vec<(&Cluster, bool)> = found
                .iter()
                .map(|(cluster, taken)| (cluster, *taken))
                .collect();
            let hosts: Vec<Host> = hosts.into_iter().map(host).collect();
            assert_eq!(done(&found, hosts.iter()), expected, "{clusters:?}");
        }
    }
}
