//! The disk image that an installation writes: GPT with BIOS boot, ESP, boot and root, and a mark
//! that has Ignition run at the first boot.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::{Os, hex, remove, step};
use muster_vm::program::{command, run};

const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;

/// A partition: number, start and size in MiB, type, name.
struct Partition(u32, u64, u64, &'static str, &'static str);

/// As on CoreOS, in its order and under its names.
const BIOS: Partition = Partition(1, 1, 1, "ef02", "BIOS-BOOT");
const ESP: Partition = Partition(2, 2, 64, "ef00", "EFI-SYSTEM");
const BOOT: Partition = Partition(3, 66, 96, "8300", "boot");
const ROOT: Partition = Partition(4, 162, 448, "8300", "root");
const TOTAL: u64 = 611;

impl Os {
    /// The metal disk image as `coreos-installer` takes it, packed with zstd; made when it is first
    /// asked for.
    ///
    /// # Errors
    /// When a program fails.
    pub fn metal(&self) -> Result<PathBuf> {
        let source = include_str!("metal.rs");
        let key = hex(&Sha256::digest(format!("{}{source}", self.build)));
        let folder = self.parts.parent().context("the parts lie in a folder")?;
        let image = folder.join(format!("metal-{}.img.zst", &key[..16]));
        let lock = fs::File::create(folder.join("lock"))?;
        lock.lock()?;
        if !image.exists() {
            step("writing the metal image", || write(self, &image))?;
            super::forget_others(folder, "metal-", &image)?;
        }
        Ok(image)
    }
}

fn write(os: &Os, to: &Path) -> Result<()> {
    let work = to.with_extension("work");
    remove(&work)?;
    fs::create_dir_all(&work)?;
    let disk = work.join("disk.img");
    fs::File::create(&disk)?.set_len(TOTAL * MIB)?;
    let mut sgdisk = command("sgdisk");
    for Partition(number, start, size, kind, name) in [BIOS, ESP, BOOT, ROOT] {
        let sectors = MIB / SECTOR;
        let last = (start + size) * sectors - 1;
        sgdisk.arg(format!("--new={number}:{}:{last}", start * sectors));
        sgdisk.arg(format!("--typecode={number}:{kind}"));
        sgdisk.arg(format!("--change-name={number}:{name}"));
    }
    run(sgdisk.arg(&disk))?;
    for (partition, image) in [
        (ESP, esp(&work)?),
        (BOOT, boot(os, &work)?),
        (ROOT, root(os, &work)?),
    ] {
        let mut dd = command("dd");
        dd.arg(format!("if={}", image.display()))
            .arg(format!("of={}", disk.display()));
        dd.args(["bs=1M", "conv=notrunc,sparse", "status=none"])
            .arg(format!("seek={}", partition.1));
        run(&mut dd)?;
        remove(&image)?;
    }
    bios_loader(&work, &disk)?;
    let packed = work.join("disk.img.zst");
    run(command("zstd")
        .args(["--quiet", "-T0", "-o"])
        .arg(&packed)
        .arg(&disk))?;
    fs::rename(packed, to)?;
    remove(&work)
}

/// A loader for UEFI that goes on with the configuration on the boot partition.
fn esp(work: &Path) -> Result<PathBuf> {
    let (image, loader, stub) = (
        work.join("esp.img"),
        work.join("grub.efi"),
        work.join("stub.cfg"),
    );
    fs::write(
        &stub,
        "search --no-floppy --set=root --label boot\nconfigfile ($root)/grub2/grub.cfg\n",
    )?;
    let mut grub = command("grub-mkimage");
    grub.args(["-O", "x86_64-efi", "-p", "/EFI/BOOT", "-o"])
        .arg(&loader)
        .arg("-c")
        .arg(&stub);
    run(grub.args(
        "part_gpt fat ext2 normal configfile search search_label linux serial test true".split(' '),
    ))?;
    fs::File::create(&image)?.set_len(ESP.2 * MIB)?;
    run(command("mformat")
        .arg("-i")
        .arg(&image)
        .args(["-F", "-v", "EFI-SYSTEM", "::"]))?;
    run(command("mmd")
        .arg("-i")
        .arg(&image)
        .args(["::EFI", "::EFI/BOOT", "::EFI/redhat"]))?;
    // Where firmware looks by itself, and where an installer has it look.
    for place in ["::EFI/BOOT/BOOTX64.EFI", "::EFI/redhat/shimx64.efi"] {
        run(command("mcopy")
            .arg("-i")
            .arg(&image)
            .arg(&loader)
            .arg(place))?;
    }
    Ok(image)
}

/// Kernel, initrd, the loader's configuration and the mark of a first boot.
fn boot(os: &Os, work: &Path) -> Result<PathBuf> {
    let tree = work.join("boot");
    fs::create_dir_all(tree.join("grub2"))?;
    fs::create_dir_all(tree.join("ignition"))?;
    fs::copy(os.parts.join("vmlinuz"), tree.join("vmlinuz"))?;
    fs::copy(os.parts.join("initrd.img"), tree.join("initrd.img"))?;
    fs::write(tree.join("ignition.firstboot"), "")?;
    // Where `coreos-installer` changes kernel arguments. Debian's GRUB does not know such entries, but
    // it runs them as a script whose commands are the functions below.
    let entries = tree.join("loader/entries");
    fs::create_dir_all(&entries)?;
    fs::write(
        entries.join("standin.conf"),
        "title CoreOS stand-in\noptions root=LABEL=root rw console=tty0 console=ttyS0 \
         ignition.platform.id=metal $ignition_firstboot\n",
    )?;
    let config = "set timeout=1\nserial --unit=0\nterminal_output console serial\n\
        if [ -f /ignition.firstboot ]; then set ignition_firstboot=ignition.firstboot; fi\n\
        function title { true; }\nfunction options { set kernel_arguments=\"$*\"; }\n\
        source /loader/entries/standin.conf\n\
        menuentry 'CoreOS stand-in' {\n\
        \tlinux /vmlinuz $kernel_arguments\n\
        \tinitrd /initrd.img\n}\n";
    fs::write(tree.join("grub2/grub.cfg"), config)?;
    ext4(&tree, &work.join("boot.img"), &BOOT)
}

/// The same tree as in the live image, writable.
fn root(os: &Os, work: &Path) -> Result<PathBuf> {
    let tree = work.join("root");
    let squashfs = os.parts.join("root.squashfs");
    run(command("unsquashfs")
        .args(["-quiet", "-no-progress", "-d"])
        .arg(&tree)
        .arg(squashfs))?;
    fs::write(
        tree.join("etc/fstab"),
        "LABEL=boot /boot ext4 defaults 0 2\n",
    )?;
    let image = ext4(&tree, &work.join("root.img"), &ROOT)?;
    remove(&tree)?;
    Ok(image)
}

fn ext4(tree: &Path, image: &Path, partition: &Partition) -> Result<PathBuf> {
    let mut mke2fs = command("mke2fs");
    mke2fs
        .args(["-q", "-t", "ext4", "-L", partition.4, "-d"])
        .arg(tree)
        .arg(image);
    run(mke2fs.arg(format!("{}M", partition.2)))?;
    Ok(image.to_owned())
}

/// What a BIOS starts: the first sector knows where the second lies, and that one where the rest.
fn bios_loader(work: &Path, disk: &Path) -> Result<()> {
    let core = work.join("core.img");
    let mut grub = command("grub-mkimage");
    grub.args(["-O", "i386-pc", "-p", "(hd0,gpt3)/grub2", "-o"])
        .arg(&core);
    run(grub.args("biosdisk part_gpt ext2 normal configfile linux serial test true".split(' ')))?;
    let mut core = fs::read(core)?;
    if core.len() as u64 > BIOS.2 * MIB {
        bail!(
            "the BIOS boot loader has {} bytes and does not fit",
            core.len()
        );
    }
    let start = BIOS.1 * MIB / SECTOR;
    // The list of sectors at the end of the first one: the rest follows at once.
    core[500..508].copy_from_slice(&(start + 1).to_le_bytes());
    let mut first = fs::read("/usr/lib/grub/i386-pc/boot.img")
        .context("boot.img: `scripts/prepare testbed` installs it")?;
    first[92..100].copy_from_slice(&start.to_le_bytes());
    let file = fs::File::options().write(true).open(disk)?;
    // The partition table of the first sector stays.
    file.write_all_at(&first[..440], 0)?;
    file.write_all_at(&core, BIOS.1 * MIB)?;
    Ok(())
}
