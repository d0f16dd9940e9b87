//! Deleting clusters.
//!
//! The record stays, marked as deleted, until housekeeping removes it; so do its files, because
//! logs are wanted most after things went wrong. Hosts that came through an infra-env of the
//! cluster go with it, hosts that were bound later are set free.

use std::collections::HashSet;

use muster_engine::{binding, inventory::hostname};
use muster_model::{
    ClusterId, ClusterStatus, Event, EventScope, HostKey, InfraEnvId, Severity, Timestamp,
};

use crate::{
    Error, Shared,
    aggregate::{Aggregate, Cause},
    driver::Scope,
    hosts::register::left,
};

/// Why a cluster is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A user asked for it.
    Asked,
    /// Nothing happened to it since then.
    Inactive(Timestamp),
}

/// Deletes a cluster if `why` agrees, which sees the records as they are then.
pub async fn delete_cluster(
    app: &Shared,
    id: ClusterId,
    cause: &Cause,
    why: impl Fn(&Aggregate) -> Result<Why, Error>,
) -> Result<(), Error> {
    let own = app.store.infra_envs_of_cluster(id).await?;
    let own: HashSet<InfraEnvId> = own.iter().map(|infra_env| infra_env.id).collect();
    let (fates, all) = app
        .change_cluster(id, cause, |all| {
            let why = why(all)?;
            delete(all, &own, why, cause.now)
        })
        .await?;
    if let Some(cluster) = &all.cluster {
        app.metrics.deleted_cluster(cluster, &all.hosts);
    }
    app.driver.forget(Scope::Cluster(id));
    for key in fates.gone {
        left(app, key, None);
    }
    for key in fates.freed {
        app.driver.touch(Scope::Host(key));
    }
    tracing::info!(cluster = %id, "cluster deleted");
    Ok(())
}

/// What became of the hosts of a deleted cluster.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fates {
    /// Deleted with it.
    gone: Vec<HostKey>,
    /// Live on without it.
    freed: Vec<HostKey>,
}

/// Marks the cluster and its own hosts as deleted, and sets the others free. A host that comes
/// in meanwhile makes the store refuse, and then all is decided again with that host in view.
fn delete(
    all: &mut Aggregate,
    own: &HashSet<InfraEnvId>,
    why: Why,
    now: Timestamp,
) -> Result<Fates, Error> {
    let (id, name, status) = {
        let cluster = all.cluster()?;
        (cluster.id, cluster.name.clone(), cluster.status)
    };
    let scope = EventScope {
        cluster: Some(id),
        ..Default::default()
    };
    if status == ClusterStatus::Installing {
        let reason =
            format!("cluster {id} is being installed; cancel the installation before deleting it");
        all.events.push(Event::new(
            "cluster_deregister_failed",
            Severity::Error,
            scope,
            now,
            format!("Cluster {name} was not deleted: {reason}"),
        ));
        return Err(Error::conflict(reason));
    }
    if let Why::Inactive(since) = why {
        all.events.push(Event::new(
            "after_inactivity_cluster_deregistered",
            Severity::Info,
            scope,
            now,
            format!(
                "Cluster {name} is deleted because it was not used for {} days (since {})",
                now.since(since).as_secs() / 86_400,
                since.millis(),
            ),
        ));
    }
    let mut fates = Fates::default();
    for host in &mut all.hosts {
        if own.contains(&host.infra_env) {
            let scope = EventScope {
                host: Some(host.id),
                infra_env: Some(host.infra_env),
                ..scope
            };
            let message = format!(
                "Host {} was deleted together with its cluster",
                hostname(host)
            );
            all.events.push(Event::new(
                "host_deregistered",
                Severity::Info,
                scope,
                now,
                message,
            ));
            host.deleted_at = Some(now);
            fates.gone.push(host.key());
        } else {
            all.events.extend(binding::orphan(host, now));
            fates.freed.push(host.key());
        }
    }
    all.events.push(Event::new(
        "cluster_deregistered",
        Severity::Info,
        scope,
        now,
        format!("Deleted cluster {name}"),
    ));
    all.cluster_mut()?.deleted_at = Some(now);
    // Nothing is left to evaluate.
    all.settled = true;
    Ok(fates)
}

#[cfg(test)]
mod tests {
    use muster_model::{Cluster, ClusterId, ClusterKind, Host, HostId, HostRole, HostStatus};
    use uuid::Uuid;

    use super::*;

    const NOW: Timestamp = Timestamp(7);

    fn aggregate(status: ClusterStatus) -> (Aggregate, HashSet<InfraEnvId>) {
        let id = ClusterId(Uuid::from_u128(1));
        let (own, other) = (
            InfraEnvId(Uuid::from_u128(2)),
            InfraEnvId(Uuid::from_u128(3)),
        );
        let host = |infra_env, number, status| {
            let key = HostKey {
                infra_env,
                host: HostId(Uuid::from_u128(number)),
            };
            let mut host = Host::registered(key, Some(id), "admin", Timestamp(0));
            host.status = status;
            host.role = HostRole::Master;
            host
        };
        let mut all = Aggregate::default();
        all.cluster = Some(Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            status,
            "admin",
            Timestamp(0),
        ));
        all.hosts = vec![
            host(own, 4, HostStatus::Known),
            host(other, 5, HostStatus::Binding),
            host(other, 6, HostStatus::Installed),
        ];
        (all, HashSet::from([own]))
    }

    #[test]
    fn own_hosts_go_with_the_cluster_and_late_ones_are_set_free() {
        let (mut all, own) = aggregate(ClusterStatus::PreparingForInstallation);
        let fates = delete(&mut all, &own, Why::Asked, NOW).unwrap();
        assert_eq!(all.cluster.as_ref().unwrap().deleted_at, Some(NOW));
        assert_eq!(all.hosts[0].deleted_at, Some(NOW));
        assert_eq!(fates.gone, [all.hosts[0].key()]);
        assert_eq!(fates.freed, [all.hosts[1].key(), all.hosts[2].key()]);
        assert_eq!(
            (
                all.hosts[1].status,
                all.hosts[1].cluster,
                all.hosts[1].deleted_at
            ),
            (HostStatus::Unbinding, None, None)
        );
        assert_eq!(
            (all.hosts[2].status, all.hosts[2].role),
            (HostStatus::UnbindingPendingUserAction, HostRole::AutoAssign)
        );
        let names: Vec<_> = all.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "host_deregistered",
                "host_status_updated",
                "host_status_updated",
                "cluster_deregistered"
            ]
        );
    }

    #[test]
    fn a_cluster_deleted_by_housekeeping_says_why() {
        let (mut all, own) = aggregate(ClusterStatus::Ready);
        delete(&mut all, &own, Why::Inactive(Timestamp(0)), NOW).unwrap();
        let names: Vec<_> = all.events.iter().map(|event| event.name.as_str()).collect();
        let why = "after_inactivity_cluster_deregistered";
        assert_eq!(names.first(), Some(&why));
        assert_eq!(names.last(), Some(&"cluster_deregistered"));
    }

    #[test]
    fn only_a_running_installation_protects_a_cluster() {
        for status in ClusterStatus::ALL {
            let (mut all, own) = aggregate(*status);
            let answer = delete(&mut all, &own, Why::Asked, NOW);
            assert_eq!(
                answer.is_err(),
                *status == ClusterStatus::Installing,
                "{status}"
            );
        }
        let (mut all, own) = aggregate(ClusterStatus::Installing);
        let refusal = delete(&mut all, &own, Why::Asked, NOW).unwrap_err();
        assert!(matches!(refusal, Error::Conflict(_)));
        assert_eq!(all.events[0].name, "cluster_deregister_failed");
        assert_eq!(all.cluster.unwrap().deleted_at, None);
    }
}
