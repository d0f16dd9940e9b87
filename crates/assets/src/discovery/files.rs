//! The files of the discovery config.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};
use muster_ignition::{file::text, spec};
use muster_model::InfraEnv;
use serde_json::{Value, json};

use super::{DiscoveryFault, Mirrors, Site, environment, filled};

/// CA of the service on a host.
pub const CA_PATH: &str = "/etc/assisted-service/service-ca-cert.crt";
/// Script that brings the agent.
pub const PULL_IMAGE_PATH: &str = "/usr/local/bin/agent-pull-image";
/// Script that repairs a half-stored image.
pub const FIX_IMAGE_PATH: &str = "/usr/local/bin/agent-fix-bz1964591";

const TRUST_BUNDLE_PATH: &str =
    "/etc/pki/ca-trust/source/anchors/assisted-infraenv-additional-trust-bundle.pem";

/// Interface identifiers that stay the same from boot to boot.
const IPV6_IDENTITY: &str = "[connection]\nipv6.dhcp-iaid=mac\nipv6.dhcp-duid=ll\n";

/// Lets containers run whatever their signature.
const ANY_SIGNATURE: &str = r#"{"default":[{"type":"insecureAcceptAnything"}],"transports":{"docker-daemon":{"":[{"type":"insecureAcceptAnything"}]}}}"#;

/// A unit with this never runs.
const NEVER: &str = "[Unit]\nConditionPathExists=/enoent\n";

const AFTER_OKD: &str = "[Unit]\nWants=okd-overlay.service\nAfter=okd-overlay.service\n";

/// Registry that the service has credentials of its own for.
const STAGING_REGISTRY: &str = "registry.stage.redhat.io";

/// Files of every host: path, mode, content.
const ALWAYS: &[(&str, u32, &str)] = &[
    (
        FIX_IMAGE_PATH,
        0o755,
        include_str!("assets/agent-fix-bz1964591.sh"),
    ),
    (
        PULL_IMAGE_PATH,
        0o755,
        include_str!("assets/agent-pull-image.sh"),
    ),
    ("/etc/motd", 0o644, include_str!("assets/motd")),
    (
        "/etc/NetworkManager/conf.d/01-ipv6.conf",
        0o644,
        IPV6_IDENTITY,
    ),
    (
        "/root/assisted.te",
        0o644,
        include_str!("assets/assisted.te"),
    ),
];

/// Files of hosts of OpenShift, which plain CoreOS has no use for.
const OPENSHIFT: &[(&str, u32, &str)] = &[
    (
        "/etc/multipath.conf",
        0o644,
        include_str!("assets/multipath.conf"),
    ),
    (
        "/usr/local/bin/oci-eval-user-data.sh",
        0o755,
        include_str!("assets/oci-eval-user-data.sh"),
    ),
];

/// Files of hosts of OKD, besides the script with its image.
const OKD: &[(&str, u32, &str)] = &[
    (
        "/etc/systemd/system/release-image-pivot.service.d/wait-for-okd.conf",
        0o644,
        NEVER,
    ),
    (
        "/etc/systemd/system/agent.service.d/wait-for-okd.conf",
        0o644,
        AFTER_OKD,
    ),
];

/// All files but those of the static network.
pub fn files(infra_env: &InfraEnv, site: &Site<'_>) -> Result<Vec<spec::File>, DiscoveryFault> {
    let rows = |rows: &[(&str, u32, &str)]| -> Vec<spec::File> {
        rows.iter()
            .map(|(path, mode, content)| text(path, *mode, content))
            .collect()
    };
    let mut files = rows(ALWAYS);
    match site.okd_rpms_image {
        None => files.extend(rows(OPENSHIFT)),
        Some(image) => {
            let script = include_str!("assets/okd-binaries.sh").replace("@IMAGE@", &quoted(image));
            files.push(text("/usr/local/bin/okd-binaries.sh", 0o755, &script));
            files.extend(rows(OKD));
        }
    }
    // Readable by root only; the reference lets every user read it.
    let secret = pull_secret(infra_env, site)?;
    files.push(text("/root/.docker/config.json", 0o600, &secret));
    if let Some(certificate) = site.ca_certificate {
        files.push(text(CA_PATH, 0o644, certificate));
    }
    if let Some(bundle) = filled(&infra_env.additional_trust_bundle) {
        files.push(text(TRUST_BUNDLE_PATH, 0o644, &format!("{bundle}\n")));
    }
    if let Some(mirrors) = &site.mirrors {
        files.extend(mirror_files(mirrors, site.insecure_policy));
    }
    if let Some(exports) = proxy_exports(infra_env) {
        files.push(text("/etc/profile.d/proxy.sh", 0o644, &exports));
    }
    if let Some(script) = time_sources(infra_env) {
        files.push(text("/usr/local/bin/add-ntp-sources.sh", 0o755, &script));
    }
    Ok(files)
}

fn mirror_files(mirrors: &Mirrors<'_>, insecure_policy: bool) -> Vec<spec::File> {
    let conf = mirrors.registries_conf;
    let mut files = vec![text("/etc/containers/registries.conf", 0o644, conf)];
    if !mirrors.ca_bundle.is_empty() {
        let path = "/etc/pki/ca-trust/source/anchors/domain.crt";
        files.push(text(path, 0o644, mirrors.ca_bundle));
    }
    if insecure_policy {
        files.push(text("/etc/containers/policy.json", 0o644, ANY_SIGNATURE));
    }
    files
}

/// The user's pull secret, with the service's own credentials added if it has any.
fn pull_secret(infra_env: &InfraEnv, site: &Site<'_>) -> Result<String, DiscoveryFault> {
    let secret = infra_env.pull_secret.reveal();
    let own = &site.registry_credentials;
    if own.is_empty() {
        return Ok(secret.to_owned());
    }
    let mut document: Value =
        serde_json::from_str(secret).map_err(|_| DiscoveryFault::PullSecret("is not JSON"))?;
    if !document["auths"].is_object() {
        return Err(DiscoveryFault::PullSecret("has no auths"));
    }
    document["auths"][STAGING_REGISTRY] = json!({"auth": STANDARD.encode(own.reveal())});
    Ok(document.to_string())
}

/// The proxy for people who log in. Exceptions alone are of no use to a shell.
fn proxy_exports(infra_env: &InfraEnv) -> Option<String> {
    let [http, https, exceptions] = environment::proxy(infra_env);
    if http.1.is_empty() && https.1.is_empty() {
        return None;
    }
    let mut script = String::new();
    for (name, value) in [http, https, exceptions] {
        if value.is_empty() {
            continue;
        }
        let value = quoted(value);
        // Writing to a text cannot fail.
        let _ = writeln!(script, "export {name}={value}");
        let _ = writeln!(script, "export {}={value}", name.to_lowercase());
    }
    Some(script)
}

/// A word of a shell script.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', r"'\''"))
}

/// The script that sets time sources, if there are any.
pub fn time_sources(infra_env: &InfraEnv) -> Option<String> {
    let ntp = &infra_env.ntp;
    let (sources, exclusive) = match (filled(&ntp.sources), filled(&ntp.additional)) {
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
