//! The disk images that an installation writes: GPT with BIOS boot, ESP, boot and root, and a mark
//! that has Ignition run at the first boot. One has a plain tree as its root; the other, for
//! image-based installations, an object store with a small first system.

use std::{
    fs,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use super::{Os, hex, ostree, remove, step};
use muster_vm::program::{command, run};

const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;

/// A partition: number, start and size in MiB, type, name.
struct Partition(u32, u64, u64, &'static str, &'static str);

/// As on CoreOS, in its order and under its names.
const BIOS: Partition = Partition(1, 1, 1, "ef02", "BIOS-BOOT");
const ESP: Partition = Partition(2, 2, 64, "ef00", "EFI-SYSTEM");
const BOOT: Partition = Partition(3, 66, 160, "8300", "boot");
const ROOT: Partition = Partition(4, 226, 448, "8300", "root");
const TOTAL: u64 = 675;

/// What the root file system holds.
#[derive(Clone, Copy)]
enum Root {
    /// The tree of the live image.
    Tree,
    /// An object store with one deployment.
    Deployment,
}

impl Os {
    /// The metal disk image as `coreos-installer` takes it, packed with zstd; made when it is first
    /// asked for.
    ///
    /// # Errors
    /// When a program fails.
    pub fn metal(&self) -> Result<PathBuf> {
        self.disk_image("metal-", Root::Tree)
    }

    /// The same with an object store, where a seed can be deployed beside the first system.
    ///
    /// # Errors
    /// When a program fails.
    pub fn ostree_metal(&self) -> Result<PathBuf> {
        self.disk_image("ostree-metal-", Root::Deployment)
    }

    fn disk_image(&self, kind: &str, root: Root) -> Result<PathBuf> {
        let source = concat!(include_str!("metal.rs"), include_str!("ostree.rs"));
        let key = hex(&Sha256::digest(format!("{}{source}", self.build)));
        let folder = self.parts.parent().context("the parts lie in a folder")?;
        let image = folder.join(format!("{kind}{}.img.zst", &key[..16]));
        let lock = fs::File::create(folder.join("lock"))?;
        lock.lock()?;
        if !image.exists() {
            step("writing the metal image", || write(self, root, &image))?;
            super::forget_others(folder, kind, &image)?;
        }
        Ok(image)
    }
}

fn write(os: &Os, root: Root, to: &Path) -> Result<()> {
    let work = to.with_extension("work");
    remove(&work)?;
    fs::create_dir_all(&work)?;
    let (boot, root) = match root {
        Root::Tree => {
            let tree = work.join("boot");
            plain_boot(os, &tree)?;
            (tree, plain_root(os, &work)?)
        }
        Root::Deployment => {
            let sysroot = ostree::first_system(os, &work)?;
            let tree = work.join("boot");
            fs::rename(sysroot.join("boot"), &tree)?;
            fs::create_dir(sysroot.join("boot"))?;
            (tree, xfs(&sysroot, &work.join("root.img"), &ROOT)?)
        }
    };
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
        (BOOT, finished_boot(&boot, &work.join("boot.img"))?),
        (ROOT, root),
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
        "part_gpt fat ext2 normal configfile search search_label regexp relocator boot video mmap \
         serial test true"
            .split_whitespace(),
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

/// Kernel, initrd and how to start them, as on every CoreOS.
fn plain_boot(os: &Os, tree: &Path) -> Result<()> {
    let entries = tree.join("loader/entries");
    fs::create_dir_all(&entries)?;
    fs::copy(os.parts.join("vmlinuz"), tree.join("vmlinuz"))?;
    fs::copy(os.parts.join("initrd.img"), tree.join("initrd.img"))?;
    // Where `coreos-installer` changes kernel arguments.
    fs::write(
        entries.join("standin.conf"),
        "title CoreOS stand-in\nversion 1\noptions root=LABEL=root rw console=tty0 console=ttyS0 \
         ignition.platform.id=metal $ignition_firstboot\nlinux /vmlinuz\ninitrd /initrd.img\n",
    )?;
    Ok(())
}

/// Adds the mark of a first boot and the loader's configuration.
///
/// Debian's GRUB does not know the entries of CoreOS, but it runs them as scripts whose commands are
/// the functions below. It finds commands before functions, so its own `linux` is loaded after that.
fn finished_boot(tree: &Path, image: &Path) -> Result<PathBuf> {
    fs::create_dir_all(tree.join("ignition"))?;
    fs::write(tree.join("ignition.firstboot"), "")?;
    for platform in ["i386-pc", "x86_64-efi"] {
        let modules = tree.join("grub2").join(platform);
        fs::create_dir_all(&modules)?;
        let module = format!("/usr/lib/grub/{platform}/linux.mod");
        fs::copy(&module, modules.join("linux.mod")).with_context(|| module)?;
    }
    let config = "set timeout=1\nserial --unit=0\nterminal_output console serial\n\
        set prefix=($root)/grub2\n\
        if [ -f /ignition.firstboot ]; then set ignition_firstboot=ignition.firstboot; fi\n\
        function title { true; }\nfunction version { true; }\n\
        function options { set kernel_arguments=\"$*\"; }\n\
        function linux { set kernel=\"$1\"; }\nfunction initrd { set initial_ram_disk=\"$1\"; }\n\
        for entry in /loader/entries/*.conf; do source $entry; done\n\
        insmod linux\n\
        menuentry 'CoreOS stand-in' {\n\
        \tlinux $kernel $kernel_arguments\n\
        \tinitrd $initial_ram_disk\n}\n";
    fs::write(tree.join("grub2/grub.cfg"), config)?;
    ext4(tree, image, &BOOT)
}

/// The same tree as in the live image, writable.
fn plain_root(os: &Os, work: &Path) -> Result<PathBuf> {
    let tree = work.join("root");
    os.unpack_root(&tree)?;
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

/// Made by `mkfs.xfs` from a list of files: nothing has to be mounted. Files with several names become
/// several files.
fn xfs(tree: &Path, image: &Path, partition: &Partition) -> Result<PathBuf> {
    let list = image.with_extension("files");
    let mut text = String::from("nothing\n0 0\n");
    describe(tree, &mut text)?;
    fs::write(&list, text)?;
    fs::File::create(image)?.set_len(partition.2 * MIB)?;
    let mut mkfs = command("mkfs.xfs");
    mkfs.args(["-q", "-f", "-L", partition.4, "-p"]).arg(&list);
    run(mkfs.arg(image))?;
    Ok(image.to_owned())
}

/// A folder's own line, without its name, and those of everything in it.
fn describe(folder: &Path, text: &mut String) -> Result<()> {
    *text += &mode('d', &fs::symlink_metadata(folder)?);
    text.push('\n');
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("{} cannot be listed", path.display()))?;
        let about = fs::symlink_metadata(&path)?;
        *text += &format!("{name} ");
        if about.is_dir() {
            describe(&path, text)?;
        } else if about.is_symlink() {
            let target = fs::read_link(&path)?;
            *text += &format!("{} {}\n", mode('l', &about), target.display());
        } else {
            *text += &format!("{} {}\n", mode('-', &about), path.display());
        }
    }
    *text += "$\n";
    Ok(())
}

/// Kind, permissions and owner as `mkfs.xfs` reads them.
fn mode(kind: char, about: &fs::Metadata) -> String {
    let mode = about.mode();
    let flag = |bit, letter| if mode & bit == 0 { '-' } else { letter };
    format!(
        "{kind}{}{}{:03o} {} {}",
        flag(0o4000, 'u'),
        flag(0o2000, 'g'),
        mode & 0o777,
        about.uid(),
        about.gid()
    )
}

/// What a BIOS starts: the first sector knows where the second lies, and that one where the rest.
fn bios_loader(work: &Path, disk: &Path) -> Result<()> {
    let core = work.join("core.img");
    let mut grub = command("grub-mkimage");
    grub.args(["-O", "i386-pc", "-p", "(hd0,gpt3)/grub2", "-o"])
        .arg(&core);
    run(grub.args(
        "biosdisk part_gpt ext2 normal configfile regexp relocator verifiers boot video mmap vbe \
         serial test true"
            .split_whitespace(),
    ))?;
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
