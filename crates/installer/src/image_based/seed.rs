//! What a seed holds, besides archives.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// Largest list that makes sense.
const MOST_IMAGES: usize = 10_000;

/// Why a seed cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// A file of it is not what its name promises.
    #[error("{file} of the seed: {why}")]
    File {
        /// The file.
        file: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// It lists more images than any release has.
    #[error("the seed lists {0} images")]
    TooManyImages(usize),
}

fn bad(file: &'static str, why: &dyn fmt::Display) -> SeedError {
    let why = why.to_string();
    SeedError::File { file, why }
}

/// The deployment of the seed: `<commit>.<number>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// The commit.
    pub commit: String,
    /// With its number.
    pub id: String,
}

/// The deployment that the seed had booted.
///
/// # Errors
/// The text is not as `rpm-ostree status --json` writes it.
pub fn booted(status: &[u8]) -> Result<Deployment, SeedError> {
    let bad = |why: &dyn fmt::Display| bad("rpm-ostree.json", why);
    let status: Value = serde_json::from_slice(status).map_err(|cause| bad(&cause))?;
    let deployments = status["deployments"].as_array();
    let booted = deployments
        .into_iter()
        .flatten()
        .find(|deployment| deployment["booted"] == true)
        .ok_or_else(|| bad(&"no deployment is booted"))?;
    let id = booted["id"].as_str().unwrap_or_default();
    let id = id.rsplit('-').next().unwrap_or_default();
    let commit = id.split('.').next().unwrap_or_default();
    let is_hex = commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if commit.len() != 64 || !is_hex || id.contains('/') {
        return Err(bad(&"the booted deployment has no commit"));
    }
    Ok(Deployment {
        commit: commit.to_owned(),
        id: id.to_owned(),
    })
}

/// What the seed says about its cluster, as far as the installation needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Info {
    /// Version of OpenShift.
    #[serde(default)]
    pub seed_cluster_ocp_version: String,
    /// Registry of its release.
    #[serde(default)]
    pub release_registry: String,
    /// Whether it used mirrors.
    #[serde(default)]
    pub mirror_registry_configured: bool,
}

impl Info {
    /// Reads it.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn read(bytes: &[u8]) -> Result<Self, SeedError> {
        serde_json::from_slice(bytes).map_err(|cause| bad("manifest.json", &cause))
    }
}

/// Kernel arguments of the seed.
///
/// # Errors
/// The text is no machine config.
pub fn kernel_arguments(machine_config: &[u8]) -> Result<Vec<String>, SeedError> {
    let config: Value = serde_json::from_slice(machine_config)
        .map_err(|cause| bad("mco-currentconfig.json", &cause))?;
    let arguments = config["spec"]["kernelArguments"].as_array();
    let arguments = arguments.into_iter().flatten().filter_map(Value::as_str);
    let mut arguments: Vec<String> = arguments.map(str::to_owned).collect();
    if config["spec"]["fips"] == true {
        arguments.extend(["fips=1", "boot=LABEL=boot"].map(str::to_owned));
    }
    Ok(arguments)
}

/// The images to precache: from another registry where the seed's is not reachable by mirrors.
///
/// # Errors
/// There are far too many.
pub fn images(
    list: &str,
    info: &Info,
    mirror_sources: &[String],
    release_registry: &str,
) -> Result<Vec<String>, SeedError> {
    let own = info.release_registry.as_str();
    let overrides = if mirror_sources.is_empty() {
        info.mirror_registry_configured
    } else {
        !mirror_sources.iter().any(|source| source == own)
    };
    let replaced = overrides && !own.is_empty() && !release_registry.is_empty();
    let mut images: Vec<String> = Vec::new();
    for line in list.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let image = match line.strip_prefix(own) {
            Some(rest) if replaced => format!("{release_registry}{rest}"),
            Some(_) | None => line.to_owned(),
        };
        // A line that begins with a dash would be an option of podman's.
        if image.starts_with('-') || images.contains(&image) {
            continue;
        }
        images.push(image);
    }
    if images.len() > MOST_IMAGES {
        return Err(SeedError::TooManyImages(images.len()));
    }
    Ok(images)
}

/// Registries whose images have mirrors, by `registries.conf`.
#[must_use]
pub fn mirror_sources(registries: &str) -> Vec<String> {
    let locations = registries.lines().filter_map(|line| {
        let value = line
            .trim()
            .strip_prefix("location")?
            .trim_start()
            .strip_prefix('=')?;
        let value = value.trim().trim_matches('"');
        Some(value.split('/').next().unwrap_or(value).to_owned())
    });
    locations.filter(|host| !host.is_empty()).collect()
}

/// Paths below `/etc` that the seed's cluster had deleted.
pub fn deletions(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| line.starts_with("/etc/") && !line.split('/').any(|part| part == ".."))
}

/// Deployments by `ostree admin status`: stateroot and id, in boot order.
#[must_use]
pub fn deployments(status: &str) -> Vec<(String, String)> {
    let lines = status.lines().filter_map(|line| {
        let mut words = line.trim_start_matches(['*', ' ']).split_whitespace();
        let (root, id) = (words.next()?, words.next()?);
        let commit = id.split('.').next()?;
        let is_commit = commit.len() == 64 && commit.bytes().all(|b| b.is_ascii_hexdigit());
        is_commit.then(|| (root.to_owned(), id.to_owned()))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_booted_deployment_is_found_by_its_last_part() {
        let commit = "a".repeat(64);
        let status = format!(
            r#"{{"deployments":[{{"id":"rhcos-{commit}.1"}},{{"id":"rhcos-x-{commit}.0","booted":true}}]}}"#
        );
        let found = booted(status.as_bytes()).unwrap();
        assert_eq!((found.id, found.commit), (format!("{commit}.0"), commit));
        for bad in [
            "",
            "{}",
            r#"{"deployments":[{"id":"rhcos-zz.0","booted":true}]}"#,
        ] {
            assert!(booted(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn kernel_arguments_follow_the_machine_config() {
        let config = br#"{"spec":{"kernelArguments":["a=1","b"],"fips":true}}"#;
        assert_eq!(
            kernel_arguments(config).unwrap(),
            ["a=1", "b", "fips=1", "boot=LABEL=boot"]
        );
        assert!(kernel_arguments(b"{}").unwrap().is_empty());
        assert!(kernel_arguments(b"no").is_err());
    }

    #[test]
    fn images_move_to_the_release_registry_where_no_mirror_helps() {
        let info = |mirrored| Info {
            release_registry: "quay.io".to_owned(),
            mirror_registry_configured: mirrored,
            ..Info::default()
        };
        let list = "quay.io/a@sha256:1\n\nquay.io/a@sha256:1\nother.io/b:1\n--help";
        let plain = ["quay.io/a@sha256:1", "other.io/b:1"];
        let moved = ["lab:5000/a@sha256:1", "other.io/b:1"];
        let of = |mirrored, sources: &[&str], registry: &str| {
            let sources: Vec<String> = sources.iter().map(|s| (*s).to_owned()).collect();
            images(list, &info(mirrored), &sources, registry).unwrap()
        };
        assert_eq!(of(false, &[], "lab:5000"), plain);
        assert_eq!(of(true, &[], "lab:5000"), moved);
        assert_eq!(of(true, &["quay.io"], "lab:5000"), plain);
        assert_eq!(of(false, &["other.io"], "lab:5000"), moved);
        assert_eq!(of(true, &[], ""), plain);
    }

    #[test]
    fn mirrors_deletions_and_deployments_are_read_from_text() {
        let conf = "[[registry]]\nlocation = \"quay.io/x\"\n[[registry.mirror]]\n  location=\"lab:5000/x\"\n";
        assert_eq!(mirror_sources(conf), ["quay.io", "lab:5000"]);
        let lines = "/etc/a\n/usr/b\n/etc/../usr/c\n\n/etc/d/e\n";
        assert_eq!(deletions(lines).collect::<Vec<_>>(), ["/etc/a", "/etc/d/e"]);
        let commit = "b".repeat(64);
        let status = format!("  rhcos_4.18.5 {commit}.0\n    origin: x\n* rhcos {commit}.0\n");
        assert_eq!(deployments(&status).len(), 2);
        assert_eq!(deployments(&status)[0].0, "rhcos_4.18.5");
    }
}
