//! Logs of installations: taken in from hosts and controllers, handed out as archives.

mod bundle;
mod redact;
mod tar;
mod upload;

use http::StatusCode;
use muster_api::{bind::Args, error::Failure};
use muster_model::{ClusterId, Event, EventScope, Host, HostId, InfraEnvId, LogsState, Severity};
use muster_store::Row;

use self::{bundle::Subject, tar::Archive};
use super::files::{controller_logs, host_logs, produced};
use crate::{
    aggregate::Cause,
    app::{App, Shared, blob_failure, missing_cluster, store_failure},
    http::{Call, Reply},
};

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
    /// As the log operations read their parameters: a host alone asks for nothing special.
    fn from_args(args: &Args) -> Result<Self, Failure> {
        match args.text("logs_type") {
            Some("host") => args
                .uuid("host_id")
                .map(|id| Self::Host(HostId(id)))
                .ok_or_else(|| {
                    Failure::bad_request("logs of a host need to know which: give host_id")
                }),
            Some("controller") => Ok(Self::Controller),
            _ => Ok(Self::All),
        }
    }

    /// As the link operation reads them: a host alone means that host.
    pub fn from_link_args(args: &Args) -> Result<Self, Failure> {
        match (args.text("logs_type"), args.uuid("host_id")) {
            (None, Some(host)) => Ok(Self::Host(HostId(host))),
            _ => Self::from_args(args),
        }
    }

    /// The parameters that ask for it.
    pub fn query(&self) -> String {
        match self {
            Self::Host(id) => format!("?host_id={id}&logs_type=host"),
            Self::Controller => "?logs_type=controller".to_owned(),
            Self::All => "?logs_type=all".to_owned(),
        }
    }
}

/// `GET /v2/clusters/{cluster_id}/logs`. Works on deleted clusters too: that is when people ask.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let wanted = Wanted::from_args(&call.args)?;
    let id = call.cluster_id();
    let subject = require(&app, id, &wanted).await?;
    let cluster = bundle::file_safe(&subject.cluster.name);
    match wanted {
        Wanted::All => {
            let now = call.now;
            let chunks = produced(|out| bundle::write(app, subject, out, now));
            Ok(Reply::stream(&format!("{cluster}_{id}.tar"), chunks, None))
        }
        Wanted::Controller => {
            let found = app
                .blobs
                .stream(&controller_logs(id)?)
                .await
                .map_err(blob_failure)?;
            let (size, logs) = found.ok_or_else(|| gone(id))?;
            let chunks = produced(|out| async move { out.copy(size, logs).await });
            Ok(Reply::stream(
                &format!("{cluster}_{id}_controller.tar.gz"),
                chunks,
                Some(size),
            ))
        }
        Wanted::Host(host) => {
            let found = app
                .blobs
                .stream(&host_logs(id, host)?)
                .await
                .map_err(blob_failure)?;
            let (size, logs) = found.ok_or_else(|| gone(id))?;
            let host = find(&subject.hosts, host, None)?;
            let name = format!("{}.tar.gz", bundle::host_file(&subject.cluster, host));
            let (member, now) = (name.clone(), call.now);
            let chunks = produced(|out| async move {
                let archive = Archive::new(out, now);
                archive.add_stream(&member, size, logs).await?;
                archive.finish().await
            });
            Ok(Reply::stream(&name, chunks, None))
        }
    }
}

/// Refuses what cannot be handed out; gives what it read on the way.
pub async fn require(app: &App, id: ClusterId, wanted: &Wanted) -> Result<Subject, Failure> {
    let found = app
        .store
        .cluster_even_deleted(id)
        .await
        .map_err(store_failure)?;
    let cluster = found.ok_or_else(|| missing_cluster(id))?;
    let hosts = if cluster.deleted_at.is_some() {
        app.store.hosts_of_cluster_even_deleted(id).await
    } else {
        app.store.hosts_of_cluster(id).await
    };
    let hosts = hosts.map_err(store_failure)?;
    match wanted {
        Wanted::All => {}
        Wanted::Controller => {
            if cluster.controller_logs_collected_at.is_none() {
                return Err(Failure::conflict(format!(
                    "the controller of cluster {id} has sent no logs yet"
                )));
            }
        }
        Wanted::Host(host) => {
            if find(&hosts, *host, None)?.logs_collected_at.is_none() {
                return Err(Failure::conflict(format!(
                    "host {host} has sent no logs yet"
                )));
            }
        }
    }
    Ok(Subject { cluster, hosts })
}

/// `POST /v2/clusters/{cluster_id}/logs`.
pub async fn upload(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let id = call.cluster_id();
    let wanted = Wanted::from_args(&call.args)?;
    app.cluster(id).await?;
    let hosts = app
        .store
        .hosts_of_cluster(id)
        .await
        .map_err(store_failure)?;
    let (path, host) = match wanted {
        Wanted::Host(host) => {
            let infra_env = call.args.uuid("infra_env_id").map(InfraEnvId);
            (host_logs(id, host)?, Some(find(&hosts, host, infra_env)?))
        }
        Wanted::Controller | Wanted::All => (controller_logs(id)?, None),
    };
    let body = call
        .upload()
        .ok_or_else(|| Failure::bad_request("the upload has no body"))?;
    upload::store(&app, &call.headers, body, &path).await?;
    let cause = Cause::from(&call);
    match host {
        Some(host) => record_host_logs(&app, host, &cause).await?,
        None => record_controller_logs(&app, id, &cause).await?,
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

async fn record_host_logs(app: &Shared, host: &Host, cause: &Cause) -> Result<(), Failure> {
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

/// The controller sends again and again; only the first time is news.
async fn record_controller_logs(app: &Shared, id: ClusterId, cause: &Cause) -> Result<(), Failure> {
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
fn find(hosts: &[Row<Host>], id: HostId, infra_env: Option<InfraEnvId>) -> Result<&Host, Failure> {
    let mut same = hosts.iter().filter(|host| host.id == id);
    let named = same.clone().find(|host| Some(host.infra_env) == infra_env);
    named
        .or_else(|| same.next())
        .map(|row| &**row)
        .ok_or_else(|| Failure::not_found(format!("host {id} was not found in the cluster")))
}

fn gone(id: ClusterId) -> Failure {
    Failure::not_found(format!(
        "the logs of cluster {id} are no longer in the file store"
    ))
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
