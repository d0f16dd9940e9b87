//! Authentication with registries: the challenges of `WWW-Authenticate`.
//!
//! Either our credentials as they are (`Basic`), or a token that a token service makes of them
//! (`Bearer`). Credentials go to the registry they belong to and to the token service it names,
//! and only over TLS unless the user called that host insecure.

use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, header};
use serde::Deserialize;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer {
        realm: String,
        service: Option<String>,
        scope: Option<String>,
    },
}

impl Challenge {
    /// The best of those offered: a token if there is one.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut found = None;
        for value in headers.get_all(header::WWW_AUTHENTICATE) {
            let Ok(value) = value.to_str() else { continue };
            match parse(value) {
                Some(bearer @ Self::Bearer { .. }) => return Some(bearer),
                Some(basic) => found = Some(basic),
                None => {}
            }
        }
        found
    }
}

fn parse(value: &str) -> Option<Challenge> {
    let (scheme, rest) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    if scheme.eq_ignore_ascii_case("basic") {
        return Some(Challenge::Basic);
    }
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut realm = None;
    let (mut service, mut scope) = (None, None);
    for (key, value) in parameters(rest) {
        match key.to_ascii_lowercase().as_str() {
            "realm" => realm = Some(value),
            "service" => service = Some(value),
            "scope" => scope = Some(value),
            _ => {}
        }
    }
    Some(Challenge::Bearer {
        realm: realm?,
        service,
        scope,
    })
}

/// `key="value", key=value …`; commas inside quotes do not count.
fn parameters(mut text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    while let Some((key, rest)) = text.split_once('=') {
        let key = key.trim_matches([' ', ',', '\t']).to_owned();
        let (value, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        found.push((key, value.trim().to_owned()));
        text = after;
    }
    found
}

/// The answer of a token service.
#[derive(Deserialize)]
pub(crate) struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

/// A token and how long it is good for.
#[derive(Clone)]
pub(crate) struct Token {
    pub header: HeaderValue,
    until: Option<Instant>,
}

impl Token {
    /// Never expires.
    pub fn basic(header: HeaderValue) -> Self {
        Self {
            header,
            until: None,
        }
    }

    pub fn of(answer: TokenAnswer) -> Option<Self> {
        let token = answer
            .token
            .filter(|token| !token.is_empty())
            .or(answer.access_token)?;
        let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        header.set_sensitive(true);
        // The protocol says 60 seconds if nothing is said; ask a little before the end.
        let seconds = answer.expires_in.unwrap_or(60).clamp(1, 86_400);
        Some(Self {
            header,
            until: Some(Instant::now() + Duration::from_secs(seconds * 9 / 10)),
        })
    }

    pub fn is_good(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read_as_registries_write_them() {
        let bearer = parse(
            r#"Bearer realm="https://auth.example.com/token",service="reg",scope="repository:a/b:pull,push""#,
        );
        assert_eq!(
            bearer,
            Some(Challenge::Bearer {
                realm: "https://auth.example.com/token".to_owned(),
                service: Some("reg".to_owned()),
                scope: Some("repository:a/b:pull,push".to_owned()),
            })
        );
        assert_eq!(parse("Basic realm=\"x\""), Some(Challenge::Basic));
        assert_eq!(parse("basic"), Some(Challenge::Basic));
        assert_eq!(parse("Negotiate"), None);
        assert_eq!(parse("Bearer service=\"x\""), None);
        assert_eq!(
            parse("Bearer realm=\"unclosed"),
            Some(Challenge::Bearer {
                realm: "unclosed".to_owned(),
                service: None,
                scope: None,
            })
        );
    }

    #[test]
    fn tokens_expire() {
        let token = |expires_in| {
            Token::of(TokenAnswer {
                token: Some(String::new()),
                access_token: Some("abc".to_owned()),
                expires_in,
            })
            .expect("a token")
        };
        assert!(token(None).is_good());
        assert!(!token(Some(0)).is_good());
        assert_eq!(token(None).header, "Bearer abc");
        assert_eq!(format!("{:?}", token(None).header), "Sensitive");
    }
}
