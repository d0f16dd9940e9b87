//! The credentials of a request, and the response when they are not sufficient.

use std::fmt;

use muster_model::Scheme;

/// The values of all headers and query parameters that can carry credentials.
#[derive(Clone, Copy, Default)]
pub struct Credentials<'a> {
    /// Header `Authorization`.
    pub authorization: Option<&'a str>,
    /// Header `X-Secret-Key`.
    pub secret_key: Option<&'a str>,
    /// Query parameter `api_key`.
    pub api_key: Option<&'a str>,
    /// Header `Image-Token`.
    pub image_token_header: Option<&'a str>,
    /// Query parameter `image_token`.
    pub image_token_query: Option<&'a str>,
    /// Header `Watcher-Authorization`.
    pub watcher: Option<&'a str>,
}

impl<'a> Credentials<'a> {
    /// What the request carries for a scheme; an empty carrier counts as absent.
    pub fn carried(&self, scheme: Scheme) -> Option<&'a str> {
        let value = match scheme {
            Scheme::User => self.authorization,
            Scheme::Agent => self.secret_key,
            Scheme::Url => self.api_key,
            Scheme::Image => self.image_token_header,
            Scheme::ImageUrl => self.image_token_query,
            Scheme::Watcher => self.watcher,
        };
        value.filter(|value| !value.is_empty())
    }
}

/// Names the carriers that are there, never their content.
impl fmt::Debug for Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = ALL.iter().filter(|scheme| self.carried(**scheme).is_some());
        f.write_str("Credentials ")?;
        f.debug_list()
            .entries(there.map(|scheme| carrier(*scheme)))
            .finish()
    }
}

const ALL: [Scheme; 6] = [
    Scheme::User,
    Scheme::Agent,
    Scheme::Url,
    Scheme::Image,
    Scheme::ImageUrl,
    Scheme::Watcher,
];

/// Where the credentials of a scheme are expected.
pub(crate) const fn carrier(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::User => "header Authorization",
        Scheme::Agent => "header X-Secret-Key",
        Scheme::Url => "query parameter api_key",
        Scheme::Image => "header Image-Token",
        Scheme::ImageUrl => "query parameter image_token",
        Scheme::Watcher => "header Watcher-Authorization",
    }
}

/// A request that must not go on. Always answered in the infra shape (`code`, `message`).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Denied {
    /// HTTP status.
    pub status: u16,
    /// For the caller; says nothing about what exists.
    pub message: String,
}

impl Denied {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
        }
    }

    /// The credentials are no good.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::new(401, message.to_string())
    }

    /// There are no credentials at all.
    pub(crate) fn missing(accepted: &[Scheme]) -> Self {
        let carriers: Vec<_> = accepted.iter().map(|scheme| carrier(*scheme)).collect();
        Self::refused(format_args!(
            "credentials are missing; expected in {}",
            carriers.join(" or ")
        ))
    }

    /// The token names an infra-env or cluster that is gone. Only the service can know that, so
    /// it is the service that must ask, right after authentication.
    pub fn resource_is_gone() -> Self {
        Self::refused("the token was issued for an infra-env or cluster that no longer exists")
    }

    /// The login was ended. Only the service can know that, as for [`Denied::resource_is_gone`].
    pub fn logged_out() -> Self {
        Self::refused("this login was ended; log in again")
    }

    /// What is asked for is not the caller's; the same answer as if it did not exist.
    pub fn not_found() -> Self {
        Self::new(404, "Object not found")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_names_carriers_without_content() {
        let credentials = Credentials {
            authorization: Some("Bearer abc"),
            api_key: Some("def"),
            secret_key: Some(""),
            ..Credentials::default()
        };
        let text = format!("{credentials:?}");
        assert_eq!(
            text,
            r#"Credentials ["header Authorization", "query parameter api_key"]"#
        );
    }
}
