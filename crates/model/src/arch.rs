//! CPU architectures, and the names each of several worlds has for them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A CPU architecture of a host, an image, or (as `multi`) of a release that carries several.
///
/// Reading accepts the kernel's spelling `aarch64` and the container world's `amd64`; writing uses
/// the names of the REST API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// 64-bit Intel and AMD.
    X86_64,
    /// 64-bit Arm.
    Arm64,
    /// IBM Power, little endian.
    Ppc64le,
    /// IBM Z and LinuxONE.
    S390x,
    /// A release payload for several architectures; never a single host.
    Multi,
}

/// A text that is not the name of an architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown CPU architecture {:?}; use one of: {}", .0, Arch::names().join(", "))]
pub struct UnknownArch(
    /// The text as given.
    pub String,
);

impl Arch {
    /// Every architecture, in declaration order.
    pub const ALL: &'static [Self] = &[
        Self::X86_64,
        Self::Arm64,
        Self::Ppc64le,
        Self::S390x,
        Self::Multi,
    ];

    /// The name in the REST API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Arm64 => "arm64",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
            Self::Multi => "multi",
        }
    }

    /// The name in container images and install-configs.
    #[must_use]
    pub const fn go(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Arm64 | Self::Ppc64le | Self::S390x | Self::Multi => self.as_str(),
        }
    }

    /// The name in kernels, packages and CoreOS streams.
    #[must_use]
    pub const fn rpm(self) -> &'static str {
        match self {
            Self::Arm64 => "aarch64",
            Self::X86_64 | Self::Ppc64le | Self::S390x | Self::Multi => self.as_str(),
        }
    }

    /// The number in the header of executables; none for several architectures.
    #[must_use]
    pub const fn elf_machine(self) -> Option<u16> {
        match self {
            Self::X86_64 => Some(62),
            Self::Arm64 => Some(183),
            Self::Ppc64le => Some(21),
            Self::S390x => Some(22),
            Self::Multi => None,
        }
    }

    fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|arch| arch.as_str()).collect()
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Arch {
    type Err = UnknownArch;

    fn from_str(text: &str) -> Result<Self, UnknownArch> {
        match text {
            "x86_64" | "amd64" => Ok(Self::X86_64),
            "arm64" | "aarch64" => Ok(Self::Arm64),
            "ppc64le" => Ok(Self::Ppc64le),
            "s390x" => Ok(Self::S390x),
            "multi" => Ok(Self::Multi),
            _ => Err(UnknownArch(text.to_owned())),
        }
    }
}

impl Serialize for Arch {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Arch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?
            .parse()
            .map_err(de::Error::custom)
    }
}

/// The architecture of a record, in the spelling it was stored with.
///
/// Stored and shown exactly as received, also if we do not know it; compared by meaning
/// ([`ArchName::is`], [`ArchName::same_as`]). `==` compares spellings, to find out what changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArchName(String);

impl ArchName {
    /// The text as received.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it means; none if we do not know it.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        self.0.parse().ok()
    }

    /// Whether it is this one, in any spelling.
    #[must_use]
    pub fn is(&self, arch: Arch) -> bool {
        self.arch() == Some(arch)
    }

    /// Whether both mean the same; names that we do not know must be spelled alike.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        match (self.arch(), other.arch()) {
            (None, None) => self.0 == other.0,
            (own, other) => own == other,
        }
    }
}

impl From<Arch> for ArchName {
    fn from(arch: Arch) -> Self {
        Self(arch.as_str().to_owned())
    }
}

impl From<&str> for ArchName {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for ArchName {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for ArchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_read_but_never_written() {
        assert_eq!("aarch64".parse(), Ok(Arch::Arm64));
        assert_eq!("amd64".parse(), Ok(Arch::X86_64));
        assert_eq!(Arch::Arm64.to_string(), "arm64");
        assert_eq!(serde_json::to_string(&Arch::Arm64).unwrap(), r#""arm64""#);
        assert_eq!(
            serde_json::from_str::<Arch>(r#""aarch64""#).unwrap(),
            Arch::Arm64
        );
    }

    #[test]
    fn every_name_of_an_architecture_is_read_as_that_architecture() {
        for arch in Arch::ALL {
            for name in [arch.as_str(), arch.go(), arch.rpm()] {
                assert_eq!(name.parse(), Ok(*arch), "{name}");
            }
        }
    }

    #[test]
    fn an_unknown_architecture_is_answered_with_the_list_of_known_ones() {
        let message = "riscv64".parse::<Arch>().unwrap_err().to_string();
        assert_eq!(
            message,
            "unknown CPU architecture \"riscv64\"; use one of: x86_64, arm64, ppc64le, s390x, multi"
        );
    }

    #[test]
    fn names_of_records_keep_their_spelling_and_are_compared_by_meaning() {
        let read = |text: &str| serde_json::from_str::<ArchName>(text).unwrap();
        let (kernel, api, odd) = (read(r#""aarch64""#), read(r#""arm64""#), read(r#""vax""#));
        assert_eq!(serde_json::to_string(&kernel).unwrap(), r#""aarch64""#);
        assert_eq!(serde_json::to_string(&odd).unwrap(), r#""vax""#);
        assert!(kernel.same_as(&api) && kernel.is(Arch::Arm64) && kernel != api);
        assert!(odd.same_as(&odd) && !odd.same_as(&"pdp11".into()) && !odd.same_as(&api));
        assert_eq!(odd.arch(), None);
    }
}
