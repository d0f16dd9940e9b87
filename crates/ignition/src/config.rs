//! A config that Ignition would accept.

use std::fmt;

use ignition_config::{Config as Typed, Error, Warning};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    UnreadableUrl, data_url,
    faults::{Faults, faults},
    merge::merge,
    names, spec,
    version::Version,
};

/// A config that Ignition would accept.
///
/// It stays JSON inside, so members of later versions travel untouched as Ignition itself lets
/// them; that the known ones are what Ignition expects was checked when it was made.
#[derive(Clone, PartialEq)]
pub struct Config {
    json: Value,
    version: Version,
}

impl Config {
    /// Reads a config from outside. Members that its version does not know are no fault, as
    /// they are none to Ignition; [`Config::unknown_members`] names them.
    ///
    /// # Errors
    /// Everything that Ignition would choke on, in one sentence each.
    pub fn read(text: &str) -> Result<Self, Faults> {
        if let Ok(json) = serde_json::from_str(text)
            && let Some(json) = names::respelled(&json)
        {
            return Self::read_spelled(&json.to_string());
        }
        Self::read_spelled(text)
    }

    /// Faults carry lines and columns, so the text is that of the user where it can be.
    fn read_spelled(text: &str) -> Result<Self, Faults> {
        let head: Head = serde_json::from_str(text).map_err(|cause| {
            let kind = match cause.classify() {
                serde_json::error::Category::Data => "it is not an Ignition config",
                serde_json::error::Category::Syntax
                | serde_json::error::Category::Eof
                | serde_json::error::Category::Io => "it is not JSON",
            };
            Faults::one(format!("{kind}: {cause}"))
        })?;
        let version: Version = head.ignition.version.parse().map_err(Faults::one)?;
        Typed::parse_str(text).map_err(|cause| Faults::one(typed_fault(&cause)))?;
        let json = serde_json::from_str(text)
            .map_err(|cause| Faults::one(format!("it is not JSON: {cause}")))?;
        let found = faults(&json);
        if found.is_empty() {
            Ok(Self { json, version })
        } else {
            Err(found)
        }
    }

    /// Takes a config made in the program.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn from_json(json: &Value) -> Result<Self, Faults> {
        Self::read(&json.to_string())
    }

    /// This config with `child` laid over it by Ignition's rules for a parent and a child.
    ///
    /// # Errors
    /// The two are fine by themselves and do not fit together.
    pub fn with(self, child: Self) -> Result<Self, Faults> {
        Self::from_json(&merge(self.json, child.json))
    }

    /// Version of the specification it is written in.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The JSON text, always the same for the same config.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.json.to_string()
    }

    /// The JSON itself.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Paths of members that Ignition will ignore, as `$.storage.files.0.owner`.
    #[must_use]
    pub fn unknown_members(&self) -> Vec<String> {
        let Ok((_, warnings)) = Typed::parse_str(&self.to_text()) else {
            return Vec::new();
        };
        let paths = warnings.into_iter().map(|warning| match warning {
            Warning::UnusedKey(path) => path,
            other => other.to_string(),
        });
        paths.collect()
    }

    /// The config as types.
    ///
    /// # Errors
    /// When it uses a member in a way the newest version does not.
    pub fn typed(&self) -> Result<spec::Config, Faults> {
        spec::Config::deserialize(&self.json)
            .map_err(|cause| Faults::one(format!("it is not an Ignition config: {cause}")))
    }

    /// Content of the file it writes to `path`; `None` if it writes none there.
    ///
    /// # Errors
    /// The content is not in the config, or damaged.
    pub fn file(&self, path: &str) -> Result<Option<Vec<u8>>, UnreadableUrl> {
        let files = self.json["storage"]["files"].as_array();
        let Some(file) = files
            .into_iter()
            .flatten()
            .find(|file| file["path"] == path)
        else {
            return Ok(None);
        };
        let contents = &file["contents"];
        match contents["source"].as_str() {
            None | Some("") => Ok(Some(Vec::new())),
            Some(source) => data_url::read(source, contents["compression"].as_str()).map(Some),
        }
    }

    /// Text of a unit; `None` if it has no such unit or the unit no text.
    #[must_use]
    pub fn unit(&self, name: &str) -> Option<&str> {
        let units = self.json["systemd"]["units"].as_array()?;
        units.iter().find(|unit| unit["name"] == name)?["contents"].as_str()
    }
}

/// Leaves out the content: configs carry pull secrets and tokens.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ignition::Config({}, ***)", self.version)
    }
}

#[derive(Deserialize)]
struct Head {
    ignition: HeadVersion,
}

#[derive(Deserialize)]
struct HeadVersion {
    version: String,
}

fn typed_fault(cause: &Error) -> String {
    match cause {
        Error::Serialization(cause) => format!("it is not an Ignition config: {cause}"),
        other => format!("it is not an Ignition config: {other}"),
    }
}
