//! Logs of installations: which there are, and what their arrival means.

use std::sync::Arc;

use muster_model::{
    Cluster, ClusterId, Event, EventScope, Host, HostId, InfraEnvId, LogsState, Severity,
};
use muster_store::Row;

use super::{App, Error, Missing, aggregate::Cause};

/// Which logs are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Those of one host.
    Host(HostId),
    /// Those of the controller inside the cluster.
    Controller,
    /// All there is.
    All,
}

impl Wanted {
    /// The parameters that ask for it.
    pub fn query(&self) -> String {
        match self {
            Self::Host(id) => format!("?host_id={id}&logs_type=host"),
            Self::Controller => "?logs_type=controller".to_owned(),
            Self::All => "?logs_type=all".to_owned(),
        }
    }
}

/// A cluster and its hosts, read before the first byte is sent.
#[derive(Debug)]
pub struct Subject {
    /// The cluster, perhaps deleted.
    pub cluster: Row<Cluster>,
    /// Its hosts.
    pub hosts: Vec<Row<Host>>,
}

/// Refuses what cannot be handed out; gives what it read on the way.
pub async fn require(app: &App, id: ClusterId, wanted: &Wanted) -> Result<Subject, Error> {
    let found = app.store.cluster_even_deleted(id).await?;
    let cluster = found.ok_or(Missing::Cluster(id))?;
    let hosts = if cluster.deleted_at.is_some() {
        app.store.hosts_of_cluster_even_deleted(id).await
    } else {
        app.store.hosts_of_cluster(id).await
    };
    let hosts = hosts?;
    match wanted {
        Wanted::All => {}
        Wanted::Controller => {
            if cluster.controller_logs_collected_at.is_none() {
                return Err(Error::conflict(format!(
                    "the controller of cluster {id} has sent no logs yet"
                )));
            }
        }
        Wanted::Host(host) => {
            if find(&hosts, *host, None)?.logs_collected_at.is_none() {
                return Err(Error::conflict(format!("host {host} has sent no logs yet")));
            }
        }
    }
    Ok(Subject { cluster, hosts })
}

/// The logs of a host have arrived.
pub async fn record_host_logs(app: &Arc<App>, host: &Host, cause: &Cause) -> Result<(), Error> {
    let key = host.key();
    app.change_host(key, cause, |all| {
        let host = all.host_mut(key)?;
        host.logs_collected_at = Some(cause.now);
        host.logs_info = Some(LogsState::Collecting);
        let scope = EventScope {
            cluster: host.cluster,
            host: Some(host.id),
            infra_env: Some(host.infra_env),
        };
        let name = muster_engine::inventory::hostname(host);
        let message = format!("Logs of host {name} arrived");
        all.events.push(Event::new(
            "host_logs_uploaded",
            Severity::Info,
            scope,
            cause.now,
            message,
        ));
        Ok(())
    })
    .await
    .map(drop)
}

/// The logs of the controller have arrived. It sends again and again; only the first time is news.
pub async fn record_controller_logs(
    app: &Arc<App>,
    id: ClusterId,
    cause: &Cause,
) -> Result<(), Error> {
    app.change_cluster(id, cause, |all| {
        let cluster = all.cluster_mut()?;
        let first = cluster
            .controller_logs_collected_at
            .replace(cause.now)
            .is_none();
        cluster.logs_info = Some(LogsState::Collecting);
        if first {
            let scope = EventScope {
                cluster: Some(id),
                ..EventScope::default()
            };
            let message = format!("Logs of the controller of cluster {} arrived", cluster.name);
            let event = Event::new(
                "cluster_logs_uploaded",
                Severity::Info,
                scope,
                cause.now,
                message,
            );
            all.events.push(event);
        }
        Ok(())
    })
    .await
    .map(drop)
}

/// The host of the cluster; of two with the same id, that of the named infra-env.
pub fn find(
    hosts: &[Row<Host>],
    id: HostId,
    infra_env: Option<InfraEnvId>,
) -> Result<&Host, Error> {
    let mut same = hosts.iter().filter(|host| host.id == id);
    let named = same.clone().find(|host| Some(host.infra_env) == infra_env);
    named
        .or_else(|| same.next())
        .map(|row| &**row)
        .ok_or_else(|| Error::not_found(format!("host {id} was not found in the cluster")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_link_names_exactly_what_was_wanted() {
        let host = HostId(uuid::Uuid::from_u128(5));
        assert_eq!(
            Wanted::Host(host).query(),
            format!("?host_id={host}&logs_type=host")
        );
        assert_eq!(Wanted::All.query(), "?logs_type=all");
    }
}
