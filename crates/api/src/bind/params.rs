//! Path, query and header parameters: from text to [`Args`].
//!
//! Warts kept because clients meet them: unknown query keys are ignored, of a key given twice
//! the last counts, a boolean that is not true-like is false, an empty value counts as not
//! given.

use http::HeaderMap;

use super::{
    Violation,
    args::{Arg, Args},
    check,
    rule::Rule,
};
use crate::{
    contract::{ListForm, Parameter, PathParams, Place},
    percent,
};

/// Texts that mean true, in any case.
const TRUE_LIKE: &[&str] = &[
    "true", "1", "yes", "ok", "y", "on", "selected", "checked", "t", "enabled",
];

/// The parts of a request parameters come from.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    pub(super) path: &'a PathParams,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
}

/// Binds one parameter into `args`.
pub(super) fn bind_parameter(
    parameter: &'static Parameter,
    rule: &Rule,
    sources: Sources<'_>,
    args: &mut Args,
) -> Result<(), Violation> {
    let raw = raw_values(parameter, sources)?;
    let values = match (rule.item(), parameter.collection_format) {
        (Some(_), ListForm::Multi) => raw,
        (Some(_), ListForm::Csv) => raw
            .last()
            .map(|value| split_list(value))
            .unwrap_or_default(),
        (None, ListForm::Multi | ListForm::Csv) => raw
            .into_iter()
            .next_back()
            .filter(|value| !value.is_empty())
            .into_iter()
            .collect(),
    };
    if values.is_empty() {
        if parameter.is_required() {
            return Err(complain(parameter, None, "is required"));
        }
        if let Some(arg) = default(parameter) {
            args.insert(&parameter.name, arg);
        }
        return Ok(());
    }
    let arg = match rule.item() {
        Some(item) => list(parameter, item, values)?,
        None => single(parameter, rule, values)?,
    };
    args.insert(&parameter.name, arg);
    Ok(())
}

fn single(parameter: &Parameter, rule: &Rule, values: Vec<String>) -> Result<Arg, Violation> {
    let text = values.into_iter().next().unwrap_or_default();
    match rule {
        Rule::Flag => Ok(Arg::Flag(
            TRUE_LIKE
                .iter()
                .any(|word| word.eq_ignore_ascii_case(&text)),
        )),
        Rule::Integer { least, most, .. } => {
            let number = text.parse().map_err(|_| {
                complain(parameter, None, &format!("must be of type int64: {text:?}"))
            })?;
            check::in_range(number, *least, *most)
                .map_err(|why| complain(parameter, None, &why))?;
            Ok(Arg::Int(number))
        }
        Rule::Text(_)
        | Rule::Number
        | Rule::List(_)
        | Rule::Map(_)
        | Rule::Record(_)
        | Rule::Free => {
            check_text(rule, &text).map_err(|why| complain(parameter, None, &why))?;
            Ok(Arg::Text(text))
        }
    }
}

fn list(parameter: &Parameter, item: &Rule, values: Vec<String>) -> Result<Arg, Violation> {
    for (at, value) in values.iter().enumerate() {
        check_text(item, value).map_err(|why| complain(parameter, Some(at), &why))?;
    }
    Ok(Arg::List(values))
}

fn check_text(rule: &Rule, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("contains the character U+0000, remove it".to_owned());
    }
    match rule {
        Rule::Text(rule) => rule.check(text),
        Rule::Integer { .. }
        | Rule::Number
        | Rule::Flag
        | Rule::List(_)
        | Rule::Map(_)
        | Rule::Record(_)
        | Rule::Free => Ok(()),
    }
}

/// Every value given for a parameter, in order.
fn raw_values(parameter: &Parameter, sources: Sources<'_>) -> Result<Vec<String>, Violation> {
    let name = parameter.name.as_str();
    let not_text = || complain(parameter, None, "is not percent-encoded UTF-8 text");
    match parameter.place {
        Place::Path => Ok(sources
            .path
            .get(name)
            .map(str::to_owned)
            .into_iter()
            .collect()),
        Place::Header => sources
            .headers
            .get_all(name)
            .iter()
            .map(|value| {
                std::str::from_utf8(value.as_bytes())
                    .map(str::to_owned)
                    .map_err(|_| not_text())
            })
            .collect(),
        Place::Query => sources
            .query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .filter(|(key, _)| *key == name || percent::decode_query(key).as_deref() == Some(name))
            .map(|(_, value)| percent::decode_query(value).ok_or_else(not_text))
            .collect(),
    }
}

/// Elements between commas, blanks around them and empty ones dropped.
fn split_list(value: &str) -> Vec<String> {
    value
        .split(',')
        .map(str::trim)
        .filter(|element| !element.is_empty())
        .map(str::to_owned)
        .collect()
}

fn default(parameter: &Parameter) -> Option<Arg> {
    match parameter.schema.default.as_ref()? {
        serde_json::Value::Bool(flag) => Some(Arg::Flag(*flag)),
        serde_json::Value::String(text) => Some(Arg::Text(text.clone())),
        serde_json::Value::Number(number) => number.as_i64().map(Arg::Int),
        _ => None,
    }
}

/// `<name>[.<index>] in <place> <complaint>`
fn complain(parameter: &Parameter, at: Option<usize>, complaint: &str) -> Violation {
    let index = at.map(|at| format!(".{at}")).unwrap_or_default();
    Violation::new(format!(
        "{}{index} in {} {complaint}",
        parameter.name,
        parameter.place_name()
    ))
}
