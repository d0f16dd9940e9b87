//! Mirrors as configured on hosts: version 2 of `registries.conf`.

use serde::Deserialize;

use super::{Mirror, Rule, Serves, Source};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    registry: Vec<Registry>,
    /// Only version 1 has it.
    registries: Option<toml::Table>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Registry {
    prefix: Option<String>,
    location: Option<String>,
    #[serde(default)]
    insecure: bool,
    #[serde(default)]
    blocked: bool,
    #[serde(default)]
    mirror_by_digest_only: bool,
    #[serde(default)]
    mirror: Vec<MirrorEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct MirrorEntry {
    location: String,
    #[serde(default)]
    insecure: bool,
    pull_from_mirror: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let document: Document = toml::from_str(text).map_err(|cause| {
        format!("it is neither YAML of a mirror set nor a registries.conf: {cause}")
    })?;
    if document.registries.is_some() {
        return Err(
            "[registries.…] is version 1 of registries.conf; write [[registry]] tables".to_owned(),
        );
    }
    document
        .registry
        .into_iter()
        .enumerate()
        .map(|(number, entry)| {
            rule(entry).map_err(|why| format!("[[registry]] {}: {why}", number + 1))
        })
        .collect()
}

fn rule(entry: Registry) -> Result<Rule, String> {
    let trimmed = |text: String| text.trim_end_matches('/').to_owned();
    let location = entry.location.filter(|text| !text.is_empty()).map(trimmed);
    let prefix = entry.prefix.filter(|text| !text.is_empty()).map(trimmed);
    let (prefix, location) = match (prefix, location) {
        (Some(prefix), location) => (prefix, location),
        (None, Some(location)) => (location, None),
        (None, None) => return Err("it has neither `prefix` nor `location`".to_owned()),
    };
    let mirrors = entry.mirror.into_iter().map(|mirror| {
        let serves = match mirror.pull_from_mirror.as_deref() {
            Some("digest-only") => Serves::Digests,
            Some("tag-only") => Serves::Tags,
            Some("all" | "") | None if entry.mirror_by_digest_only => Serves::Digests,
            Some("all" | "") | None => Serves::All,
            Some(other) => {
                return Err(format!(
                    "pull-from-mirror is `{other}`; it must be all, digest-only or tag-only"
                ));
            }
        };
        Ok(Mirror {
            location: trimmed(mirror.location),
            insecure: mirror.insecure,
            serves,
        })
    });
    Ok(Rule {
        prefix,
        location,
        mirrors: mirrors.collect::<Result<_, _>>()?,
        source: match entry.blocked {
            true => Source::Forbidden,
            false => Source::Allowed,
        },
        insecure: entry.insecure,
    })
}
