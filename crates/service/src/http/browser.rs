//! Security headers for browsers.
//!
//! Answers of the API are data: nothing in them may run, load or be framed. The two plain pages may
//! run exactly the script and the style they carry, named by digest, and talk to this service only;
//! the web page (`web`) brings a policy of its own.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use muster_config::sections::Server;
use sha2::{Digest, Sha256};

use super::{dispatch::ListenerKind, pages};

/// For data.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
/// For answers that came by TLS: the browser comes back by TLS only.
const ONLY_TLS: HeaderValue = HeaderValue::from_static("max-age=31536000");

const ALWAYS: [(HeaderName, HeaderValue); 3] = [
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
];

static OF_PAGES: LazyLock<Option<HeaderValue>> =
    LazyLock::new(|| HeaderValue::try_from(policy(&pages::HTML)).ok());

/// Adds the headers to an answer.
pub fn restrict(headers: &mut HeaderMap, server: &Server, listener: ListenerKind) {
    headers.extend(ALWAYS);
    let html = HeaderValue::from_static(pages::HTML_TYPE);
    let is_page = headers.get(header::CONTENT_TYPE) == Some(&html);
    let of_page = OF_PAGES.as_ref().filter(|_| is_page).cloned();
    // The web page brings its own.
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(of_page.unwrap_or(NOTHING));
    // A name that means this machine only, such as localhost, is shared with other programs.
    let is_tls = listener == ListenerKind::Main && !server.plain_http;
    if is_tls && !server.on_loopback_only() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, ONLY_TLS);
    }
}

/// The policy under which these pages work.
fn policy(pages: &[&str]) -> String {
    let allowed = |tag| {
        let digests = pages.iter().flat_map(|page| contents(page, tag));
        let digests = digests.map(|text| STANDARD.encode(Sha256::digest(text)));
        digests
            .map(|digest| format!(" 'sha256-{digest}'"))
            .collect::<String>()
    };
    format!(
        "default-src 'none'; script-src{}; style-src{}; connect-src 'self'; img-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        allowed("script"),
        allowed("style")
    )
}

/// What is between the tags of this name.
fn contents<'a>(page: &'a str, tag: &str) -> Vec<&'a str> {
    let end = format!("</{tag}>");
    page.split(&format!("<{tag}>"))
        .skip(1)
        .filter_map(|rest| rest.split_once(&end))
        .map(|(inside, _)| inside)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    fn restricted(
        server: &Server,
        listener: ListenerKind,
        content_type: &'static str,
    ) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        restrict(&mut headers, server, listener);
        headers
    }

    #[test]
    fn a_policy_names_the_scripts_and_styles_of_the_pages_and_no_others() {
        let text = policy(&["<style>a {}</style><script>go()</script>", "no code"]);
        let digest = STANDARD.encode(Sha256::digest("go()"));
        assert!(
            text.contains(&format!("script-src 'sha256-{digest}';")),
            "{text}"
        );
        assert!(!text.contains("unsafe"), "{text}");
        assert_eq!(contents("<style>a {}</style>", "style"), ["a {}"]);
    }

    #[test]
    fn data_may_do_nothing_and_pages_only_what_they_carry() {
        let server = Server::default();
        let data = restricted(&server, ListenerKind::Main, "application/json");
        assert_eq!(data[header::CONTENT_SECURITY_POLICY], NOTHING);
        let page = restricted(&server, ListenerKind::Main, pages::HTML_TYPE);
        let policy = page[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert_eq!(policy.matches("'sha256-").count(), 3, "{policy}");
    }

    #[test]
    fn browsers_are_kept_to_tls_only_by_a_service_that_speaks_it_to_the_network() {
        let mut server = Server::default();
        let is_sent = |server: &Server, listener| {
            restricted(server, listener, "text/plain")
                .contains_key(header::STRICT_TRANSPORT_SECURITY)
        };
        assert!(!is_sent(&server, ListenerKind::Main), "loopback");
        server.listen = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 8090);
        assert!(is_sent(&server, ListenerKind::Main));
        assert!(!is_sent(&server, ListenerKind::Firmware));
        server.plain_http = true;
        assert!(!is_sent(&server, ListenerKind::Main));
    }
}
