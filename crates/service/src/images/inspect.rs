//! Is this file what it is said to be? Asked before an OS image is taken, and by `verify`.

use std::{fs::File, path::Path};

use muster_catalog::Arch;
use muster_image::{
    Iso, Source, View,
    embed::EmbedArea,
    live::LiveImage,
    minimal::{self, Digest},
    pxe::PxeSet,
};

/// Looks whether a file is a full CoreOS live image for an architecture. Quick: reads only
/// what leads to the parts that are needed.
///
/// # Errors
/// What is wrong, and what was expected.
pub fn inspect(path: &Path, arch: Arch) -> Result<LiveImage, String> {
    open(path, arch).map(|(_, live)| live)
}

/// The same, and makes a minimal image of it, whose digest the publisher has put into the image.
///
/// # Errors
/// What is wrong.
pub fn inspect_all(path: &Path, arch: Arch) -> Result<LiveImage, String> {
    let (iso, live) = open(path, arch)?;
    if arch != Arch::S390x {
        minimal::minimal(&iso, None, Digest::Verify)
            .map_err(|cause| format!("no minimal image can be made of it: {cause}"))?;
    }
    Ok(live)
}

fn open(path: &Path, arch: Arch) -> Result<(Iso, LiveImage), String> {
    let source = File::open(path)
        .and_then(Source::file)
        .map_err(|cause| format!("{}: {cause}", path.display()))?;
    let wrong = |cause: muster_image::Error| format!("not usable as an OS image: {cause}");
    let iso = Iso::open(View::of(source)).map_err(wrong)?;
    let Some(live) = LiveImage::of(&iso).map_err(wrong)? else {
        return Err(format!(
            "the label is {:?}, expected that of a CoreOS live image (rhcos-…, scos-…, \
             fedora-coreos-…)",
            iso.label()
        ));
    };
    let found = live.architecture.and_then(|name| name.parse::<Arch>().ok());
    if found.is_some_and(|found| found != arch) {
        return Err(format!(
            "the image is for {}, not for {arch}",
            live.architecture.unwrap_or("another architecture")
        ));
    }
    EmbedArea::locate(&iso).map_err(wrong)?;
    PxeSet::of(&iso, &View::default()).map_err(wrong)?;
    Ok((iso, live))
}
