//! The operating system that test machines run: Debian packages in the shape of CoreOS.
//!
//! Building takes minutes, so each layer is kept under a name made of everything it depends on:
//!
//! | layer | made from | by |
//! |---|---|---|
//! | `base-*.tar` | `os/packages`, `os/left-out` | `mmdebstrap` |
//! | `parts-*` | the base, `os/assemble`, `os/root`, `os/dracut`, coreos-installer | dracut, `mksquashfs` |
//! | `live-*.iso` | the parts and the code in [`live`] | `genisoimage`, `isohybrid` |
//! | `metal-*.img.zst` | the parts and the code in [`metal`] | `sgdisk`, `mke2fs`, GRUB |
//! | `ostree-metal-*.img.zst` | the same and the code in [`ostree`] | `ostree`, `mkfs.xfs` |
//! | `seed-*` | the parts, `seed/` and the code in [`ostree`] | `ostree`, `tar` |
//!
//! All of it is kept in the user's cache, for every clone of the project; what is not the newest of its
//! kind is removed once it is a day old.

pub mod live;
pub mod metal;
pub mod ostree;
pub mod recipe;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use muster_vm::program::{command, run};

/// Where the packages come from.
const SUITE: &str = "bookworm";
const ARCHIVE: &str = "deb http://deb.debian.org/debian bookworm main";
/// What `tests/setup-coreos-installer` builds.
const INSTALLER: &str = "test-tools/bin/coreos-installer";
/// How long a clone may use a layer that it has built or found.
const IN_USE: Duration = Duration::from_secs(24 * 3600);
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/os");

/// The built operating system.
#[derive(Clone, Debug)]
pub struct Os {
    /// The live image.
    pub iso: PathBuf,
    /// Its kernel, initrd and root file system are in here.
    pub parts: PathBuf,
    /// Its build number, in the form CoreOS has.
    pub build: String,
}

impl Os {
    /// The operating system, built if something it is made from has changed.
    ///
    /// # Errors
    /// When a program fails or this user may not make file systems of other users' files.
    pub fn ready() -> Result<Self> {
        let folder = cache()?;
        fs::create_dir_all(&folder)?;
        let folder = folder.canonicalize()?;
        // Tests are processes of their own; one builds, the others wait.
        let lock = fs::File::create(folder.join("lock"))?;
        lock.lock()?;
        let sources = Path::new(SOURCES);
        let installer = crate::target().join(INSTALLER);
        if !installer.exists() {
            bail!(
                "{} is missing; `make testbed` builds it first",
                installer.display()
            );
        }
        let base_key = digest(
            &[&sources.join("packages"), &sources.join("left-out")],
            ARCHIVE,
        )?;
        let parts_key = digest(
            &[
                &sources.join("assemble"),
                &sources.join("root"),
                &sources.join("dracut"),
                &installer,
            ],
            &base_key,
        )?;
        let layout = concat!(include_str!("live.rs"), include_str!("recipe.rs"));
        let iso_key = hex(&Sha256::digest(format!("{parts_key}{layout}")));
        let os = Self {
            iso: folder.join(format!("live-{}.iso", &iso_key[..16])),
            parts: folder.join(format!("parts-{}", &parts_key[..16])),
            build: build_number(&parts_key),
        };
        if !os.iso.exists() {
            if !os.parts.exists() {
                let base = folder.join(format!("base-{}.tar", &base_key[..16]));
                if !base.exists() {
                    step("fetching Debian packages", || make_base(&base))?;
                    forget_others(&folder, "base-", &base)?;
                }
                step("assembling the operating system", || {
                    os.assemble(&base, &installer)
                })?;
                forget_others(&folder, "parts-", &os.parts)?;
            }
            step("writing the live image", || live::write(&os))?;
            forget_others(&folder, "live-", &os.iso)?;
        }
        Ok(os)
    }

    /// Unpacks the tree of the live image.
    fn unpack_root(&self, to: &Path) -> Result<()> {
        run(command("unsquashfs")
            .args(["-quiet", "-no-progress", "-d"])
            .arg(to)
            .arg(self.parts.join("root.squashfs")))
        .map(drop)
    }

    fn assemble(&self, base: &Path, installer: &Path) -> Result<()> {
        let work = self.parts.with_extension("work");
        remove(&work)?;
        let script = Path::new(SOURCES).join("assemble");
        let mut assemble = command(script);
        assemble.arg(base).arg(SOURCES).arg(installer);
        assemble.arg(&self.build).arg(&work);
        run(&mut assemble)?;
        remove(&work.join("root"))?;
        fs::rename(work, &self.parts)?;
        Ok(())
    }
}

fn make_base(to: &Path) -> Result<()> {
    let lines = |name: &str| -> Result<Vec<String>> {
        let text = fs::read_to_string(Path::new(SOURCES).join(name))?;
        let useful = text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok(useful.map(str::to_owned).collect())
    };
    let work = to.with_extension("part.tar");
    remove(&work)?;
    let mut mmdebstrap = command("mmdebstrap");
    mmdebstrap
        .env("INITRD", "No")
        .args(["--quiet", "--mode=root", "--variant=minbase"]);
    mmdebstrap.args([
        "--aptopt=APT::Install-Recommends \"false\"",
        "--dpkgopt=force-unsafe-io",
    ]);
    mmdebstrap.arg("--aptopt=Acquire::Check-Valid-Until \"false\"");
    mmdebstrap.arg(format!("--include={}", lines("packages")?.join(",")));
    for path in lines("left-out")? {
        mmdebstrap.arg(match path.strip_prefix('!') {
            Some(path) => format!("--dpkgopt=path-include={path}"),
            None => format!("--dpkgopt=path-exclude={path}"),
        });
    }
    mmdebstrap.arg(SUITE).arg(&work).arg(ARCHIVE);
    run(&mut mmdebstrap).context("the operating system is made as root, from Debian's archive")?;
    fs::rename(work, to)?;
    Ok(())
}

fn step(what: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("== {what}");
    let start = Instant::now();
    work().with_context(|| what.to_owned())?;
    eprintln!("   took {} s", start.elapsed().as_secs());
    Ok(())
}

/// Where the layers are kept.
fn cache() -> Result<PathBuf> {
    let caches = match std::env::var_os("XDG_CACHE_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache"),
    };
    Ok(caches.join("muster/testbed-os"))
}

/// Removes earlier results of the same kind, except those that another clone may be using.
fn forget_others(folder: &Path, kind: &str, keep: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let in_use = || {
            let changed = fs::metadata(&path).and_then(|found| found.modified());
            changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age < IN_USE))
        };
        if name.starts_with(kind) && path != keep && !in_use() {
            remove(&path)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    } else if path.exists() {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// A digest of files, all that is in folders, and a text.
fn digest(paths: &[&Path], and: &str) -> Result<String> {
    let mut hash = Sha256::new();
    hash.update(and);
    for path in paths {
        add(&mut hash, path)?;
    }
    Ok(hex(&hash.finalize()))
}

fn add(hash: &mut Sha256, path: &Path) -> Result<()> {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name);
    if path.is_dir() {
        let mut inside = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        inside.sort();
        for path in inside {
            add(hash, &path)?;
        }
    } else if path.is_file() {
        let content = fs::read(path).with_context(|| path.display().to_string())?;
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(content);
    } else {
        bail!("{} is neither a file nor a folder", path.display());
    }
    Ok(())
}

/// `420.` and twelve digits: the same sources are the same build.
fn build_number(key: &str) -> String {
    let number = u64::from_str_radix(&key[..10], 16).unwrap_or_default();
    format!("420.96.{:012}-0", number % 1_000_000_000_000)
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    #[test]
    fn a_changed_or_renamed_source_is_another_layer() {
        let folder = crate::workshop().join("unit-digest");
        remove(&folder).unwrap();
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("sub/a"), "one").unwrap();
        let key = || digest(&[&folder], "").unwrap();
        let first = key();
        assert_eq!(first, key());
        fs::write(folder.join("sub/a"), "two").unwrap();
        let second = key();
        fs::rename(folder.join("sub/a"), folder.join("sub/b")).unwrap();
        let third = key();
        assert!(first != second && second != third && first != third);
        remove(&folder).unwrap();
    }

    #[test]
    fn build_numbers_look_like_those_of_coreos() {
        assert_eq!(
            build_number("00000000ffabc").len(),
            "420.96.202611160000-0".len()
        );
    }
}
