//! Versions of the specification.

use std::{fmt, str::FromStr};

/// A version of the specification. All of them only ever added members to 3.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 3.0.0
    V3_0,
    /// 3.1.0
    V3_1,
    /// 3.2.0
    V3_2,
    /// 3.3.0
    V3_3,
    /// 3.4.0
    V3_4,
    /// 3.5.0
    V3_5,
    /// 3.6.0
    V3_6,
}

impl Version {
    /// All, oldest first.
    pub const ALL: [Self; 7] = [
        Self::V3_0,
        Self::V3_1,
        Self::V3_2,
        Self::V3_3,
        Self::V3_4,
        Self::V3_5,
        Self::V3_6,
    ];

    /// As configs write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V3_0 => "3.0.0",
            Self::V3_1 => "3.1.0",
            Self::V3_2 => "3.2.0",
            Self::V3_3 => "3.3.0",
            Self::V3_4 => "3.4.0",
            Self::V3_5 => "3.5.0",
            Self::V3_6 => "3.6.0",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text);
        known.ok_or_else(|| {
            let all = Self::ALL.map(Self::as_str).join(", ");
            format!("ignition.version {text:?} is not understood; write one of {all}")
        })
    }
}
