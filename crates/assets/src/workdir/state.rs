//! What one command leaves for the next: little, and secret.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

use crate::profiles::Release;

/// Name of the file in the directory of assets.
pub const STATE_FILE: &str = ".muster_state.json";

/// Changes whenever the same seed would give other keys.
const FORMAT: u64 = 1;

/// The cluster between two commands.
#[derive(Clone, PartialEq, Eq)]
pub struct State {
    /// Where all keys and names come from.
    pub seed: [u8; 32],
    /// When the cluster was planned.
    pub created: Timestamp,
    /// When Ignition was made, if it was.
    pub issued: Option<Timestamp>,
    /// The install-config with everything filled in.
    pub install_config: String,
    /// What is installed.
    pub release: Release,
}

/// The state of another version, or none at all.
#[derive(Debug, Error)]
pub enum StateError {
    /// Broken.
    #[error("{STATE_FILE} cannot be read: {0}; delete it to begin a new cluster")]
    Broken(String),
    /// Newer or older.
    #[error(
        "{STATE_FILE} was written by another version of muster (format {0}, this one knows {FORMAT}); \
         go on with that version, or delete the file to begin a new cluster"
    )]
    Format(u64),
}

impl State {
    /// The file's text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let value = json!({
            "format": FORMAT,
            "note": "Made by muster. All keys of the cluster follow from the seed: keep it secret.",
            "seed": STANDARD.encode(self.seed),
            "created": self.created.to_string(),
            "issued": self.issued.map(|at| at.to_string()),
            "release": { "version": self.release.version, "image": self.release.image },
            "installConfig": self.install_config,
        });
        format!("{value:#}\n")
    }

    /// Reads the file.
    pub fn from_text(text: &str) -> Result<Self, StateError> {
        let broken = |why: &str| StateError::Broken(why.to_owned());
        let value: Value =
            serde_json::from_str(text).map_err(|error| StateError::Broken(error.to_string()))?;
        match value["format"].as_u64() {
            Some(FORMAT) => {}
            Some(other) => return Err(StateError::Format(other)),
            None => return Err(broken("it has no format")),
        }
        let word = |value: &Value, name: &str| {
            value
                .as_str()
                .map(str::to_owned)
                .ok_or_else(|| broken(&format!("it has no {name}")))
        };
        let time = |text: String| {
            text.parse::<Timestamp>()
                .map_err(|error| StateError::Broken(error.to_string()))
        };
        let seed = STANDARD
            .decode(word(&value["seed"], "seed")?)
            .ok()
            .and_then(|bytes| <[u8; 32]>::try_from(bytes).ok())
            .ok_or_else(|| broken("its seed is not 32 bytes in base64"))?;
        Ok(Self {
            seed,
            created: time(word(&value["created"], "time")?)?,
            issued: value["issued"]
                .as_str()
                .map(|text| time(text.to_owned()))
                .transpose()?,
            install_config: word(&value["installConfig"], "install-config")?,
            release: Release {
                version: word(&value["release"]["version"], "release version")?,
                image: word(&value["release"]["image"], "release image")?,
            },
        })
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("created", &self.created)
            .field("issued", &self.issued)
            .field("release", &self.release)
            .finish_non_exhaustive()
    }
}
