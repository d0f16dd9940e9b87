//! What is wrong with a file of a user: each finding with its place, its rule and its fix.
//!
//! A [`Report`] can be shown plainly ([`std::fmt::Display`]) anywhere; a command line may add
//! formatting. It holds the file only with secrets masked, so it can be logged.

use std::fmt;

use crate::spanned_yaml::{Lines, Place, Problem, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// It can, but the user should know.
    Warning,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Which rule says so; a short stable name.
    pub rule: &'static str,
    /// The field, for example `networking.machineNetwork[0].cidr`; empty for the file as such.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: String,
    /// Where it stands, or the nearest thing that stands there.
    pub span: Span,
}

/// All that is wrong with a file.
#[derive(Clone)]
pub struct Report {
    name: String,
    shown: String,
    lines: Lines,
    findings: Vec<Finding>,
}

impl Finding {
    /// A fault of the text itself.
    #[must_use]
    pub fn of_text(problem: Problem, severity: Severity) -> Self {
        Self {
            severity,
            rule: problem.rule,
            path: String::new(),
            message: problem.message,
            help: problem.help,
            span: problem.span,
        }
    }
}

impl Report {
    /// Findings about the file `name`, whose content without secrets is `shown`. They are put in
    /// the order of the file, errors and warnings together.
    #[must_use]
    pub fn new(name: impl Into<String>, shown: String, mut findings: Vec<Finding>) -> Self {
        findings.sort_by_key(|finding| (finding.span.start, finding.severity));
        let mut unique: Vec<Finding> = Vec::with_capacity(findings.len());
        for finding in findings {
            if !unique.contains(&finding) {
                unique.push(finding);
            }
        }
        Self {
            name: name.into(),
            lines: Lines::of(&shown),
            shown,
            findings: unique,
        }
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file with secrets blotted out; positions are those of the original.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// All findings in the order of the file.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Line and column of a finding.
    #[must_use]
    pub fn place(&self, finding: &Finding) -> Place {
        self.lines.place(&self.shown, finding.span.start)
    }

    /// Something forbids using the file.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    /// Findings of a severity.
    #[must_use]
    pub fn count(&self, severity: Severity) -> usize {
        let of = |finding: &&Finding| finding.severity == severity;
        self.findings.iter().filter(of).count()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// Two lines per finding: place, field, what is wrong, rule; then the fix.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            let Place { line, column } = self.place(finding);
            write!(f, "{}:{line}:{column}: {}: ", self.name, finding.severity)?;
            if !finding.path.is_empty() {
                write!(f, "{}: ", finding.path)?;
            }
            writeln!(f, "{} [{}]", finding.message, finding.rule)?;
            writeln!(f, "  help: {}", finding.help)?;
        }
        Ok(())
    }
}

/// Neither the text nor what it quotes.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("name", &self.name)
            .field("findings", &self.findings)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Report {}

/// The names nearest to a mistyped one, best first.
#[must_use]
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_finds_its_neighbour_and_nonsense_finds_none() {
        let names = ["machineNetwork", "clusterNetwork", "serviceNetwork"];
        assert_eq!(nearest("machineNetwrok", names), Some("machineNetwork"));
        assert_eq!(nearest("MACHINENETWORKS", names), Some("machineNetwork"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_report_is_sorted_by_place_and_lists_each_finding_once() {
        let at = |start: usize, rule: &'static str| Finding {
            severity: Severity::Error,
            rule,
            path: "a.b".to_owned(),
            message: "is wrong".to_owned(),
            help: "fix it".to_owned(),
            span: Span {
                start,
                end: start + 1,
            },
        };
        let text = "one: 1\ntwo: 2\n".to_owned();
        let report = Report::new(
            "f.yaml",
            text,
            vec![at(7, "late"), at(0, "early"), at(7, "late")],
        );
        assert_eq!(
            report.to_string(),
            "f.yaml:1:1: error: a.b: is wrong [early]\n  help: fix it\n\
             f.yaml:2:1: error: a.b: is wrong [late]\n  help: fix it\n"
        );
        assert!(!format!("{report:?}").contains("one: 1"));
    }
}
