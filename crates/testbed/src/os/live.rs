//! Lays out the live image as CoreOS does: same paths, same areas, boots the same ways.

use std::{fs, io::Read, path::Path};

use anyhow::{Result, bail};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Os, hex, recipe};
use muster_vm::program::{command, run};

/// The Ignition area.
const AREA: usize = 262_144;
/// Room for further kernel arguments.
const ROOM: usize = 1024;
/// Piece of the root file system with a digest of its own.
const CHUNK: usize = 2_097_152;
/// Start of the squashfs in the root file system's archive.
const SQUASHFS_AT: u64 = 124;
const GRUB: &str = "EFI/redhat/grub.cfg";
const ISOLINUX: &str = "isolinux/isolinux.cfg";
const FEATURES: &str = "{\"installer-config\":true,\"live-initrd-network\":true}\n";

impl Os {
    /// The volume id of the live image.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = format!("rhcos-{}", self.build);
        label.truncate(32);
        label
    }

    /// The kernel arguments of the live image before anybody changes them.
    #[must_use]
    pub fn default_kargs(&self) -> String {
        // CoreOS has no console here; ours must talk to the harness.
        format!(
            "mitigations=auto,nosmt console=tty0 console=ttyS0 coreos.liveiso={} \
             ignition.firstboot ignition.platform.id=metal",
            self.label()
        )
    }
}

/// Writes the live image from the parts.
pub(super) fn write(os: &Os) -> Result<()> {
    let work = os.iso.with_extension("work");
    super::remove(&work)?;
    let tree = work.join("tree");
    let put = |path: &str, content: &[u8]| -> Result<()> {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&tree))?;
        Ok(fs::write(path, content)?)
    };
    put(
        "images/pxeboot/vmlinuz",
        &fs::read(os.parts.join("vmlinuz"))?,
    )?;
    root_file_system(os, &tree.join("images/pxeboot/rootfs.img"))?;
    initrd(os, &work, &tree)?;
    put("images/ignition.img", &[0; AREA])?;
    put("coreos/features.json", FEATURES.as_bytes())?;
    put(
        "coreos/igninfo.json",
        b"{\n  \"file\": \"images/ignition.img\"\n}\n",
    )?;
    put("coreos/miniso.dat", &[0; recipe::ROOM])?;

    let kargs = os.default_kargs();
    let room = format!("{}# COREOS_KARG_EMBED_AREA\n", "#".repeat(ROOM - 1));
    let grub = "set timeout=1\nserial --unit=0\nterminal_output console serial\n\
                menuentry 'CoreOS stand-in (Live)' {\n\tlinux /images/pxeboot/vmlinuz ";
    let after = "\tinitrd /images/pxeboot/initrd.img /images/ignition.img\n}\n";
    put(GRUB, format!("{grub}{kargs}\n{room}{after}").as_bytes())?;
    let linux = "serial 0\ndefault linux\nprompt 0\nlabel linux\n  kernel /images/pxeboot/vmlinuz\n  \
                 append initrd=/images/pxeboot/initrd.img,/images/ignition.img ";
    put(ISOLINUX, format!("{linux}{kargs}\n{room}").as_bytes())?;
    let areas = json!({
        "default": kargs,
        "files": [
            {"path": GRUB, "offset": grub.len(), "pad": "#", "end": "\n"},
            {"path": ISOLINUX, "offset": linux.len(), "pad": "#", "end": "\n"},
        ],
        "size": kargs.len() + ROOM,
    });
    put("coreos/kargs.json", format!("{areas}\n").as_bytes())?;
    put(
        "isolinux/isolinux.bin",
        &fs::read("/usr/lib/ISOLINUX/isolinux.bin")?,
    )?;
    let module = "/usr/lib/syslinux/modules/bios/ldlinux.c32";
    put("isolinux/ldlinux.c32", &fs::read(module)?)?;
    efi_boot_image(os, &work, &tree.join("images/efiboot.img"))?;

    let (full, minimal) = (work.join("full.iso"), work.join("minimal.iso"));
    pack(os, &tree, &full)?;
    fs::remove_file(tree.join("images/pxeboot/rootfs.img"))?;
    fs::remove_file(tree.join("coreos/miniso.dat"))?;
    pack(os, &tree, &minimal)?;
    recipe::add(&full, &minimal)?;
    fs::rename(full, &os.iso)?;
    super::remove(&work)
}

/// An archive whose first member is the squashfs, so that it can be mounted where it lies.
fn root_file_system(os: &Os, to: &Path) -> Result<()> {
    let folder = os.parts.join("rootfs");
    super::remove(&folder)?;
    fs::create_dir_all(folder.join("etc"))?;
    // Moved, not linked: cpio puts files with several names last.
    let (lies, wanted) = (os.parts.join("root.squashfs"), folder.join("root.squashfs"));
    fs::rename(&lies, &wanted)?;
    fs::write(
        folder.join("etc/coreos-live-rootfs"),
        format!("{}\n", os.build),
    )?;
    let names = "root.squashfs\netc\netc/coreos-live-rootfs";
    let outcome = archive(&folder, names, to);
    fs::rename(&wanted, &lies)?;
    outcome?;
    super::remove(&folder)?;
    let mut start = [0; SQUASHFS_AT as usize + 4];
    fs::File::open(to)?.read_exact(&mut start)?;
    if &start[SQUASHFS_AT as usize..] != b"hsqs" {
        bail!(
            "the squashfs does not begin at byte {SQUASHFS_AT} of {}",
            to.display()
        );
    }
    Ok(())
}

/// The initrd, marked as that of a live image and told which root file system is its own.
fn initrd(os: &Os, work: &Path, tree: &Path) -> Result<()> {
    let marks = work.join("marks");
    fs::create_dir_all(marks.join("etc/coreos"))?;
    fs::write(
        marks.join("etc/coreos-live-initramfs"),
        format!("{}\n", os.build),
    )?;
    fs::write(marks.join("etc/coreos/features.json"), FEATURES)?;
    let mut wanted = format!("stream-hash sha256 {CHUNK}\n");
    let mut rootfs = fs::File::open(tree.join("images/pxeboot/rootfs.img"))?;
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        if rootfs.by_ref().take(CHUNK as u64).read_to_end(&mut chunk)? == 0 {
            break;
        }
        wanted += &format!("{}\n", hex(&Sha256::digest(&chunk)));
    }
    fs::write(marks.join("etc/coreos-live-want-rootfs"), wanted)?;
    let names = "etc\netc/coreos\netc/coreos/features.json\netc/coreos-live-initramfs\netc/coreos-live-want-rootfs";
    let packed = work.join("marks.cpio");
    archive(&marks, names, &packed)?;
    let mut initrd = fs::read(os.parts.join("initrd.img"))?;
    initrd.resize(initrd.len().next_multiple_of(4), 0);
    initrd.extend(fs::read(packed)?);
    initrd.resize(initrd.len().next_multiple_of(4), 0);
    fs::write(tree.join("images/pxeboot/initrd.img"), initrd)?;
    Ok(())
}

/// Packs these members of a folder, in this order.
fn archive(folder: &Path, names: &str, to: &Path) -> Result<()> {
    let list = to.with_extension("members");
    fs::write(&list, format!("{names}\n"))?;
    let script =
        "cd \"$1\" && cpio --quiet --reproducible --owner 0:0 -o -H newc < \"$2\" > \"$3\"";
    run(command("sh")
        .args(["-c", script, "archive"])
        .arg(folder)
        .arg(&list)
        .arg(to))?;
    Ok(fs::remove_file(list)?)
}

/// A FAT image with GRUB, which looks for the volume and goes on with the configuration there.
fn efi_boot_image(os: &Os, work: &Path, to: &Path) -> Result<()> {
    let label = os.label();
    let stub = format!(
        "search --no-floppy --set=root --label {label}\nset prefix=($root)/EFI/redhat\n\
         configfile ($root)/{GRUB}\n"
    );
    let (config, loader) = (work.join("stub.cfg"), work.join("grub.efi"));
    fs::write(&config, stub)?;
    let modules = "fat iso9660 part_gpt part_msdos normal configfile search search_label linux \
                   serial terminal echo test";
    let mut grub = command("grub-mkimage");
    grub.args(["-O", "x86_64-efi", "-p", "/EFI/BOOT", "-o"])
        .arg(&loader)
        .arg("-c")
        .arg(&config);
    run(grub.args(modules.split_whitespace()))?;
    fs::write(to, vec![0; 4 << 20])?;
    run(command("mformat")
        .arg("-i")
        .arg(to)
        .args(["-v", "ESP", "-N", "12345678", "::"]))?;
    run(command("mmd")
        .arg("-i")
        .arg(to)
        .args(["::EFI", "::EFI/BOOT"]))?;
    run(command("mcopy")
        .arg("-i")
        .arg(to)
        .arg(&loader)
        .arg("::EFI/BOOT/BOOTX64.EFI"))?;
    Ok(())
}

fn pack(os: &Os, tree: &Path, to: &Path) -> Result<()> {
    let words = "-quiet -r -J -joliet-long -b isolinux/isolinux.bin -c isolinux/boot.cat \
                 -no-emul-boot -boot-load-size 4 -boot-info-table -eltorito-alt-boot \
                 -efi-boot images/efiboot.img -no-emul-boot";
    let mut genisoimage = command("genisoimage");
    genisoimage
        .args(words.split_whitespace())
        .arg("-V")
        .arg(os.label());
    run(genisoimage.arg("-o").arg(to).arg(tree))?;
    run(command("isohybrid").arg("--uefi").arg(to))?;
    Ok(())
}
