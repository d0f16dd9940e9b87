//! Reads configured JSON lists entry by entry, so that an error names its place.
//!
//! Operators of the service paste these lists into environment variables. All errors are
//! collected before failing, so that a list need not be fixed one error per restart.

use std::{fmt, str::FromStr};

use serde_json::{Map, Value};

use crate::CatalogError;

/// One fault in a configured list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryProblem {
    /// Position in the list, from 0.
    pub index: usize,
    /// The member at fault; dotted when nested.
    pub member: String,
    /// What is wrong and what is expected.
    pub fault: String,
}

impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.member.is_empty() {
            write!(f, "entry {}: {}", self.index, self.fault)
        } else {
            write!(
                f,
                "entry {}, member {:?}: {}",
                self.index, self.member, self.fault
            )
        }
    }
}

/// Reads a JSON array of objects with `read`; fails with every problem that was noted.
pub(crate) fn read_list<T>(
    what: &'static str,
    json: &str,
    mut read: impl FnMut(&mut Entry<'_>) -> Option<T>,
) -> Result<Vec<T>, CatalogError> {
    let values: Vec<Value> =
        serde_json::from_str(json).map_err(|cause| CatalogError::Json { what, cause })?;
    let mut problems = Vec::new();
    let mut items = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let Some(members) = value.as_object() else {
            let fault = "must be a JSON object".to_owned();
            problems.push(EntryProblem {
                index,
                member: String::new(),
                fault,
            });
            continue;
        };
        let mut entry = Entry {
            index,
            prefix: String::new(),
            members,
            problems: &mut problems,
        };
        items.extend(read(&mut entry));
    }
    if problems.is_empty() {
        Ok(items)
    } else {
        Err(CatalogError::Entries { what, problems })
    }
}

/// One object of the list, or an object nested in it.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    index: usize,
    prefix: String,
    members: &'a Map<String, Value>,
    problems: &'a mut Vec<EntryProblem>,
}

impl Entry<'_> {
    /// Position in the list, from 0.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Notes a fault of a member.
    pub(crate) fn fault(&mut self, member: &str, fault: impl Into<String>) {
        let member = format!("{}{member}", self.prefix);
        self.problems.push(EntryProblem {
            index: self.index,
            member,
            fault: fault.into(),
        });
    }

    /// A text that must be there and not be empty.
    pub(crate) fn required_text(&mut self, member: &str) -> Option<String> {
        let found = self.text(member);
        if found.as_deref().is_none_or(str::is_empty) && !self.is_faulty(member) {
            self.fault(member, "is missing or empty; it is required");
        }
        found.filter(|text| !text.is_empty())
    }

    /// A text that may be absent or null.
    pub(crate) fn text(&mut self, member: &str) -> Option<String> {
        match self.member(member)? {
            Value::String(text) => Some(text.clone()),
            other => self.wrong_type(member, "a string", &other.clone()),
        }
    }

    /// A required text of a type that knows how to read itself.
    pub(crate) fn required<T: FromStr<Err: fmt::Display>>(&mut self, member: &str) -> Option<T> {
        let text = self.required_text(member)?;
        self.parse(member, &text)
    }

    /// An optional text of a type that knows how to read itself; empty counts as absent.
    pub(crate) fn optional<T: FromStr<Err: fmt::Display>>(&mut self, member: &str) -> Option<T> {
        let text = self.text(member).filter(|text| !text.is_empty())?;
        self.parse(member, &text)
    }

    /// A list of texts of a type that knows how to read itself; absent reads as empty.
    pub(crate) fn list<T: FromStr<Err: fmt::Display>>(&mut self, member: &str) -> Vec<T> {
        let Some(value) = self.member(member) else {
            return Vec::new();
        };
        let Some(texts) = value.as_array().cloned() else {
            self.wrong_type::<()>(member, "a list of strings", &value.clone());
            return Vec::new();
        };
        let mut items = Vec::with_capacity(texts.len());
        for text in &texts {
            match text.as_str() {
                Some(text) => items.extend(self.parse(member, text)),
                None => self.fault(member, format!("must hold strings only, not {text}")),
            }
        }
        items
    }

    /// A flag; absent reads as false.
    pub(crate) fn flag(&mut self, member: &str) -> bool {
        match self.member(member) {
            None => false,
            Some(Value::Bool(flag)) => *flag,
            Some(other) => {
                let other = other.clone();
                self.wrong_type::<()>(member, "true or false", &other);
                false
            }
        }
    }

    /// A whole number.
    pub(crate) fn integer(&mut self, member: &str) -> Option<i64> {
        let value = self.member(member)?;
        match value.as_i64() {
            Some(number) => Some(number),
            None => self.wrong_type(member, "a whole number", &value.clone()),
        }
    }

    /// Any number.
    pub(crate) fn number(&mut self, member: &str) -> Option<f64> {
        let value = self.member(member)?;
        match value.as_f64() {
            Some(number) => Some(number),
            None => self.wrong_type(member, "a number", &value.clone()),
        }
    }

    /// Reads a nested object; absent or null gives `None`.
    pub(crate) fn object<T>(
        &mut self,
        member: &str,
        read: impl FnOnce(&mut Entry<'_>) -> T,
    ) -> Option<T> {
        let value = self.member(member)?.clone();
        match &value {
            Value::Object(members) => Some(read(&mut Entry {
                index: self.index,
                prefix: format!("{}{member}.", self.prefix),
                members,
                problems: self.problems,
            })),
            other => self.wrong_type(member, "a JSON object", other),
        }
    }

    fn member(&self, member: &str) -> Option<&Value> {
        self.members.get(member).filter(|value| !value.is_null())
    }

    fn parse<T: FromStr<Err: fmt::Display>>(&mut self, member: &str, text: &str) -> Option<T> {
        text.parse()
            .map_err(|cause: T::Err| self.fault(member, cause.to_string()))
            .ok()
    }

    fn wrong_type<T>(&mut self, member: &str, expected: &str, found: &Value) -> Option<T> {
        self.fault(member, format!("must be {expected}, not {found}"));
        None
    }

    fn is_faulty(&self, member: &str) -> bool {
        let name = format!("{}{member}", self.prefix);
        self.problems
            .iter()
            .any(|known| known.index == self.index && known.member == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    #[test]
    fn every_fault_is_reported_with_entry_and_member() {
        let json =
            r#"[{"url": "x", "arch": "x86_64"}, 7, {"url": 5, "arch": "vax"}, {"arch": ""}]"#;
        let error = read_list("THINGS", json, |entry| {
            let url = entry.required_text("url");
            let arch: Option<Arch> = entry.required("arch");
            url.zip(arch)
        })
        .unwrap_err()
        .to_string();
        for part in [
            "THINGS",
            "entry 1: must be a JSON object",
            "entry 2, member \"url\": must be a string, not 5",
            "entry 2, member \"arch\": unknown CPU architecture \"vax\"",
            "entry 3, member \"url\": is missing or empty",
            "entry 3, member \"arch\": is missing or empty",
        ] {
            assert!(error.contains(part), "{part:?} not in {error}");
        }
        assert_eq!(error.matches("entry 2, member \"url\"").count(), 1);
    }

    #[test]
    fn text_that_is_no_json_list_says_which_setting_is_broken() {
        for json in ["", "{}", "[1,"] {
            let error = read_list("THINGS", json, |_| Some(())).unwrap_err();
            assert!(error.to_string().contains("THINGS"), "{json:?}");
        }
    }
}
