//! How agents write JSON: zero values are absent, null means zero, lists may be null.
//!
//! [`reported!`] declares a struct that reads and writes that way with its keys in declaration
//! order (alphabetical, as stored texts have always been), and drops keys it does not know.

use std::sync::Arc;

use muster_model::Report;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};

use crate::replies::BadReply;

/// A list that remembers whether it was null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct List<T>(pub Option<Vec<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> List<T> {
    /// Its items; none if it was null.
    #[must_use]
    pub fn items(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(items: Vec<T>) -> Self {
        Self(Some(items))
    }
}

/// Whether a value is left out when written.
pub(crate) trait Wire {
    fn absent(&self) -> bool;
}

impl Wire for String {
    fn absent(&self) -> bool {
        self.is_empty()
    }
}

impl Wire for bool {
    fn absent(&self) -> bool {
        !self
    }
}

impl Wire for i64 {
    fn absent(&self) -> bool {
        *self == 0
    }
}

impl<T> Wire for Option<T> {
    fn absent(&self) -> bool {
        self.is_none()
    }
}

/// Lists are written even when they are null.
impl<T> Wire for List<T> {
    fn absent(&self) -> bool {
        false
    }
}

pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Declares structs in the agents' dialect of JSON.
macro_rules! reported {
    ($($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty,)+ })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$fmeta])*
                #[serde(
                    deserialize_with = "crate::wire::null_is_default",
                    skip_serializing_if = "crate::wire::Wire::absent"
                )]
                pub $field: $ty,
            )+
        }
    )+};
}
pub(crate) use reported;

/// Reads a stored text; `None` if there is none or it is not what it should be.
pub(crate) fn stored<T: DeserializeOwned>(text: Option<&str>) -> Stored<T> {
    match text {
        None | Some("") => Stored::Missing,
        Some(text) => serde_json::from_str(text).map_or(Stored::Broken, Stored::Here),
    }
}

/// Reads a report, or recalls what it was read as before.
pub(crate) fn recall<T>(report: Option<&Report>) -> Stored<Arc<T>>
where
    T: DeserializeOwned + Send + Sync + 'static,
{
    match report {
        None => Stored::Missing,
        Some(report) if report.is_empty() => Stored::Missing,
        Some(report) => report
            .reading(|text| serde_json::from_str(text).ok())
            .map_or(Stored::Broken, Stored::Here),
    }
}

/// A stored report: "not there yet" and "unreadable" are different answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stored<T> {
    Missing,
    Broken,
    Here(T),
}

impl<T> Stored<T> {
    pub(crate) fn ok(self) -> Option<T> {
        match self {
            Self::Here(value) => Some(value),
            Self::Missing | Self::Broken => None,
        }
    }
}

/// Parses a reply's output that must be an object.
///
/// Derived structs would take a list for their fields in order; no agent means that.
pub(crate) fn parse<T: DeserializeOwned>(step: &str, output: &str) -> Result<T, BadReply> {
    if !output.trim_start().starts_with('{') {
        return Err(BadReply::Unreadable {
            step: step.to_owned(),
            cause: "expected a JSON object at line 1".to_owned(),
        });
    }
    parse_any(step, output)
}

/// Parses a reply's output of any shape.
pub(crate) fn parse_any<T: DeserializeOwned>(step: &str, output: &str) -> Result<T, BadReply> {
    serde_json::from_str(output).map_err(|cause| BadReply::Unreadable {
        step: step.to_owned(),
        cause: cause.to_string(),
    })
}

/// Writes a report for storage.
pub(crate) fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("reports have string keys and finite numbers only")
}
