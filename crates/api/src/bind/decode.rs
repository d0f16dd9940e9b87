//! The first look at a body: is it JSON of the right shape?
//!
//! Unknown members and wrong types are refused here, in the order they stand in the text. The
//! value comes out canonical: member names in the contract's spelling, nulls gone. Only then
//! does [`super::check`] look at what the values say.

use std::borrow::Cow;

use muster_model::storable_json;
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::{
    UnknownMembers,
    rule::{Record, Rule},
};

/// Why a body has the wrong shape: where (outermost step last) and what.
#[derive(Debug)]
struct Misfit {
    steps: Vec<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    UnknownMember(String),
    WrongType {
        wanted: &'static str,
        got: &'static str,
    },
    OutOfRange,
    NulCharacter,
}

/// What becomes of characters that no store can keep, and of bytes that are no characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BadCharacters {
    /// The request is refused: its sender can correct it.
    Refused,
    /// They are taken out or replaced: the rest of the report matters more.
    Replaced,
}

/// Parses a body and makes it canonical. The error is the cause in words.
///
/// Text after the first JSON value is ignored, as the reference does; nesting is limited by the
/// parser.
pub(super) fn decode(
    rule: &Rule,
    body: &[u8],
    unknown: UnknownMembers,
    bad: BadCharacters,
) -> Result<Value, String> {
    let mut value = match bad {
        BadCharacters::Refused => parse(body).map_err(|why| in_words(body, &why))?,
        BadCharacters::Replaced => {
            let text = text_of(body);
            parse(storable_json(&text).as_bytes()).map_err(|why| format!("json: {why}"))?
        }
    };
    if value.is_null() {
        value = nothing(rule);
    }
    match shape(rule, &mut value, unknown) {
        Ok(()) => Ok(value),
        Err(misfit) => Err(misfit.in_words()),
    }
}

fn parse(json: &[u8]) -> Result<Value, serde_json::Error> {
    Value::deserialize(&mut serde_json::Deserializer::from_slice(json))
}

/// Why a body could not be parsed. The parser's words for half of a surrogate pair are about escapes.
fn in_words(body: &[u8], why: &serde_json::Error) -> String {
    match std::str::from_utf8(body).map(storable_json) {
        Ok(Cow::Owned(clean)) if parse(clean.as_bytes()).is_ok() => format!(
            "json: a text contains half of a surrogate pair, remove it, at line {} column {}",
            why.line(),
            why.column()
        ),
        _ => format!("json: {why}"),
    }
}

/// A body as text. A byte that is no UTF-8 becomes one `?`, so that the text stays within the limits
/// the body was read with.
fn text_of(body: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(body) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    Cow::Owned(text)
}

/// What a literal `null` stands for as a whole body.
fn nothing(rule: &Rule) -> Value {
    match rule {
        Rule::Text(_) => Value::String(String::new()),
        Rule::Integer { .. }
        | Rule::Number
        | Rule::Flag
        | Rule::List(_)
        | Rule::Map(_)
        | Rule::Record(_)
        | Rule::Free => Value::Object(Map::new()),
    }
}

fn shape(rule: &Rule, value: &mut Value, unknown: UnknownMembers) -> Result<(), Misfit> {
    match (rule, value) {
        (Rule::Text(_), Value::String(text)) => without_nul(text),
        (Rule::Integer { narrow, .. }, Value::Number(number)) => match number.as_i64() {
            Some(number) if !narrow || i32::try_from(number).is_ok() => Ok(()),
            Some(_) => Err(Misfit::here(What::OutOfRange)),
            None if number.is_u64() => Err(Misfit::here(What::OutOfRange)),
            None => Err(Misfit::here(What::WrongType {
                wanted: "a whole number",
                got: "a fraction",
            })),
        },
        (Rule::Number, Value::Number(_)) | (Rule::Flag, Value::Bool(_)) => Ok(()),
        (Rule::List(rule), Value::Array(items)) => {
            for (at, item) in items.iter_mut().enumerate() {
                shape(rule, item, unknown).map_err(|misfit| misfit.under(at.to_string()))?;
            }
            Ok(())
        }
        (Rule::Map(rule), Value::Object(entries)) => {
            entries.retain(|_, entry| !entry.is_null());
            // The values of a free map are any JSON: controllers send lists in them.
            let is_free = matches!(**rule, Rule::Free);
            for (key, entry) in entries.iter_mut() {
                let fits = |entry: &mut Value| match is_free {
                    true => all_without_nul(entry),
                    false => shape(rule, entry, unknown),
                };
                without_nul(key)
                    .and_then(|()| fits(entry))
                    .map_err(|misfit| misfit.under(key.clone()))?;
            }
            Ok(())
        }
        (Rule::Record(record), Value::Object(given)) => record.shape(given, unknown),
        (Rule::Free, value @ Value::Object(_)) => all_without_nul(value),
        (
            Rule::Text(_)
            | Rule::Integer { .. }
            | Rule::Number
            | Rule::Flag
            | Rule::List(_)
            | Rule::Map(_)
            | Rule::Record(_)
            | Rule::Free,
            value,
        ) => Err(Misfit::here(What::WrongType {
            wanted: wanted(rule),
            got: got(value),
        })),
    }
}

impl Record {
    fn shape(&self, given: &mut Map<String, Value>, unknown: UnknownMembers) -> Result<(), Misfit> {
        if unknown == UnknownMembers::Dropped {
            given.retain(|name, _| self.member(name).is_some());
        }
        let mut canonical = true;
        for (name, value) in given.iter_mut() {
            let Some(member) = self.member(name) else {
                return Err(Misfit::here(What::UnknownMember(name.clone())));
            };
            canonical &= member.name == *name && !value.is_null();
            if !value.is_null() {
                shape(&member.rule, value, unknown)
                    .map_err(|misfit| misfit.under(member.name.clone()))?;
            }
        }
        if !canonical {
            self.respell(given);
        }
        Ok(())
    }

    /// Uses the contract's spelling of each name and drops nulls; of two spellings of one
    /// member the later wins.
    fn respell(&self, given: &mut Map<String, Value>) {
        for (name, value) in std::mem::take(given) {
            let name = self
                .member(&name)
                .map_or(name, |member| member.name.clone());
            if !value.is_null() {
                given.insert(name, value);
            }
        }
    }
}

/// No store can keep U+0000 in a text, so it is refused before anything is written.
fn without_nul(text: &str) -> Result<(), Misfit> {
    match text.contains('\0') {
        true => Err(Misfit::here(What::NulCharacter)),
        false => Ok(()),
    }
}

fn all_without_nul(value: &Value) -> Result<(), Misfit> {
    match value {
        Value::String(text) => without_nul(text),
        Value::Array(items) => items.iter().try_for_each(all_without_nul),
        Value::Object(entries) => entries
            .iter()
            .try_for_each(|(key, entry)| without_nul(key).and_then(|()| all_without_nul(entry))),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

impl Misfit {
    fn here(what: What) -> Self {
        Self {
            steps: Vec::new(),
            what,
        }
    }

    fn under(mut self, step: String) -> Self {
        self.steps.push(step);
        self
    }

    fn in_words(&self) -> String {
        let place = match self.steps.is_empty() {
            true => "the body".to_owned(),
            false => self
                .steps
                .iter()
                .rev()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join("."),
        };
        match &self.what {
            // Clients compare this one to the letter.
            What::UnknownMember(name) => format!("json: unknown field {name:?}"),
            What::WrongType { wanted, got } => format!("json: {place} must be {wanted}, not {got}"),
            What::OutOfRange => format!("json: {place} is too large or too small a number"),
            What::NulCharacter => format!("json: {place} contains the character U+0000, remove it"),
        }
    }
}

fn wanted(rule: &Rule) -> &'static str {
    match rule {
        Rule::Text(_) => "a string",
        Rule::Integer { .. } => "a whole number",
        Rule::Number => "a number",
        Rule::Flag => "true or false",
        Rule::List(_) => "an array",
        Rule::Map(_) | Rule::Record(_) | Rule::Free => "an object",
    }
}

fn got(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
