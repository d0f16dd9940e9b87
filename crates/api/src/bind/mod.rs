//! From a raw request to checked arguments: everything between the router and the handler.
//!
//! The order is the reference's: media types, then parameters and body by name, first
//! violation only. Message texts follow its forms too, since clients compare some of them.
//! Start at [`bind`].

mod args;
mod check;
mod decode;
mod formats;
mod media;
mod params;
mod rule;
#[cfg(test)]
mod tests;

use std::fmt;

use http::HeaderMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use args::Args;

use crate::contract::{Operation, PathParams};
use decode::BadCharacters;
use params::{Sources, bind_parameter};
use rule::{Rule, rules};

/// A request that breaks the contract; answered as 400 of the infra shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(String);

/// A request that keeps the contract.
#[derive(Clone, PartialEq)]
pub struct Bound {
    /// Path, query and header parameters.
    pub args: Args,
    /// The JSON body with canonical member names and without nulls, if the operation takes one.
    pub body: Option<Value>,
}

impl Violation {
    /// A violation in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Bound {
    /// The body as a wire type.
    ///
    /// # Errors
    /// If the type does not fit what the contract says of this operation's body.
    pub fn body<T: DeserializeOwned>(self) -> Result<T, Violation> {
        let value = self.body.unwrap_or_default();
        serde_json::from_value(value)
            .map_err(|why| Violation::new(format!("the body does not fit: {why}")))
    }
}

/// The body may hold secrets, so only its presence is shown.
impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = self.body.as_ref().map(|_| "…");
        f.debug_struct("Bound")
            .field("args", &self.args)
            .field("body", &body)
            .finish()
    }
}

/// What becomes of members that the contract does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownMembers {
    /// The request is refused, so that a misspelt name is noticed.
    #[default]
    Refused,
    /// They are left out, for clients that are newer than this service.
    Dropped,
}

/// A request as it came, after routing.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Values of the path parameters.
    pub path: &'a PathParams,
    /// The text after `?`, still escaped.
    pub query: Option<&'a str>,
    /// All headers.
    pub headers: &'a HeaderMap,
    /// Value of the header that says what the body is.
    pub content_type: Option<&'a str>,
    /// `None` if none was sent; for an upload the caller streams the parts itself.
    pub body: Option<&'a [u8]>,
    /// How strict to be.
    pub unknown: UnknownMembers,
}

/// Checks a request against the contract and takes it apart.
///
/// # Errors
/// The first [`Violation`] in the order described above.
pub fn bind(operation: &'static Operation, given: &Given<'_>) -> Result<Bound, Violation> {
    let Given {
        path,
        query,
        headers,
        content_type,
        body,
        unknown,
    } = *given;
    let body = body.filter(|body| !body.is_empty());
    if body.is_some() || operation.upload.is_some() {
        media::check_content_type(operation, content_type)?;
    }
    media::check_accept(operation, headers)?;

    let rules = rules(operation).ok_or_else(|| {
        Violation::new(format!(
            "operation {} is not part of the contract",
            operation.id
        ))
    })?;
    let sources = Sources {
        path,
        query: query.unwrap_or_default(),
        headers,
    };
    let mut bound = Bound {
        args: Args::default(),
        body: None,
    };
    let bad = match operation.is_report() {
        true => BadCharacters::Replaced,
        false => BadCharacters::Refused,
    };
    let body_name = operation.body.as_ref().map(|body| body.name.as_str());
    let take_body = |bound: &mut Bound| -> Result<(), Violation> {
        if let Some((name, rule)) = &rules.body
            && bound.body.is_none()
        {
            bound.body = Some(bind_body(name, rule, body, unknown, bad)?);
        }
        Ok(())
    };
    // The body takes its place among the parameters by its name.
    for (parameter, rule) in operation.parameters.iter().zip(&rules.parameters) {
        if body_name.is_some_and(|name| name < parameter.name.as_str()) {
            take_body(&mut bound)?;
        }
        bind_parameter(parameter, rule, sources, &mut bound.args)?;
    }
    take_body(&mut bound)?;
    Ok(bound)
}

fn bind_body(
    name: &str,
    rule: &Rule,
    body: Option<&[u8]>,
    unknown: UnknownMembers,
    bad: BadCharacters,
) -> Result<Value, Violation> {
    let body = body.map(<[u8]>::trim_ascii).filter(|body| !body.is_empty());
    let Some(body) = body else {
        return Err(Violation::new(format!("{name} in body is required")));
    };
    let value = decode::decode(rule, body, unknown, bad).map_err(|why| {
        Violation::new(format!(
            "parsing {name} body from \"\" failed, because {why}"
        ))
    })?;
    match check::check(rule, &value) {
        Ok(()) => Ok(value),
        Err(fault) => {
            let path = if fault.path.is_empty() {
                name
            } else {
                &fault.path
            };
            Err(Violation::new(format!(
                "{path} in body {}",
                fault.complaint
            )))
        }
    }
}
