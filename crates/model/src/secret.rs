//! Text that must never show up in a log.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A secret text. `Debug` prints nothing of it; ask for it with [`Secret::reveal`].
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; the call site is where a reviewer looks for leaks.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() {
            "Secret(unset)"
        } else {
            "Secret(***)"
        })
    }
}
