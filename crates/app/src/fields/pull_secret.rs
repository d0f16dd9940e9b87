//! Pull secrets: are they well-formed, and do they open the registries we need?
//!
//! Refusals name registries, never credentials.

use std::{borrow::Cow, fs};

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use muster_config::Config;
use serde_json::{Map, Value};

use crate::Invalid;

const DOCKER_HUB: &str = "docker.io";

/// Other names under which credentials for Docker Hub are kept.
const DOCKER_HUB_ALIASES: &[&str] = &[
    "https://index.docker.io/v1/",
    "index.docker.io",
    "registry-1.docker.io",
];

/// Its credentials are added by the service itself.
const STAGING: &str = "registry.stage.redhat.io";

/// Tools write credentials with and without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The images that every host pulls, whatever the release.
#[must_use]
pub fn images(config: &Config) -> Vec<&str> {
    let images = &config.images;
    let mirror = config.catalog.release_image_mirror.as_str();
    [
        images.agent.as_str(),
        &images.installer,
        &images.controller,
        mirror,
    ]
    .into_iter()
    .filter(|image| !image.is_empty())
    .collect()
}

/// The secret that was given; instead of an empty one, that of `cluster.pull_secret_file`.
pub fn or_configured<'a>(given: &'a str, config: &Config) -> Result<Cow<'a, str>, Invalid> {
    match &config.cluster.pull_secret_file {
        Some(file) if given.trim().is_empty() => fs::read_to_string(file)
            .map(Cow::Owned)
            .map_err(|cause| {
                let file = file.display();
                format!("pull_secret is empty, and the file of cluster.pull_secret_file, {file}, cannot be read: {cause}")
                    .into()
            }),
        Some(_) | None => Ok(Cow::Borrowed(given)),
    }
}

/// Checks that the secret is well-formed and has credentials for every image whose registry
/// is not in `public`.
pub fn check(secret: &str, images: &[&str], public: &[String]) -> Result<(), Invalid> {
    let auths = auths(secret)?;
    if auths.is_empty() {
        return Err(
            "pull_secret: \"auths\" has no entry; download the secret again and paste all of it"
                .into(),
        );
    }
    for image in images {
        let repository = repository(image);
        let registry = repository.split('/').next().unwrap_or_default();
        if registry != STAGING
            && !public.iter().any(|open| open == registry)
            && !opens(&auths, &repository)
        {
            return Err(format!(
                "pull_secret has no credentials for {registry}, which serves {image}; add an entry for it to \"auths\", or \
                 list the registry as public in the service's configuration (images.public_registries)"
            ).into());
        }
    }
    Ok(())
}

/// Checks the form alone, for products whose images are public: no credentials are fine too.
pub fn check_form(secret: &str) -> Result<(), Invalid> {
    if secret.trim().is_empty() {
        Ok(())
    } else {
        auths(secret).map(|_| ())
    }
}

/// Reads the entries and checks each.
fn auths(secret: &str) -> Result<Map<String, Value>, Invalid> {
    let document: Value = serde_json::from_str(secret).map_err(|cause| {
        format!(
            "pull_secret is not JSON (line {}, column {}); paste the whole file",
            cause.line(),
            cause.column()
        )
    })?;
    let Value::Object(mut document) = document else {
        return Err("pull_secret is not a JSON object; it looks like {\"auths\": {…}}".into());
    };
    let auths = match document.remove("auths") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(auths)) => auths,
        Some(_) => return Err("pull_secret: \"auths\" is not an object of registries".into()),
    };
    for (registry, entry) in &auths {
        check_entry(entry).map_err(|why| format!("pull_secret, entry {registry:?}: {why}"))?;
    }
    Ok(auths)
}

fn check_entry(entry: &Value) -> Result<(), &'static str> {
    let entry = entry.as_object().ok_or("it is not an object")?;
    let auth = match entry.get("auth") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::String(auth)) if auth.is_empty() => return Ok(()),
        Some(Value::String(auth)) => auth,
        Some(_) => return Err("\"auth\" is not a text"),
    };
    let decoded = BASE64.decode(auth).map_err(|_| "\"auth\" is not base64")?;
    match decoded.iter().position(|byte| *byte == b':') {
        None | Some(0) => Err("\"auth\" is not base64 of user:password"),
        Some(_) => Ok(()),
    }
}

/// Whether some entry counts for the repository: its own, one of a path above it, or its host.
fn opens(auths: &Map<String, Value>, repository: &str) -> bool {
    let mut path = repository;
    loop {
        if auths.contains_key(path) {
            return true;
        }
        match path.rsplit_once('/') {
            Some((above, _)) => path = above,
            None => {
                return path == DOCKER_HUB
                    && DOCKER_HUB_ALIASES
                        .iter()
                        .any(|alias| auths.contains_key(*alias));
            }
        }
    }
}

/// The image without tag and digest, its registry spelled out.
fn repository(image: &str) -> String {
    let image = image.split_once('@').map_or(image, |(name, _digest)| name);
    let untagged = match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    };
    let has_registry = untagged
        .split_once('/')
        .is_some_and(|(first, _)| first.contains(['.', ':']) || first == "localhost");
    match (has_registry, untagged.contains('/')) {
        (true, _) => untagged.to_owned(),
        (false, true) => format!("{DOCKER_HUB}/{untagged}"),
        (false, false) => format!("{DOCKER_HUB}/library/{untagged}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `user:password`.
    const AUTH: &str = "dXNlcjpwYXNzd29yZA==";

    fn secret(registries: &[&str]) -> String {
        let auths: Map<String, Value> = registries
            .iter()
            .map(|name| ((*name).to_owned(), serde_json::json!({"auth": AUTH})))
            .collect();
        serde_json::json!({"auths": auths}).to_string()
    }

    #[test]
    fn images_are_traced_to_their_registries() {
        for (image, expected) in [
            ("quay.io/a/b:latest", "quay.io/a/b"),
            ("quay.io/a/b@sha256:00", "quay.io/a/b"),
            ("localhost:5000/b", "localhost:5000/b"),
            ("localhost/b:1", "localhost/b"),
            ("org/b:1", "docker.io/org/b"),
            ("busybox", "docker.io/library/busybox"),
        ] {
            assert_eq!(repository(image), expected, "{image}");
        }
    }

    #[test]
    fn an_entry_counts_for_all_below_its_path() {
        let images = ["quay.io/openshift/release:4.16", "org/tool"];
        for entries in [
            vec!["quay.io", "docker.io"],
            vec!["quay.io/openshift", "https://index.docker.io/v1/"],
            vec!["quay.io/openshift/release", "docker.io/org"],
        ] {
            assert_eq!(
                check(&secret(&entries), &images, &[]),
                Ok(()),
                "{entries:?}"
            );
        }
        let refusal = check(&secret(&["quay.io/other", "docker.io"]), &images, &[]).unwrap_err();
        assert!(refusal.contains("no credentials for quay.io"), "{refusal}");
        assert!(
            check(&secret(&["quay.io"]), &images, &[])
                .unwrap_err()
                .contains("docker.io")
        );
    }

    #[test]
    fn public_registries_need_no_entry_but_the_secret_still_needs_one() {
        let public = ["quay.io".to_owned()];
        assert_eq!(
            check(
                r#"{"auths":{"elsewhere.test":{}}}"#,
                &["quay.io/a/b"],
                &public
            ),
            Ok(())
        );
        assert_eq!(
            check(
                &secret(&["elsewhere.test"]),
                &["registry.stage.redhat.io/a"],
                &[]
            ),
            Ok(())
        );
        for empty in ["{}", r#"{"auths":{}}"#] {
            assert!(
                check(empty, &["quay.io/a/b"], &public)
                    .unwrap_err()
                    .contains("no entry"),
                "{empty}"
            );
        }
    }

    #[test]
    fn malformed_secrets_are_refused_without_showing_them() {
        for (text, why) in [
            ("", "not JSON"),
            ("hunter2", "not JSON"),
            ("\"hunter2\"", "not a JSON object"),
            (r#"{"auths":["hunter2"]}"#, "not an object of registries"),
            (r#"{"auths":{"a.test":"hunter2"}}"#, "it is not an object"),
            (r#"{"auths":{"a.test":{"auth":7}}}"#, "not a text"),
            (r#"{"auths":{"a.test":{"auth":"hunter2?"}}}"#, "not base64"),
            (
                r#"{"auths":{"a.test":{"auth":"aHVudGVyMg=="}}}"#,
                "user:password",
            ),
            (
                r#"{"auths":{"a.test":{"auth":"Omh1bnRlcjI="}}}"#,
                "user:password",
            ),
        ] {
            let refusal = check(text, &[], &[]).unwrap_err();
            assert!(
                refusal.contains(why) && !refusal.contains("hunter2"),
                "{text}: {refusal}"
            );
        }
    }

    #[test]
    fn a_public_product_needs_no_credentials_but_those_given_must_be_sound() {
        for fine in ["", " ", "{}", r#"{"auths":{}}"#, &secret(&["a.test"])] {
            assert_eq!(check_form(fine), Ok(()), "{fine}");
        }
        assert!(check_form("nonsense").is_err());
        assert!(check_form(r#"{"auths":{"a.test":{"auth":"%"}}}"#).is_err());
    }
}
