//! Rules about mirrors of image repositories.

use std::net::IpAddr;

use serde_json::Value;

use super::{
    Diagnostics, Facts, Rule,
    checks::{host_of, is_subdomain},
};
use crate::{install_config::types::ImageDigestSource, schema::wording::shown};

const READS: &[&str] = &["imageDigestSources", "imageContentSources"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "mirror-names", path: "imageDigestSources.source", reads: READS, text: "Repositories with their registry, without tag or digest; a registry alone is fine.", check: mirror_names },
    Rule { name: "mirror-policy", path: "imageDigestSources.sourcePolicy", reads: READS, text: "Only where mirrors are named.", check: mirror_policy },
    Rule { name: "mirrors-one-form", path: "imageContentSources", reads: READS, text: "Either imageContentSources or imageDigestSources.", check: mirrors_one_form },
    Rule { name: "mirror-credentials", path: "imageDigestSources.mirrors", reads: &["imageDigestSources", "imageContentSources", "pullSecret"], text: "A warning for mirrors the pull secret has no login for.", check: mirror_credentials },
];

/// Path, source and mirrors of each entry.
fn entries<'a>(facts: &Facts<'a>) -> Vec<(String, &'a str, &'a [String])> {
    let config = facts.config;
    let old = config
        .image_content_sources
        .iter()
        .enumerate()
        .map(|(index, entry)| {
            (
                format!("imageContentSources[{index}]"),
                &*entry.source,
                &*entry.mirrors,
            )
        });
    old.chain(digest_entries(&config.image_digest_sources))
        .collect()
}

fn digest_entries(
    sources: &[ImageDigestSource],
) -> impl Iterator<Item = (String, &str, &[String])> {
    let sources = sources.iter().enumerate();
    sources.map(|(index, entry)| {
        (
            format!("imageDigestSources[{index}]"),
            &*entry.source,
            &*entry.mirrors,
        )
    })
}

fn mirror_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    check_names(entries(facts), diagnostics);
}

/// Sources and mirrors by digest are repositories.
pub(crate) fn check_digest_sources(sources: &[ImageDigestSource], diagnostics: &mut Diagnostics) {
    check_names(digest_entries(sources), diagnostics);
}

fn check_names<'a>(
    entries: impl IntoIterator<Item = (String, &'a str, &'a [String])>,
    diagnostics: &mut Diagnostics,
) {
    for (path, source, mirrors) in entries {
        let mirrors = mirrors.iter().enumerate();
        let mirrors =
            mirrors.map(|(index, mirror)| (format!("{path}.mirrors[{index}]"), &**mirror));
        for (path, name) in std::iter::once((format!("{path}.source"), source)).chain(mirrors) {
            if let Err(help) = check_repository(name) {
                let message = if name.is_empty() {
                    "this is missing".to_owned()
                } else {
                    format!("{} is not a repository", shown(name))
                };
                diagnostics.fault(path, message, help);
            }
        }
    }
}

/// `registry[:port]/path…`, or a registry alone.
fn check_repository(name: &str) -> Result<(), &'static str> {
    if name.contains("://") {
        return Err("leave out the scheme: `registry.example.com:5000/path`");
    }
    if name.contains('@') {
        return Err("leave out the digest: mirrors are of whole repositories");
    }
    let (registry, path) = match name.split_once('/') {
        Some((registry, path)) => (registry, Some(path)),
        None => (name, None),
    };
    if registry.starts_with('[') {
        return Err("name the registry by a DNS name: the cluster takes no IPv6 address here");
    }
    let host = host_of(registry);
    let good_host = host.parse::<IpAddr>().is_ok() || is_subdomain(host);
    let Some(path) = path else {
        return if good_host {
            Ok(())
        } else {
            Err("write `registry.example.com:5000/path`")
        };
    };
    if path.contains(':') {
        return Err("leave out the tag: mirrors are of whole repositories");
    }
    // What a client would take for a path on its favourite registry.
    let qualified = registry.contains(['.', ':']) || registry == "localhost";
    if !qualified || !good_host {
        return Err("begin with the registry: `registry.example.com/path`");
    }
    if path.split('/').all(is_path_component) {
        Ok(())
    } else {
        Err(
            "the path behind the registry is made of lower case, digits and single `.`, `_`, `-` between them",
        )
    }
}

fn is_path_component(part: &str) -> bool {
    let edge = |byte: Option<u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let inner =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    part.bytes().all(inner)
        && edge(part.bytes().next())
        && edge(part.bytes().last())
        && !part.contains("..")
}

fn mirror_policy(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    for (index, entry) in facts.config.image_digest_sources.iter().enumerate() {
        if entry.source_policy.is_some() && entry.mirrors.is_empty() {
            diagnostics.fault(
                format!("imageDigestSources[{index}].sourcePolicy"),
                "there are no mirrors it could speak of",
                "add `mirrors:`, or remove it",
            );
        }
    }
}

fn mirrors_one_form(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    if !config.image_content_sources.is_empty() && !config.image_digest_sources.is_empty() {
        diagnostics.fault(
            "imageContentSources",
            "imageDigestSources is set too",
            "move all entries to imageDigestSources",
        );
    }
}

fn mirror_credentials(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Ok(secret) = serde_json::from_str::<Value>(facts.config.pull_secret.reveal()) else {
        return;
    };
    let Some(auths) = secret.get("auths").and_then(Value::as_object) else {
        return;
    };
    for (path, _, mirrors) in entries(facts) {
        for (index, mirror) in mirrors.iter().enumerate() {
            let registry = mirror.split('/').next().unwrap_or(mirror);
            let known = auths
                .keys()
                .any(|key| key.split('/').next() == Some(registry));
            if !known {
                diagnostics.warn(
                    format!("{path}.mirrors[{index}]"),
                    format!("the pull secret has no login for {}", shown(registry)),
                    "add one, unless the registry allows anonymous pulls",
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check_repository;

    #[test]
    fn repositories_are_distinguished_from_what_looks_like_them() {
        for good in [
            "quay.io/openshift-release-dev/ocp-release",
            "registry.example.com:5000/a/b-c_d",
            "registry.example.com",
            "192.0.2.1:5000",
            "localhost/x",
        ] {
            assert!(check_repository(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "library/x",
            "quay.io/x:latest",
            "quay.io/x@sha256:00",
            "https://quay.io/x",
            "quay.io/UPPER",
            "quay.io//x",
            "Quay.io/x",
            "[2001:db8::1]:5000/x",
            "[2001:db8::1]",
        ] {
            assert!(check_repository(bad).is_err(), "{bad}");
        }
    }
}
