//! Settings that are JSON: lists and maps whose content other crates understand.
//!
//! A variable holds JSON text; the file may hold the same as TOML, which reads better.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::duration::{format_duration, parse_duration};
use crate::errors::ValueError;
use crate::kinds::Parse;

/// A list of JSON values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonList(pub Vec<Value>);

impl Parse for JsonList {
    const KIND: &'static str = "JSON list";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Self::from_value(&json(text)?)
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Array(items) => Ok(Self(items.clone())),
            Value::String(text) => Self::parse(text.trim()),
            _ => Err(ValueError::Form("not a list")),
        }
    }

    fn show(&self) -> String {
        Value::Array(self.0.clone()).to_string()
    }
}

/// A map from names to JSON values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JsonMap(pub Map<String, Value>);

impl Parse for JsonMap {
    const KIND: &'static str = "JSON object";

    fn parse(text: &str) -> Result<Self, ValueError> {
        Self::from_value(&json(text)?)
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Object(members) => Ok(Self(members.clone())),
            Value::String(text) => Self::parse(text.trim()),
            _ => Err(ValueError::Form("not an object")),
        }
    }

    fn show(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}

/// The shortest time between two events of one name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateLimits(pub BTreeMap<String, Duration>);

impl Parse for RateLimits {
    const KIND: &'static str = "JSON object of durations, such as {\"event_name\": \"1h\"}";

    fn parse(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            Ok(Self::default())
        } else {
            Self::from_value(&json(text)?)
        }
    }

    fn from_value(value: &Value) -> Result<Self, ValueError> {
        let members = match value {
            Value::Object(members) => members,
            Value::String(text) => return Self::parse(text.trim()),
            _ => return Err(ValueError::Form("not an object")),
        };
        let limit = |(event, limit): (&String, &Value)| {
            let text = limit
                .as_str()
                .ok_or_else(|| ValueError::Content(format!("`{event}`: not text")))?;
            let limit = parse_duration(text)
                .map_err(|reason| ValueError::Content(format!("`{event}`: {reason}")))?;
            Ok((event.clone(), limit))
        };
        members
            .iter()
            .map(limit)
            .collect::<Result<_, ValueError>>()
            .map(Self)
    }

    fn show(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let members = self
            .0
            .iter()
            .map(|(event, limit)| (event.clone(), Value::String(format_duration(*limit))));
        Value::Object(members.collect()).to_string()
    }
}

fn json(text: &str) -> Result<Value, ValueError> {
    let value: Value = serde_json::from_str(text).map_err(ValueError::unreadable)?;
    // A JSON text inside JSON text would be unwrapped for ever.
    if value.is_string() {
        Err(ValueError::Form("text, where a list or object is needed"))
    } else {
        Ok(value)
    }
}
