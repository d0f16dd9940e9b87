//! The files of the discovery config.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_model::InfraEnv;
use serde_json::{Value, json};

use super::{super::ignition::file, Service};

/// CA of the service on a host.
pub const CA_PATH: &str = "/etc/assisted-service/service-ca-cert.crt";
/// Script that pulls the agent's image.
pub const PULL_IMAGE_PATH: &str = "/usr/local/bin/agent-pull-image";
/// Script that repairs a half-stored image.
pub const FIX_IMAGE_PATH: &str = "/usr/local/bin/agent-fix-bz1964591";

const TRUST_BUNDLE_PATH: &str =
    "/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem";

/// Interface identifiers that stay the same from boot to boot.
const IPV6_IDENTITY: &str = "[connection]\nipv6.dhcp-iaid=mac\nipv6.dhcp-duid=ll\n";

/// Registry that the service has credentials of its own for.
const STAGING_REGISTRY: &str = "registry.stage.redhat.io";

/// All files but those of the static network.
pub fn files(infra_env: &InfraEnv, service: &Service<'_>) -> Result<Vec<Value>, String> {
    let mut files = vec![
        file(
            FIX_IMAGE_PATH,
            0o755,
            include_str!("assets/agent-fix-bz1964591.sh"),
        ),
        file(
            PULL_IMAGE_PATH,
            0o755,
            include_str!("assets/agent-pull-image.sh"),
        ),
        file("/etc/motd", 0o644, include_str!("assets/motd")),
        file(
            "/etc/multipath.conf",
            0o644,
            include_str!("assets/multipath.conf"),
        ),
        file(
            "/etc/NetworkManager/conf.d/01-ipv6.conf",
            0o644,
            IPV6_IDENTITY,
        ),
        file(
            "/root/.docker/config.json",
            0o600,
            &pull_secret(infra_env, service)?,
        ),
        file(
            "/root/assisted.te",
            0o644,
            include_str!("assets/assisted.te"),
        ),
    ];
    if let Some(certificate) = service.ca_certificate {
        files.push(file(CA_PATH, 0o644, certificate));
    }
    if let Some(bundle) = infra_env
        .additional_trust_bundle
        .as_deref()
        .filter(|b| !b.is_empty())
    {
        files.push(file(TRUST_BUNDLE_PATH, 0o644, &format!("{bundle}\n")));
    }
    if let Some(exports) = proxy_exports(infra_env) {
        files.push(file("/etc/profile.d/proxy.sh", 0o644, &exports));
    }
    if let Some(script) = time_sources(infra_env) {
        files.push(file("/usr/local/bin/add-ntp-sources.sh", 0o755, &script));
    }
    Ok(files)
}

/// The user's pull secret, with the service's own credentials added if it has any.
fn pull_secret(infra_env: &InfraEnv, service: &Service<'_>) -> Result<String, String> {
    let secret = infra_env.pull_secret.reveal();
    let own = &service.config.images.registry_credentials;
    if own.is_empty() {
        return Ok(secret.to_owned());
    }
    let mut document: Value = serde_json::from_str(secret)
        .map_err(|_| "the stored pull secret is not JSON; set it again".to_owned())?;
    document["auths"][STAGING_REGISTRY] = json!({"auth": STANDARD.encode(own.reveal())});
    Ok(document.to_string())
}

/// The proxy for people who log in. Exceptions alone are of no use to a shell.
fn proxy_exports(infra_env: &InfraEnv) -> Option<String> {
    let proxy = &infra_env.proxy;
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (http, https) = (set(&proxy.http), set(&proxy.https));
    if http.is_none() && https.is_none() {
        return None;
    }
    let mut script = String::new();
    for (name, value) in [
        ("HTTP_PROXY", http),
        ("HTTPS_PROXY", https),
        ("NO_PROXY", set(&proxy.no_proxy)),
    ] {
        let Some(value) = value else { continue };
        let quoted = format!("'{}'", value.replace('\'', r"'\''"));
        for name in [name.to_owned(), name.to_lowercase()] {
            // Writing to a text cannot fail.
            let _ = writeln!(script, "export {name}={quoted}");
        }
    }
    Some(script)
}

/// The script that sets time sources, if there are any.
pub fn time_sources(infra_env: &InfraEnv) -> Option<String> {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (sources, exclusive) = match (set(&infra_env.ntp.sources), set(&infra_env.ntp.additional)) {
        (Some(sources), _) => (sources, "yes"),
        (None, Some(additional)) => (additional, "no"),
        (None, None) => return None,
    };
    // Sources are addresses and host names: nothing in them needs quoting.
    let list = sources
        .split(',')
        .map(str::trim)
        .collect::<Vec<_>>()
        .join(" ");
    let script = include_str!("assets/add-ntp-sources.sh");
    Some(
        script
            .replace("@SOURCES@", &list)
            .replace("@EXCLUSIVE@", exclusive),
    )
}
