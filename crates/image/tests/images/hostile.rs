//! Damaged, truncated and foreign files: a clear error, never a panic.

use std::sync::OnceLock;

use muster_image::{
    Customization, Iso, Source, View,
    embed::EmbedArea,
    initrd::Archive,
    iso9660::{Kind, eltorito::boot_images},
    kargs::{Edits, KernelArguments},
    minimal::{Digest, minimal, pristine},
    partition::Hybrid,
    pxe::PxeSet,
};
use proptest::prelude::*;

use crate::{
    samples::{ALL, noise, sample},
    tools::all,
};

/// Everything this crate can do with an image; results do not matter.
fn exercise(image: Vec<u8>) {
    let Ok(iso) = Iso::open(View::of(Source::memory(image))) else {
        return;
    };
    for (_, entry) in iso.walk().unwrap_or_default() {
        let _ = iso.content(&entry);
    }
    let _ = EmbedArea::locate(&iso).and_then(|area| area.read(&iso));
    let _ = KernelArguments::read(&iso);
    let _ = boot_images(&iso);
    let _ = Hybrid::read(iso.view()).map(|hybrid| hybrid.map(|hybrid| hybrid.partitions()));
    let _ = pristine(&iso);
    let _ = PxeSet::of(&iso, &View::default());
    let kargs = Edits {
        append: vec!["a=b".into()],
        ..Edits::default()
    };
    let ramdisks = vec![too_large().clone()];
    let customization = Customization {
        ignition: None,
        kargs,
        ramdisks,
    };
    let _ = customization.apply(&iso);
    let _ = minimal(&iso, Some("http://x/"), Digest::Trust);
}

/// A payload that must go behind the image.
fn too_large() -> &'static View {
    static PAYLOAD: OnceLock<View> = OnceLock::new();
    PAYLOAD.get_or_init(|| View::bytes(noise(1, 300_000)))
}

fn images() -> &'static [Vec<u8>] {
    static IMAGES: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    IMAGES.get_or_init(|| {
        ALL.iter()
            .map(|format| all(sample(*format).iso().view()))
            .collect()
    })
}

/// The bytes that say where everything is.
fn interesting(image: &[u8]) -> Vec<usize> {
    let iso = Iso::open(View::of(Source::memory(image.to_vec()))).unwrap();
    let mut places: Vec<usize> = (0..1100).chain(32672..40960).collect();
    for (path, entry) in iso.walk().unwrap() {
        let start = entry.extents[0].start() as usize;
        if entry.kind == Kind::Directory {
            places.extend(start..start + 600);
        } else if path.starts_with("coreos/") || path.contains("boot.cat") {
            places.extend(start..start + entry.len().min(400) as usize);
        }
    }
    places
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 50, ..ProptestConfig::default() })]
    #[test]
    fn damaged_headers_never_panic(
        which in 0..ALL.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        static PLACES: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
        let places = PLACES.get_or_init(|| images().iter().map(|image| interesting(image)).collect());
        let mut image = images()[which].clone();
        for (place, value) in damage {
            let at = *place.get(&places[which]);
            image[at] = value;
        }
        exercise(image);
    }

    #[test]
    fn extreme_numbers_never_panic(
        which in 0..ALL.len(), at in any::<prop::sample::Index>(), width in 1usize..9,
    ) {
        static PLACES: OnceLock<Vec<Vec<usize>>> = OnceLock::new();
        let places = PLACES.get_or_init(|| images().iter().map(|image| interesting(image)).collect());
        let mut image = images()[which].clone();
        let at = *at.get(&places[which]);
        image[at..at + width].fill(0xff);
        exercise(image);
    }

    #[test]
    fn cut_off_images_say_so(which in 0..ALL.len(), keep in any::<prop::sample::Index>()) {
        let mut image = images()[which].clone();
        image.truncate(keep.index(image.len()));
        if let Err(error) = Iso::open(View::of(Source::memory(image.clone()))) {
            prop_assert!(error.to_string().contains("cut off"), "{}", error);
        }
        exercise(image);
    }

    #[test]
    fn random_archives_never_panic(
        head in prop::sample::select(vec![&b"070701"[..], b"\x1f\x8b\x08", b"\xfd7zXZ\0\0\x01", b""]),
        rest in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let _ = Archive::read(&[head, &rest].concat());
    }
}

#[test]
fn errors_about_foreign_files_name_what_is_missing_and_where() {
    let error = Iso::open(View::bytes(vec![7; 100_000]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("byte 32769") && error.contains("CD001"),
        "{error}"
    );
    let error = Iso::open(View::bytes(&b"short"[..]))
        .unwrap_err()
        .to_string();
    assert!(error.contains("ends after 5"), "{error}");
}

#[test]
fn an_image_that_is_no_live_image_has_no_place_for_ignition() {
    let image = muster_image::config_iso::ConfigIso::new("x")
        .unwrap()
        .build()
        .unwrap();
    let iso = Iso::open(image).unwrap();
    let error = EmbedArea::locate(&iso).unwrap_err().to_string();
    assert!(
        error.contains("images/ignition.img") && error.contains("coreiso+"),
        "{error}"
    );
    assert!(KernelArguments::read(&iso).is_err());
}

#[test]
fn a_directory_that_contains_itself_is_an_error_not_a_loop() {
    let iso = sample(crate::samples::Format::Json2023).iso();
    let record = iso.find("coreos").unwrap().records[0].at;
    let root = iso.primary().root.sector.to_le_bytes().to_vec();
    let knotted = Iso::open(iso.view().patched(record + 2, root).unwrap()).unwrap();
    let error = knotted.walk().unwrap_err().to_string();
    assert!(error.contains("form a tree"), "{error}");
    assert!(minimal(&knotted, Some("http://x/"), Digest::Trust).is_err());
}
