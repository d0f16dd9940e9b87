//! What can be wrong with the static network of a host.

use muster_documents::yaml_bounds::BoundsError;

use super::document::LONGEST;

/// Why a static network cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NetworkFault {
    /// No host has that much network.
    #[error("it is {0} bytes long; the network of one host may take {LONGEST}")]
    TooLong(usize),
    /// Such characters end up in files that other programs read line by line.
    #[error("line {line} has a control character in it")]
    ControlCharacter {
        /// From 1.
        line: usize,
    },
    /// It would keep a parser busy.
    #[error(transparent)]
    Bounds(#[from] BoundsError),
    /// What nmstate says about it.
    #[error("{0}")]
    Nmstate(String),
    /// nmstate reads any word as a type, and makes no profile of those it does not know.
    #[error("there is no interface type {0:?}")]
    InterfaceType(String),
    /// Hosts would get nothing.
    #[error("it describes no network: no profile comes of it")]
    NoProfile,
    /// Names of profiles come from the document and become names of files on the host.
    #[error("a profile would be called {0:?}, which is no name for a file")]
    ProfileName(String),
    /// One would overwrite the other.
    #[error("two profiles would both be called {0}")]
    SameProfileName(String),
    /// It was checked when it was stored, so what is stored is damaged.
    #[error("the stored static network {index}: {fault}")]
    Stored {
        /// Position of the host, from 0.
        index: usize,
        /// What is wrong with it.
        fault: Box<NetworkFault>,
    },
    /// The same, for a document that is not even YAML.
    #[error("a stored static network cannot be read: {0}")]
    Unreadable(#[from] serde_yaml_ng::Error),
    /// A path does not fit into the header of an archive.
    #[error("the name {0} is too long for an archive")]
    PathTooLong(String),
    /// The archive for people cannot be made.
    #[error("the archive cannot be written: {0}")]
    Archive(#[from] std::io::Error),
}
