//! `mirror/registries.conf`: which registries stand in for others, read and validated.

use serde::Deserialize;

use crate::{
    findings::{Finding, Report, Severity},
    spanned_yaml::Span,
};

/// The beginning of an entry.
const ENTRY: &str = "[[registry]]";

/// A good file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Sources and their mirrors.
    pub entries: Vec<(String, Vec<String>)>,
    /// Warnings, if any.
    pub report: Report,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    registry: Vec<Registry>,
}

#[derive(Deserialize)]
struct Registry {
    #[serde(default)]
    location: String,
    #[serde(default)]
    prefix: String,
    #[serde(default)]
    mirror: Vec<Mirror>,
}

#[derive(Deserialize)]
struct Mirror {
    #[serde(default)]
    location: String,
}

/// Reads a file called `name`.
///
/// # Errors
/// It is not TOML, or a field has the wrong form.
pub fn load(name: &str, text: &str) -> Result<Loaded, Report> {
    let file: File = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let finding = Finding {
            severity: Severity::Error,
            rule: "toml",
            path: String::new(),
            message: error.message().trim().replace('\n', "; "),
            help:
                "write version 2 of registries.conf: `[[registry]]` with `location`, and below it \
                   `[[registry.mirror]]` with `location`"
                    .to_owned(),
            span: Span {
                start: span.start,
                end: span.end,
            },
        };
        Report::new(name, text.to_owned(), vec![finding])
    })?;
    let mut findings = Vec::new();
    let mut entries = Vec::new();
    for (index, registry) in file.registry.into_iter().enumerate() {
        let source = match registry.prefix.is_empty() {
            true => registry.location,
            false => registry.prefix,
        };
        let mirrors = registry.mirror.into_iter().map(|mirror| mirror.location);
        let mirrors: Vec<String> = mirrors.filter(|mirror| !mirror.is_empty()).collect();
        if source.is_empty() || mirrors.is_empty() {
            let (message, help) = match source.is_empty() {
                true => (
                    "this registry has no `location`",
                    "add the registry that is mirrored",
                ),
                false => (
                    "this registry has no mirror",
                    "add `[[registry.mirror]]` with a `location`, or remove the entry",
                ),
            };
            let start = nth_entry(text, index);
            findings.push(Finding {
                severity: Severity::Warning,
                rule: "registry",
                path: format!("registry[{index}]"),
                message: message.to_owned(),
                help: help.to_owned(),
                span: Span {
                    start,
                    end: start + ENTRY.len().min(text.len() - start),
                },
            });
            continue;
        }
        entries.push((source, mirrors));
    }
    Ok(Loaded {
        entries,
        report: Report::new(name, text.to_owned(), findings),
    })
}

/// Where the entry begins; the beginning of the file if it is written in another way.
fn nth_entry(text: &str, index: usize) -> usize {
    let mut entries = text.match_indices(ENTRY);
    entries.nth(index).map_or(0, |(start, _)| start)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "unqualified-search-registries = []\n[[registry]]\nlocation = \"quay.io/ocp\"\n\
                        mirror-by-digest-only = true\n[[registry.mirror]]\nlocation = \"m.lab:5000/ocp\"\n";

    #[test]
    fn sources_and_mirrors_are_found_however_they_are_written() {
        let loaded = load("registries.conf", GOOD).unwrap();
        let expected = [("quay.io/ocp".to_owned(), vec!["m.lab:5000/ocp".to_owned()])];
        assert_eq!(loaded.entries, expected);
        assert_eq!(loaded.report.findings(), []);
        let inline =
            "registry = [{prefix = 'quay.io/ocp', mirror = [{location = 'm.lab:5000/ocp'}]}]";
        assert_eq!(load("x", inline).unwrap().entries, expected);
        assert_eq!(load("x", "").unwrap().entries, []);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, expected) in [
            ("[[registry]\nlocation = 1\n", "x:1:"),
            ("\n[[registry]]\nlocation = 7\n", "x:3:12: error"),
            (
                "[[registry]]\nlocation = \"quay.io\"\n",
                "x:1:1: warning: registry[0]: this registry has no mirror",
            ),
            (
                "[[registry]]\nlocation = 'a'\nmirror = [{location = 'b'}]\n[[registry]]\n",
                "x:4:1: warning: registry[1]: this registry has no `location`",
            ),
        ] {
            let report = match load("x", text) {
                Ok(loaded) => loaded.report,
                Err(report) => report,
            };
            let shown = report.to_string();
            assert!(shown.starts_with(expected), "{expected} {shown}");
            assert!(shown.contains("help: "), "{shown}");
        }
    }
}
