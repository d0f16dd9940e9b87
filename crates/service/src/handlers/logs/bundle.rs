//! Everything support wants to know about a cluster, in one archive that is made while it is
//! sent.

use std::io;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use muster_app::{files, logs::Subject, manifests::Shelf};
use muster_engine::inventory;
use muster_model::{Category, Cluster, ClusterId, Host, Timestamp};
use muster_store::EventQuery;
use tokio::io::{AsyncSeekExt, AsyncWriteExt, BufWriter};
use tokio_util::io::ReaderStream;

use super::tar::Archive;
use crate::{
    handlers::{events, files::Outlet},
    redact::{self, redact},
    service::Shared,
    views::{self, HostsShown},
};

/// Events read at a time.
const PAGE: i64 = 1000;

/// Writes the whole archive.
pub async fn write(app: Shared, subject: Subject, out: Outlet, now: Timestamp) -> io::Result<()> {
    let Subject { cluster, hosts } = &subject;
    let archive = Archive::new(out, now);
    let record = views::cluster(cluster, hosts, HostsShown::Full, &app.heartbeats);
    let mut record = serde_json::to_value(&record).map_err(io::Error::other)?;
    redact(&mut record);
    archive
        .add(
            "cluster_metadata.json",
            Bytes::from(format!("{record:#}\n")),
        )
        .await?;
    add_events(&app, cluster.id, &archive).await?;
    let shelf = Shelf::of(&app, cluster.id);
    for (place, source) in shelf.list(true).await.map_err(io::Error::other)? {
        let name = format!(
            "cluster_manifest_{}_{}_{}",
            source.as_str(),
            place.folder.as_str(),
            place.name.as_str()
        );
        if let Some((_, content)) = shelf.read(&place).await.map_err(io::Error::other)? {
            let content = redact::manifest(&content).map_or(content, Bytes::from);
            archive.add(&name, content).await?;
        }
    }
    let path = files::controller_logs(cluster.id).map_err(io::Error::other)?;
    if let Some((size, logs)) = app.blobs.stream(&path).await.map_err(io::Error::other)? {
        archive
            .add_stream("controller_logs.tar.gz", size, logs)
            .await?;
    }
    for host in hosts {
        let path = files::host_logs(cluster.id, host.id).map_err(io::Error::other)?;
        if let Some((size, logs)) = app.blobs.stream(&path).await.map_err(io::Error::other)? {
            let name = host_file(cluster, host);
            let (outer, inner) = (format!("{name}.tar"), format!("{name}.tar.gz"));
            archive.add_archive(&outer, &inner, size, logs).await?;
        }
    }
    archive.finish().await
}

/// The events as a JSON list. Their length must be known before they are sent and there may be
/// many, so they are put aside in a temporary file.
async fn add_events(app: &Shared, cluster: ClusterId, archive: &Archive) -> io::Result<()> {
    let file = tokio::task::spawn_blocking(tempfile::tempfile)
        .await
        .map_err(io::Error::other)??;
    let mut file = BufWriter::new(tokio::fs::File::from_std(file));
    let mut offset = 0;
    file.write_all(b"[").await?;
    loop {
        let query = EventQuery {
            cluster: Some(cluster),
            categories: vec![Category::User, Category::Metrics],
            limit: Some(PAGE),
            offset,
            ..EventQuery::default()
        };
        let page = app.store.events(&query).await.map_err(io::Error::other)?;
        for (index, event) in page.events.iter().enumerate() {
            let separator = if offset == 0 && index == 0 {
                "\n"
            } else {
                ",\n"
            };
            file.write_all(separator.as_bytes()).await?;
            let mut shown = serde_json::to_value(events::shown(event)).map_err(io::Error::other)?;
            redact(&mut shown);
            file.write_all(shown.to_string().as_bytes()).await?;
        }
        let read = i64::try_from(page.events.len()).unwrap_or(PAGE);
        offset += read;
        // Large events make short pages, so a short one need not be the last.
        if read == 0 || offset >= page.total {
            break;
        }
    }
    file.write_all(b"\n]\n").await?;
    file.flush().await?;
    let mut file = file.into_inner();
    let size = file.stream_position().await?;
    file.rewind().await?;
    let pieces = ReaderStream::new(file).map_err(|source| muster_store::BlobError::Source {
        path: "events".to_owned(),
        source: source.into(),
    });
    archive
        .add_stream("cluster_events.json", size, pieces.boxed())
        .await
}

/// `<cluster>_<role>_<host name>`, what files of a host are called. The role is the one that was
/// set, so it may be `auto-assign`: names stay the same while suggestions change.
pub fn host_file(cluster: &Cluster, host: &Host) -> String {
    let role = if host.bootstrap {
        "bootstrap"
    } else {
        host.role.as_str()
    };
    let name = inventory::hostname(host);
    format!("{}_{role}_{}", file_safe(&cluster.name), file_safe(&name))
}

/// A name in lower case that every file system takes.
pub fn file_safe(name: &str) -> String {
    let safe: String = name
        .to_lowercase()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') {
                c
            } else {
                '-'
            }
        })
        .collect();
    let safe = safe.trim_start_matches(['.', '-']);
    if safe.is_empty() {
        "unnamed".to_owned()
    } else {
        safe.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_host_are_called_by_the_role_that_was_set() {
        use muster_model::{ClusterKind, ClusterStatus, HostId, HostKey, HostRole, InfraEnvId};
        use uuid::Uuid;

        let id = ClusterId(Uuid::nil());
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Ready);
        let cluster = Cluster::blank(id, kind, "Lab", status, "admin", Timestamp(0));
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::nil()),
            host: HostId(Uuid::nil()),
        };
        let mut host = Host::registered(key, Some(id), "admin", Timestamp(0));
        host.requested_hostname = Some("n1".to_owned());
        host.role = HostRole::AutoAssign;
        host.suggested_role = HostRole::Worker;
        assert_eq!(host_file(&cluster, &host), "lab_auto-assign_n1");
        host.role = HostRole::Worker;
        assert_eq!(host_file(&cluster, &host), "lab_worker_n1");
        host.bootstrap = true;
        assert_eq!(host_file(&cluster, &host), "lab_bootstrap_n1");
    }

    #[test]
    fn names_from_users_become_harmless_file_names() {
        for (name, safe) in [
            ("Master-0.Example.com", "master-0.example.com"),
            ("../../etc/passwd", "etc-passwd"),
            ("ÄÖ \"x\"", "x-"),
            ("", "unnamed"),
            ("...", "unnamed"),
        ] {
            assert_eq!(file_safe(name), safe, "{name:?}");
        }
    }
}
