//! What can be wrong with an image or a customization of it.
//!
//! Images come from mirrors, browsers and half-finished downloads, so each message says what
//! was expected, at which byte, what was there instead, and what a person can do.

use std::io;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an image could not be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused a read.
    #[error("reading {what} at byte {offset}")]
    Read {
        /// What was being read.
        what: String,
        /// Where, in bytes from the start of the image.
        offset: u64,
        /// The refusal.
        #[source]
        cause: io::Error,
    },
    /// Bytes that do not have the form they must have.
    #[error(
        "at byte {offset}: expected {expected}, found {found}; the file is damaged or not of this \
         kind, compare its checksum with the publisher's"
    )]
    Form {
        /// Where, in bytes from the start of the image (or of the named part).
        offset: u64,
        /// What must be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The image is shorter than it says.
    #[error(
        "{what} needs {needs} bytes, the file ends after {has}; it was cut off, fetch it again"
    )]
    Truncated {
        /// The part that reaches past the end.
        what: String,
        /// Length that is needed.
        needs: u64,
        /// Length that is there.
        has: u64,
    },
    /// A path that the image does not have.
    #[error("the image has no {path}; `muster iso ls` lists what it has")]
    NotFound {
        /// The path as asked for.
        path: String,
    },
    /// A directory where a file is needed, or the other way round.
    #[error("{path} in the image is {is}, expected {expected}")]
    WrongKind {
        /// The path as asked for.
        path: String,
        /// What it is.
        is: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A live image from before Ignition could be embedded, or no live image at all.
    #[error(
        "no place for an Ignition config: expected coreos/igninfo.json, images/ignition.img or \
         the header `coreiso+` at byte 32744; use a CoreOS live ISO from September 2020 or later"
    )]
    NoEmbedArea,
    /// An image whose kernel arguments cannot be found.
    #[error(
        "no kernel arguments found: expected coreos/kargs.json, the header `coreKarg` at byte \
         32672, or a boot loader configuration; is this a CoreOS live ISO?"
    )]
    NoKernelArguments,
    /// More kernel arguments than the image reserves room for.
    #[error("the kernel arguments are {need} bytes long, this image has room for {room}")]
    KernelArgumentsTooLong {
        /// Length that was asked for.
        need: u64,
        /// Longest that fits.
        room: u64,
    },
    /// Boot loader files that disagree about the kernel arguments.
    #[error(
        "{first} and {second} hold different kernel arguments; `muster iso kargs reset` makes \
         them equal again"
    )]
    KernelArgumentsDiffer {
        /// One file.
        first: String,
        /// The other.
        second: String,
    },
    /// A customization that is not possible.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    /// Bytes without the form they must have.
    pub fn form(offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Form {
            offset,
            expected: expected.into(),
            found: found.into(),
        }
    }
}
