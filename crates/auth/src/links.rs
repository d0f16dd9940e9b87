//! Links that carry their own permission: boot images and files.

use muster_model::InfraEnvId;

/// How the address of a boot image says which infra-env it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageForm {
    /// By the id itself: whoever knows it may have the image.
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
        [Self::ById, Self::ByApiKey, Self::ByToken].into_iter().find(|form| form.segment() == segment)
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
    pub(crate) fn by_id(infra_env: InfraEnvId) -> Self {
        Self { form: ImageForm::ById, key: infra_env.to_string(), expires_at: None }
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
        f.debug_struct("SignedUrl").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// Adds the query parameter `api_key`. Tokens need no escaping.
pub(crate) fn with_api_key(url: &str, token: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}api_key={token}")
}
