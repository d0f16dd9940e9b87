//! The schema of one value: the small part of JSON Schema the contract uses.
//!
//! `build.rs` includes this file too, so that the generated types and the runtime checks read
//! the same words. Keep it free of anything but serde.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a value may look like. A misspelt word in the contract would silently drop a rule, so
/// unknown members are an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Schema {
    /// Name of the definition this stands for.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// JSON type; none if only a reference or a combination is given.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// Finer kind of a string or number, such as `uuid` or `int32`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The only texts allowed, if not empty.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Regular expression a text must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Smallest number allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<i64>,
    /// Largest number allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<i64>,
    /// Fewest characters allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<usize>,
    /// Most characters allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<usize>,
    /// Value used when none is given; applied to parameters only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<serde_json::Value>,
    /// See [`Schema::empty_is_unset`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nullable: Option<bool>,
    /// Sent as `null` when unset instead of being left out.
    #[serde(skip_serializing_if = "is_false")]
    pub always: bool,
    /// Must not be printed.
    #[serde(skip_serializing_if = "is_false")]
    pub secret: bool,
    /// What the elements of an array look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Schema>>,
    /// What the values of a map with free keys look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values: Option<Box<Schema>>,
    /// Members of an object.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, Schema>,
    /// Members that must be given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<String>,
    /// Objects whose members are put together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<Schema>,
}

/// The JSON types, plus raw bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// A JSON string.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// Raw bytes; only as an answer.
    File,
}

/// Definitions by name.
pub type Definitions = BTreeMap<String, Schema>;

impl Schema {
    /// The definition this refers to, or itself. A dangling name yields itself too; a test
    /// keeps the contract free of those.
    #[must_use]
    pub fn resolve<'a>(&'a self, definitions: &'a Definitions) -> &'a Schema {
        match &self.reference {
            Some(name) => definitions.get(name).unwrap_or(self),
            None => self,
        }
    }

    /// Whether an empty value of this member (`""`, `0`, `false`) counts as not given, so that
    /// no further check applies to it.
    ///
    /// The reference decides this by whether its generated struct holds a pointer: it does for
    /// `nullable: true`, for required members and for members with a default, unless
    /// `nullable: false` or a lower bound says otherwise. Clients rely on it, for instance when
    /// they send `""` to leave an optional choice open.
    #[must_use]
    pub fn empty_is_unset(&self, required: bool, definitions: &Definitions) -> bool {
        let target = self.resolve(definitions);
        if let Some(nullable) = self.nullable.or(target.nullable) {
            return !nullable;
        }
        let has_default = match &target.default {
            None | Some(serde_json::Value::Null) => false,
            Some(serde_json::Value::String(text)) => !text.is_empty(),
            Some(serde_json::Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(_) => true,
        };
        let bound_at_zero = target.min_length == Some(0)
            || target.minimum == Some(0)
            || target.maximum == Some(0)
            || matches!((target.minimum, target.maximum), (Some(low), Some(high)) if low < 0 && high > 0);
        let bounded = target.min_length.is_some_and(|least| least > 0)
            || target.minimum.is_some_and(|least| least != 0)
            || target.maximum.is_some_and(|most| most != 0);
        !(required || bound_at_zero || (has_default && !bounded))
    }

    /// The members of an object with those of `allOf` before its own, in the order they are
    /// sent. Empty for anything but an object with known members.
    #[must_use]
    pub fn members<'a>(&'a self, definitions: &'a Definitions) -> Vec<(&'a str, &'a Schema)> {
        let mut members = Vec::new();
        for part in &self.all_of {
            members.extend(part.resolve(definitions).members(definitions));
        }
        members.extend(
            self.properties
                .iter()
                .map(|(name, schema)| (name.as_str(), schema)),
        );
        members
    }

    /// Whether this is an object with known members, which becomes a Rust struct.
    #[must_use]
    pub fn is_record(&self) -> bool {
        !self.properties.is_empty() || !self.all_of.is_empty()
    }
}

/// Name of the type made from a name of the contract: `v2-cluster_update` → `V2ClusterUpdate`.
#[must_use]
pub fn pascal(name: &str) -> String {
    name.split(['-', '_'])
        .map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_uppercase().chain(letters).collect::<String>())
        })
        .map(Option::unwrap_or_default)
        .collect()
}

fn is_false(flag: &bool) -> bool {
    !flag
}
