//! Payloads larger than the reserved area: the file moves to the end of the image.

use muster_image::{
    Customization, Iso, View, embed::EmbedArea, initrd::IGNITION, iso9660::eltorito::boot_images,
    partition::image_len, view::Range,
};
use proptest::prelude::*;

use crate::{
    samples::{ALL, AREA, Format, noise, sample},
    tools::{OnDisk, all},
};

fn large(len: usize) -> Customization {
    Customization {
        ignition: Some(noise(5, len).into()),
        ..Customization::default()
    }
}

#[test]
fn a_large_payload_is_seen_by_others_in_both_trees_and_all_other_files_stay() {
    for format in ALL {
        let sample = sample(format);
        let iso = sample.iso();
        let before = OnDisk::write(iso.view());
        let customization = large(700_000);
        let made = customization.apply(&iso).unwrap();
        let after = OnDisk::write(&made);
        let moved = if format == Format::S390x {
            "images/cdboot.img"
        } else {
            "images/ignition.img"
        };
        let payload = all(&customization.payload().unwrap());
        let may_change = [moved, "coreos/igninfo.json"];
        let (old, new) = (before.files_by_xorriso(), after.files_by_xorriso());
        assert_eq!(old.len(), new.len(), "{format:?}");
        for ((path, old), (other, new)) in old.iter().zip(&new) {
            assert_eq!(path, other);
            // The boot catalog is a file, too, and says where the s390x blob is.
            if !may_change.contains(&path.as_str()) && !path.starts_with("boot.cat") {
                assert_eq!(old, new, "{format:?}: {path}");
            }
        }
        let grown = &new.iter().find(|(path, _)| path == moved).unwrap().1;
        let at = grown.len() - payload.len().next_multiple_of(4096);
        assert_eq!(grown[at..][..payload.len()], payload, "{format:?}");
        let by_joliet = after.file_by_isoinfo(&format!("/{moved}"));
        assert_eq!(&by_joliet, grown, "{format:?}: Joliet");
        let opened = Iso::open(made).unwrap();
        let archive = EmbedArea::locate(&opened).unwrap().read(&opened).unwrap();
        assert_eq!(
            archive.get(IGNITION),
            customization.ignition.as_ref(),
            "{format:?}"
        );
    }
}

#[test]
fn the_length_of_an_image_on_a_longer_medium_is_known() {
    for format in [Format::Json2023, Format::Xorriso, Format::Header2021] {
        for image in [
            sample(format).iso().view().clone(),
            large(5_000_000).apply(&sample(format).iso()).unwrap(),
        ] {
            let mut stick = image.clone();
            stick.push(Range::Zeros(40_000_000));
            let stick = Iso::open(stick).unwrap();
            assert_eq!(image_len(&stick).unwrap(), image.len(), "{format:?}");
        }
    }
}

#[test]
fn hybrid_images_stay_hybrid() {
    for format in [Format::Json2023, Format::Xorriso, Format::Header2021] {
        let sample = sample(format);
        let before = OnDisk::write(sample.iso().view());
        let after = OnDisk::write(&large(5_000_000).apply(&sample.iso()).unwrap());
        assert_eq!(
            before.complaints_about_gpt().len(),
            after.complaints_about_gpt().len(),
            "{format:?}: {:?} {:?}",
            before.complaints_about_gpt(),
            after.complaints_about_gpt()
        );
        let (old, new) = (before.boot_report(), after.boot_report());
        for expected in [
            "MBR isohybrid cyl-align-on GPT",
            "boot-info-table isohybrid-suitable",
        ] {
            assert_eq!(
                old.contains(expected),
                new.contains(expected),
                "{format:?}: {new}"
            );
        }
        let lines = |report: &str, what: &str| -> Vec<String> {
            report
                .lines()
                .filter(|line| line.starts_with(what))
                .map(str::to_owned)
                .collect()
        };
        for same in [
            "El Torito boot img",
            "GPT partition path",
            "MBR partition path",
            "GPT disk GUID",
        ] {
            assert_eq!(lines(&old, same), lines(&new, same), "{format:?}");
        }
        let image = std::fs::metadata(&after.path).unwrap().len();
        let backup = lines(&new, "GPT lba range")[0]
            .split_whitespace()
            .last()
            .unwrap()
            .to_owned();
        assert_eq!(backup, (image / 512 - 1).to_string(), "{format:?}");
    }
}

#[test]
fn a_second_growth_starts_from_the_first() {
    for format in [Format::Json2023, Format::S390x] {
        let sample = sample(format);
        let once = Iso::open(large(600_000).apply(&sample.iso()).unwrap()).unwrap();
        let customization = large(1_200_000);
        let twice = Iso::open(customization.apply(&once).unwrap()).unwrap();
        let area = EmbedArea::locate(&twice).unwrap();
        assert_eq!(
            area.read(&twice).unwrap().get(IGNITION),
            customization.ignition.as_ref()
        );
        let smaller = large(10);
        let back = Iso::open(smaller.apply(&twice).unwrap()).unwrap();
        let read = EmbedArea::locate(&back).unwrap().read(&back).unwrap();
        assert_eq!(read.get(IGNITION), smaller.ignition.as_ref());
    }
}

#[test]
fn an_earlier_secret_does_not_stay_where_the_file_was() {
    let sample = sample(Format::Json2023);
    let secret = Customization {
        ignition: None,
        ramdisks: vec![View::bytes(&b"a plain ramdisk with a s3cret"[..])],
        ..Customization::default()
    };
    let first = Iso::open(secret.apply(&sample.iso()).unwrap()).unwrap();
    let second = large(900_000).apply(&first).unwrap();
    assert!(!all(&second).windows(6).any(|window| window == b"s3cret"));
}

#[test]
fn the_s390x_blob_says_how_long_its_initrd_has_become() {
    let sample = sample(Format::S390x);
    let customization = large(700_000);
    let iso = Iso::open(customization.apply(&sample.iso()).unwrap()).unwrap();
    let blob = all(&iso.file("images/cdboot.img").unwrap());
    let number = |at: usize| u64::from_be_bytes(blob[at..at + 8].try_into().unwrap());
    assert_eq!(number(0x10408) + number(0x10410), blob.len() as u64);
    let [image] = boot_images(&iso).unwrap()[..] else {
        panic!()
    };
    assert_eq!(
        image.sector,
        iso.find("images/cdboot.img").unwrap().extents[0].sector
    );
    assert_eq!(
        u64::from(image.blocks),
        (blob.len() as u64).div_ceil(2048) * 4
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 50, ..ProptestConfig::default() })]
    #[test]
    fn any_size_around_the_limit_is_read_back(off in -3000i64..3000, format in 0..ALL.len()) {
        let iso = sample(ALL[format]).iso();
        let ramdisk = View::bytes(noise(6, (AREA as i64 + off) as usize));
        let customization = Customization { ramdisks: vec![ramdisk.clone()], ..Customization::default() };
        let made = Iso::open(customization.apply(&iso).unwrap()).unwrap();
        let area = EmbedArea::locate(&made).unwrap();
        let content = all(&area.content(&made).unwrap());
        let len = ramdisk.len() as usize;
        prop_assert_eq!(&content[..len], &all(&ramdisk)[..]);
        prop_assert!(content[len..].iter().all(|byte| *byte == 0));
        let fits = len.next_multiple_of(4) <= AREA;
        prop_assert_eq!(fits, made.primary().sectors == iso.primary().sectors);
    }
}
