//! Content-Type and Accept: may this body come in, can this answer go out?
//!
//! Both refusals are plain 400s here, not 415 and 406, because that is what clients of the
//! reference know.

use http::{HeaderMap, header};

use super::Violation;
use crate::contract::Operation;

/// What a body without a Content-Type is taken for.
const UNNAMED: &str = "application/octet-stream";

/// Refuses a body of a type the operation does not take.
pub(super) fn check_content_type(
    operation: &Operation,
    given: Option<&str>,
) -> Result<(), Violation> {
    let given = given.unwrap_or(UNNAMED);
    let wanted = operation.consumes();
    if essence(given).eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    Err(Violation::new(format!(
        "Content-Type {given:?} is not accepted here; send {wanted}"
    )))
}

/// Refuses a request whose Accept header rules out the answer.
pub(super) fn check_accept(operation: &Operation, headers: &HeaderMap) -> Result<(), Violation> {
    let mut requested = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter(|range_text| !range_text.trim().is_empty())
        .peekable();
    if requested.peek().is_none() {
        return Ok(());
    }
    let offered = operation.produces();
    if requested.any(|range_text| admits(range_text, offered)) {
        return Ok(());
    }
    Err(Violation::new(format!(
        "Accept admits nothing this call can answer with; allow {offered}"
    )))
}

/// Whether one element of an Accept header admits a media type.
fn admits(range_text: &str, offered: &str) -> bool {
    let refused = range_text.split(';').skip(1).any(|parameter| {
        let weight = parameter
            .trim()
            .strip_prefix("q=")
            .and_then(|weight| weight.parse::<f32>().ok());
        weight == Some(0.0)
    });
    let range = essence(range_text);
    let whole_family = range.strip_suffix("/*").zip(offered.split_once('/'));
    !refused
        && (range == "*/*"
            || range.eq_ignore_ascii_case(offered)
            || whole_family
                .is_some_and(|(family, (offered, _))| family.eq_ignore_ascii_case(offered)))
}

/// A media type without its parameters.
fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}
