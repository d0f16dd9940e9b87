//! One operation of the API: its path, parameters and responses.

use std::collections::BTreeMap;

use http::Method;
use muster_model::Scheme;
use serde::{Deserialize, Deserializer, de};

use super::schema::{Kind, Schema};

/// Media type of everything that is not raw bytes.
pub const JSON: &str = "application/json";
/// Media type of raw bytes.
pub const BYTES: &str = "application/octet-stream";
/// Media type of uploads.
pub const MULTIPART: &str = "multipart/form-data";

/// Statuses any call can answer with, besides the ones its contract lists.
const ANY_CALL: &[u16] = &[400, 401, 403, 405, 500, 503];
/// Status a call that takes a body can give in addition: the body is too large.
const ANY_BODY: u16 = 413;

/// One operation of the contract.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Name of the operation.
    pub id: String,
    /// Method and path template.
    pub call: Call,
    /// The noun it belongs to.
    pub tag: String,
    /// One line for people.
    pub summary: String,
    /// Still served, but a newer call is preferred.
    #[serde(default)]
    pub deprecated: bool,
    /// Accepted credential carriers, in the order they are tried.
    #[serde(default = "user_only")]
    pub security: Vec<Scheme>,
    /// Path, query and header parameters, sorted by name once loaded.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
    /// The JSON body, if the call takes one.
    #[serde(default)]
    pub body: Option<Body>,
    /// Name of the file part, if the call takes a multipart upload.
    #[serde(default)]
    pub upload: Option<String>,
    /// Answers by status; `None` is an empty body.
    pub answers: BTreeMap<u16, Option<Schema>>,
    /// Headers of the good answer, all of them whole numbers.
    #[serde(default)]
    pub answer_headers: Vec<String>,
    /// Error statuses particular to this call; see [`Operation::error_statuses`] for all.
    #[serde(default)]
    pub errors: Vec<u16>,
}

/// Method and path template, written `GET /v2/clusters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// HTTP method.
    pub method: Method,
    /// Path below the base path, with `{name}` for parameters.
    pub path: String,
}

/// A path, query or header parameter.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Where it stands.
    #[serde(rename = "in")]
    pub place: Place,
    /// Whether it must be given. Path parameters always are.
    #[serde(default)]
    pub required: bool,
    /// How a list is written.
    #[serde(default)]
    pub collection_format: ListForm,
    /// Whether giving it without a value means something.
    #[serde(default)]
    pub allow_empty_value: bool,
    /// What its value may look like.
    #[serde(flatten)]
    pub schema: Schema,
}

/// Where a parameter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// In the path.
    Path,
    /// In the query.
    Query,
    /// In a header.
    Header,
}

/// How a list is written in a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ListForm {
    /// Elements between commas in one value.
    #[default]
    Csv,
    /// The key repeated for each element.
    Multi,
}

/// A JSON body. A call that takes one always needs it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// Name in the published document.
    pub name: String,
    /// What it must look like.
    pub schema: Schema,
}

impl Operation {
    /// HTTP method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.call.method
    }

    /// Path template below the base path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.call.path
    }

    /// Whether only agents and controllers call it. They pass on what firmware, programs and the
    /// cluster printed, and cannot correct it.
    #[must_use]
    pub fn is_report(&self) -> bool {
        self.security == [Scheme::Agent]
    }

    /// The media type a body must have.
    #[must_use]
    pub fn consumes(&self) -> &'static str {
        if self.upload.is_some() {
            MULTIPART
        } else {
            JSON
        }
    }

    /// The media type of a good answer.
    #[must_use]
    pub fn produces(&self) -> &'static str {
        if self.gives_file() { BYTES } else { JSON }
    }

    /// Whether a good answer is raw bytes.
    #[must_use]
    pub fn gives_file(&self) -> bool {
        self.answers
            .values()
            .flatten()
            .any(|schema| schema.kind == Some(Kind::File))
    }

    /// Every error status this call can answer with, without the ones that have a body of
    /// their own among `answers`.
    #[must_use]
    pub fn error_statuses(&self) -> Vec<u16> {
        let mut all = [ANY_CALL, &self.errors].concat();
        if self.body.is_some() || self.upload.is_some() {
            all.push(ANY_BODY);
        }
        all.retain(|status| !self.answers.contains_key(status));
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Parameter {
    /// Name of the place as messages and documents spell it.
    #[must_use]
    pub fn place_name(&self) -> &'static str {
        match self.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        }
    }

    /// Whether it must be given.
    #[must_use]
    pub fn is_required(&self) -> bool {
        self.required || self.place == Place::Path
    }
}

impl Body {
    /// The name used in error messages, which clients compare: words joined, the first letter
    /// small (`new-cluster-params` → `newClusterParams`).
    #[must_use]
    pub fn message_name(&self) -> String {
        let mut joined = String::with_capacity(self.name.len());
        for word in self.name.split(['-', '_']) {
            let mut letters = word.chars();
            if let Some(first) = letters.next() {
                match joined.is_empty() {
                    true => joined.extend(first.to_lowercase()),
                    false => joined.extend(first.to_uppercase()),
                }
                joined.push_str(letters.as_str());
            }
        }
        joined
    }
}

impl<'de> Deserialize<'de> for Call {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (method, path) = text.split_once(' ').ok_or_else(|| {
            de::Error::custom(format!("call {text:?} needs a method, a space and a path"))
        })?;
        let method = method.parse().map_err(de::Error::custom)?;
        Ok(Self {
            method,
            path: path.to_owned(),
        })
    }
}

fn user_only() -> Vec<Scheme> {
    vec![Scheme::User]
}
