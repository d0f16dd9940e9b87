//! The second look at a body: is every value one that is allowed?
//!
//! Runs after [`super::decode`], so types are right and nulls are gone. Members are looked at
//! in alphabetical order and the first fault ends the check, because clients compare the text.

use serde_json::Value;

use super::rule::{Record, Rule, TextRule};

/// What is wrong with a value, and where it is inside the body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Member names and indexes between dots; empty for the body itself.
    pub(super) path: String,
    /// The rest of the sentence after `<path> in body`.
    pub(super) complaint: String,
}

impl Fault {
    fn here(complaint: impl Into<String>) -> Self {
        Self {
            path: String::new(),
            complaint: complaint.into(),
        }
    }

    /// The same fault seen from one level up.
    fn under(mut self, step: &str) -> Self {
        self.path = match self.path.is_empty() {
            true => step.to_owned(),
            false => format!("{step}.{}", self.path),
        };
        self
    }
}

/// Checks a decoded value.
pub(super) fn check(rule: &Rule, value: &Value) -> Result<(), Fault> {
    match (rule, value) {
        (Rule::Text(rule), Value::String(text)) => rule.check(text).map_err(Fault::here),
        (Rule::Integer { least, most, .. }, Value::Number(number)) => number
            .as_i64()
            .map_or(Ok(()), |number| in_range(number, *least, *most))
            .map_err(Fault::here),
        (Rule::List(rule), Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                check(rule, item).map_err(|fault| fault.under(&at.to_string()))?;
            }
            Ok(())
        }
        (Rule::Map(rule), Value::Object(entries)) => {
            for (key, entry) in entries {
                check(rule, entry).map_err(|fault| fault.under(key))?;
            }
            Ok(())
        }
        (Rule::Record(record), Value::Object(given)) => record.check(given),
        // Flags, free objects and numbers have no rules beyond their type.
        (Rule::Number | Rule::Flag | Rule::Free, _) => Ok(()),
        // Decoding refuses values of other types.
        (
            Rule::Text(_) | Rule::Integer { .. } | Rule::List(_) | Rule::Map(_) | Rule::Record(_),
            _,
        ) => Ok(()),
    }
}

impl Record {
    fn check(&self, given: &serde_json::Map<String, Value>) -> Result<(), Fault> {
        for member in &self.members {
            let value = given
                .get(&member.name)
                .filter(|value| !(member.empty_is_unset && is_empty(value)));
            match value {
                Some(value) => {
                    check(&member.rule, value).map_err(|fault| fault.under(&member.name))?
                }
                None if member.required => {
                    return Err(Fault::here("is required").under(&member.name));
                }
                None => {}
            }
        }
        Ok(())
    }
}

impl TextRule {
    /// The complaint about a text, if there is one.
    pub(super) fn check(&self, text: &str) -> Result<(), String> {
        // Counting characters is only worth it when a bound exists.
        if self.shortest > 0 && text.chars().take(self.shortest).count() < self.shortest {
            return Err(format!("should be at least {} chars long", self.shortest));
        }
        if let Some(longest) = self.longest
            && text.len() > longest
            && text.chars().count() > longest
        {
            return Err(format!("should be at most {longest} chars long"));
        }
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(text)
        {
            return Err(format!("should match '{}'", pattern.as_str()));
        }
        if !self.choices.is_empty() && !self.choices.iter().any(|choice| choice == text) {
            return Err(format!("should be one of [{}]", self.choices.join(" ")));
        }
        match self.format {
            Some(format) if !format.fits(text) => {
                Err(format!("must be of type {}: {text:?}", format.name()))
            }
            _ => Ok(()),
        }
    }
}

/// The complaint about a number out of bounds, if it is.
pub(super) fn in_range(number: i64, least: i64, most: i64) -> Result<(), String> {
    if number < least {
        return Err(format!("should be greater than or equal to {least}"));
    }
    if number > most {
        return Err(format!("should be less than or equal to {most}"));
    }
    Ok(())
}

/// The zero value of its type. Lists and objects are never empty in this sense.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        Value::Null => true,
        Value::Array(_) | Value::Object(_) => false,
    }
}
