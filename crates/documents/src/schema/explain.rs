//! Fields and rules of a document in words, for `muster explain`.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Document, Field, Kind, wording::plain_path};
use crate::{findings::nearest, validation::RuleSummary};

impl Document {
    /// Describes one field (`networking.machineNetwork`, or just `machineNetwork` if that is
    /// unambiguous), or the whole document.
    ///
    /// # Errors
    /// There is no such field, or there are several; says which might be meant.
    pub fn explain(&self, wanted: Option<&str>) -> Result<String, String> {
        let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) else {
            let Self { name, about, .. } = self;
            let mut text = format!("{name}.yaml: {about}.\n\n");
            for field in self.fields {
                text += &line(field);
            }
            let example = deep_field(self);
            text += &format!(
                "\n`muster explain {name} <field>` describes one field, for example {example}.\n"
            );
            return Ok(text);
        };
        let (path, field) = find(self, &plain_path(wanted))?;
        Ok(describe(&(self.rule_summaries)(), &path, field))
    }

    /// The same for programs: every field below the one that is asked for, and the rules about them.
    ///
    /// # Errors
    /// As [`Document::explain`].
    pub fn describe(&self, wanted: Option<&str>) -> Result<Value, String> {
        let wanted = wanted.map(str::trim).filter(|wanted| !wanted.is_empty());
        let top = match wanted {
            Some(wanted) => find(self, &plain_path(wanted))?.0,
            None => String::new(),
        };
        let about = |path: &str| top.is_empty() || path == top || below_of(path, &top);
        let mut fields = Vec::new();
        self.each_field(&mut |path, field| {
            let path = plain_path(path);
            if about(&path) {
                fields.push(json!({
                    "field": path,
                    "type": field.kind.description(),
                    "default": field.default,
                    "meaning": field.about,
                    "since": field.since.map(|since| since.to_string()),
                    "instead": field.instead,
                }));
            }
        });
        let rules = (self.rule_summaries)().into_iter();
        let rules = rules.filter(|rule| about(&plain_path(rule.path))).map(
            |rule| json!({"rule": rule.name, "field": plain_path(rule.path), "text": rule.text}),
        );
        let rules: Vec<Value> = rules.collect();
        Ok(json!({"file": self.name, "fields": fields, "rules": rules}))
    }

    /// The page of the manual: every field and every rule.
    #[must_use]
    pub fn page(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "## Fields\n\n| field | type | when left out | meaning |\n|---|---|---|---|"
        );
        self.each_field(&mut |path, field| {
            if !matches!(field.kind, Kind::Foreign) {
                let mut about = field.about.to_owned();
                if let Some(since) = field.since {
                    let _ = write!(about, " From release {since}.");
                }
                if let Some(instead) = field.instead {
                    let _ = write!(about, " Deprecated: `{instead}`.");
                }
                let kind = field.kind.description().replace('|', "\\|");
                let _ = writeln!(text, "| `{path}` | {kind} | {} | {about} |", field.default);
            }
        });
        let _ = writeln!(
            text,
            "\n## Rules\n\n| rule | field | what must hold |\n|---|---|---|"
        );
        for summary in (self.rule_summaries)() {
            let _ = writeln!(
                text,
                "| {} | `{}` | {} |",
                summary.name, summary.path, summary.text
            );
        }
        text
    }
}

/// A field with fields below it, as an example.
fn deep_field(document: &Document) -> String {
    let mut found = String::new();
    document.each_field(&mut |path, field| {
        if found.is_empty() && path.contains('.') && !field.kind.fields().is_empty() {
            found = plain_path(path);
        }
    });
    found
}

fn find(document: &Document, wanted: &str) -> Result<(String, &'static Field), String> {
    let mut all: Vec<(String, &'static Field)> = Vec::new();
    document.each_field(&mut |path, field| all.push((plain_path(path), field)));
    if let Some(exact) = all
        .iter()
        .find(|(path, _)| path.eq_ignore_ascii_case(wanted))
    {
        return Ok(exact.clone());
    }
    let tail = format!(".{}", wanted.to_ascii_lowercase());
    let ends: Vec<&(String, &Field)> = all
        .iter()
        .filter(|(path, _)| path.to_ascii_lowercase().ends_with(&tail))
        .collect();
    match &ends[..] {
        [one] => Ok((*one).clone()),
        [] => {
            let near = nearest(wanted, all.iter().map(|(path, _)| &**path))
                .or_else(|| nearest(wanted, all.iter().map(|(_, field)| field.name)));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(format!("{} has no field {wanted:?}{hint}", document.name))
        }
        several => {
            let paths: Vec<&str> = several.iter().map(|(path, _)| &**path).collect();
            Err(format!(
                "several fields are called {wanted:?}: {}",
                paths.join(", ")
            ))
        }
    }
}

fn describe(rule_summaries: &[RuleSummary], path: &str, field: &'static Field) -> String {
    let mut text = format!(
        "{path}  <{}>\n\n  {}\n",
        field.kind.description(),
        field.about
    );
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {name:<14} {value}");
        }
    };
    row("when left out:", field.default);
    let since = field.since.map(|since| format!("release {since}"));
    row("known from:", &since.unwrap_or_default());
    row("instead write:", field.instead.unwrap_or_default());
    let below: Vec<&Field> = field.kind.fields().iter().collect();
    if !below.is_empty() {
        text += "\nFields:\n";
        for field in below {
            text += &line(field);
        }
    }
    let about = |rule_path: &str| rule_path == path || below_of(rule_path, path);
    let rule_summaries: Vec<_> = rule_summaries
        .iter()
        .filter(|summary| about(summary.path))
        .collect();
    if !rule_summaries.is_empty() {
        text += "\nRules:\n";
        for summary in rule_summaries {
            let _ = writeln!(text, "  {:<24} {}", summary.name, summary.text);
        }
    }
    text
}

fn below_of(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with('.'))
}

fn line(field: &Field) -> String {
    let old = match field.instead {
        Some(instead) => format!(" (deprecated: {instead})"),
        None => String::new(),
    };
    format!("  {:<32} {}{old}\n", field.name, field.about)
}
