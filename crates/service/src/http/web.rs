//! The web page: files of `web/dist`, embedded with their compressed forms (see `build.rs`).
//!
//! Names of scripts and styles carry a digest of their content, so browsers keep them for good; the
//! one HTML page is asked for again each time, by its ETag. Every address of the page itself, such as
//! `/clusters/<id>/hosts`, answers that HTML page: which part of it is shown is decided in the browser.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{HeaderMap, StatusCode, header};
use sha2::{Digest, Sha256};

use super::{Reply, pages::HTML_TYPE};

/// One file of the page.
#[derive(Debug)]
pub struct File {
    path: &'static str,
    plain: &'static [u8],
    brotli: &'static [u8],
    gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/web_files.rs"));

/// First segments of the addresses that the page shows. A list, so that a mistyped path of the API
/// stays a 404 with a reason. `web/src/router.ts` has the same.
const SHOWN: &[&str] = &[
    "assisted-installer",
    "clusters",
    "import",
    "infra-envs",
    "os-images",
    "releases",
    "settings",
];

/// Nothing but files of this service, and no script or style in the page or in attributes.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Scripts and styles under names that change with their content.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// What the path asks for: a file, or the page by one of its addresses.
pub fn find(path: &str) -> Option<&'static File> {
    let of = |path: &str| FILES.iter().find(|file| file.path == path);
    let first = path.split('/').nth(1).unwrap_or_default();
    match path == "/" || SHOWN.contains(&first) {
        true => of("/index.html"),
        false => of(path),
    }
}

/// The file in the best form that the browser takes.
pub fn answer(file: &'static File, headers: &HeaderMap) -> Reply {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok()).unwrap_or("");
    let (encoding, bytes) = form(file, accepted);
    let tag = format!("\"{}{encoding}\"", digest(file));
    let known = headers.get(header::IF_NONE_MATCH);
    let known = known.and_then(|value| value.to_str().ok()).unwrap_or("");
    let is_page = file.path == "/index.html";
    let cache = if is_page { "no-cache" } else { FOR_GOOD };
    let reply = match known.split(',').any(|one| one.trim() == tag) {
        true => Reply::empty(StatusCode::NOT_MODIFIED),
        false => {
            let reply = Reply::text(content_type(file.path), bytes);
            match encoding {
                "" => reply,
                _ => reply.header(header::CONTENT_ENCODING, encoding),
            }
        }
    };
    let reply = reply
        .header(header::ETAG, tag)
        .header(header::CACHE_CONTROL, cache);
    match is_page {
        true => reply.header(header::CONTENT_SECURITY_POLICY, POLICY),
        false => reply,
    }
}

fn form(file: &'static File, accepted: &str) -> (&'static str, &'static [u8]) {
    let takes = |name: &str| {
        accepted.split(',').any(|one| {
            let mut parts = one.split(';').map(str::trim);
            parts.next() == Some(name) && !parts.any(|weight| matches!(weight, "q=0" | "q=0.0"))
        })
    };
    match (takes("br"), takes("gzip")) {
        (true, _) => ("br", file.brotli),
        (false, true) => ("gzip", file.gzip),
        (false, false) => ("", file.plain),
    }
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => HTML_TYPE,
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

fn digest(file: &'static File) -> &'static str {
    static ALL: LazyLock<Vec<(&str, String)>> = LazyLock::new(|| {
        let digest = |file: &File| URL_SAFE_NO_PAD.encode(&Sha256::digest(file.plain)[..12]);
        FILES.iter().map(|file| (file.path, digest(file))).collect()
    });
    let found = ALL.iter().find(|(path, _)| *path == file.path);
    found.map_or("", |(_, digest)| digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    static SCRIPT: File = File {
        path: "/assets/app.js",
        plain: b"plain",
        brotli: b"br",
        gzip: b"gz",
    };

    #[test]
    fn browsers_get_the_smallest_form_they_take() {
        for (accepted, encoding) in [
            ("gzip, deflate, br", "br"),
            ("gzip", "gzip"),
            ("br;q=0, gzip", "gzip"),
            ("identity", ""),
            ("", ""),
        ] {
            assert_eq!(form(&SCRIPT, accepted).0, encoding, "{accepted}");
        }
    }

    #[test]
    fn addresses_of_the_page_are_the_page_and_those_of_the_api_are_not() {
        for path in [
            "/v2/clusters",
            "/api/assisted-install/v2/clusters",
            "/cluster",
            "/health",
        ] {
            assert!(find(path).is_none(), "{path}");
        }
        let built = !FILES.is_empty();
        for path in ["/", "/clusters", "/clusters/a/hosts/b", "/infra-envs/x"] {
            assert_eq!(find(path).is_some(), built, "{path}");
        }
    }

    #[test]
    fn the_page_may_run_no_script_of_its_own() {
        for file in FILES.iter().filter(|file| file.path == "/index.html") {
            let text = std::str::from_utf8(file.plain).unwrap();
            assert!(
                !text.contains("<script>") && !text.contains(" style="),
                "{text}"
            );
        }
    }
}
