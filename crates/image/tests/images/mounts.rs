//! The kernel as a reader: one virtual machine mounts every kind of image this crate makes, by
//! its Rock Ridge tree and by its Joliet tree, and sums every file.
//!
//! A machine of its own, because a kernel that builds and tests need not know ISO 9660. The
//! images travel in its initrd and become loop devices. `make boot`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use muster_image::{
    Customization, Iso, View,
    config_iso::ConfigIso,
    iso9660::{Kind, cut},
    kargs::Edits,
    minimal::{Digest, minimal},
};
use sha2::Digest as _;

use crate::{
    boot::kernel_file,
    names,
    samples::{ALL, Format, noise, sample},
    tools::run,
};

const URL: &str = "http://192.0.2.1/rootfs";

/// Mounts each image twice and prints a line for everything in it: image, tree, digest of a file
/// or target of a link, path. Then it turns the machine off.
const INIT: &str = r#"#!/bin/busybox sh
bb=/bin/busybox
$bb mount -t devtmpfs none /dev
while read module; do $bb insmod /modules/$module || $bb echo "NOT LOADED $module"; done < /modules/order
show() {
    $bb mount -t iso9660 -o ro$3 /dev/loop0 /mnt || { $bb echo "NOT MOUNTED $1 $2"; return; }
    cd /mnt
    $bb find . -type f | while read path; do
        set -- "$1" "$2" $($bb sha256sum < "$path")
        $bb echo "SEEN $1 $2 $3 ${path#./}"
    done
    $bb find . -type l | while read path; do $bb echo "SEEN $1 $2 $($bb readlink "$path") ${path#./}"; done
    $bb find . -mindepth 1 -type d | while read path; do $bb echo "SEEN $1 $2 directory ${path#./}"; done
    cd /
    $bb umount /mnt
}
for image in /images/*; do
    $bb losetup -r /dev/loop0 $image
    show ${image#/images/} rockridge ""
    show ${image#/images/} joliet ",norock"
    $bb losetup -d /dev/loop0
done
$bb echo "ALL SEEN"
$bb poweroff -f
"#;

/// In the order in which they can be loaded.
fn modules(kernel: &Path) -> Vec<PathBuf> {
    let name = kernel.file_name().unwrap().to_str().unwrap();
    let folder = Path::new("/lib/modules").join(name.strip_prefix("vmlinuz-").unwrap());
    let list = fs::read_to_string(folder.join("modules.dep")).unwrap();
    let mut ordered: Vec<PathBuf> = Vec::new();
    for wanted in ["loop.ko", "nls_utf8.ko", "isofs.ko"] {
        // What is missing is built into the kernel.
        let Some((module, needs)) = list.lines().find_map(|line| {
            let (module, needs) = line.split_once(':')?;
            let name = module.rsplit('/').next()?;
            name.starts_with(wanted).then_some((module, needs))
        }) else {
            continue;
        };
        // What depends on nothing comes last in the list.
        for module in needs.split_whitespace().rev().chain([module]) {
            let path = folder.join(module);
            if !ordered.contains(&path) {
                ordered.push(path);
            }
        }
    }
    ordered
}

/// Busybox, modules and images, packed for the kernel.
fn initrd(folder: &Path, kernel: &Path, images: &[(String, View)]) -> PathBuf {
    let root = folder.join("root");
    for sub in ["bin", "dev", "mnt", "modules", "images"] {
        fs::create_dir_all(root.join(sub)).unwrap();
    }
    fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
    fs::write(root.join("init"), INIT).unwrap();
    let mut order = String::new();
    for module in modules(kernel) {
        let name = module.file_name().unwrap().to_str().unwrap();
        let plain = name.trim_end_matches(".xz");
        let to = root.join("modules").join(plain);
        if plain == name {
            fs::copy(&module, to).unwrap();
        } else {
            let script = format!("xz -dc {} > {}", module.display(), to.display());
            run("sh", &["-c", &script]);
        }
        order += &format!("{plain}\n");
    }
    fs::write(root.join("modules/order"), order).unwrap();
    for (name, view) in images {
        let mut file = fs::File::create(root.join("images").join(name)).unwrap();
        std::io::copy(&mut view.reader(), &mut file).unwrap();
    }
    let packed = folder.join("initrd");
    let script = format!(
        "cd {} && chmod 755 init bin/busybox && find . | cpio -o -H newc --quiet > {}",
        root.display(),
        packed.display()
    );
    run("sh", &["-c", &script]);
    packed
}

/// Every kind of image, by name.
fn images() -> Vec<(String, View)> {
    let customized = |len: usize, format: Format| Customization {
        ignition: Some(noise(21, len).into()),
        kargs: Edits {
            append: match format.has_room_for_kargs() {
                true => vec!["console=ttyS0".into()],
                false => Vec::new(),
            },
            ..Edits::default()
        },
        ..Customization::default()
    };
    let mut images = Vec::new();
    for format in ALL {
        let iso = sample(format).iso();
        let grown = customized(700_000, format).apply(&iso).unwrap();
        let full = Iso::open(grown.clone()).unwrap();
        let small = minimal(&full, Some(URL), Digest::Trust).unwrap().0;
        images.push((format!("{format:?}-appended"), grown));
        images.push((format!("{format:?}-minimal"), small));
    }
    for format in [Format::Json2023, Format::Xorriso] {
        let embedded = customized(1_000, format)
            .apply(&sample(format).iso())
            .unwrap();
        images.push((format!("{format:?}-embedded"), embedded));
    }
    let deep = names::image("-r -J -joliet-long");
    let deep = cut::without(&deep, "aaa.large").unwrap();
    images.push(("deep-cut".into(), deep));
    let config = ConfigIso::new("config-2")
        .and_then(|iso| iso.file("openstack/latest/user_data", View::bytes(noise(3, 5_000))))
        .and_then(|iso| iso.file("cluster-image-set.yaml", View::bytes(&b"a: b\n"[..])))
        .and_then(|iso| iso.file("empty", View::default()))
        .and_then(|iso| iso.file("größe 大きさ.txt", View::bytes(&b"names"[..])))
        .and_then(|iso| iso.build())
        .unwrap();
    images.push(("config".into(), config));
    images
}

/// What is in each image according to this crate: digest, target or kind by path.
fn reported(images: &[(String, View)]) -> BTreeMap<String, BTreeMap<String, String>> {
    let inside = |view: &View| {
        let iso = Iso::open(view.clone()).unwrap();
        let entries = iso.walk().unwrap().into_iter();
        entries
            .map(|(path, entry)| {
                let seen = match &entry.kind {
                    Kind::Directory => "directory".to_owned(),
                    Kind::Link(target) => target.clone(),
                    Kind::File => {
                        let content = iso.content(&entry).unwrap();
                        let bytes = content.read_exact("a file", 0, content.len()).unwrap();
                        format!("{:x}", sha2::Sha256::digest(bytes))
                    }
                };
                (path, seen)
            })
            .collect()
    };
    let named = |(name, view): &(String, View)| (name.clone(), inside(view));
    images.iter().map(named).collect()
}

/// The same in the words of Joliet, which cuts names at 103 characters, has empty files for
/// links, and needs no place to move directories to that are too deep.
fn as_in_joliet(tree: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let cut = |part: &str| part.chars().take(103).collect::<String>();
    tree.iter()
        .filter(|(path, _)| *path != "rr_moved")
        .map(|(path, what)| {
            let path = path.split('/').map(cut).collect::<Vec<_>>().join("/");
            let is_link = what != "directory" && what.len() != 64;
            let empty = || format!("{:x}", sha2::Sha256::digest([]));
            (path, if is_link { empty() } else { what.clone() })
        })
        .collect()
}

#[test]
#[ignore = "starts a virtual machine; run `make boot`"]
fn the_kernel_lists_and_reads_every_file_of_every_image() {
    let folder = tempfile::TempDir::new().unwrap();
    let (kernel, images) = (kernel_file(), images());
    let initrd = initrd(folder.path(), &kernel, &images);
    let output = Command::new("timeout")
        .args("300 qemu-system-x86_64 -m 1536 -nic none -display none -serial stdio".split(' '))
        .args(["-no-reboot", "-append", "console=ttyS0 quiet loglevel=0"])
        .arg("-kernel")
        .arg(&kernel)
        .arg("-initrd")
        .arg(&initrd)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let end = &said[said.len().saturating_sub(2_000)..];
    assert!(
        said.contains("ALL SEEN"),
        "the machine did not finish: {end}"
    );
    assert!(!said.contains("NOT "), "{said}");

    let mut trees: BTreeMap<&str, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
    for line in said.lines().filter_map(|line| line.strip_prefix("SEEN ")) {
        let [image, tree, what, path] = line.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            panic!("half a line: {line}");
        };
        let image = trees.entry(tree).or_default().entry(image.to_owned());
        image.or_default().insert(path.to_owned(), what.to_owned());
    }
    let reported = reported(&images);
    for (name, expected) in &reported {
        assert_eq!(&trees["rockridge"][name], expected, "{name}, Rock Ridge");
        assert_eq!(
            trees["joliet"][name],
            as_in_joliet(expected),
            "{name}, Joliet"
        );
    }
}
