//! coreos-installer reads what we write, and we read what it writes.
//!
//! `tests/setup-coreos-installer` builds it from crates.io; `make test` does that first.

use std::{fs, path::Path, process::Command};

use muster_image::{
    Customization, Iso, View,
    embed::EmbedArea,
    initrd::{Archive, IGNITION},
    iso9660::Entry,
    kargs::{Edits, KernelArguments},
    live::LiveImage,
    minimal::{Digest, minimal},
    pxe::PxeSet,
};

use crate::{
    samples::{ALL, Format, default_kargs, sample},
    tools::{OnDisk, all, open, run},
};

const CONFIG: &str = r#"{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "/etc/motd", "contents": {"source": "data:,hello"}}]}}"#;
const PROFILE: &str = "[connection]\nid=ens3\ntype=ethernet\n[ipv4]\nmethod=auto\n";
const NETWORK: &str = "etc/coreos-firstboot-network";
const URL: &str = "http://muster.test/boot-artifacts/rootfs/x86_64/419";

/// Runs coreos-installer; it must succeed.
fn installer(arguments: &[&str]) -> String {
    let tool = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../target/test-tools/bin/coreos-installer"
    );
    assert!(
        Path::new(tool).exists(),
        "no coreos-installer; `tests/setup-coreos-installer` builds it"
    );
    run(tool, arguments)
}

/// Formats whose kernel arguments coreos-installer can change.
fn with_kargs() -> impl Iterator<Item = Format> {
    ALL.into_iter().filter(|format| format.has_room_for_kargs())
}

fn network() -> View {
    let mut archive = Archive::default();
    archive.set(&format!("{NETWORK}/ens3.nmconnection"), PROFILE.as_bytes());
    View::bytes(archive.gzip().unwrap())
}

fn ours(format: Format, ignition: &str) -> OnDisk {
    let kargs = Edits {
        append: vec!["console=ttyS0,115200".into(), "rd.debug".into()],
        ..Edits::default()
    };
    let customization = Customization {
        ignition: Some(ignition.to_owned().into()),
        ramdisks: vec![network()],
        kargs: match format.has_room_for_kargs() {
            true => kargs,
            false => Edits::default(),
        },
    };
    OnDisk::write(&customization.apply(&sample(format).iso()).unwrap())
}

fn copy(format: Format) -> OnDisk {
    OnDisk::write(sample(format).iso().view())
}

#[test]
fn it_finds_config_network_and_arguments_in_our_images() {
    for format in ALL {
        let image = ours(format, CONFIG);
        let path = image.path.to_str().unwrap();
        assert_eq!(
            installer(&["iso", "ignition", "show", path]),
            CONFIG,
            "{format:?}"
        );
        let folder = tempfile::TempDir::new().unwrap();
        let to = folder.path().to_str().unwrap();
        installer(&["iso", "network", "extract", "-C", to, path]);
        let profile = fs::read_to_string(folder.path().join("ens3.nmconnection")).unwrap();
        assert_eq!(profile, PROFILE, "{format:?}");
    }
    for format in with_kargs() {
        let image = ours(format, CONFIG);
        let shown = installer(&["iso", "kargs", "show", image.path.to_str().unwrap()]);
        let expected = format!("{} console=ttyS0,115200 rd.debug", default_kargs());
        assert_eq!(shown.trim_end(), expected, "{format:?}");
    }
}

#[test]
fn it_finds_a_config_that_is_larger_than_the_place_for_it() {
    // Hardly compressible, and valid as a config.
    let noise: String = crate::samples::noise(8, 600_000)
        .iter()
        .map(|byte| char::from(b'A' + byte % 26))
        .collect();
    let config = format!(r#"{{"ignition": {{"version": "3.2.0"}}, "x": "{noise}"}}"#);
    // The place of s390x is a part of a file whose length others know from the description.
    for format in ALL {
        let image = ours(format, &config);
        let shown = installer(&["iso", "ignition", "show", image.path.to_str().unwrap()]);
        assert_eq!(shown, config, "{format:?}");
    }
}

#[test]
fn it_resets_our_images_to_the_published_ones() {
    for format in with_kargs() {
        let image = ours(format, CONFIG);
        installer(&["iso", "reset", image.path.to_str().unwrap()]);
        let published = all(sample(format).iso().view());
        assert!(fs::read(&image.path).unwrap() == published, "{format:?}");
    }
}

#[test]
fn we_find_what_it_embedded() {
    let folder = tempfile::TempDir::new().unwrap();
    let (config, profile) = (
        folder.path().join("config.ign"),
        folder.path().join("ens3.nmconnection"),
    );
    fs::write(&config, CONFIG).unwrap();
    fs::write(&profile, PROFILE).unwrap();
    for format in ALL {
        let image = copy(format);
        let path = image.path.to_str().unwrap();
        installer(&[
            "iso",
            "ignition",
            "embed",
            "-i",
            config.to_str().unwrap(),
            path,
        ]);
        // It refuses images whose live system would not look for profiles.
        let live = LiveImage::of(&open(&image.path)).unwrap().unwrap();
        let profiles = usize::from(live.features.live_initrd_network);
        if profiles > 0 {
            let profile = profile.to_str().unwrap();
            installer(&["iso", "network", "embed", "-k", profile, path]);
        }
        assert!(profiles > 0 || !format.has_recipe(), "{format:?}");
        let iso = open(&image.path);
        let archive = EmbedArea::locate(&iso).unwrap().read(&iso).unwrap();
        assert_eq!(archive.get(IGNITION).unwrap(), CONFIG, "{format:?}");
        let found: Vec<_> = archive.below(NETWORK).collect();
        assert_eq!(found.len(), profiles, "{format:?}");
        assert!(found.iter().all(|(_, text)| *text == PROFILE), "{format:?}");
    }
    for format in with_kargs() {
        let image = copy(format);
        let path = image.path.to_str().unwrap();
        installer(&["iso", "kargs", "modify", "-a", "one=1", "-a", "two", path]);
        let kargs = KernelArguments::read(&open(&image.path)).unwrap();
        assert_eq!(
            kargs.current,
            format!("{} one=1 two", default_kargs()),
            "{format:?}"
        );
        assert_eq!(kargs.default, Some(default_kargs()), "{format:?}");
    }
}

#[test]
fn both_make_the_same_minimal_image_of_a_recipe() {
    // It needs more room than the other samples leave.
    let format = Format::Json2023;
    let image = copy(format);
    let theirs = image.path.with_extension("minimal");
    let arguments = ["iso", "extract", "minimal-iso", "--rootfs-url", URL];
    let files = [image.path.to_str().unwrap(), theirs.to_str().unwrap()];
    installer(&[&arguments[..], &files].concat());
    let (ours, _) = minimal(&sample(format).iso(), Some(URL), Digest::Verify).unwrap();
    let (ours, theirs) = (Iso::open(ours).unwrap(), open(&theirs));
    let files = |iso: &Iso| -> Vec<(String, Vec<u8>)> {
        let entries = iso.walk().unwrap().into_iter();
        let content = |entry: &Entry| all(&iso.content(entry).unwrap());
        entries
            .map(|(path, entry)| (path, content(&entry)))
            .collect()
    };
    let (ours, theirs) = (files(&ours), files(&theirs));
    assert_eq!(ours.len(), theirs.len(), "{format:?}");
    for ((path, our), (other, their)) in ours.iter().zip(&theirs) {
        assert_eq!(path, other, "{format:?}");
        if path.ends_with("kargs.json") {
            // Both describe the same; blanks are a matter of taste.
            let value = |bytes: &[u8]| -> serde_json::Value {
                serde_json::from_slice(bytes.trim_ascii_end()).unwrap()
            };
            assert_eq!(value(our), value(their), "{format:?}");
        } else {
            assert!(our == their, "{format:?}: {path}");
        }
    }
}

#[test]
fn it_reads_our_minimal_images_as_its_own() {
    for format in with_kargs() {
        let iso = sample(format).iso();
        let (view, _) = minimal(&iso, Some(URL), Digest::Verify).unwrap();
        let image = OnDisk::write(&view);
        let path = image.path.to_str().unwrap();
        let shown = installer(&["iso", "kargs", "show", path]);
        assert!(
            shown.contains(&format!("coreos.live.rootfs_url={URL}")),
            "{format:?}: {shown}"
        );
        assert!(!shown.contains("coreos.liveiso="), "{format:?}: {shown}");
        let folder = tempfile::TempDir::new().unwrap();
        let config = folder.path().join("config.ign");
        fs::write(&config, CONFIG).unwrap();
        installer(&[
            "iso",
            "ignition",
            "embed",
            "-i",
            config.to_str().unwrap(),
            path,
        ]);
        assert_eq!(
            installer(&["iso", "ignition", "show", path]),
            CONFIG,
            "{format:?}"
        );
    }
}

#[test]
fn both_take_the_same_files_out_for_a_network_boot() {
    for format in ALL {
        let image = copy(format);
        let folder = tempfile::TempDir::new().unwrap();
        let to = folder.path().to_str().unwrap();
        installer(&[
            "iso",
            "extract",
            "pxe",
            "-o",
            to,
            image.path.to_str().unwrap(),
        ]);
        let set = PxeSet::of(&sample(format).iso(), &View::default()).unwrap();
        for (name, ours) in [
            ("vmlinuz", &set.kernel),
            ("initrd.img", &set.initrd),
            ("rootfs.img", &set.rootfs),
        ] {
            let theirs = fs::read(folder.path().join(format!("image-{name}"))).unwrap();
            assert!(theirs == all(ours), "{format:?}: {name}");
        }
    }
}

#[test]
fn it_unwraps_our_payload_for_a_network_boot() {
    let customization = Customization {
        ignition: Some(CONFIG.into()),
        ramdisks: vec![network()],
        kargs: Edits::default(),
    };
    let payload = OnDisk::write(&customization.payload().unwrap());
    let path = payload.path.to_str().unwrap();
    assert_eq!(installer(&["pxe", "ignition", "unwrap", path]), CONFIG);
    let folder = tempfile::TempDir::new().unwrap();
    installer(&[
        "pxe",
        "network",
        "unwrap",
        "-C",
        folder.path().to_str().unwrap(),
        path,
    ]);
    let profile = fs::read_to_string(folder.path().join("ens3.nmconnection")).unwrap();
    assert_eq!(profile, PROFILE);
}

#[test]
fn ignition_accepts_the_config_that_was_read_back() {
    let image = ours(Format::Json2023, CONFIG);
    let iso = open(&image.path);
    let archive = EmbedArea::locate(&iso).unwrap().read(&iso).unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("config.ign");
    fs::write(&file, archive.get(IGNITION).unwrap()).unwrap();
    let outcome = Command::new("ignition-validate").arg(&file).output();
    let outcome = outcome.expect("ignition-validate; `scripts/prepare test` installs it");
    assert!(
        outcome.status.success(),
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}
