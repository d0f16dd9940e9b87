//! What rules say about a file of a user, and where in the file it stands.

pub(crate) mod checks;
pub(crate) mod credentials;
pub(crate) mod image_based;
pub(crate) mod machines;

use std::collections::HashMap;

use serde_json::Value;

use crate::{
    findings::{Finding, Severity},
    schema::{walk::Walked, wording::plain_path},
    spanned_yaml::Span,
};

/// What nmstate says about a network, given the names and addresses of its cards; handed in, because
/// nmstate is not known here.
pub type NetworkCheck<'a> = &'a dyn Fn(&Value, &[(&str, &str)]) -> Vec<String>;

/// A rule in words.
#[derive(Clone, Copy, Debug)]
pub struct RuleSummary {
    /// A short stable name; findings carry it.
    pub name: &'static str,
    /// The field it is about, without numbers of list entries.
    pub path: &'static str,
    /// What must hold, in a sentence.
    pub text: &'static str,
}

/// What rules say.
pub(crate) struct Diagnostics {
    rule: &'static str,
    reported: Vec<Diagnostic>,
}

struct Diagnostic {
    severity: Severity,
    rule: &'static str,
    path: String,
    message: String,
    help: String,
}

impl Diagnostics {
    /// None yet; the first ones come from this rule.
    pub fn of(rule: &'static str) -> Self {
        Self {
            rule,
            reported: Vec::new(),
        }
    }

    /// What follows comes from this rule.
    pub fn under(&mut self, rule: &'static str) {
        self.rule = rule;
    }

    /// The file cannot be used.
    pub fn fault(
        &mut self,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(Severity::Error, path.into(), message.into(), help.into());
    }

    /// The file can be used, but the user should know.
    pub fn warn(
        &mut self,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report(Severity::Warning, path.into(), message.into(), help.into());
    }

    fn report(&mut self, severity: Severity, path: String, message: String, help: String) {
        self.reported.push(Diagnostic {
            severity,
            rule: self.rule,
            path,
            message,
            help,
        });
    }
}

/// Where the fields of a file stand, and which have the wrong form.
pub(crate) struct Sheet {
    places: HashMap<String, (Span, Span)>,
    broken: Vec<String>,
    /// Where a value came from that was written in an old spelling: new path, old path.
    moved: Vec<(String, String)>,
}

impl Sheet {
    /// The sheet of a file that was held against its schema.
    pub fn of(walked: &mut Walked) -> Self {
        Self {
            places: std::mem::take(&mut walked.places),
            broken: std::mem::take(&mut walked.broken),
            moved: Vec::new(),
        }
    }

    /// A value was taken over from its old spelling.
    pub fn moved(&mut self, new: &str, old: &str) {
        self.moved.push((new.to_owned(), old.to_owned()));
    }

    /// Something was written there, whatever it was.
    pub fn was_written(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    /// None of these fields, given without numbers of list entries, has the wrong form.
    pub fn is_sound(&self, fields: &[&str]) -> bool {
        let broken = self.broken.iter().map(|path| plain_path(path));
        !broken
            .into_iter()
            .any(|broken| fields.iter().any(|field| are_related(field, &broken)))
    }

    /// What was said, each at its place; nothing about what has the wrong form anyway.
    pub fn findings(&self, diagnostics: Diagnostics) -> Vec<Finding> {
        let reported = diagnostics.reported.into_iter().filter(|diagnostic| {
            let mut broken = self.broken.iter();
            !broken.any(|broken| are_related(&diagnostic.path, broken))
        });
        let findings = reported.map(|diagnostic| Finding {
            severity: diagnostic.severity,
            rule: diagnostic.rule,
            span: self.place_of(&diagnostic.path),
            path: diagnostic.path,
            message: diagnostic.message,
            help: diagnostic.help,
        });
        findings.collect()
    }

    /// Where a field stands: its value, else the key of the nearest field around it.
    fn place_of(&self, path: &str) -> Span {
        let mut path = path.to_owned();
        let mut exact = true;
        loop {
            if let Some((key, value)) = self.places.get(&path) {
                let shown = exact && value.end > value.start;
                return if shown { *value } else { *key };
            }
            if let Some((_, old)) = self.moved.iter().find(|(new, _)| is_within(&path, new)) {
                path.clone_from(old);
                if self.places.contains_key(&path) {
                    continue;
                }
            }
            exact = false;
            match path.rfind(['.', '[']) {
                Some(cut) => path.truncate(cut),
                None => return Span::default(),
            }
        }
    }
}

fn are_related(one: &str, other: &str) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// `inner` is `outer` or lies below it.
fn is_within(inner: &str, outer: &str) -> bool {
    match inner.strip_prefix(outer) {
        Some(rest) => rest.is_empty() || outer.is_empty() || rest.starts_with(['.', '[']),
        None => false,
    }
}
