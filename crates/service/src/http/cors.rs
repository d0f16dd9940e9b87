//! Cross-origin rules, for web pages served from elsewhere (`ALLOWED_DOMAINS`).

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::Reply;

const METHODS: &str = "DELETE, GET, PATCH, POST, PUT, HEAD, OPTIONS";
const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Severity-Count-Info, Severity-Count-Warning, \
     Severity-Count-Error, Severity-Count-Critical, Event-Count";
const EXPOSED_HEADERS: &str = "Severity-Count-Info, Severity-Count-Warning, Severity-Count-Error, Severity-Count-Critical, Event-Count";

/// The origin of the request, if pages from there are allowed.
pub fn allowed_origin<'h>(allowed: &[String], headers: &'h HeaderMap) -> Option<&'h HeaderValue> {
    let origin = headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    let host = text.split_once("://").map_or(text, |(_, host)| host);
    allowed
        .iter()
        .any(|entry| entry == "*" || entry == text || entry == host || glob(entry, text))
        .then_some(origin)
}

/// The answer to a browser's question before the real request.
pub fn preflight(method: &Method, headers: &HeaderMap, origin: &HeaderValue) -> Option<Reply> {
    if method != Method::OPTIONS || !headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let origin = origin.to_str().ok()?;
    Some(
        Reply::empty(StatusCode::NO_CONTENT)
            .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin)
            .header(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS)
            .header(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS)
            .header(header::ACCESS_CONTROL_MAX_AGE, "600")
            .header(header::VARY, "Origin"),
    )
}

/// Marks an ordinary answer as readable by the page.
#[must_use]
pub fn expose(reply: Reply, origin: &HeaderValue) -> Reply {
    let Ok(origin) = origin.to_str() else {
        return reply;
    };
    reply
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin)
        .header(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS)
        .header(header::VARY, "Origin")
}

/// `https://*.example.com` matches one wildcard anywhere.
fn glob(pattern: &str, text: &str) -> bool {
    pattern.split_once('*').is_some_and(|(head, tail)| {
        text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_match_by_host_url_or_wildcard() {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::ORIGIN,
            HeaderValue::from_static("https://ui.example.com"),
        );
        for (entry, expected) in [
            ("ui.example.com", true),
            ("https://ui.example.com", true),
            ("https://*.example.com", true),
            ("*", true),
            ("example.com", false),
            ("https://*.example.org", false),
        ] {
            assert_eq!(
                allowed_origin(&[entry.to_owned()], &headers).is_some(),
                expected,
                "{entry}"
            );
        }
    }
}
