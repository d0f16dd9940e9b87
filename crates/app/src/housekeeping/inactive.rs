//! Deletes clusters that were not used for a long time, if enabled.
//!
//! Activity is more than a change of the cluster's own record: as long as one of its hosts
//! changes or checks in, it is used. One that is installed, or was on the way to it, is never
//! deleted: its record holds the credentials, and its logs are wanted most after a failure.

use muster_model::{Cluster, ClusterStatus, Event, EventScope, Host, Severity, Timestamp};
use muster_store::{Deleted, Row};
use tracing::{debug, warn};

use super::{
    announce,
    clock::Moment,
    is_installed,
    notices::{NoticeState, Notices},
};
use crate::{
    Error, Shared,
    aggregate::Cause,
    clusters::delete::{Why, delete_cluster},
    error_chain,
    heartbeats::Heartbeats,
};

/// Deletes what is inactive and was announced; returns how many.
pub async fn sweep(
    app: &Shared,
    moment: Moment,
    notices: &Notices<muster_model::ClusterId>,
) -> Result<usize, Error> {
    let rules = &app.config.housekeeping;
    let mut deleted = 0;
    let clusters = app.store.clusters(Deleted::Excluded).await;
    for cluster in clusters? {
        if deleted == super::most(rules.max_clusters_per_round) {
            break;
        }
        // The cheap half of the question first; the whole of it is asked below.
        if moment.now.since(cluster.updated_at) <= rules.inactive_after
            || !is_only_planned(cluster.status)
        {
            continue;
        }
        match look_at(app, &cluster, &moment, notices).await {
            Ok(gone) => deleted += usize::from(gone),
            Err(error) if error.is_refusal() => {
                debug!(cluster = %cluster.id, reason = %error, "not deleted");
            }
            Err(error) => {
                warn!(cluster = %cluster.id, error = error_chain(&error), "an inactive cluster could not be deleted");
            }
        }
    }
    Ok(deleted)
}

/// Announces the deletion of a cluster, or carries it out; true if it is gone.
async fn look_at(
    app: &Shared,
    cluster: &Row<Cluster>,
    moment: &Moment,
    notices: &Notices<muster_model::ClusterId>,
) -> Result<bool, Error> {
    let rules = &app.config.housekeeping;
    let hosts = app.store.every_host_of_cluster(cluster.id).await;
    let hosts = hosts?;
    let hosts = hosts.iter().map(|host| &**host);
    let unused = |cluster: &Cluster, active: Timestamp, installed: bool| {
        moment.now.since(active) > rules.inactive_after
            && is_only_planned(cluster.status)
            && !installed
    };
    let active = last_activity(cluster, hosts.clone(), &app.heartbeats);
    let installed = hosts.clone().any(|host| is_installed(host.status));
    if !unused(cluster, active, installed) {
        return Ok(false);
    }
    match notices.state(cluster.id, active, moment, rules.notice) {
        NoticeState::Waiting => return Ok(false),
        NoticeState::New => {
            announce(
                app,
                announcement(cluster, active, moment, rules.notice),
                active,
            )
            .await?;
            return Ok(false);
        }
        NoticeState::Over => {}
    }
    let cause = Cause {
        now: moment.now,
        request_id: None,
    };
    delete_cluster(app, cluster.id, &cause, |all| {
        let installed = all.hosts.iter().any(|host| is_installed(host.status));
        let since = last_activity(all.cluster()?, all.hosts.iter(), &app.heartbeats);
        if since == active && unused(all.cluster()?, since, installed) {
            Ok(Why::Inactive(since))
        } else {
            Err(Error::conflict("the cluster is in use"))
        }
    })
    .await?;
    notices.forget(&cluster.id);
    Ok(true)
}

fn announcement(
    cluster: &Cluster,
    active: Timestamp,
    moment: &Moment,
    notice: std::time::Duration,
) -> Event {
    let scope = EventScope {
        cluster: Some(cluster.id),
        ..EventScope::default()
    };
    let message = format!(
        "Cluster {} has not been used since {} and will be deleted in about {} hours; any change \
         of it or of its hosts keeps it",
        cluster.name,
        active.millis(),
        notice.as_secs().div_ceil(3600),
    );
    Event::new(
        "cluster_deletion_announced",
        Severity::Warning,
        scope,
        moment.now,
        message,
    )
}

/// Whether nothing was made from the record yet, so that losing it costs only its settings.
const fn is_only_planned(status: ClusterStatus) -> bool {
    use ClusterStatus::*;
    match status {
        Insufficient | Ready | PendingForInput | Cancelled => true,
        Error
        | PreparingForInstallation
        | Installing
        | Finalizing
        | Installed
        | AddingHosts
        | InstallingPendingUserAction
        | Unmonitored => false,
    }
}

/// When something last happened to the cluster or one of its hosts.
fn last_activity<'a>(
    cluster: &Cluster,
    hosts: impl Iterator<Item = &'a Host>,
    heartbeats: &Heartbeats,
) -> Timestamp {
    hosts
        .map(|host| heartbeats.last_seen(host).max(host.updated_at))
        .fold(cluster.updated_at, Timestamp::max)
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, HostId, HostKey, InfraEnvId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn only_what_was_never_installed_may_be_deleted() {
        let may_go = |status: &&ClusterStatus| is_only_planned(**status);
        let may_go: Vec<_> = ClusterStatus::ALL.iter().filter(may_go).collect();
        use ClusterStatus::{Cancelled, Insufficient, PendingForInput, Ready};
        assert_eq!(
            may_go,
            [&Insufficient, &Ready, &PendingForInput, &Cancelled]
        );
    }

    #[test]
    fn a_host_that_checks_in_keeps_its_cluster_alive() {
        let id = ClusterId(Uuid::from_u128(1));
        let cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Ready,
            "admin",
            Timestamp(10),
        );
        let heartbeats = Heartbeats::default();
        assert_eq!(
            last_activity(&cluster, [].iter(), &heartbeats),
            Timestamp(10)
        );
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(2)),
            host: HostId(Uuid::from_u128(3)),
        };
        let host = Host::registered(key, Some(id), "admin", Timestamp(20));
        heartbeats.heard(key, Timestamp(30), None);
        assert_eq!(
            last_activity(&cluster, [host].iter(), &heartbeats),
            Timestamp(30)
        );
    }
}
