//! The connection to the service: its address, the CA to trust, and the token to send.
//!
//! Token and CA may be renewed on disk while we run (short-lived tokens, a new certificate of
//! the service), so both are looked at before every round; a change makes a new client.

use std::{
    fmt, fs,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use muster_api::client::{Client, ClientError, ClientOptions, Proxies};
use tracing::{info, warn};
use uuid::Uuid;

/// No honest answer of a service is longer: the peers of a thousand machines take a megabyte.
const LONGEST_ANSWER: usize = 16 << 20;

/// Where the service is and how to get there.
#[derive(Clone, Debug)]
pub struct Directions {
    /// URL without the path of the API.
    pub url: String,
    /// PEM file with certificates to trust beside those of the system.
    pub cacert: Option<PathBuf>,
    /// Do not verify certificates.
    pub insecure: bool,
    /// Where the token comes from.
    pub token: TokenSource,
}

/// Where the token comes from. A file wins, because it can be renewed.
#[derive(Clone, Default)]
pub struct TokenSource {
    /// A file with the token alone, or with a line `PULL_SECRET_TOKEN=…`.
    pub file: Option<PathBuf>,
    /// What the environment said at the start.
    pub given: Option<String>,
}

/// Shows where, never what.
impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenSource")
            .field("file", &self.file)
            .field("given", &self.given.is_some())
            .finish()
    }
}

impl TokenSource {
    /// The token as of now. A file that cannot be read counts as no token, and is logged.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        let Some(file) = &self.file else {
            return self.given.clone();
        };
        match fs::read_to_string(file) {
            Ok(text) => token_in(&text),
            Err(cause) => {
                warn!("the token in {} cannot be read: {cause}", file.display());
                self.given.clone()
            }
        }
    }
}

fn token_in(text: &str) -> Option<String> {
    let named = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("PULL_SECRET_TOKEN="));
    let token = named.unwrap_or(text).trim().trim_matches('"');
    (!token.is_empty() && !token.contains(['\n', '\r'])).then(|| token.to_owned())
}

/// A way to the service that follows renewals.
pub struct Link {
    directions: Directions,
    /// Instead of those of the environment.
    proxies: Option<Proxies>,
    /// The token of this machine alone, if the service gave one; that of the image is for
    /// registering then.
    own_token: Mutex<Option<String>>,
    current: Mutex<Option<Current>>,
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Link").field(&self.directions).finish()
    }
}

struct Current {
    token: Option<String>,
    ca: Option<String>,
    client: Client,
}

impl Link {
    /// A link that has not been used yet.
    #[must_use]
    pub fn new(directions: Directions) -> Self {
        Self {
            directions,
            proxies: None,
            own_token: Mutex::new(None),
            current: Mutex::new(None),
        }
    }

    /// Through these proxies instead of those of the environment, if there are any.
    #[must_use]
    pub fn through(self, proxies: Option<Proxies>) -> Self {
        Self { proxies, ..self }
    }

    /// Where it leads.
    #[must_use]
    pub fn directions(&self) -> &Directions {
        &self.directions
    }

    /// Takes the token that the service gave to this machine, or forgets the one it has.
    pub fn adopt_token(&self, token: Option<String>) {
        *self
            .own_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Whether the service gave this machine a token of its own.
    #[must_use]
    pub fn has_own_token(&self) -> bool {
        let own = self
            .own_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        own.is_some()
    }

    /// The token of this moment: that of this machine, or else that of the image.
    #[must_use]
    pub fn token(&self) -> Option<String> {
        let own = self
            .own_token
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        own.or_else(|| self.directions.token.token())
    }

    /// A client with the credentials of this moment, for one conversation: all its requests
    /// carry one id. `version` is what we call ourselves.
    ///
    /// # Errors
    /// The URL is none or the CA is unusable; both may be fixed on disk, so ask again later.
    pub fn client(&self, version: Option<&str>) -> Result<Client, ClientError> {
        let token = self.token();
        let ca = self.ca()?;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |known: &Current| known.token == token && known.ca == ca;
        let client = match &*current {
            Some(known) if fits(known) => known.client.clone(),
            stale => {
                if stale.is_some() {
                    info!("token or CA of the service were renewed");
                }
                let client = Client::new(&self.directions.url, self.options(&token, &ca, None))?;
                let fresh = client.clone();
                *current = Some(Current {
                    token: token.clone(),
                    ca: ca.clone(),
                    client,
                });
                fresh
            }
        };
        Ok(client.on_behalf_of(self.options(&token, &None, version)))
    }

    fn ca(&self) -> Result<Option<String>, ClientError> {
        let Some(path) = self
            .directions
            .cacert
            .as_ref()
            .filter(|_| !self.directions.insecure)
        else {
            return Ok(None);
        };
        fs::read_to_string(path).map(Some).map_err(|cause| {
            ClientError::Settings(format!(
                "the CA in {} cannot be read: {cause}",
                path.display()
            ))
        })
    }

    fn options(
        &self,
        token: &Option<String>,
        ca: &Option<String>,
        version: Option<&str>,
    ) -> ClientOptions {
        ClientOptions {
            token: token.clone(),
            ca_pem: ca.clone(),
            insecure: self.directions.insecure,
            agent_version: version.map(ToOwned::to_owned),
            system_roots: true,
            answer_limit: Some(LONGEST_ANSWER),
            request_id: Some(Uuid::new_v4().to_string()),
            proxies: self.proxies.clone(),
            ..ClientOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_file_holds_the_token_alone_or_as_an_environment_line() {
        assert_eq!(token_in("abc\n").as_deref(), Some("abc"));
        assert_eq!(
            token_in("NODE_ZERO_IP=1\nPULL_SECRET_TOKEN=\"a.b.c\"\nX=1\n").as_deref(),
            Some("a.b.c")
        );
        assert_eq!(token_in(" \n"), None);
        assert_eq!(token_in("a\nb"), None);
    }

    #[test]
    fn a_renewed_token_is_used_from_the_next_round_on_and_shown_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "first").unwrap();
        let link = Link::new(Directions {
            url: "http://localhost:1".into(),
            cacert: None,
            insecure: false,
            token: TokenSource {
                file: Some(file.clone()),
                given: None,
            },
        });
        link.client(None).unwrap();
        let token = || link.current.lock().unwrap().as_ref().unwrap().token.clone();
        assert_eq!(token().as_deref(), Some("first"));
        fs::write(&file, "second").unwrap();
        link.client(None).unwrap();
        assert_eq!(token().as_deref(), Some("second"));
        assert!(!format!("{link:?}").contains("second"));
    }

    #[test]
    fn a_token_of_our_own_goes_before_that_of_the_image_until_it_is_forgotten() {
        let link = Link::new(Directions {
            url: "http://localhost:1".into(),
            cacert: None,
            insecure: false,
            token: TokenSource {
                file: None,
                given: Some("image".into()),
            },
        });
        let used = || {
            link.client(None).unwrap();
            link.current.lock().unwrap().as_ref().unwrap().token.clone()
        };
        link.adopt_token(Some("own".into()));
        assert_eq!(used().as_deref(), Some("own"));
        link.adopt_token(None);
        assert_eq!(used().as_deref(), Some("image"));
    }

    #[test]
    fn a_broken_ca_is_reported_with_its_path_and_can_be_fixed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let link = Link::new(Directions {
            url: "https://localhost:1".into(),
            cacert: Some(file.clone()),
            insecure: false,
            token: TokenSource::default(),
        });
        let problem = link.client(None).unwrap_err().to_string();
        assert!(problem.contains("ca.pem"), "{problem}");
        fs::write(&file, "").unwrap();
        assert!(link.client(None).is_ok());
    }
}
