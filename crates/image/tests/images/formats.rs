//! Every format: content, embedding, kernel arguments, and undoing changes.

use muster_image::{
    Customization, View,
    edit::Editor,
    embed::{Announced, EmbedArea},
    initrd::IGNITION,
    iso9660::eltorito::{Platform, boot_images},
    kargs::{Edits, KernelArguments, Place},
    minimal::pristine,
};

use crate::{
    samples::{ALL, AREA, Format, LABEL, default_kargs, noise, sample},
    tools::{OnDisk, all, run},
};

fn config(len: usize) -> Customization {
    let noise = noise(9, len)
        .iter()
        .map(|byte| b'0' + byte % 64)
        .collect::<Vec<u8>>();
    Customization {
        ignition: Some(noise.into()),
        ..Customization::default()
    }
}

#[test]
fn every_format_is_read_by_its_long_names() {
    for format in ALL {
        let sample = sample(format);
        let iso = sample.iso();
        assert_eq!(iso.label(), LABEL, "{format:?}");
        assert!(iso.has_rock_ridge() && iso.joliet().is_some(), "{format:?}");
        let names: Vec<String> = iso
            .walk()
            .unwrap()
            .into_iter()
            .map(|(path, _)| path)
            .collect();
        assert!(
            names.contains(&"images/pxeboot/rootfs.img".into()),
            "{format:?}: {names:?}"
        );
        let rootfs = iso.file("images/pxeboot/rootfs.img").unwrap();
        assert_eq!(all(&rootfs), noise(3, 3_000_000), "{format:?}");
        assert!(iso.find("/images/PXEBOOT//vmlinuz").is_ok());
        assert!(
            iso.find("images/none")
                .unwrap_err()
                .to_string()
                .contains("images/none")
        );
    }
}

#[test]
fn the_place_for_ignition_is_found_however_it_is_announced() {
    for format in ALL {
        let sample = sample(format);
        let iso = sample.iso();
        let area = EmbedArea::locate(&iso).unwrap();
        assert_eq!(area.len, AREA as u64, "{format:?}");
        assert!(area.read(&iso).unwrap().is_empty(), "{format:?}");
        let expected = match format {
            Format::Named | Format::Header2020 | Format::Header2021 | Format::Json2021 => {
                Announced::ByName
            }
            Format::Json2023
            | Format::Xorriso
            | Format::Aarch64
            | Format::Ppc64le
            | Format::S390x => Announced::ByInfoFile,
        };
        assert_eq!(area.announced, expected, "{format:?}");
    }
}

#[test]
fn an_embedded_config_is_read_back_and_nothing_else_changes() {
    for format in ALL {
        let sample = sample(format);
        let iso = sample.iso();
        let customization = config(1000);
        let view = customization.apply(&iso).unwrap();
        assert_eq!(view.len(), iso.view().len(), "{format:?}");
        let area = EmbedArea::locate(&iso).unwrap();
        let (before, after) = (all(iso.view()), all(&view));
        let (start, end) = (area.start as usize, (area.start + area.len) as usize);
        assert_eq!(before[..start], after[..start], "{format:?}");
        assert_eq!(before[end..], after[end..], "{format:?}");
        let made = muster_image::Iso::open(view).unwrap();
        let archive = EmbedArea::locate(&made).unwrap().read(&made).unwrap();
        assert_eq!(
            archive.get(IGNITION),
            customization.ignition.as_ref(),
            "{format:?}"
        );
        assert_eq!(
            all(&pristine(&made).unwrap()),
            before,
            "{format:?}: the way back"
        );
    }
}

#[test]
fn cpio_unpacks_what_was_embedded() {
    let customization = config(500);
    let on_disk = OnDisk::write(&customization.payload().unwrap());
    let script = format!(
        "gzip -dc {} 2>/dev/null | cpio -i --to-stdout --quiet config.ign",
        on_disk.path.display()
    );
    let unpacked = run("sh", &["-c", &script]);
    assert_eq!(unpacked.as_bytes(), &customization.ignition.unwrap()[..]);
}

#[test]
fn kernel_arguments_change_in_every_boot_loader_and_go_back() {
    for format in ALL {
        let sample = sample(format);
        let iso = sample.iso();
        let found = KernelArguments::read(&iso).unwrap();
        assert_eq!(found.current, default_kargs(), "{format:?}");
        assert_eq!(
            matches!(found.place, Place::Areas(_)),
            format.has_room_for_kargs(),
            "{format:?}"
        );
        let kargs = Edits {
            append: vec!["console=ttyS0".into()],
            delete: vec!["mitigations=auto,nosmt".into()],
            ..Edits::default()
        };
        let customization = Customization {
            kargs,
            ..Customization::default()
        };
        let view = customization.apply(&iso).unwrap();
        let on_disk = OnDisk::write(&view);
        let files = on_disk.files_by_xorriso();
        let expected = format!(
            "coreos.liveiso={LABEL} ignition.firstboot ignition.platform.id=metal console=ttyS0"
        );
        let mut seen = 0;
        for (path, content) in &files {
            if path.ends_with(".cfg") || path.ends_with("cdboot.img") {
                let text = String::from_utf8_lossy(content);
                assert!(text.contains(&expected), "{format:?}: {path}");
                assert!(!text.contains("nosmt"), "{format:?}: {path}");
                seen += 1;
            }
        }
        assert!(seen > 0, "{format:?}");
        let made = muster_image::Iso::open(view).unwrap();
        let now = KernelArguments::read(&made).unwrap();
        assert_eq!(now.current, expected, "{format:?}");
        if format.has_room_for_kargs() {
            assert_eq!(
                now.default.as_deref(),
                Some(default_kargs().as_str()),
                "{format:?}"
            );
            assert_eq!(
                all(&pristine(&made).unwrap()),
                all(iso.view()),
                "{format:?}"
            );
        }
    }
}

#[test]
fn arguments_that_do_not_fit_are_refused_with_both_lengths() {
    let sample = sample(Format::Json2023);
    let iso = sample.iso();
    let room = default_kargs().len() + 1023;
    let fill = |len: usize| {
        let append = vec!["x".repeat(len - default_kargs().len() - 1)];
        let kargs = Edits {
            append,
            ..Edits::default()
        };
        Customization {
            kargs,
            ..Customization::default()
        }
        .apply(&iso)
    };
    assert!(fill(room).is_ok());
    let error = fill(room + 1).unwrap_err().to_string();
    assert!(
        error.contains(&(room + 1).to_string()) && error.contains(&format!("for {room}")),
        "{error}"
    );
}

#[test]
fn an_argument_cannot_end_the_line_it_stands_on() {
    let sample = sample(Format::Json2023);
    let kargs = Edits {
        append: vec!["a\n}".into()],
        ..Edits::default()
    };
    assert!(
        Customization {
            kargs,
            ..Customization::default()
        }
        .apply(&sample.iso())
        .is_err()
    );
}

#[test]
fn files_that_disagree_about_the_arguments_are_named() {
    let sample = sample(Format::Json2023);
    let iso = sample.iso();
    let Place::Areas(areas) = KernelArguments::read(&iso).unwrap().place else {
        panic!()
    };
    let mut editor = Editor::new(&iso).unwrap();
    editor
        .overwrite(areas.areas[1].start, &View::bytes(&b"MITI"[..]))
        .unwrap();
    let broken = muster_image::Iso::open(editor.finish().unwrap()).unwrap();
    let error = KernelArguments::read(&broken).unwrap_err().to_string();
    assert!(
        error.contains("grub.cfg") && error.contains("isolinux.cfg"),
        "{error}"
    );
    assert_eq!(all(&pristine(&broken).unwrap()), all(iso.view()));
}

#[test]
fn boot_images_are_found_for_each_firmware() {
    for (format, expected) in [
        (Format::Json2023, vec![Platform::Bios, Platform::Uefi]),
        (Format::Xorriso, vec![Platform::Bios, Platform::Uefi]),
        (Format::Ppc64le, vec![]),
        (Format::S390x, vec![Platform::Bios]),
    ] {
        let sample = sample(format);
        let images = boot_images(&sample.iso()).unwrap();
        let platforms: Vec<Platform> = images.iter().map(|image| image.platform).collect();
        assert_eq!(platforms, expected, "{format:?}");
    }
}

#[test]
fn equal_customizations_give_equal_bytes_and_tags() {
    let sample = sample(Format::Json2023);
    let customization = config(400_000);
    let (one, two) = (
        customization.apply(&sample.iso()).unwrap(),
        customization.apply(&sample.iso()).unwrap(),
    );
    assert_eq!(one.tag(), two.tag());
    assert_eq!(all(&one), all(&two));
    assert_ne!(
        one.tag(),
        config(400_001).apply(&sample.iso()).unwrap().tag()
    );
}
