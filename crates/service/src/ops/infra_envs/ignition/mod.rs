//! Ignition configs as the service meets them: overrides that users send, and files it makes.
//!
//! Configs stay JSON, so members we do not know travel untouched; [`Config::read`] has made
//! sure that the known ones are what Ignition expects. [`merge`] follows Ignition's own rules
//! for a parent and a child config, because that is what users of overrides were promised.

mod files;
mod merge;
mod shape;

use std::fmt;

use serde_json::Value;

pub use files::{Unit, file};
pub use merge::merge;

/// Versions of the specification we read. All of them only ever added members to 3.0.
const VERSIONS: &[&str] = &["3.0.0", "3.1.0", "3.2.0", "3.3.0", "3.4.0", "3.5.0"];

/// A config that Ignition would accept.
#[derive(Clone, PartialEq)]
pub struct Config(Value);

impl Config {
    /// Reads a config a user sent.
    ///
    /// # Errors
    /// Everything that Ignition would choke on, in one sentence each.
    pub fn read(text: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(text).map_err(|cause| format!("it is not JSON: {cause}"))?;
        Self::check(value)
    }

    /// Takes a config made in the program.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn check(value: Value) -> Result<Self, String> {
        let faults = shape::faults(&value);
        if faults.is_empty() {
            Ok(Self(value))
        } else {
            Err(faults.join("; "))
        }
    }

    /// This config with `child` laid over it.
    ///
    /// # Errors
    /// The two do not fit together.
    pub fn with(self, child: Self) -> Result<Self, String> {
        Self::check(merge(self.0, child.0))
    }

    /// The JSON text, always the same for the same config.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.0.to_string()
    }

    /// The JSON itself.
    #[cfg(test)]
    pub fn json(&self) -> &Value {
        &self.0
    }
}

/// Leaves out the content: configs carry pull secrets and tokens.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ignition::Config(***)")
    }
}
