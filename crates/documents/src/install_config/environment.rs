//! What an install-config is validated against besides itself.

use std::{fmt, net::IpAddr};

use muster_model::MinorVersion;

use super::types::Architecture;
use crate::schema::walk::UnknownKeys;

/// How the cluster will be installed; some rules hold for one way only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// `create manifests` and `create ignition-configs`.
    #[default]
    Plain,
    /// One image for all hosts, no other machine involved.
    Agent,
    /// The installer makes the machines itself.
    Cluster,
    /// A single node is restored from a seed image.
    ImageBased,
}

/// Whether this machine may prepare a FIPS cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FipsHost {
    /// It runs in FIPS mode.
    Yes,
    /// It does not.
    #[default]
    No,
    /// It does not, and the user wants it anyway: a warning and an annotation.
    Bypassed,
}

/// What is known about the installation besides the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// How the cluster will be installed.
    pub method: Method,
    /// What to do about unknown keys.
    pub unknown_keys: UnknownKeys,
    /// Which release is installed; unknown means the newest.
    pub release: Option<MinorVersion>,
    /// It is a release of OKD.
    pub okd: bool,
    /// Architecture of pools that name none.
    pub architecture: Architecture,
    /// The only architecture the release is made for, if it is made for one and that is known.
    pub release_architecture: Option<Architecture>,
    /// Whether this machine may prepare a FIPS cluster.
    pub fips_host: FipsHost,
}

/// The world around a file.
pub struct Environment<'a> {
    /// What is known.
    pub given: Given,
    /// Random bytes, for MAC addresses the user did not set.
    pub random: &'a mut dyn FnMut(&mut [u8]),
    /// Asks DNS, for virtual addresses the user did not set. May find nothing.
    pub lookup: &'a dyn Fn(&str) -> Option<IpAddr>,
}

impl Given {
    /// The release is at least this one; the newest is at least any.
    #[must_use]
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        self.release
            .is_none_or(|release| release >= MinorVersion::new(major, minor))
    }
}

/// A plain installation of the newest release, strict, for amd64, on a machine without FIPS mode.
impl Default for Given {
    fn default() -> Self {
        Self {
            method: Method::Plain,
            unknown_keys: UnknownKeys::Refuse,
            release: None,
            okd: false,
            architecture: Architecture::Amd64,
            release_architecture: None,
            fips_host: FipsHost::No,
        }
    }
}

impl<'a> Environment<'a> {
    /// Default circumstances, without DNS.
    pub fn new(random: &'a mut dyn FnMut(&mut [u8])) -> Self {
        Self {
            given: Given::default(),
            random,
            lookup: &|_| None,
        }
    }
}

impl fmt::Debug for Environment<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}
