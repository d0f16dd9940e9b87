//! Minimal images: by recipe and by cutting, checked by other readers.

use muster_image::{
    Customization, Iso,
    embed::EmbedArea,
    initrd::IGNITION,
    kargs::KernelArguments,
    minimal::{Digest, Made, minimal},
};

use crate::{
    samples::{ALL, Format, LABEL, default_kargs, noise, sample},
    tools::{OnDisk, all},
};

const URL: &str = "https://muster.example:8090/boot-artifacts/rootfs/x86_64/419";

#[test]
fn every_format_has_a_minimal_image_without_rootfs_that_fetches_it() {
    for format in ALL {
        let sample = sample(format);
        let (view, made) = minimal(&sample.iso(), Some(URL), Digest::Verify).unwrap();
        let expected = if format.has_recipe() {
            Made::ByRecipe
        } else {
            Made::ByCutting
        };
        assert_eq!(made, expected, "{format:?}");
        let iso = Iso::open(view).unwrap();
        let kargs = KernelArguments::read(&iso).unwrap();
        let published = default_kargs().replace(&format!("coreos.liveiso={LABEL} "), "");
        assert_eq!(
            kargs.current,
            format!("{published} coreos.live.rootfs_url={URL}"),
            "{format:?}"
        );
        if format.has_room_for_kargs() && format != Format::Header2021 {
            assert_eq!(kargs.default, Some(published), "{format:?}");
        }
        assert!(
            iso.view().len() + 2_000_000 < sample.iso().view().len() + (1 << 20),
            "{format:?}"
        );
        assert!(
            iso.find_file("images/pxeboot/rootfs.img")
                .unwrap()
                .is_none(),
            "{format:?}"
        );
    }
}

#[test]
fn a_cut_image_has_all_other_files_in_both_trees() {
    for format in ALL.into_iter().filter(|format| !format.has_recipe()) {
        let sample = sample(format);
        let full = OnDisk::write(sample.iso().view());
        let (view, _) = minimal(&sample.iso(), Some(URL), Digest::Verify).unwrap();
        let cut = OnDisk::write(&view);
        let mut old = full.files_by_xorriso();
        old.retain(|(path, _)| !path.ends_with("rootfs.img"));
        let new = cut.files_by_xorriso();
        assert_eq!(old.len(), new.len(), "{format:?}");
        for ((path, old), (other, new)) in old.iter().zip(&new) {
            assert_eq!(path, other);
            let expected_to_change = path.ends_with(".cfg")
                || path.ends_with("kargs.json")
                || path.ends_with("cdboot.img")
                || path.contains("boot.cat")
                || path.ends_with("isolinux.bin");
            assert!(expected_to_change || old == new, "{format:?}: {path}");
            let by_joliet = cut.file_by_isoinfo(&format!("/{path}"));
            assert!(
                path.contains("boot.cat") || &by_joliet == new,
                "{format:?}: {path} in Joliet"
            );
        }
    }
}

#[test]
fn a_cut_image_boots_as_the_full_one_does() {
    for format in [
        Format::Named,
        Format::Header2021,
        Format::Xorriso,
        Format::Aarch64,
        Format::S390x,
    ] {
        let sample = sample(format);
        let full = OnDisk::write(sample.iso().view());
        let (view, _) = minimal(&sample.iso(), Some(URL), Digest::Verify).unwrap();
        let cut = OnDisk::write(&view);
        let lines = |report: String| -> Vec<String> {
            let whats = [
                "El Torito img path",
                "El Torito img opts",
                "System area summary",
                "GPT partition path",
                "MBR partition path",
            ];
            report
                .lines()
                .filter(|line| whats.iter().any(|what| line.starts_with(what)))
                .map(str::to_owned)
                .collect()
        };
        assert_eq!(
            lines(full.boot_report()),
            lines(cut.boot_report()),
            "{format:?}"
        );
        let (before, after) = (full.complaints_about_gpt(), cut.complaints_about_gpt());
        assert_eq!(
            before.len(),
            after.len(),
            "{format:?}: {before:?} {after:?}"
        );
    }
}

#[test]
fn the_recipe_gives_what_its_maker_made_apart_from_the_arguments() {
    let sample = sample(Format::Json2023);
    let (view, _) = minimal(&sample.iso(), None, Digest::Verify).unwrap();
    let theirs = sample.minimal.clone().unwrap();
    let ours = all(&view);
    assert_eq!(ours.len(), theirs.len());
    let iso = Iso::open(view).unwrap();
    let inside = |at: usize| {
        [
            "EFI/redhat/grub.cfg",
            "isolinux/isolinux.cfg",
            "coreos/kargs.json",
        ]
        .iter()
        .any(|path| {
            let extent = iso.find(path).unwrap().extents[0];
            (extent.start()..extent.start() + u64::from(extent.len)).contains(&(at as u64))
        })
    };
    for at in (0..ours.len()).filter(|at| ours[*at] != theirs[*at]) {
        assert!(inside(at), "byte {at} differs");
    }
}

#[test]
fn a_minimal_image_keeps_what_was_embedded_in_the_full_one() {
    for (format, len) in [
        (Format::Json2023, 1000),
        (Format::Json2023, 900_000),
        (Format::Xorriso, 900_000),
        (Format::Named, 10),
    ] {
        let sample = sample(format);
        let customization = Customization {
            ignition: Some(noise(8, len).into()),
            ..Customization::default()
        };
        let full = Iso::open(customization.apply(&sample.iso()).unwrap()).unwrap();
        let (view, _) = minimal(&full, Some(URL), Digest::Verify).unwrap();
        let small = Iso::open(view).unwrap();
        let archive = EmbedArea::locate(&small).unwrap().read(&small).unwrap();
        assert_eq!(
            archive.get(IGNITION),
            customization.ignition.as_ref(),
            "{format:?} {len}"
        );
    }
}

#[test]
fn a_recipe_for_another_image_is_noticed() {
    let sample = sample(Format::Json2023);
    let iso = sample.iso();
    let at = iso.find("images/pxeboot/vmlinuz").unwrap().extents[0].start();
    let broken = Iso::open(iso.view().patched(at, vec![0; 8]).unwrap()).unwrap();
    let error = minimal(&broken, Some(URL), Digest::Verify)
        .unwrap_err()
        .to_string();
    assert!(error.contains("digest"), "{error}");
    assert!(minimal(&broken, Some(URL), Digest::Trust).is_ok());
}

#[test]
fn addresses_that_would_break_the_boot_loader_are_refused() {
    let sample = sample(Format::Json2023);
    for url in [
        "",
        "http://a b",
        "http://a/$x",
        "http://a/\"",
        "http://a/\n",
        "http://a/r?arch=x&version=1",
        "http://a/r;x",
    ] {
        assert!(
            minimal(&sample.iso(), Some(url), Digest::Trust).is_err(),
            "{url:?}"
        );
    }
}

#[test]
fn a_minimal_image_is_not_made_minimal_again() {
    for format in [Format::Json2023, Format::Xorriso] {
        let sample = sample(format);
        let (view, _) = minimal(&sample.iso(), Some(URL), Digest::Trust).unwrap();
        assert!(minimal(&Iso::open(view).unwrap(), Some(URL), Digest::Trust).is_err());
    }
}
