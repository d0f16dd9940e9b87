//! How agents write JSON: zero values are absent, null means zero, lists may be null.
//!
//! [`reported!`] declares a struct that reads and writes that way with its keys in declaration
//! order (alphabetical, as stored texts have always been), and drops keys it does not know.

use std::sync::Arc;

use muster_model::{Report, json_size, storable_json};
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

/// Members that the reference does not know are written only if they say something.
impl<T> Wire for Vec<T> {
    fn absent(&self) -> bool {
        self.is_empty()
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
                    deserialize_with = "crate::agent_json::null_is_default",
                    skip_serializing_if = "crate::agent_json::Wire::absent"
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

impl<T: Clone> Stored<Arc<T>> {
    /// A copy to be changed.
    pub(crate) fn copy(self) -> Option<T> {
        self.ok().map(Arc::unwrap_or_clone)
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

/// The largest output that is read; a report of a thousand neighbours is a quarter of it.
pub(crate) const MOST_OUTPUT_BYTES: usize = 8 << 20;

/// The most objects and lists in an output, and the most values. A report of a thousand neighbours
/// has a third of it; an inventory has a few hundred, and it is kept.
const MOST_CONTAINERS: usize = 50_000;
const MOST_CONTAINERS_OF_INVENTORY: usize = 10_000;
const MOST_VALUES: usize = 500_000;

/// Of a fault in an output, no more than this is repeated: it may quote all of it.
const MOST_QUOTED: usize = 300;

/// Parses a reply's output of any shape.
pub(crate) fn parse_any<T: DeserializeOwned>(step: &str, output: &str) -> Result<T, BadReply> {
    let unreadable = |cause: String| BadReply::Unreadable {
        step: step.to_owned(),
        cause: cause.chars().take(MOST_QUOTED).collect(),
    };
    let too_large = |cause: String| BadReply::TooLarge {
        step: step.to_owned(),
        cause,
    };
    if output.len() > MOST_OUTPUT_BYTES {
        let size = output.len();
        return Err(too_large(format!(
            "it has {size} bytes, the limit is {MOST_OUTPUT_BYTES}"
        )));
    }
    let most_containers = match step {
        "inventory" => MOST_CONTAINERS_OF_INVENTORY,
        _ => MOST_CONTAINERS,
    };
    let size = json_size(output.as_bytes());
    if size.containers > most_containers || size.values > MOST_VALUES {
        return Err(too_large(format!(
            "it has {} objects and lists and {} values, at most {most_containers} and \
             {MOST_VALUES} are read",
            size.containers, size.values
        )));
    }
    serde_json::from_str(&storable_json(output)).map_err(|cause| unreadable(cause.to_string()))
}

/// Writes a report for storage.
pub(crate) fn text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("reports have string keys and finite numbers only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_cannot_be_stored_do_not_make_an_output_unreadable() {
        let read = |json: &str| parse_any::<String>("x", json).unwrap();
        assert_eq!(read(r#""a\u0000b\ud800""#), "ab\u{fffd}");
    }

    #[test]
    fn a_fault_is_named_without_repeating_megabytes() {
        let long = format!("{:?}", "x".repeat(100_000));
        let fault = parse_any::<i64>("x", &long).unwrap_err().to_string();
        assert!(fault.len() < 400, "{}", fault.len());
        let crowded = format!("[{}0]", "{},".repeat(MOST_CONTAINERS));
        for step in ["x", "inventory"] {
            let fault = parse_any::<Vec<serde::de::IgnoredAny>>(step, &crowded).unwrap_err();
            assert!(fault.to_string().contains("objects and lists"), "{fault}");
        }
        let full = format!("[{}0]", "{},".repeat(MOST_CONTAINERS_OF_INVENTORY));
        assert!(parse_any::<Vec<serde::de::IgnoredAny>>("x", &full).is_ok());
        assert!(parse_any::<Vec<serde::de::IgnoredAny>>("inventory", &full).is_err());
        let huge = " ".repeat(MOST_OUTPUT_BYTES + 1);
        let fault = parse_any::<i64>("x", &huge).unwrap_err().to_string();
        assert!(fault.contains("the limit is 8388608"), "{fault}");
    }
}
