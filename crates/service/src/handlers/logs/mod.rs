//! Logs of installations: uploaded by hosts and controllers, downloaded as archives.

mod bundle;
mod form;
mod tar;
mod upload;

use http::StatusCode;
use muster_api::bind::Args;
use muster_app::{
    aggregate::Cause,
    files::{controller_logs, host_logs},
    logs::{Wanted, find, record_controller_logs, record_host_logs, require},
};
use muster_model::{ClusterId, HostId, InfraEnvId};

use self::tar::Archive;
use super::files::produced;
use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// As the log operations read their parameters: a host alone asks for nothing special.
fn wanted(args: &Args) -> Result<Wanted, Failure> {
    match args.text("logs_type") {
        Some("host") => args
            .uuid("host_id")
            .map(|id| Wanted::Host(HostId(id)))
            .ok_or_else(|| Failure::bad_request("logs of a host need to know which: give host_id")),
        Some("controller") => Ok(Wanted::Controller),
        _ => Ok(Wanted::All),
    }
}

/// As the link operation reads them: a host alone means that host.
pub fn wanted_by_link(args: &Args) -> Result<Wanted, Failure> {
    match (args.text("logs_type"), args.uuid("host_id")) {
        (None, Some(host)) => Ok(Wanted::Host(HostId(host))),
        _ => wanted(args),
    }
}

/// `GET /v2/clusters/{cluster_id}/logs`. Works on deleted clusters too: that is when people ask.
pub async fn download(app: Shared, call: Call) -> Result<Reply, Failure> {
    let wanted = wanted(&call.args)?;
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
            let found = app.blobs.stream(&controller_logs(id)?).await?;
            let (size, logs) = found.ok_or_else(|| gone(id))?;
            let chunks = produced(|out| async move { out.copy(size, logs).await });
            Ok(Reply::stream(
                &format!("{cluster}_{id}_controller.tar.gz"),
                chunks,
                Some(size),
            ))
        }
        Wanted::Host(host) => {
            let found = app.blobs.stream(&host_logs(id, host)?).await?;
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

/// `POST /v2/clusters/{cluster_id}/logs`.
pub async fn upload(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let id = call.cluster_id();
    let wanted = wanted(&call.args)?;
    app.cluster(id).await?;
    let hosts = app.store.hosts_of_cluster(id).await?;
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
    let _place = app.intake.upload(&app.metrics, call.peer).await?;
    upload::store(&app, id, &call.headers, body, &path).await?;
    let cause = Cause::from(&call);
    match host {
        Some(host) => record_host_logs(&app, host, &cause).await?,
        None => record_controller_logs(&app, id, &cause).await?,
    }
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

fn gone(id: ClusterId) -> Failure {
    Failure::not_found(format!(
        "the logs of cluster {id} are no longer in the file store"
    ))
}
