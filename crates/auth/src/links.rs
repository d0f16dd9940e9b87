//! Links that carry their own permission: boot images and files.

use muster_model::{InfraEnvId, Scheme, Secret};

use crate::authenticator::{Authenticator, Way, scheme_claim, scope_claims};
use crate::credentials::Denied;
use crate::link_terms::LinkTerms;
use crate::principal::{Principal, Role, Scope};
use crate::tokens::{Claims, SignError, Tokens};

/// How the address of a boot image says which infra-env it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageForm {
    /// By the id itself: any client that knows it may download the image.
    ById,
    /// By a token of the infra-env, without end.
    ByApiKey,
    /// By a token that expires.
    ByToken,
}

impl ImageForm {
    /// The path segment that announces the form.
    pub const fn segment(self) -> &'static str {
        match self {
            Self::ById => "byid",
            Self::ByApiKey => "byapikey",
            Self::ByToken => "bytoken",
        }
    }

    /// The form that a path segment announces.
    pub fn from_segment(segment: &str) -> Option<Self> {
        [Self::ById, Self::ByApiKey, Self::ByToken]
            .into_iter()
            .find(|form| form.segment() == segment)
    }
}

/// The beginning of a boot image's address.
#[derive(Clone, PartialEq, Eq)]
pub struct ImageLink {
    /// How the infra-env is named.
    pub form: ImageForm,
    /// Id or token.
    pub key: String,
    /// When the link stops working, in seconds since 1970.
    pub expires_at: Option<i64>,
}

impl ImageLink {
    fn by_id(infra_env: InfraEnvId) -> Self {
        Self {
            form: ImageForm::ById,
            key: infra_env.to_string(),
            expires_at: None,
        }
    }

    /// The two path segments: `byid/<id>`, `byapikey/<token>` or `bytoken/<token>`.
    pub fn path(&self) -> String {
        format!("{}/{}", self.form.segment(), self.key)
    }
}

/// Leaves out the key, which is a permission.
impl std::fmt::Debug for ImageLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImageLink")
            .field("form", &self.form)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// A URL that can be opened without further credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedUrl {
    /// The URL.
    pub url: String,
    /// When it stops working, in seconds since 1970.
    pub expires_at: Option<i64>,
}

/// Leaves out the URL, which is a permission.
impl std::fmt::Debug for SignedUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedUrl")
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl Authenticator {
    /// The beginning of the address of an infra-env's boot image. `opens` are the places from
    /// which the image is made.
    ///
    /// # Errors
    /// If we cannot sign.
    pub fn image_link(
        &self,
        infra_env: InfraEnvId,
        signing_key: &Secret,
        opens: &str,
        now: i64,
    ) -> Result<ImageLink, SignError> {
        let terms = LinkTerms {
            scope: Scope::InfraEnv(infra_env),
            signing_key: Some(signing_key),
            opens,
        };
        match &self.way {
            Way::Open | Way::Installer(_) => Ok(ImageLink::by_id(infra_env)),
            Way::Local(tokens) => {
                let key = tokens.issue(&endless_claims(&terms))?;
                Ok(ImageLink {
                    form: ImageForm::ByApiKey,
                    key,
                    expires_at: None,
                })
            }
            Way::Users(tokens, _) => {
                let (key, end) = self.link_token(tokens, &terms, Scheme::Image, now)?;
                Ok(ImageLink {
                    form: ImageForm::ByToken,
                    key,
                    expires_at: Some(end),
                })
            }
        }
    }

    /// The infra-env that the address of a boot image names, and the caller; both have yet to
    /// pass [`check_place`](crate::check_place) and
    /// [`check_signing_key`](crate::check_signing_key).
    ///
    /// # Errors
    /// 401 for a form that this mode does not hand out, or a key that is no good; 404 for an id
    /// that is none.
    pub fn image_path(
        &self,
        form: ImageForm,
        key: &str,
        now: i64,
    ) -> Result<(InfraEnvId, Principal), Denied> {
        let principal = match (&self.way, form) {
            (Way::Open | Way::Installer(_), ImageForm::ById) => {
                let id = key.parse().map_err(|_| Denied::not_found())?;
                let anyone = Principal::unbound("admin", Role::Admin, Scheme::ImageUrl);
                return Ok((id, anyone));
            }
            (Way::Local(tokens), ImageForm::ByApiKey) => {
                self.local(tokens, Scheme::Url, key, now)?
            }
            (Way::Users(tokens, users), ImageForm::ByToken) => {
                self.with_users(tokens, users, Scheme::Image, key, now)?
            }
            (_, ImageForm::ById | ImageForm::ByApiKey | ImageForm::ByToken) => {
                return Err(Denied::refused(format_args!(
                    "image addresses of the form {}/… are not accepted in this auth mode; \
                     ask the infra-env for its download_url",
                    form.segment()
                )));
            }
        };
        match principal.scope {
            Some(Scope::InfraEnv(id)) => Ok((id, principal)),
            Some(Scope::Cluster(_) | Scope::Host { .. }) | None => {
                Err(Denied::refused("the token is not for an image"))
            }
        }
    }

    /// Makes a URL of ours usable without further credentials.
    ///
    /// # Errors
    /// If we cannot sign.
    pub fn sign_file_url(
        &self,
        url: &str,
        terms: &LinkTerms<'_>,
        now: i64,
    ) -> Result<SignedUrl, SignError> {
        match &self.way {
            Way::Open | Way::Installer(_) => Ok(SignedUrl {
                url: url.into(),
                expires_at: None,
            }),
            Way::Local(tokens) => {
                let token = tokens.issue(&endless_claims(terms))?;
                Ok(SignedUrl {
                    url: with_api_key(url, &token),
                    expires_at: None,
                })
            }
            Way::Users(tokens, _) => {
                let (token, end) = self.link_token(tokens, terms, Scheme::Url, now)?;
                Ok(SignedUrl {
                    url: with_api_key(url, &token),
                    expires_at: Some(end),
                })
            }
        }
    }

    fn link_token(
        &self,
        tokens: &Tokens,
        terms: &LinkTerms<'_>,
        scheme: Scheme,
        now: i64,
    ) -> Result<(String, i64), SignError> {
        let end = now.saturating_add(self.rules.link_lifetime);
        let auth_scheme = Some(scheme_claim(scheme));
        let token = tokens.issue(&Claims {
            auth_scheme,
            exp: Some(end),
            opens: Some(terms.opens.to_owned()),
            ..endless_claims(terms)
        })?;
        Ok((token, end))
    }
}

/// The claims of the reference, and the fingerprint by which the link can be withdrawn.
fn endless_claims(terms: &LinkTerms<'_>) -> Claims {
    Claims {
        link_key: terms.fingerprint(),
        ..scope_claims(terms.scope)
    }
}

/// Adds the query parameter `api_key`. Tokens need no escaping.
fn with_api_key(url: &str, token: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}api_key={token}")
}
