//! From credentials to a caller, in each of the four modes.
//!
//! | mode | people | machines | links |
//! |---|---|---|---|
//! | none | all are administrator | same | unsigned |
//! | local | refused, they use Kubernetes | token of an infra-env or cluster | same token |
//! | users | token of a login | token of an infra-env or cluster | such a token that expires |
//! | agent-installer-local | installer's token | installer's token | unsigned |
//!
//! Schemes are tried in the order of the contract. One whose carrier is absent is skipped, one
//! that fails is remembered, the first that succeeds wins; the last failure is the answer if
//! none does.

use std::borrow::Cow;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_model::{ClusterId, HostId, HostKey, InfraEnvId, Scheme};
use p256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use serde_json::Value;

use crate::credentials::{Credentials, Denied, carrier};
use crate::keys::KeyPair;
use crate::link_terms::LinkLimits;
use crate::principal::{Login, Principal, Role, Scope};
use crate::signing_keys::SigningKeys;
use crate::tokens::{Claims, SignError, Tokens};
use crate::users::{LoginError, Users};

/// How callers prove who they are, with what each way needs.
#[derive(Debug)]
pub enum Mode {
    /// They need not.
    None,
    /// Only tokens that this service signed, for machines and links.
    Local(SigningKeys),
    /// As local, and people log in.
    Users(SigningKeys, Users),
    /// Tokens made by the agent-based installer, whose public key this is.
    AgentInstallerLocal(KeyPair),
}

/// Rules that can be set.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Bind tokens to the infra-env or cluster they were made for.
    pub enforce_scope: bool,
    /// Life of a login, in seconds.
    pub token_lifetime: i64,
    /// Life of a signed link in mode users, in seconds.
    pub link_lifetime: i64,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            enforce_scope: true,
            token_lifetime: 12 * 3600,
            link_lifetime: 4 * 3600,
        }
    }
}

/// A login: the token and what comes with it.
#[derive(Clone, PartialEq, Eq)]
pub struct Session {
    /// To be sent as `Authorization: Bearer …`.
    pub token: String,
    /// When it ends, in seconds since 1970.
    pub expires_at: i64,
    /// What the user may do.
    pub role: Role,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("expires_at", &self.expires_at)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// Recognises callers and makes their tokens.
#[derive(Debug)]
pub struct Authenticator {
    pub(crate) way: Way,
    pub(crate) rules: Rules,
}

#[derive(Debug)]
pub(crate) enum Way {
    Open,
    Local(Tokens),
    Users(Tokens, Users),
    Installer(Tokens),
}

impl Authenticator {
    /// An authenticator for a mode.
    pub fn new(mode: Mode, rules: Rules) -> Self {
        let way = match mode {
            Mode::None => Way::Open,
            Mode::Local(keys) => Way::Local(Tokens::new(keys)),
            Mode::Users(keys, users) => Way::Users(Tokens::new(keys), users),
            Mode::AgentInstallerLocal(keys) => Way::Installer(Tokens::new(keys)),
        };
        Self { way, rules }
    }

    /// Signs with other keys from now on, in modes that sign; whether they are others.
    pub fn replace_keys(&self, keys: SigningKeys) -> bool {
        match &self.way {
            Way::Local(tokens) | Way::Users(tokens, _) => tokens.replace(keys),
            Way::Open | Way::Installer(_) => false,
        }
    }

    /// The users that can log in, in the mode that has them.
    pub fn users(&self) -> Option<&Users> {
        match &self.way {
            Way::Users(_, users) => Some(users),
            Way::Open | Way::Local(_) | Way::Installer(_) => None,
        }
    }

    /// Whether anyone may do anything.
    pub fn is_open(&self) -> bool {
        matches!(self.way, Way::Open)
    }

    /// Recognises the caller of an operation that accepts these schemes, in this order.
    ///
    /// A principal with a [`Principal::scope`] names something in the database; whether it still
    /// exists is for the service to find out ([`Denied::resource_is_gone`]).
    ///
    /// # Errors
    /// 401 for credentials that are missing or no good; under the agent-based installer 403 or
    /// 400 for a good token of another scheme or with an empty one.
    pub fn authenticate(
        &self,
        accepted: &[Scheme],
        credentials: &Credentials<'_>,
        now: i64,
    ) -> Result<Principal, Denied> {
        if self.is_open() {
            let scheme = accepted.first().copied().unwrap_or(Scheme::User);
            return Ok(Principal::unbound("admin", Role::Admin, scheme));
        }
        let mut last = None;
        for &scheme in accepted {
            let Some(token) = credentials.carried(scheme) else {
                continue;
            };
            let outcome = match &self.way {
                Way::Open => continue,
                Way::Local(tokens) => self.local(tokens, scheme, token, now),
                Way::Users(tokens, users) => self.with_users(tokens, users, scheme, token, now),
                // A good token ends the search, even if it then turns out to be of another kind.
                Way::Installer(tokens) => match installer(tokens, scheme, token, now) {
                    Ok(claims) => return admit_installer(scheme, &claims),
                    Err(denied) => Err(denied),
                },
            };
            match outcome {
                Ok(principal) => return Ok(principal),
                Err(denied) => last = Some(denied),
            }
        }
        Err(last.unwrap_or_else(|| Denied::missing(accepted)))
    }

    /// Checks name and password and opens a session for a caller at `peer`. Slow on
    /// purpose; see [`Users::check_password`].
    ///
    /// # Errors
    /// If they are wrong, or if this mode has no logins.
    pub fn login(
        &self,
        name: &str,
        password: &str,
        peer: IpAddr,
        now: i64,
    ) -> Result<Session, LoginError> {
        let Way::Users(tokens, users) = &self.way else {
            return Err(LoginError::NotOffered);
        };
        let (role, user_key) = users.check_password(name, password, peer, now)?;
        let expires_at = now.saturating_add(self.rules.token_lifetime);
        let token = tokens.issue(&Claims {
            auth_scheme: Some(scheme_claim(Scheme::User)),
            sub: Some(name.into()),
            exp: Some(expires_at),
            jti: Some(session_id()),
            user_key: Some(user_key),
            ..Claims::default()
        })?;
        Ok(Session {
            token,
            expires_at,
            role,
        })
    }

    /// The token that a machine or controller of this scope shows in `X-Secret-Key`; `None` in
    /// modes where it needs none or gets it from the installer.
    ///
    /// # Errors
    /// If we cannot sign.
    pub fn agent_token(&self, scope: Scope) -> Result<Option<String>, SignError> {
        self.agent_token_of(scope, 0)
    }

    /// The same, of a generation of the infra-env's tokens ([`check_generation`]).
    ///
    /// # Errors
    /// If we cannot sign.
    ///
    /// [`check_generation`]: crate::check_generation
    pub fn agent_token_of(
        &self,
        scope: Scope,
        generation: i64,
    ) -> Result<Option<String>, SignError> {
        let (tokens, auth_scheme) = match &self.way {
            Way::Open | Way::Installer(_) => return Ok(None),
            Way::Local(tokens) => (tokens, None),
            Way::Users(tokens, _) => (tokens, Some(scheme_claim(Scheme::Agent))),
        };
        let claims = Claims {
            auth_scheme,
            generation: Some(generation).filter(|generation| *generation > 0),
            ..scope_claims(scope)
        };
        tokens.issue(&claims).map(Some)
    }

    pub(crate) fn local(
        &self,
        tokens: &Tokens,
        scheme: Scheme,
        token: &str,
        now: i64,
    ) -> Result<Principal, Denied> {
        match scheme {
            Scheme::Agent | Scheme::Url => {}
            Scheme::User | Scheme::Image | Scheme::ImageUrl | Scheme::Watcher => {
                return Err(not_in_this_mode(scheme, "local"));
            }
        }
        let claims = tokens.verify(token, now).map_err(Denied::refused)?;
        self.machine(scheme, &claims, "admin")
    }

    pub(crate) fn with_users(
        &self,
        tokens: &Tokens,
        users: &Users,
        scheme: Scheme,
        token: &str,
        now: i64,
    ) -> Result<Principal, Denied> {
        let claims = tokens
            .verify(bare(scheme, token), now)
            .map_err(Denied::refused)?;
        let made_for = claims
            .auth_scheme
            .as_ref()
            .and_then(Value::as_str)
            .and_then(|name| Scheme::from_str(name).ok());
        match scheme {
            Scheme::User | Scheme::Watcher => {
                let name = claims
                    .sub
                    .as_ref()
                    .filter(|_| made_for == Some(Scheme::User));
                let name = name.ok_or_else(|| Denied::refused("the token is not from a login"))?;
                let (role, user_key) = users
                    .known(name)
                    .ok_or_else(|| Denied::refused("the user of this token no longer exists"))?;
                // Tokens of earlier versions name neither a password nor a session.
                let (Some(id), Some(end), true) = (
                    &claims.jti,
                    claims.exp,
                    claims.user_key.as_deref() == Some(user_key.as_str()),
                ) else {
                    return Err(Denied::refused(
                        "the password was changed after this login; log in again",
                    ));
                };
                let mut principal = Principal::unbound(name.clone(), role, scheme);
                principal.login = Some(Login {
                    id: id.clone(),
                    expires_at: end,
                });
                Ok(principal)
            }
            Scheme::Agent if made_for == Some(Scheme::Agent) => {
                self.machine(scheme, &claims, "agent")
            }
            Scheme::Url | Scheme::Image | Scheme::ImageUrl
                if matches!(made_for, Some(Scheme::Url | Scheme::Image))
                    && claims.exp.is_some() =>
            {
                self.machine(scheme, &claims, "link")
            }
            Scheme::Agent | Scheme::Url | Scheme::Image | Scheme::ImageUrl => Err(Denied::refused(
                format_args!("the token was not issued for {}", carrier(scheme)),
            )),
        }
    }

    /// A caller whose token names what it is for; an infra-env comes first if it names two.
    fn machine(
        &self,
        scheme: Scheme,
        claims: &Claims,
        name: &'static str,
    ) -> Result<Principal, Denied> {
        let bad = || Denied::refused("the token names no infra-env or cluster");
        let scope = match (&claims.infra_env_id, &claims.cluster_id) {
            (Some(id), _) if claims.host_id.is_some() || claims.registration.is_some() => {
                let host = claims.host_id.as_deref().unwrap_or_default();
                Scope::Host {
                    key: HostKey {
                        infra_env: InfraEnvId::from_str(id).map_err(|_| bad())?,
                        host: HostId::from_str(host).map_err(|_| bad())?,
                    },
                    registration: claims.registration.ok_or_else(bad)?,
                }
            }
            (Some(id), _) => Scope::InfraEnv(InfraEnvId::from_str(id).map_err(|_| bad())?),
            (None, Some(id)) => Scope::Cluster(ClusterId::from_str(id).map_err(|_| bad())?),
            (None, None) => return Err(bad()),
        };
        Ok(Principal {
            name: Cow::Borrowed(name),
            role: Role::Agent,
            scheme,
            scope: Some(scope),
            bound: self.rules.enforce_scope,
            login: None,
            generation: claims.generation.unwrap_or_default(),
            link: LinkLimits {
                fingerprint: claims.link_key.clone(),
                opens: claims.opens.clone(),
            },
        })
    }
}

/// 128 random bits.
fn session_id() -> String {
    let mut bytes = [0; 16];
    OsRng.fill_bytes(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn installer(
    tokens: &Tokens,
    scheme: Scheme,
    token: &str,
    now: i64,
) -> Result<Arc<Claims>, Denied> {
    match scheme {
        Scheme::User | Scheme::Agent | Scheme::Watcher => tokens
            .verify(bare(scheme, token), now)
            .map_err(Denied::refused),
        Scheme::Url | Scheme::Image | Scheme::ImageUrl => {
            Err(not_in_this_mode(scheme, "agent-installer-local"))
        }
    }
}

/// The token itself must say that it is for the scheme by which it came.
fn admit_installer(scheme: Scheme, claims: &Claims) -> Result<Principal, Denied> {
    let made_for = claims.auth_scheme.as_ref().and_then(Value::as_str);
    match made_for {
        // The reference answers 500 here, but it is the caller's token that is wrong.
        None => Err(Denied::new(
            401,
            "the token has no usable claim auth_scheme",
        )),
        Some("") => Err(Denied::new(400, "the token's claim auth_scheme is empty")),
        Some(name) if name != scheme.to_string() => Err(Denied::new(
            403,
            format!("the token was not issued for {}", carrier(scheme)),
        )),
        Some(_) => {
            let role = match scheme {
                Scheme::Watcher => Role::ReadOnly,
                Scheme::Agent => Role::Agent,
                Scheme::User | Scheme::Url | Scheme::Image | Scheme::ImageUrl => Role::Admin,
            };
            Ok(Principal::unbound("admin", role, scheme))
        }
    }
}

fn not_in_this_mode(scheme: Scheme, mode: &str) -> Denied {
    Denied::refused(format_args!(
        "{} is not accepted in auth mode {mode}",
        carrier(scheme)
    ))
}

/// People's tools send `Bearer <token>`, the installer's send the token alone; both are fine.
fn bare(scheme: Scheme, carried: &str) -> &str {
    match scheme {
        Scheme::User | Scheme::Watcher => match carried.split_once(' ') {
            Some((word, token)) if word.eq_ignore_ascii_case("bearer") => token.trim(),
            Some(_) | None => carried,
        },
        Scheme::Agent | Scheme::Url | Scheme::Image | Scheme::ImageUrl => carried,
    }
}

pub(crate) fn scheme_claim(scheme: Scheme) -> Value {
    Value::String(scheme.to_string())
}

pub(crate) fn scope_claims(scope: Scope) -> Claims {
    match scope {
        Scope::InfraEnv(id) => Claims {
            infra_env_id: Some(id.to_string()),
            ..Claims::default()
        },
        Scope::Cluster(id) => Claims {
            cluster_id: Some(id.to_string()),
            ..Claims::default()
        },
        Scope::Host { key, registration } => Claims {
            infra_env_id: Some(key.infra_env.to_string()),
            host_id: Some(key.host.to_string()),
            registration: Some(registration),
            ..Claims::default()
        },
    }
}

#[cfg(test)]
mod tests;
