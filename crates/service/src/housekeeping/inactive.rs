//! Deletes clusters that nobody touched for a long time.
//!
//! Activity is more than a change of the cluster's own record: as long as one of its hosts
//! changes or checks in, somebody uses it.

use muster_api::error::Failure;
use muster_model::{Cluster, ClusterStatus, Host, Timestamp};
use muster_store::Deleted;
use tracing::{debug, warn};

use crate::{
    aggregate::Cause,
    app::{Shared, store_failure},
    heartbeats::Heartbeats,
    ops::clusters::delete::{Why, delete_cluster},
};

/// Deletes what is inactive; returns how many.
pub async fn sweep(app: &Shared, now: Timestamp) -> Result<usize, Failure> {
    let rules = &app.config.housekeeping;
    let mut deleted = 0;
    let clusters = app.store.clusters(Deleted::Excluded).await;
    for cluster in clusters.map_err(store_failure)? {
        if deleted == super::most(rules.max_clusters_per_round) {
            break;
        }
        // The cheap half of the question first; the whole of it is asked below.
        if now.since(cluster.updated_at) <= rules.inactive_after
            || cluster.status == ClusterStatus::Installing
        {
            continue;
        }
        let cause = Cause {
            now,
            request_id: None,
        };
        let why = |all: &crate::aggregate::Aggregate| {
            let active = last_activity(all.cluster()?, &all.hosts, &app.heartbeats);
            if now.since(active) > rules.inactive_after {
                Ok(Why::Inactive(active))
            } else {
                Err(Failure::conflict("the cluster is in use"))
            }
        };
        match delete_cluster(app, cluster.id, &cause, why).await {
            Ok(()) => deleted += 1,
            Err(failure) if failure.status.is_client_error() => {
                debug!(cluster = %cluster.id, reason = %failure.reason, "not deleted");
            }
            Err(failure) => {
                warn!(cluster = %cluster.id, reason = %failure.reason, "an inactive cluster could not be deleted");
            }
        }
    }
    Ok(deleted)
}

/// When something last happened to the cluster or one of its hosts.
fn last_activity(cluster: &Cluster, hosts: &[Host], heartbeats: &Heartbeats) -> Timestamp {
    hosts
        .iter()
        .map(|host| heartbeats.last_seen(host).max(host.updated_at))
        .fold(cluster.updated_at, Timestamp::max)
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, HostId, HostKey, InfraEnvId};
    use uuid::Uuid;

    use super::*;

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
        assert_eq!(last_activity(&cluster, &[], &heartbeats), Timestamp(10));
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(2)),
            host: HostId(Uuid::from_u128(3)),
        };
        let host = Host::registered(key, Some(id), "admin", Timestamp(20));
        heartbeats.heard(key, Timestamp(30), None);
        assert_eq!(last_activity(&cluster, &[host], &heartbeats), Timestamp(30));
    }
}
