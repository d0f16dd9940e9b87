//! `muster iso` as people use it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use muster_image::{View, config_iso::ConfigIso};
use tempfile::TempDir;

const KARGS: &str = "coreos.liveiso=rhcos-1 ignition.firstboot";
const CONFIG: &str = "{\"ignition\":{\"version\":\"3.2.0\"}}";

/// As much of a live image as the commands look at.
fn live_image(folder: &Path) -> PathBuf {
    let before = "menuentry 'live' {\n linux /vmlinuz ";
    let config = format!(
        "{before}{KARGS}\n{}# COREOS_KARG_EMBED_AREA\n}}\n",
        "#".repeat(99)
    );
    let size = KARGS.len() + 100;
    let kargs = format!(
        "{{\"default\":\"{KARGS}\",\"files\":[{{\"path\":\"EFI/redhat/grub.cfg\",\"offset\":{}}}],\"size\":{size}}}",
        before.len()
    );
    let features = "{\"live-initrd-network\":true}";
    let image = ConfigIso::new("rhcos-1")
        .and_then(|iso| iso.file("images/ignition.img", View::bytes(vec![0; 4096])))
        .and_then(|iso| iso.file("images/pxeboot/rootfs.img", View::bytes(vec![7; 9000])))
        .and_then(|iso| iso.file("EFI/redhat/grub.cfg", View::bytes(config)))
        .and_then(|iso| iso.file("coreos/kargs.json", View::bytes(kargs)))
        .and_then(|iso| iso.file("coreos/features.json", View::bytes(features)))
        .and_then(|iso| iso.build())
        .unwrap();
    let path = folder.join("live.iso");
    std::io::copy(&mut image.reader(), &mut fs::File::create(&path).unwrap()).unwrap();
    path
}

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        live_image(folder.path());
        fs::write(folder.path().join("config.ign"), CONFIG).unwrap();
        Self { folder }
    }

    fn run(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_muster"))
            .arg("iso")
            .args(words.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap()
    }

    fn text(&self, words: &str) -> String {
        let output = self.run(words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{words}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refusal(&self, words: &str, code: i32) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(code), "{words}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.path().join(name)).unwrap()
    }
}

#[test]
fn a_config_that_was_embedded_is_shown_and_leaves_no_trace_when_removed() {
    let desk = Desk::new();
    desk.text("ignition embed live.iso -i config.ign -o new.iso");
    assert_eq!(desk.text("ignition show new.iso"), CONFIG);
    assert!(desk.text("info new.iso").contains("config.ign"));
    desk.text("ignition remove new.iso --in-place");
    assert_eq!(desk.bytes("new.iso"), desk.bytes("live.iso"));
}

#[test]
fn a_config_larger_than_the_area_is_embedded_in_place_too() {
    let desk = Desk::new();
    let noise: String = (0..20_000u32)
        .map(|n| char::from(b'a' + (n.wrapping_mul(2_654_435_761) >> 27) as u8 % 26))
        .collect();
    let large = format!("{{\"ignition\":{{\"version\":\"3.2.0\"}},\"x\":\"{noise}\"}}");
    fs::write(desk.folder.path().join("large.ign"), &large).unwrap();
    desk.text("ignition embed live.iso -i large.ign --in-place");
    assert_eq!(desk.text("ignition show live.iso"), large);
    assert_eq!(
        desk.text("cat live.iso images/pxeboot/rootfs.img").len(),
        9000
    );
}

#[test]
fn nothing_is_overwritten_unasked() {
    let desk = Desk::new();
    assert!(
        desk.refusal("ignition embed live.iso -i config.ign", 2)
            .contains("--in-place")
    );
    let refused = desk.refusal("ignition embed live.iso -i config.ign -o live.iso", 1);
    assert!(refused.contains("exists"), "{refused}");
    desk.text("ignition embed live.iso -i config.ign --in-place");
    let refused = desk.refusal("ignition embed live.iso -i config.ign --in-place", 1);
    assert!(refused.contains("--force"), "{refused}");
}

#[test]
fn arguments_are_added_deleted_and_reset() {
    let desk = Desk::new();
    let before = desk.bytes("live.iso");
    desk.text("kargs append live.iso console=ttyS0 quiet --in-place");
    desk.text("kargs delete live.iso quiet --in-place");
    assert_eq!(
        desk.text("kargs show live.iso"),
        format!("{KARGS} console=ttyS0\n")
    );
    assert_eq!(
        desk.text("kargs show --default live.iso"),
        format!("{KARGS}\n")
    );
    desk.text("kargs reset live.iso --in-place");
    assert_eq!(desk.bytes("live.iso"), before);
}

#[test]
fn profiles_and_config_live_side_by_side() {
    let desk = Desk::new();
    fs::write(
        desk.folder.path().join("eth0.nmconnection"),
        "[connection]\nid=eth0\n",
    )
    .unwrap();
    desk.text("ignition embed live.iso -i config.ign --in-place");
    desk.text("network embed live.iso -k eth0.nmconnection --in-place");
    assert_eq!(
        desk.text("network show live.iso"),
        "# eth0.nmconnection\n[connection]\nid=eth0\n"
    );
    assert_eq!(desk.text("ignition show live.iso"), CONFIG);
}

#[test]
fn a_minimal_image_has_no_root_file_system_and_says_where_to_fetch_it() {
    let desk = Desk::new();
    desk.text("minimal live.iso --rootfs-url http://a/r --output-rootfs r.img -o min.iso");
    assert_eq!(desk.bytes("r.img"), vec![7; 9000]);
    assert!(!desk.text("ls min.iso").contains("rootfs"));
    let kargs = desk.text("kargs show min.iso");
    assert_eq!(
        kargs,
        "ignition.firstboot coreos.live.rootfs_url=http://a/r\n"
    );
}

#[test]
fn configs_that_no_machine_could_read_are_refused() {
    let desk = Desk::new();
    for (content, reason) in [("variant: fcos\n", "not JSON"), ("{}", "ignition.version")] {
        fs::write(desk.folder.path().join("bad.ign"), content).unwrap();
        let refused = desk.refusal("ignition embed live.iso -i bad.ign -o x.iso", 1);
        assert!(refused.contains(reason), "{refused}");
    }
    assert!(
        desk.refusal("info config.ign", 1)
            .contains("opening config.ign")
    );
}
