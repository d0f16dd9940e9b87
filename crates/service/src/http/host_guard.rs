//! In mode `none` everyone who reaches the service is administrator, and a browser on this machine
//! can be made to reach it: a foreign page resolves its own name to our address (DNS rebinding).
//! The `Host` header then still shows the foreign name, so unknown names are refused.
//!
//! On a loopback listener only loopback addresses and configured names pass. If no URL of the
//! service names another machine, requests that came through a proxy are refused, too. On other
//! listeners mode `none` was chosen explicitly: there any address and any name without a dot pass
//! as well, because neither can be taken over by a foreign DNS server.

use std::net::IpAddr;

use http::{HeaderMap, StatusCode, Uri, header};
use muster_config::{Config, sections::AuthMode};

use crate::http::Failure;

/// Headers that a proxy adds.
const FORWARDED: [&str; 4] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// Which names callers may use for this service.
#[derive(Debug)]
pub struct HostGuard(Option<Rules>);

#[derive(Debug)]
struct Rules {
    /// Lower case, without ports.
    names: Vec<String>,
    loopback_only: bool,
    refuses_forwarded: bool,
}

impl HostGuard {
    /// The guard that a configuration asks for.
    #[must_use]
    pub fn of(config: &Config) -> Self {
        match config.auth.mode {
            AuthMode::Local | AuthMode::Users | AuthMode::AgentInstallerLocal => return Self(None),
            AuthMode::None => {}
        }
        let server = &config.server;
        let loopback_only = server.on_loopback_only();
        let refuses_forwarded = loopback_only && server.url_hosts().all(|host| is_loopback(&host));
        let names = server
            .url_hosts()
            .chain(server.tls_names.iter().cloned())
            .chain(server.allowed_hosts.iter().cloned())
            .map(|name| name.to_ascii_lowercase())
            .collect();
        Self(Some(Rules {
            names,
            loopback_only,
            refuses_forwarded,
        }))
    }

    /// Refuses a request that names another host or came through an unexpected proxy.
    ///
    /// # Errors
    /// 403 with the setting that admits it.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(rules) = &self.0 else {
            return Ok(());
        };
        if rules.refuses_forwarded && FORWARDED.iter().any(|name| headers.contains_key(*name)) {
            return Err(refused(
                "this service has no authentication and serves this machine only, but the request \
                 came through a proxy; set server.base_url to the proxy's URL and choose auth.mode",
            ));
        }
        // HTTP/2 carries the name in the URI. A request without any name is not from a browser.
        let in_uri = uri.host().map(str::to_owned);
        let in_headers = headers
            .get_all(header::HOST)
            .iter()
            .map(|value| value.to_str().unwrap_or_default().to_owned());
        match in_uri
            .into_iter()
            .chain(in_headers)
            .find(|name| !rules.admits(name))
        {
            None => Ok(()),
            Some(name) => Err(refused(format!(
                "this service has no authentication and does not answer to the host name {name:?}; \
                 add it to server.allowed_hosts, or choose another auth.mode"
            ))),
        }
    }
}

impl Rules {
    fn admits(&self, authority: &str) -> bool {
        let host = without_port(authority).to_ascii_lowercase();
        if is_loopback(&host) || self.names.iter().any(|name| fits(name, &host)) {
            return true;
        }
        let safe_from_rebinding =
            !host.is_empty() && (address(&host).is_some() || !host.contains('.'));
        !self.loopback_only && safe_from_rebinding
    }
}

/// Whether a configured name, perhaps with a wildcard for one label, is this host.
fn fits(name: &str, host: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(rest) => host.split_once('.').is_some_and(|(_, tail)| tail == rest),
        None => unbracketed(name) == unbracketed(host),
    }
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            // The colons of a bare IPv6 address are no ports.
            if host.contains(':') && !host.ends_with(']') {
                authority
            } else {
                host
            }
        }
        Some(_) | None => authority,
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || address(host).is_some_and(|address| address.is_loopback())
}

fn address(host: &str) -> Option<IpAddr> {
    unbracketed(host).parse().ok()
}

fn unbracketed(host: &str) -> &str {
    host.trim_matches(['[', ']'])
}

fn refused(message: impl Into<String>) -> Failure {
    Failure::infra(StatusCode::FORBIDDEN, message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use muster_config::{Overrides, Sources};

    use super::*;

    fn guard(settings: &[(&'static str, &str)]) -> HostGuard {
        let flags = settings
            .iter()
            .chain(&[("data_dir", "/nowhere")])
            .fold(Overrides::default(), |flags, (key, value)| {
                flags.set("test", key, *value)
            });
        let sources = Sources {
            flags,
            ..Sources::default()
        };
        HostGuard::of(&Config::load(&sources).unwrap().config)
    }

    fn passes(guard: &HostGuard, host: &str, more: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        for name in more {
            headers.insert(*name, HeaderValue::from_static("x"));
        }
        guard
            .check(&Uri::from_static("/v2/clusters"), &headers)
            .is_ok()
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_pass() {
        let guard = guard(&[
            ("server.tls_names", "me.lab"),
            ("server.allowed_hosts", "*.dev.lab"),
        ]);
        for host in [
            "127.0.0.1:8090",
            "127.8.0.1",
            "[::1]:8090",
            "localhost:1",
            "LOCALHOST",
            "a.localhost",
            "me.lab:80",
            "x.dev.lab",
        ] {
            assert!(passes(&guard, host, &[]), "{host}");
        }
        for host in [
            "evil.example.com",
            "127.0.0.1.evil.example.com",
            "localhost.evil.example.com:8090",
            "192.168.1.7",
            "node7",
            "",
            "::1:evil.example.com",
        ] {
            assert!(!passes(&guard, host, &[]), "{host}");
        }
        let h2 = Uri::from_static("https://evil.example.com/v2/clusters");
        assert!(guard.check(&h2, &HeaderMap::new()).is_err());
    }

    #[test]
    fn a_proxy_is_refused_unless_a_url_names_it() {
        let alone = guard(&[]);
        for name in FORWARDED {
            assert!(!passes(&alone, "127.0.0.1", &[name]), "{name}");
        }
        let proxied = guard(&[
            ("auth.mode", "none"),
            ("server.base_url", "https://muster.example.com"),
        ]);
        assert!(passes(&proxied, "muster.example.com", &["x-forwarded-for"]));
        assert!(!passes(&proxied, "evil.example.com", &["x-forwarded-for"]));
    }

    #[test]
    fn an_open_service_on_the_network_answers_to_addresses_and_short_names() {
        let open = guard(&[("auth.mode", "none"), ("server.listen", "0.0.0.0:8090")]);
        for host in [
            "192.168.1.7:8090",
            "[fd00::7]:8090",
            "node7:8090",
            "127.0.0.1",
        ] {
            assert!(passes(&open, host, &["x-forwarded-for"]), "{host}");
        }
        assert!(!passes(&open, "evil.example.com", &[]));
    }

    #[test]
    fn where_callers_prove_who_they_are_any_name_passes() {
        let guard = guard(&[("auth.mode", "users")]);
        assert!(passes(&guard, "evil.example.com", &["forwarded"]));
    }
}
