//! Verifies that a file is the OS image it is said to be: before it is accepted, and for `verify`.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use muster_image::{
    Iso, Source, View,
    embed::EmbedArea,
    live::LiveImage,
    minimal::{self, Digest},
    pxe::PxeSet,
};
use muster_model::Arch;

/// Why a file cannot serve as an OS image.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The file cannot be read.
    #[error("{}: {cause}", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// It is no ISO, or lacks a part of a live image.
    #[error("not usable as an OS image: {0}")]
    Unusable(muster_image::Error),
    /// An ISO, but not of CoreOS.
    #[error(
        "the label is {label:?}, expected that of a CoreOS live image (rhcos-…, scos-…, \
         fedora-coreos-…)"
    )]
    NotCoreOs {
        /// The volume label.
        label: String,
    },
    /// A live image for other machines.
    #[error("the image is for {found}, not for {expected}")]
    OtherArchitecture {
        /// What it is for.
        found: &'static str,
        /// What was asked for.
        expected: Arch,
    },
    /// Its minimal image is not the one its publisher made.
    #[error("no minimal image can be made of it: {0}")]
    NoMinimal(muster_image::Error),
}

/// Checks that a file is a full CoreOS live image for an architecture. Quick: reads only
/// what leads to the parts that are needed.
///
/// # Errors
/// What is wrong, and what was expected.
pub fn inspect(path: &Path, arch: Arch) -> Result<LiveImage, InspectError> {
    open(path, arch).map(|(_, live)| live)
}

/// The same, and makes a minimal image of it, whose digest the publisher has put into the image.
///
/// # Errors
/// What is wrong.
pub fn inspect_all(path: &Path, arch: Arch) -> Result<LiveImage, InspectError> {
    let (iso, live) = open(path, arch)?;
    if arch != Arch::S390x {
        minimal::minimal(&iso, None, Digest::Verify).map_err(InspectError::NoMinimal)?;
    }
    Ok(live)
}

fn open(path: &Path, arch: Arch) -> Result<(Iso, LiveImage), InspectError> {
    let source =
        File::open(path)
            .and_then(Source::file)
            .map_err(|cause| InspectError::Unreadable {
                path: path.to_owned(),
                cause,
            })?;
    let iso = Iso::open(View::of(source)).map_err(InspectError::Unusable)?;
    let Some(live) = LiveImage::of(&iso).map_err(InspectError::Unusable)? else {
        return Err(InspectError::NotCoreOs {
            label: iso.label().to_owned(),
        });
    };
    let found = live.architecture.and_then(|name| name.parse::<Arch>().ok());
    if found.is_some_and(|found| found != arch) {
        return Err(InspectError::OtherArchitecture {
            found: live.architecture.unwrap_or("another architecture"),
            expected: arch,
        });
    }
    EmbedArea::locate(&iso).map_err(InspectError::Unusable)?;
    PxeSet::of(&iso, &View::default()).map_err(InspectError::Unusable)?;
    Ok((iso, live))
}
