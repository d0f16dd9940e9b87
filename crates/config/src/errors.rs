//! What can be wrong with a configuration, all of it at once.

use std::fmt;

use crate::duration::DurationError;

/// Why a value is not of the kind that its setting has. The text never repeats a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// There is none.
    #[error("nothing given")]
    Empty,
    /// None of the words of a choice.
    #[error("no such choice")]
    UnknownChoice,
    /// A printed configuration was used as a file: better to say so than to log in with asterisks.
    #[error("this is the mask that --print-config shows")]
    Masked,
    /// It has another form, such as a list in place of a text.
    #[error("{0}")]
    Form(&'static str),
    /// It has the right form and something wrong in it.
    #[error("{0}")]
    Content(String),
    /// Text that is not a duration.
    #[error(transparent)]
    Duration(#[from] DurationError),
}

impl ValueError {
    /// What another reader says of the text.
    pub(crate) fn unreadable(cause: impl fmt::Display) -> Self {
        Self::Content(cause.to_string())
    }
}

/// A key of the file that is not a setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnknownKey {
    /// There is one with almost the same name.
    #[error("there is no setting `{key}`; did you mean `{meant}`?")]
    Misspelt { key: String, meant: String },
    /// Nothing is similar.
    #[error("there is no setting `{key}`; --print-config lists all of them")]
    Unknown { key: String },
}

/// One thing to fix: where it stands, what is wrong, what is expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct ConfigError {
    /// Variable, flag, or file and line.
    pub place: String,
    /// What is wrong and how it should look.
    pub problem: String,
}

impl ConfigError {
    pub(crate) fn new(place: impl fmt::Display, problem: impl Into<String>) -> Self {
        Self {
            place: place.to_string(),
            problem: problem.into(),
        }
    }
}

/// Everything that is wrong, so that one round of fixing is enough.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.len();
        let noun = if count == 1 { "error" } else { "errors" };
        write!(f, "{count} {noun} in the configuration:")?;
        for error in &self.0 {
            write!(f, "\n  {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}
