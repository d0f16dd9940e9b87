//! From method and path to an operation.
//!
//! There is one tree per method, because a literal segment of one method must not shadow a
//! parameter of another: `DELETE /v2/clusters/import` is the deletion of a cluster with an odd
//! id, although `POST /v2/clusters/import` is a call of its own.

use std::borrow::Cow;

use http::Method;

use super::{Contract, Operation};

/// Values of the path parameters, percent-decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathParams(Vec<(String, String)>);

/// Why no operation was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteMiss {
    /// No call has this path.
    #[error("no call of this API has the path {path}")]
    NotFound {
        /// The path as it came, still escaped.
        path: String,
    },
    /// The path is known, the method is not.
    #[error("method {method} is not served here, only {}", join(allow, ", "))]
    MethodNotAllowed {
        /// The method that was tried.
        method: Method,
        /// The methods that would work.
        allow: Vec<Method>,
    },
    /// A path parameter does not decode to UTF-8 text.
    #[error("{parameter} in path is not percent-encoded UTF-8 text")]
    BadEncoding {
        /// Name of the parameter.
        parameter: String,
    },
}

/// One tree of paths per method; leaves are positions in the list of operations.
#[derive(Debug)]
pub(super) struct Router(Vec<(Method, matchit::Router<usize>)>);

impl PathParams {
    /// The value of a parameter.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for PathParams {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(
            pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }
}

impl RouteMiss {
    /// Value of the `Allow` header that goes with a 405.
    #[must_use]
    pub fn allow_header(&self) -> Option<String> {
        match self {
            Self::MethodNotAllowed { allow, .. } => Some(join(allow, ",")),
            Self::NotFound { .. } | Self::BadEncoding { .. } => None,
        }
    }
}

impl Router {
    pub(super) fn new(operations: &[Operation]) -> Self {
        let mut trees: Vec<(Method, matchit::Router<usize>)> = Vec::new();
        for (at, operation) in operations.iter().enumerate() {
            let method = operation.method();
            let found = trees.iter().position(|(known, _)| known == method);
            let tree = found.unwrap_or_else(|| {
                trees.push((method.clone(), matchit::Router::new()));
                trees.len() - 1
            });
            trees[tree].1.insert(operation.path(), at).expect(
                "no two operations share a method and path: a test routes every one of them",
            );
        }
        Self(trees)
    }
}

impl Contract {
    /// Finds the operation for a path below the base path, which may be unclean (doubled or
    /// trailing slashes) and percent-encoded.
    ///
    /// # Errors
    /// [`RouteMiss`] if there is none, or none with this method, or a parameter is not text.
    pub fn route(
        &self,
        method: &Method,
        path: &str,
    ) -> Result<(&Operation, PathParams), RouteMiss> {
        let clean = clean(path);
        let mut allow = Vec::new();
        for (known, tree) in &self.router.0 {
            let Ok(found) = tree.at(&clean) else { continue };
            if known == method {
                return Ok((&self.operations[*found.value], decode(&found.params)?));
            }
            allow.push(known.clone());
        }
        if allow.is_empty() {
            return Err(RouteMiss::NotFound {
                path: path.to_owned(),
            });
        }
        Err(RouteMiss::MethodNotAllowed {
            method: method.clone(),
            allow,
        })
    }
}

fn decode(params: &matchit::Params<'_, '_>) -> Result<PathParams, RouteMiss> {
    params
        .iter()
        .map(|(name, value)| match crate::percent::decode(value) {
            Some(text) => Ok((name.to_owned(), text)),
            None => Err(RouteMiss::BadEncoding {
                parameter: name.to_owned(),
            }),
        })
        .collect::<Result<_, _>>()
        .map(PathParams)
}

/// The path with single slashes, no trailing one, and `.` and `..` resolved. Paths that are
/// clean already, nearly all, are not copied.
fn clean(path: &str) -> Cow<'_, str> {
    let unclean =
        path.len() > 1 && path.ends_with('/') || path.contains("//") || path.contains("/.");
    if !unclean && path.starts_with('/') {
        return Cow::Borrowed(path);
    }
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    Cow::Owned(format!("/{}", segments.join("/")))
}

fn join(methods: &[Method], separator: &str) -> String {
    let names: Vec<&str> = methods.iter().map(Method::as_str).collect();
    names.join(separator)
}
