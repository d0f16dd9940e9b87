//! Pull secrets: credentials per registry.
//!
//! An entry may be for a whole host or for a path below it; the most specific one counts, as with
//! podman. Secrets never leave this file but as header values.

use std::{collections::BTreeMap, fmt, path::Path};

use base64::{Engine, engine::general_purpose};
use http::HeaderValue;
use muster_model::Secret;
use serde::Deserialize;

use crate::{Error, Repository};

/// More than any pull secret has.
const MAX_BYTES: u64 = 4 << 20;

/// User and password, or a token that is exchanged for others.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub user: String,
    pub password: Secret,
    pub identity_token: Option<Secret>,
}

impl Login {
    /// For `Authorization: Basic`.
    pub fn basic(&self) -> HeaderValue {
        let plain = format!("{}:{}", self.user, self.password.reveal());
        let text = format!("Basic {}", general_purpose::STANDARD.encode(plain));
        let mut value = HeaderValue::from_str(&text)
            .expect("base64 with a prefix has only characters that headers may have");
        value.set_sensitive(true);
        value
    }
}

/// The credentials of a docker configuration file.
#[derive(Clone, Default)]
pub struct PullSecret {
    logins: BTreeMap<String, Login>,
}

impl fmt::Debug for PullSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.logins.keys()).finish()
    }
}

#[derive(Deserialize)]
struct Document {
    auths: Option<BTreeMap<String, Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl PullSecret {
    /// Reads the JSON that registries hand out, `{"auths": {"host[/path]": {"auth": …}}}`.
    ///
    /// # Errors
    /// When it is not that. The text is never part of the message.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let bad = |why: String| Error::setting("pull secret", why);
        let document: Document = serde_json::from_str(text.trim()).map_err(|cause| {
            // The message of serde may quote the secret; the place does not.
            bad(format!(
                "it is not the JSON of a pull secret (line {}, column {}); it must look like \
                 {{\"auths\": {{\"registry.example.com\": {{\"auth\": \"…\"}}}}}}",
                cause.line(),
                cause.column()
            ))
        })?;
        let auths = document.auths.ok_or_else(|| {
            bad("it has no `auths`; take the file as the registry hands it out".to_owned())
        })?;
        let mut logins = BTreeMap::new();
        for (key, entry) in auths {
            if let Some(login) = login(entry).map_err(|why| bad(format!("auths[{key}]: {why}")))? {
                logins.insert(scope(&key), login);
            }
        }
        Ok(Self { logins })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read or is not a pull secret.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = crate::bounded_text(path, MAX_BYTES)?;
        Self::parse(&text).map_err(|error| match error {
            Error::Setting { what, why } => Error::Setting {
                what: format!("{what} {}", path.display()),
                why,
            },
            other => other,
        })
    }

    /// The entry for a repository: the longest of `host/a/b`, `host/a`, `host`.
    pub(crate) fn login(&self, repository: &Repository) -> Option<&Login> {
        let whole = repository.to_string();
        let mut scope = whole.as_str();
        loop {
            if let Some(login) = self.logins.get(scope) {
                return Some(login);
            }
            scope = &scope[..scope.rfind('/')?];
        }
    }
}

fn login(entry: Entry) -> Result<Option<Login>, &'static str> {
    let identity_token = entry
        .identitytoken
        .filter(|token| !token.is_empty())
        .map(Secret::new);
    let (user, password) = match (entry.auth.as_deref().map(str::trim), entry.username) {
        (Some(auth), _) if !auth.is_empty() => {
            let plain = general_purpose::STANDARD
                .decode(auth)
                .or_else(|_| general_purpose::STANDARD_NO_PAD.decode(auth))
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .ok_or("`auth` is not base64 of user:password")?;
            let (user, password) = plain
                .split_once(':')
                .ok_or("`auth` is not base64 of user:password")?;
            (
                user.to_owned(),
                Secret::new(password.trim_end_matches('\0')),
            )
        }
        (_, Some(user)) if !user.is_empty() => {
            (user, Secret::new(entry.password.unwrap_or_default()))
        }
        // Empty entries exist in real files, next to a helper that holds the secret.
        _ if identity_token.is_none() => return Ok(None),
        _ => (String::new(), Secret::new("")),
    };
    Ok(Some(Login {
        user,
        password,
        identity_token,
    }))
}

/// `https://index.docker.io/v1/` and its like mean a host.
fn scope(key: &str) -> String {
    let bare = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key)
        .trim_end_matches('/');
    let bare = bare
        .strip_suffix("/v1")
        .or_else(|| bare.strip_suffix("/v2"))
        .unwrap_or(bare);
    match bare {
        "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(secret: &PullSecret, repository: &str) -> Option<String> {
        let repository = Repository::parse(repository).expect("a repository");
        secret.login(&repository).map(|login| login.user.clone())
    }

    #[test]
    fn the_most_specific_entry_counts() {
        let auth = |user: &str| general_purpose::STANDARD.encode(format!("{user}:p:w"));
        let text = format!(
            r#"{{"auths": {{"quay.io": {{"auth": "{}"}}, "quay.io/org": {{"auth": "{}"}},
               "quay.io/org/name": {{"auth": "{}"}}, "empty.io": {{}},
               "https://index.docker.io/v1/": {{"auth": "{}"}}}}, "credsStore": "x"}}"#,
            auth("host"),
            auth("org"),
            auth("name"),
            auth("hub")
        );
        let secret = PullSecret::parse(&text).expect("sound");
        assert_eq!(user(&secret, "quay.io/other").as_deref(), Some("host"));
        assert_eq!(user(&secret, "quay.io/org/x").as_deref(), Some("org"));
        assert_eq!(user(&secret, "quay.io/org/name").as_deref(), Some("name"));
        assert_eq!(user(&secret, "quay.io/organ/name").as_deref(), Some("host"));
        assert_eq!(user(&secret, "docker.io/a/b").as_deref(), Some("hub"));
        assert_eq!(user(&secret, "empty.io/a"), None);
        assert_eq!(user(&secret, "elsewhere.io/a"), None);
        let login = &secret.logins["quay.io"];
        assert_eq!(login.password.reveal(), "p:w");
    }

    #[test]
    fn nothing_secret_is_shown() {
        let text = format!(
            r#"{{"auths": {{"quay.io": {{"auth": "{}"}}}}}}"#,
            general_purpose::STANDARD.encode("me:hunter2")
        );
        let secret = PullSecret::parse(&text).expect("sound");
        let shown = format!("{secret:?} {:?}", secret.logins);
        assert!(!shown.contains("hunter2"), "{shown}");
        for bad in [
            "{\"auths\": {\"quay.io\": {\"auth\": \"aHVudGVyMg==\"}}}",
            "hunter2",
            "{\"hunter2\": 1}",
        ] {
            let error = PullSecret::parse(bad).expect_err("bad").to_string();
            assert!(
                !error.contains("hunter2") && !error.contains("aHVu"),
                "{error}"
            );
        }
    }
}
