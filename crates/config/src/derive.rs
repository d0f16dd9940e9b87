//! Settings that follow from others, and rules that bind several of them.
//!
//! Runs after all layers are in. Each step fills what nobody gave, notes how it was found, and
//! complains about combinations that cannot work.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use url::Url;

use crate::duration::parse_duration;
use crate::errors::ConfigError;
use crate::kinds::{BaseUrl, DatabaseUrl, Json, Parse};
use crate::load::{Loading, Origin, Sources, inside};
use crate::sections::{AuthMode, StorageKind, minutes};

/// Fills and checks everything, in order of dependence.
pub(crate) fn settle(loading: &mut Loading, sources: &Sources) {
    data_dir(loading, sources);
    database(loading);
    storage(loading);
    tls_files(loading);
    addresses(loading, sources);
    auth(loading);
    timeouts(loading);
    networks(loading);
    documents(loading);
}

fn data_dir(loading: &mut Loading, sources: &Sources) {
    if !loading.config.data_dir.as_os_str().is_empty() {
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
            "no place for data: neither $XDG_DATA_HOME nor $HOME is an absolute path; set it",
        ),
    }
}

fn database(loading: &mut Loading) {
    let database = &loading.config.database;
    if !database.url.is_unset() {
        return;
    }
    if database.host.is_empty() {
        if ["database.user", "database.password"]
            .iter()
            .any(|key| loading.is_set(key))
        {
            loading.complain("database.host", "credentials of a database are given but not its host; set $DB_HOST or database.url");
        }
        let path = inside(&loading.config.data_dir, "muster.db");
        loading.config.database.url = DatabaseUrl::new(format!("sqlite:{path}"));
        loading.derived("database.url", "inside data_dir");
        return;
    }
    match postgres_url(loading) {
        Some(url) => {
            loading.config.database.url = DatabaseUrl::new(url);
            loading.derived("database.url", "made of database.host and its neighbours");
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
    url.set_username(&database.user).ok()?;
    if !database.password.is_empty() {
        url.set_password(Some(database.password.reveal())).ok()?;
    }
    url.set_path(&database.name);
    if socket {
        url.query_pairs_mut().append_pair("host", &database.host);
    }
    Some(url.into())
}

fn storage(loading: &mut Loading) {
    let storage = &mut loading.config.storage;
    if !storage.url.is_empty() {
        match storage.url.split_once("://") {
            Some(("file", path)) if path.starts_with('/') => {
                storage.kind = Some(StorageKind::Filesystem);
            }
            Some(("s3", bucket)) if !bucket.is_empty() => {
                storage.kind = Some(StorageKind::S3);
                storage.s3_bucket = bucket.split('/').next().unwrap_or_default().into();
            }
            _ => {
                let problem = format!(
                    "`{}` is no place for files; expected file:///folder or s3://bucket",
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
            storage.url = format!("s3://{}", storage.s3_bucket);
            loading.derived("storage.url", "made of storage.s3_bucket");
        }
    }
    if !loading.is_set("storage.kind") {
        loading.derived("storage.kind", "from the other storage settings");
    }
}

fn tls_files(loading: &mut Loading) {
    let server = &loading.config.server;
    let (given, missing, variable) = match (&server.tls_cert, &server.tls_key) {
        (Some(_), None) => (
            "server.tls_cert",
            "key",
            "$HTTPS_KEY_FILE or server.tls_key",
        ),
        (None, Some(_)) => (
            "server.tls_key",
            "certificate",
            "$HTTPS_CERT_FILE or server.tls_cert",
        ),
        (Some(_), Some(_)) | (None, None) => return,
    };
    loading.complain(
        given,
        format!("the {missing} that belongs to it is not given; set {variable} too"),
    );
}

fn addresses(loading: &mut Loading, sources: &Sources) {
    let server = &mut loading.config.server;
    let own_port_for_http = server.http_listen_port.is_some();
    let plain_by_url =
        server.base_url.is_plain_http() && server.tls_cert.is_none() && !own_port_for_http;
    if !loading.is_set("server.plain_http") && plain_by_url {
        loading.config.server.plain_http = true;
        loading.derived("server.plain_http", "because server.base_url says http://");
    }
    base_url(loading, sources);
    let server = &mut loading.config.server;
    if server.image_service_url.is_unset() {
        server.image_service_url = server.base_url.clone();
        loading.derived("server.image_service_url", "same as server.base_url");
    }
    let server = &loading.config.server;
    if server.plain_http && server.tls_cert.is_some() {
        loading.complain(
            "server.plain_http",
            "a certificate is given for a listener without TLS; drop one of the two",
        );
    }
    let server = &loading.config.server;
    if server.http_listen_port == Some(server.listen.port()) && server.listen.port() != 0 {
        loading.complain(
            "server.http_listen_port",
            "the main listener has the same port; choose another",
        );
    }
}

fn base_url(loading: &mut Loading, sources: &Sources) {
    let server = &loading.config.server;
    let local = server.on_loopback_only();
    if !server.base_url.is_unset() {
        let text = server.base_url.as_str();
        let elsewhere = Url::parse(text).is_ok_and(|url| match url.host() {
            Some(url::Host::Ipv4(ip)) => !ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => !ip.is_loopback(),
            Some(url::Host::Domain(name)) => name != "localhost",
            None => false,
        });
        if local && elsewhere {
            let warning = format!(
                "hosts are told to call {text}, but only this machine can reach {}; set server.listen unless a proxy stands in front",
                server.listen
            );
            loading.warnings.push(warning);
        }
        return;
    }
    let scheme = if server.plain_http { "http" } else { "https" };
    let (host, how) = match (&sources.host_name, server.listen.ip().is_unspecified()) {
        (Some(name), true) => (name.clone(), "made of this machine's name and the port"),
        (None, true) => ("localhost".into(), "made of the port"),
        (_, false) if server.listen.is_ipv6() => {
            (format!("[{}]", server.listen.ip()), "made of server.listen")
        }
        (_, false) => (server.listen.ip().to_string(), "made of server.listen"),
    };
    let url = format!("{scheme}://{host}:{}", server.listen.port());
    match BaseUrl::parse(&url) {
        Ok(url) => {
            loading.config.server.base_url = url;
            loading.derived("server.base_url", how);
        }
        Err(reason) => loading.complain(
            "server.base_url",
            format!("cannot be worked out ({url}: {reason}); set it"),
        ),
    }
}

fn auth(loading: &mut Loading) {
    if !loading.is_set("auth.mode") {
        let (mode, how) = match loading.config.server.on_loopback_only() {
            true => (AuthMode::None, "because only this machine can call"),
            false => (AuthMode::Users, "because other machines can call"),
        };
        loading.config.auth.mode = mode;
        loading.derived("auth.mode", how);
    }
    let auth = &loading.config.auth;
    match auth.mode {
        AuthMode::None if !loading.config.server.on_loopback_only() => {
            loading.warnings.push(
                "everyone who can reach the service is administrator (auth.mode is none)".into(),
            );
        }
        AuthMode::AgentInstallerLocal if auth.ec_public_key.is_empty() => {
            loading.complain(
                "auth.mode",
                "needs the installer's public key; set $EC_PUBLIC_KEY_PEM to base64 of its PEM",
            );
        }
        AuthMode::Local if !auth.ec_public_key.is_empty() && auth.ec_private_key.is_empty() => {
            loading.complain("auth.ec_public_key", "the private key that belongs to it is not given, so no token can be signed; set $EC_PRIVATE_KEY_PEM too");
        }
        AuthMode::None | AuthMode::Local | AuthMode::Users | AuthMode::AgentInstallerLocal => {}
    }
    let lifetimes = [
        ("auth.token_lifetime", loading.config.auth.token_lifetime),
        ("auth.link_lifetime", loading.config.auth.link_lifetime),
    ];
    for (key, lifetime) in lifetimes {
        if lifetime < Duration::from_secs(1) {
            loading.complain(key, "would be over before it can be used; give at least 1s");
        }
    }
}

/// The preparing phase contains the checks, so it must not end before they can.
fn timeouts(loading: &mut Loading) {
    let timeouts = &mut loading.config.timeouts;
    let slowest = timeouts.disk_check.max(timeouts.image_availability);
    let cluster = slowest + minutes(2);
    let host = slowest + minutes(1);
    let raise_cluster = timeouts.prepare_cluster < cluster;
    let raise_host = timeouts.prepare_host < host;
    timeouts.prepare_cluster = timeouts.prepare_cluster.max(cluster);
    timeouts.prepare_host = timeouts.prepare_host.max(host);
    if raise_cluster {
        loading.derived(
            "timeouts.prepare_cluster",
            "raised to the slowest check and 2m",
        );
    }
    if raise_host {
        loading.derived(
            "timeouts.prepare_host",
            "raised to the slowest check and 1m",
        );
    }
    let key = "finalizing_stages.waiting_for_cluster_operators";
    if loading.config.features.soft_timeouts && !loading.is_set(key) {
        loading
            .config
            .finalizing_stages
            .waiting_for_cluster_operators = minutes(70);
        loading.derived(key, "because features.soft_timeouts is on");
    }
}

fn networks(loading: &mut Loading) {
    let cluster = &loading.config.cluster;
    let pairs = [
        (
            "cluster.cluster_network_host_prefix",
            cluster.cluster_network_cidr,
            cluster.cluster_network_host_prefix,
        ),
        (
            "cluster.cluster_network_host_prefix_ipv6",
            cluster.cluster_network_cidr_ipv6,
            cluster.cluster_network_host_prefix_ipv6,
        ),
    ];
    for (key, network, prefix) in pairs {
        let (low, high) = (
            u16::from(network.prefix_len()),
            u16::from(network.max_prefix_len()),
        );
        if prefix < low || prefix > high {
            loading.complain(
                key,
                format!("{prefix} does not fit into {network}; expected {low} to {high}"),
            );
        }
    }
    let cluster = &loading.config.cluster;
    let families = [
        (
            "cluster.cluster_network_cidr",
            cluster.cluster_network_cidr,
            32,
        ),
        (
            "cluster.service_network_cidr",
            cluster.service_network_cidr,
            32,
        ),
        (
            "cluster.cluster_network_cidr_ipv6",
            cluster.cluster_network_cidr_ipv6,
            128,
        ),
        (
            "cluster.service_network_cidr_ipv6",
            cluster.service_network_cidr_ipv6,
            128,
        ),
    ];
    for (key, network, bits) in families {
        if network.max_prefix_len() != bits {
            let family = if bits == 32 { "IPv4" } else { "IPv6" };
            loading.complain(key, format!("{network} is not an {family} network"));
        }
    }
    if loading.config.storage.usage_threshold > 100 {
        loading.complain("storage.usage_threshold", "a percentage ends at 100");
    }
}

/// JSON settings must at least have the outer shape that their readers expect.
fn documents(loading: &mut Loading) {
    let config = &loading.config;
    let lists = [
        ("catalog.os_images", &config.catalog.os_images),
        ("catalog.release_images", &config.catalog.release_images),
        (
            "catalog.ignored_openshift_versions",
            &config.catalog.ignored_openshift_versions,
        ),
        (
            "catalog.hardware_requirements",
            &config.catalog.hardware_requirements,
        ),
    ];
    let maps = [
        (
            "catalog.must_gather_images",
            &config.catalog.must_gather_images,
        ),
        (
            "cluster.event_rate_limits",
            &config.cluster.event_rate_limits,
        ),
    ];
    let not = |wrong: fn(&Value) -> bool| {
        move |(_, json): &(&str, &Json)| !json.is_unset() && wrong(&json.0)
    };
    let mut complaints: Vec<(&str, String)> = Vec::new();
    complaints.extend(
        lists
            .into_iter()
            .filter(not(|v| !v.is_array()))
            .map(|(key, _)| (key, "not a JSON list".into())),
    );
    complaints.extend(
        maps.into_iter()
            .filter(not(|v| !v.is_object()))
            .map(|(key, _)| (key, "not a JSON object".into())),
    );
    if let Value::Object(limits) = &config.cluster.event_rate_limits.0 {
        for (event, limit) in limits {
            if let Err(reason) = limit
                .as_str()
                .ok_or("not text".into())
                .and_then(parse_duration)
            {
                let problem = format!("limit of `{event}`: {reason}; expected {}", Duration::KIND);
                complaints.push(("cluster.event_rate_limits", problem));
            }
        }
    }
    for (key, problem) in complaints {
        loading.complain(key, problem);
    }
}

impl Loading {
    fn derived(&mut self, key: &'static str, how: &str) {
        self.origins.insert(key, Origin::Derived(how.into()));
    }

    fn complain(&mut self, key: &str, problem: impl Into<String>) {
        let place = self.place(key);
        self.errors.push(ConfigError::new(place, problem));
    }
}
