//! What is wrong with a user's file, shown in the file: drawn with the lines in question in a
//! terminal, two plain lines per finding otherwise.

use std::{
    fmt,
    io::{self, Write},
};

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity,
    SourceCode,
};
use muster_documents::findings::{Finding, Report, Severity as Weight};

use crate::terminal;

/// Shows a report on standard error, if there is anything in it.
pub fn show(report: &Report) {
    let mut err = io::stderr().lock();
    let ability = terminal::stderr();
    let text = if ability.has_cursor() {
        drawn(report, ability.has_colours())
    } else {
        report.to_string()
    };
    // A closed standard error cannot be reported anywhere.
    let _ = err.write_all(text.as_bytes());
}

/// One line that says how much is wrong.
pub fn summary(report: &Report) -> String {
    let count = |weight, one: &str| match report.count(weight) {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    };
    format!(
        "{}: {}, {}",
        report.name(),
        count(Weight::Error, "error"),
        count(Weight::Warning, "warning")
    )
}

fn drawn(report: &Report, colours: bool) -> String {
    let theme = match colours {
        true => GraphicalTheme::unicode(),
        false => GraphicalTheme::unicode_nocolor(),
    };
    let handler = GraphicalReportHandler::new_themed(theme);
    let source = NamedSource::new(report.name(), report.shown().to_owned());
    let mut text = String::new();
    for finding in report.findings() {
        let shown = Shown {
            finding,
            source: &source,
        };
        if handler.render_report(&mut text, &shown).is_err() {
            return report.to_string();
        }
    }
    text
}

/// A finding as miette wants it.
struct Shown<'a> {
    finding: &'a Finding,
    source: &'a NamedSource<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { path, message, .. } = self.finding;
        if path.is_empty() {
            f.write_str(message)
        } else {
            write!(f, "{path}: {message}")
        }
    }
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.finding, f)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.finding.rule))
    }

    fn severity(&self) -> Option<Severity> {
        Some(match self.finding.severity {
            Weight::Error => Severity::Error,
            Weight::Warning => Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.finding.help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = self.finding.span;
        let label = LabeledSpan::new(None, span.start, span.end.saturating_sub(span.start));
        Some(Box::new(std::iter::once(label)))
    }
}

#[cfg(test)]
mod tests {
    use muster_documents::install_config::{Environment, load};

    use super::*;

    #[test]
    fn a_finding_is_drawn_with_its_line_and_without_secrets() {
        let file = "apiVersion: v1\npullSecret: hush\nbaseDomian: example.com\n";
        let mut random = |_: &mut [u8]| {};
        let report = load(
            "f.yaml",
            file.as_bytes(),
            &mut Environment::new(&mut random),
        );
        let report = report.expect_err("it is far from whole");
        assert!(!drawn(&report, false).contains('\u{1b}'));
        let drawn = drawn(&report, true);
        for part in [
            "f.yaml:3:1",
            "baseDomian",
            "did you mean `baseDomain`?",
            "unknown-field",
        ] {
            assert!(drawn.contains(part), "{part} is missing in\n{drawn}");
        }
        assert!(!drawn.contains("hush"), "{drawn}");
        assert!(summary(&report).starts_with("f.yaml: "));
    }
}
