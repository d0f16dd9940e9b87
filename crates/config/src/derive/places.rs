//! Where data, records and files are kept by default.

use std::path::PathBuf;

use url::Url;

use crate::kinds::DatabaseUrl;
use crate::load::{Loading, Sources, inside};
use crate::sections::{Storage, StorageKind};

pub(super) fn data_dir(loading: &mut Loading, sources: &Sources) {
    if !loading.config.data_dir.as_os_str().is_empty() {
        // Addresses of database and files are made of it, and those are absolute.
        if let Ok(absolute) = std::path::absolute(&loading.config.data_dir) {
            loading.config.data_dir = absolute;
        }
        return;
    }
    let folder = |name| {
        sources
            .variable(name)
            .filter(|path| path.starts_with('/'))
            .map(PathBuf::from)
    };
    let found = if sources.root {
        Some((PathBuf::from("/var/lib/muster"), "default for root"))
    } else if let Some(base) = folder("XDG_DATA_HOME") {
        Some((base.join("muster"), "from $XDG_DATA_HOME"))
    } else {
        folder("HOME").map(|home| (home.join(".local/share/muster"), "from $HOME"))
    };
    match found {
        Some((path, how)) => {
            loading.config.data_dir = path;
            loading.derived("data_dir", how);
        }
        None => loading.complain(
            "data_dir",
            "no data directory: neither $XDG_DATA_HOME nor $HOME is an absolute path; set it",
        ),
    }
}

pub(super) fn database(loading: &mut Loading) {
    let database = &loading.config.database;
    if !database.url.is_unset() {
        return;
    }
    if database.host.is_empty() {
        if ["database.user", "database.password"]
            .iter()
            .any(|key| loading.is_set(key))
        {
            loading.complain(
                "database.host",
                "credentials of a database are given but not its host; set $DB_HOST or \
                 database.url",
            );
        }
        let path = inside(&loading.config.data_dir, "muster.db");
        loading.config.database.url = DatabaseUrl::new(format!("sqlite://{path}"));
        loading.derived("database.url", "inside data_dir");
        return;
    }
    match postgres_url(loading) {
        Some(url) => {
            loading.config.database.url = DatabaseUrl::new(url);
            loading.derived(
                "database.url",
                "from database.host and the settings beside it",
            );
        }
        None => loading.complain("database.host", "cannot be the host of a database"),
    }
}

/// Assembles the parts, with everything escaped that needs it.
fn postgres_url(loading: &Loading) -> Option<String> {
    let database = &loading.config.database;
    let socket = database.host.starts_with('/');
    let mut url = Url::parse("postgres://localhost").ok()?;
    if !socket {
        let bare_ipv6 = database.host.contains(':') && !database.host.starts_with('[');
        let host = if bare_ipv6 {
            format!("[{}]", database.host)
        } else {
            database.host.clone()
        };
        url.set_host(Some(&host)).ok()?;
    }
    url.set_port(Some(database.port)).ok()?;
    // The setters take `%` for the beginning of an escape that was made already.
    let literal = |text: &str| text.replace('%', "%25");
    url.set_username(&literal(&database.user)).ok()?;
    if !database.password.is_empty() {
        let password = literal(database.password.reveal());
        url.set_password(Some(&password)).ok()?;
    }
    url.set_path(&literal(&database.name));
    if socket {
        url.query_pairs_mut().append_pair("host", &database.host);
    }
    Some(url.into())
}

/// Service and region for an address that names only the bucket; credentials stay in their
/// variables.
fn s3_query(storage: &Storage) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if !storage.s3_endpoint.is_empty() {
        query.append_pair("endpoint", &storage.s3_endpoint);
        if storage.s3_endpoint.starts_with("http://") {
            query.append_pair("allow_http", "true");
        }
    }
    if !storage.s3_region.is_empty() {
        query.append_pair("region", &storage.s3_region);
    }
    let query = query.finish();
    if query.is_empty() {
        query
    } else {
        format!("?{query}")
    }
}

pub(super) fn storage(loading: &mut Loading) {
    let storage = &mut loading.config.storage;
    if !storage.url.is_empty() {
        match storage.url.split_once("://") {
            Some(("file", path)) if path.starts_with('/') => {
                storage.kind = Some(StorageKind::Filesystem);
            }
            Some(("s3", bucket)) if !bucket.is_empty() => {
                storage.kind = Some(StorageKind::S3);
                let name = bucket
                    .split(['/', '?'])
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                if !storage.url.contains('?') {
                    let (address, query) = (storage.url.clone(), s3_query(storage));
                    storage.url = format!("{address}{query}");
                }
                storage.s3_bucket = name;
            }
            _ => {
                let problem = format!(
                    "`{}` is not a location for files; expected file:///folder or s3://bucket",
                    storage.url
                );
                loading.complain("storage.url", problem);
            }
        }
        return;
    }
    let kind = storage.kind.unwrap_or(match storage.s3_bucket.is_empty() {
        true => StorageKind::Filesystem,
        false => StorageKind::S3,
    });
    storage.kind = Some(kind);
    match kind {
        StorageKind::Filesystem => {
            storage.url = format!("file://{}", inside(&loading.config.data_dir, "files"));
            loading.derived("storage.url", "inside data_dir");
        }
        StorageKind::S3 if storage.s3_bucket.is_empty() => {
            loading.complain(
                "storage.kind",
                "files go to S3 but no bucket is named; set $S3_BUCKET or storage.s3_bucket",
            );
        }
        StorageKind::S3 => {
            storage.url = format!("s3://{}{}", storage.s3_bucket, s3_query(storage));
            loading.derived("storage.url", "made of storage.s3_bucket");
        }
    }
    if !loading.is_set("storage.kind") {
        loading.derived("storage.kind", "from the other storage settings");
    }
}
