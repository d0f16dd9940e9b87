//! The proof of the pudding: virtual machines start what this crate made, from CD and from USB
//! stick, with BIOS and with UEFI, and find the embedded config.
//!
//! Needs QEMU, OVMF, busybox and a kernel, and minutes, so it does not run with the others:
//! `make boot`.

use std::{fs, path::PathBuf, process::Command};

use muster_image::{
    Customization, Iso, View,
    kargs::Edits,
    minimal::{Digest, minimal},
};

use crate::{
    samples::{Format, bootable, noise},
    tools::{OnDisk, run},
};

/// Says which config it found, then turns the machine off.
const INIT: &str = "#!/bin/busybox sh\n\
    /bin/busybox echo \"config $(/bin/busybox md5sum < /config.ign)\"\n\
    /bin/busybox poweroff -f\n";

/// The newest kernel of this machine.
pub fn kernel_file() -> PathBuf {
    let mut kernels: Vec<_> = fs::read_dir("/boot")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("vmlinuz-")
        })
        .collect();
    kernels.sort();
    kernels
        .pop()
        .expect("a kernel in /boot; `scripts/prepare boot` installs one")
}

fn kernel() -> Vec<u8> {
    fs::read(kernel_file()).unwrap()
}

fn initrd() -> Vec<u8> {
    let folder = tempfile::TempDir::new().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    fs::write(root.join("init"), INIT).unwrap();
    let packed = folder.path().join("initrd");
    let script = format!(
        "cd {} && chmod 755 init bin/busybox && \
         find . | cpio -o -H newc --quiet | gzip -1 > {}",
        root.display(),
        packed.display()
    );
    run("sh", &["-c", &script]);
    let mut bytes = fs::read(packed).unwrap();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// What a machine says on its serial console until it turns itself off.
fn console(firmware: &str, medium: &str, image: &str) -> String {
    let drive = match medium {
        "cd" => format!("-cdrom {image}"),
        _ => format!(
            "-device qemu-xhci -drive if=none,id=stick,format=raw,readonly=on,file={image} \
             -device usb-storage,drive=stick"
        ),
    };
    let firmware = match firmware {
        "uefi" => "-drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd",
        _ => "",
    };
    let words = format!(
        "240 qemu-system-x86_64 -m 1024 -nic none -display none -serial stdio -no-reboot {firmware} {drive}"
    );
    let output = Command::new("timeout")
        .args(words.split_whitespace())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn boots_everywhere(name: &str, view: &View, config: &[u8]) {
    let folder = tempfile::TempDir::new().unwrap();
    let expected = folder.path().join("config.ign");
    fs::write(&expected, config).unwrap();
    let sum = run("md5sum", &[expected.to_str().unwrap()]);
    let sum = format!("config {}", sum.split_whitespace().next().unwrap());
    let image = OnDisk::write(view);
    for firmware in ["bios", "uefi"] {
        for medium in ["cd", "usb"] {
            let said = console(firmware, medium, image.path.to_str().unwrap());
            let end: String = said
                .chars()
                .rev()
                .take(2000)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            assert!(
                said.contains(&sum),
                "{name} with {firmware} from {medium}: {end}"
            );
        }
    }
}

fn with_ignition(len: usize) -> Customization {
    let kargs = Edits {
        append: vec!["console=ttyS0".into(), "quiet".into()],
        ..Edits::default()
    };
    Customization {
        ignition: Some(noise(11, len).into()),
        kargs,
        ..Customization::default()
    }
}

#[test]
#[ignore = "starts virtual machines; run `make boot`"]
fn images_with_a_config_in_the_area_boot_everywhere() {
    let customization = with_ignition(1000);
    let iso = bootable(Format::Json2023, &kernel(), &initrd()).iso();
    boots_everywhere(
        "small",
        &customization.apply(&iso).unwrap(),
        &customization.ignition.unwrap(),
    );
}

#[test]
#[ignore = "starts virtual machines; run `make boot`"]
fn images_with_a_config_behind_them_boot_everywhere() {
    let customization = with_ignition(3_000_000);
    for format in [Format::Json2023, Format::Xorriso] {
        let iso = bootable(format, &kernel(), &initrd()).iso();
        boots_everywhere(
            "large",
            &customization.apply(&iso).unwrap(),
            customization.ignition.as_ref().unwrap(),
        );
    }
}

#[test]
#[ignore = "starts virtual machines; run `make boot`"]
fn images_without_their_root_file_system_boot_everywhere() {
    let customization = with_ignition(1_000_000);
    for format in [Format::Header2021, Format::Xorriso] {
        let iso = bootable(format, &kernel(), &initrd()).iso();
        let full = Iso::open(customization.apply(&iso).unwrap()).unwrap();
        let (view, _) = minimal(&full, Some("http://192.0.2.1/rootfs"), Digest::Trust).unwrap();
        boots_everywhere("minimal", &view, customization.ignition.as_ref().unwrap());
    }
}
