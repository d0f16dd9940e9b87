//! Mirror rules from every supported format, in one shape.
//!
//! The most specific rule comes first, then less specific ones, then the registry itself unless a
//! rule forbids it. Mirrors of digests are only used for pinned references, mirrors of tags only
//! for others. So nothing is guessed: [`Mirrors::locations`] is the whole list in order.

mod cluster_objects;
mod registries_conf;

use std::path::Path;

use crate::{Digest, Error, ImageRef, Repository, reference::check_host};

/// More than any file of mirrors has.
const MAX_BYTES: u64 = 4 << 20;

/// Which references a mirror is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Pinned ones.
    Digests,
    /// Those with a tag only.
    Tags,
    /// Both.
    All,
}

/// What becomes of the registry itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// It is asked last.
    Allowed,
    /// It is never asked.
    Forbidden,
}

/// What to do with the registry itself once mirrors have failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// What the rules say.
    #[default]
    AsRulesSay,
    /// Never ask it when there is a mirror.
    Never,
}

/// One mirror of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// `host[:port][/path]`, stands in place of what the rule's prefix matched.
    pub location: String,
    /// Whether its certificate need not be trusted; only a registries.conf can say so.
    pub insecure: bool,
    /// Which references it is for.
    pub serves: Serves,
}

/// One rule: what it is about, where else that is, and whether it may be asked itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// `host[/path]`, or `*.domain` for all its hosts.
    pub prefix: String,
    /// Where the registry itself is, if not where the prefix says.
    pub location: Option<String>,
    /// In the order they are tried.
    pub mirrors: Vec<Mirror>,
    /// What becomes of the registry itself.
    pub source: Source,
    /// Whether the registry's own certificate need not be trusted.
    pub insecure: bool,
}

/// All mirror rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mirrors {
    rules: Vec<Rule>,
    fallback: Fallback,
}

/// A place to ask, with what is special about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Where.
    pub repository: Repository,
    /// Whether its certificate need not be trusted.
    pub insecure: bool,
}

impl Mirrors {
    /// Reads YAML (`ImageContentSourcePolicy`, `ImageDigestMirrorSet`, `ImageTagMirrorSet`, also
    /// several documents; or an install-config with its mirrors) or a registries.conf.
    ///
    /// # Errors
    /// When the text is neither, or a rule in it makes no sense.
    pub fn parse(text: &str) -> Result<Self, Error> {
        // Every document of ours has one of these keys at the start of a line; TOML has none.
        let is_yaml = text.trim_start().starts_with(['{', '-'])
            || text.lines().any(|line| {
                [
                    "apiVersion:",
                    "kind:",
                    "imageDigestSources:",
                    "imageContentSources:",
                ]
                .iter()
                .any(|key| line.starts_with(key))
            });
        let rules = if is_yaml {
            cluster_objects::parse(text)
        } else {
            registries_conf::parse(text)
        }
        .map_err(|why| Error::setting("mirrors", why))?;
        for rule in &rules {
            check(rule).map_err(|why| Error::setting("mirrors", why))?;
        }
        Ok(Self {
            rules,
            fallback: Fallback::default(),
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or holds no mirrors.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = crate::bounded_text(path, MAX_BYTES)?;
        Self::parse(&text).map_err(|error| match error {
            Error::Setting { what, why } => Error::Setting {
                what: format!("{what} {}", path.display()),
                why,
            },
            other => other,
        })
    }

    /// The rules in the order they were read.
    #[must_use]
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Rules from elsewhere, such as an install-config.
    ///
    /// # Errors
    /// When a rule makes no sense.
    pub fn of(rules: Vec<Rule>) -> Result<Self, Error> {
        for rule in &rules {
            check(rule).map_err(|why| Error::setting("mirrors", why))?;
        }
        Ok(Self {
            rules,
            fallback: Fallback::default(),
        })
    }

    /// These rules after ours.
    pub fn extend(&mut self, more: Self) {
        self.rules.extend(more.rules);
    }

    /// Overrules what the rules say about the registry itself.
    pub fn set_fallback(&mut self, fallback: Fallback) {
        self.fallback = fallback;
    }

    /// Has every mirror serve tags, too: to learn which digest a tag stands for where container engines
    /// ask the mirrors for digests only.
    pub fn serve_tags(&mut self) {
        let mirrors = self.rules.iter_mut().flat_map(|rule| &mut rule.mirrors);
        for mirror in mirrors {
            mirror.serves = Serves::All;
        }
    }

    /// Whether images of a tag cannot be had from any mirror although those of a digest can.
    pub fn need_digest(&self, image: &ImageRef) -> bool {
        let by_digest = image.pinned(Digest::of(b""));
        let has_mirror = |image: &ImageRef| {
            let mut locations = self.locations(image).into_iter();
            locations.any(|location| location.repository != image.repository)
        };
        image.digest.is_none() && has_mirror(&by_digest) && !has_mirror(image)
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Every place where the image may be had, in the order to try.
    pub fn locations(&self, image: &ImageRef) -> Vec<Location> {
        let source = image.repository.to_string();
        let mut fitting: Vec<(&Rule, &str)> = self
            .rules
            .iter()
            .filter_map(|rule| Some((rule, rest(&rule.prefix, &source)?)))
            .collect();
        fitting.sort_by_key(|(_, rest)| rest.len());
        let mut found: Vec<Location> = Vec::new();
        let mut add = |place: String, insecure: bool| {
            if let Ok(repository) = Repository::parse(&place)
                && !found.iter().any(|known| known.repository == repository)
            {
                found.push(Location {
                    repository,
                    insecure,
                });
            }
        };
        for (rule, rest) in &fitting {
            for mirror in &rule.mirrors {
                let serves = match mirror.serves {
                    Serves::Digests => image.digest.is_some(),
                    Serves::Tags => image.digest.is_none(),
                    Serves::All => true,
                };
                if serves {
                    add(format!("{}{rest}", mirror.location), mirror.insecure);
                }
            }
        }
        let forbidden = fitting
            .iter()
            .any(|(rule, _)| rule.source == Source::Forbidden)
            || self.fallback == Fallback::Never
                && fitting.iter().any(|(rule, _)| !rule.mirrors.is_empty());
        if !forbidden {
            let first = fitting.first();
            let insecure = first.is_some_and(|(rule, _)| rule.insecure);
            match first.and_then(|(rule, rest)| Some((rule.location.as_ref()?, rest))) {
                Some((location, rest)) => add(format!("{location}{rest}"), insecure),
                None => add(source, insecure),
            }
        }
        found
    }
}

/// What follows the prefix, if the repository is below it.
fn rest<'a>(prefix: &str, repository: &'a str) -> Option<&'a str> {
    if let Some(domain) = prefix.strip_prefix("*.") {
        let (host, _) = repository.split_once('/')?;
        let below = host.strip_suffix(domain)?.strip_suffix('.')?;
        return (!below.is_empty()).then(|| &repository[host.len()..]);
    }
    let rest = repository.strip_prefix(prefix)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

fn check(rule: &Rule) -> Result<(), String> {
    let place = |place: &str| -> Result<(), String> {
        match place.split_once('/') {
            None => check_host(place),
            Some(_) => Repository::parse(place).map(|_| ()),
        }
        .map_err(|why| format!("`{place}` is not a registry or repository: {why}"))
    };
    place(rule.prefix.strip_prefix("*.").unwrap_or(&rule.prefix))?;
    if let Some(location) = &rule.location {
        place(location)?;
    }
    rule.mirrors
        .iter()
        .try_for_each(|mirror| place(&mirror.location))
}

#[cfg(test)]
mod tests;
