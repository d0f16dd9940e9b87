//! How clients reach the service, and which clients.

use std::time::Duration;

use url::Url;

use crate::kinds::{BaseUrl, Parse as _};
use crate::load::{Loading, Sources};
use crate::sections::AuthMode;

pub(super) fn tls_files(loading: &mut Loading) {
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

pub(super) fn addresses(loading: &mut Loading, sources: &Sources) {
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
            "a certificate is given for a listener without TLS; remove one of the two",
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
        let elsewhere = !on_loopback(&server.base_url);
        if local && elsewhere {
            let warning = format!(
                "hosts are configured to call {text}, but only this machine can reach {}; \
                     set server.listen unless a proxy stands in front",
                server.listen
            );
            loading.warnings.push(warning);
        }
        return;
    }
    let scheme = if server.plain_http { "http" } else { "https" };
    let (host, how) = match (&sources.host_name, server.listen.ip().is_unspecified()) {
        (Some(name), true) => (name.clone(), "from this machine's name and the port"),
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

/// Whether the URL names this machine only.
fn on_loopback(url: &BaseUrl) -> bool {
    Url::parse(url.as_str()).is_ok_and(|url| match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    })
}

pub(super) fn auth(loading: &mut Loading) {
    if !loading.is_set("auth.mode") {
        let server = &loading.config.server;
        let urls_are_local =
            on_loopback(&server.base_url) && on_loopback(&server.image_service_url);
        let (mode, how) = match (server.on_loopback_only(), urls_are_local) {
            (true, true) => (AuthMode::None, "because only this machine can call"),
            // A proxy on this machine brings the calls of others to the loopback listener.
            (true, false) => (
                AuthMode::Users,
                "because server.base_url or server.image_service_url names another host",
            ),
            (false, _) => (AuthMode::Users, "because other machines can call"),
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
            loading.complain(
                "auth.ec_public_key",
                "the private key that belongs to it is not given, so no token can be \
                 signed; set $EC_PRIVATE_KEY_PEM too",
            );
        }
        AuthMode::None | AuthMode::Local | AuthMode::Users | AuthMode::AgentInstallerLocal => {}
    }
    let lifetimes = [
        ("auth.token_lifetime", loading.config.auth.token_lifetime),
        ("auth.link_lifetime", loading.config.auth.link_lifetime),
    ];
    for (key, lifetime) in lifetimes {
        if lifetime < Duration::from_secs(1) {
            loading.complain(key, "would expire before it can be used; set at least 1s");
        }
    }
}
