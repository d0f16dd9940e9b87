//! What can be wrong with a configuration, all of it at once.

use std::fmt;

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
