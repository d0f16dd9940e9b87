//! `registries.conf` of the bootstrap host: where images may come from instead.

use muster_documents::install_config::types::{InstallConfig, SourcePolicy};

struct Registry {
    source: String,
    blocked: bool,
    mirrors: Vec<String>,
}

/// The file's text; empty without mirrors, and written even then: it replaces the image's own.
pub(crate) fn conf(config: &InstallConfig) -> String {
    let mut text = String::new();
    for registry in registries(config) {
        text.push_str(&format!(
            "[[registry]]\nlocation = {:?}\ninsecure = false\nmirror-by-digest-only = true\nblocked = {}\n\n",
            registry.source, registry.blocked
        ));
        for mirror in registry.mirrors {
            text.push_str(&format!(
                "[[registry.mirror]]\nlocation = {mirror:?}\ninsecure = false\n\n"
            ));
        }
    }
    text
}

/// Sources with their mirrors; entries for the same source are one.
fn registries(config: &InstallConfig) -> Vec<Registry> {
    let old = config
        .image_content_sources
        .iter()
        .map(|entry| (&entry.source, &entry.mirrors, false));
    let new = config.image_digest_sources.iter().map(|entry| {
        let blocked = entry.source_policy == Some(SourcePolicy::NeverContactSource);
        (&entry.source, &entry.mirrors, blocked)
    });
    let mut all: Vec<Registry> = Vec::new();
    for (source, mirrors, blocked) in old.chain(new) {
        let known = all
            .iter()
            .position(|r| r.source == *source && r.blocked == blocked);
        let index = known.unwrap_or_else(|| {
            all.push(Registry {
                source: source.clone(),
                blocked,
                mirrors: Vec::new(),
            });
            all.len() - 1
        });
        for mirror in mirrors {
            if !all[index].mirrors.contains(mirror) {
                all[index].mirrors.push(mirror.clone());
            }
        }
    }
    all.retain(|registry| !registry.mirrors.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_documents::install_config::types::ImageDigestSource;

    #[test]
    fn entries_of_one_source_are_merged_and_those_without_mirrors_left_out() {
        let entry = |source: &str, mirrors: &[&str], source_policy| ImageDigestSource {
            source: source.to_owned(),
            mirrors: mirrors.iter().map(|m| (*m).to_owned()).collect(),
            source_policy,
        };
        let config = InstallConfig {
            image_digest_sources: vec![
                entry("a", &["m1"], None),
                entry("b", &[], None),
                entry("a", &["m2", "m1"], None),
                entry("a", &["m3"], Some(SourcePolicy::NeverContactSource)),
            ],
            ..InstallConfig::default()
        };
        let text = conf(&config);
        assert_eq!(text.matches("[[registry]]").count(), 2, "{text}");
        assert_eq!(text.matches("[[registry.mirror]]").count(), 3, "{text}");
        assert!(
            text.contains("blocked = true") && !text.contains("\"b\""),
            "{text}"
        );
        assert_eq!(conf(&InstallConfig::default()), "");
    }
}
