//! Changing what is embedded in an image.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use muster_image::{
    Iso, View,
    edit::Editor,
    embed::EmbedArea,
    initrd::{Archive, IGNITION, NETWORK},
    kargs::{Edits, KernelArguments},
    live::LiveImage,
    minimal::{self, Digest, Made},
};
use serde_json::Value;

use super::deliver::{self, Destination, open};

/// Prints the embedded config.
pub fn show_ignition(path: &Path) -> anyhow::Result<()> {
    let iso = open(path)?;
    let archive = EmbedArea::locate(&iso)?.read(&iso)?;
    let config = archive
        .get(IGNITION)
        .context("no Ignition config is embedded in this image")?;
    print(config)
}

/// Embeds a config.
pub fn embed_ignition(
    path: &Path,
    file: Option<&Path>,
    force: bool,
    to: &Destination,
) -> anyhow::Result<()> {
    let config = match file {
        Some(file) => fs::read(file).with_context(|| format!("reading {}", file.display()))?,
        None => {
            let mut config = Vec::new();
            io::stdin()
                .read_to_end(&mut config)
                .context("reading standard input")?;
            config
        }
    };
    check_config(&config)?;
    change_archive(path, to, |_, archive| {
        if archive.get(IGNITION).is_some() && !force {
            bail!("an Ignition config is embedded already; --force replaces it");
        }
        archive.set(IGNITION, config);
        Ok(())
    })
}

/// Removes the embedded config.
pub fn remove_ignition(path: &Path, to: &Destination) -> anyhow::Result<()> {
    change_archive(path, to, |_, archive| {
        archive.remove(|name| name == IGNITION);
        Ok(())
    })
}

/// Prints kernel arguments.
pub fn show_kargs(path: &Path, default: bool) -> anyhow::Result<()> {
    let kargs = KernelArguments::read(&open(path)?)?;
    let text = if default {
        kargs
            .default
            .context("this image does not say what its arguments were when published")?
    } else {
        kargs.current
    };
    print(format!("{text}\n").as_bytes())
}

/// Changes kernel arguments.
pub fn edit_kargs(path: &Path, edits: &Edits, to: &Destination) -> anyhow::Result<()> {
    let iso = open(path)?;
    let kargs = KernelArguments::read(&iso)?;
    let text = edits.apply(&kargs.current)?;
    write_kargs(path, &iso, &kargs, &text, to)
}

/// Restore the arguments as published.
pub fn reset_kargs(path: &Path, to: &Destination) -> anyhow::Result<()> {
    let iso = open(path)?;
    let kargs = KernelArguments::locate(&iso)?;
    let default = kargs.default.clone();
    let default =
        default.context("this image does not say what its arguments were when published")?;
    write_kargs(path, &iso, &kargs, &default, to)
}

fn write_kargs(
    path: &Path,
    iso: &Iso,
    kargs: &KernelArguments,
    text: &str,
    to: &Destination,
) -> anyhow::Result<()> {
    let mut editor = Editor::new(iso)?;
    kargs.write(&mut editor, text)?;
    to.deliver(path, &editor.finish()?)
}

/// Prints the embedded profiles.
pub fn show_network(path: &Path) -> anyhow::Result<()> {
    let iso = open(path)?;
    let archive = EmbedArea::locate(&iso)?.read(&iso)?;
    let mut out = Vec::new();
    for (name, content) in archive.below(NETWORK) {
        writeln!(out, "# {name}")?;
        out.write_all(content)?;
        if !content.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
    print(&out)
}

/// Embeds profiles.
pub fn embed_network(
    path: &Path,
    files: &[PathBuf],
    force: bool,
    to: &Destination,
) -> anyhow::Result<()> {
    let mut profiles = Vec::new();
    let mut names = BTreeSet::new();
    for file in files {
        let name = file.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("{} has no usable name", file.display()))?;
        if !names.insert(name.to_owned()) {
            bail!("two profiles are named {name}; give them different names");
        }
        let content = fs::read(file).with_context(|| format!("reading {}", file.display()))?;
        profiles.push((name, content));
    }
    change_archive(path, to, |iso, archive| {
        let can = LiveImage::of(iso)?.is_some_and(|live| live.features.live_initrd_network);
        if !can {
            bail!(
                "the live system of this image does not read embedded profiles: expected \
                 `live-initrd-network` in coreos/features.json; use a newer image"
            );
        }
        if archive.below(NETWORK).next().is_some() && !force {
            bail!("profiles are embedded already; --force replaces them all");
        }
        archive.remove(is_profile);
        for (name, content) in profiles {
            archive.set(&format!("{NETWORK}/{name}"), content);
        }
        Ok(())
    })
}

/// Removes the embedded profiles.
pub fn remove_network(path: &Path, to: &Destination) -> anyhow::Result<()> {
    change_archive(path, to, |_, archive| {
        archive.remove(is_profile);
        Ok(())
    })
}

/// Makes the minimal image.
pub fn minimal(
    path: &Path,
    url: Option<&str>,
    rootfs: Option<&Path>,
    to: PathBuf,
) -> anyhow::Result<()> {
    let iso = open(path)?;
    let (view, made) = minimal::minimal(&iso, url, Digest::Verify)?;
    if let Some(rootfs) = rootfs {
        let content = iso.file("images/pxeboot/rootfs.img")?;
        deliver::write_new(path, &content, rootfs)?;
    }
    deliver::write_new(path, &view, &to)?;
    let how = match made {
        Made::ByRecipe => "with the image's own recipe, digest verified",
        Made::ByCutting => "by taking the root file system out; the image has no recipe",
    };
    let _ = writeln!(io::stderr(), "muster: {} MiB {how}", view.len() >> 20);
    Ok(())
}

pub fn change_archive(
    path: &Path,
    to: &Destination,
    change: impl FnOnce(&Iso, &mut Archive) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let iso = open(path)?;
    let area = EmbedArea::locate(&iso)?;
    let mut archive = area.read(&iso)?;
    change(&iso, &mut archive)?;
    let mut editor = Editor::new(&iso)?;
    let payload = if archive.is_empty() {
        View::default()
    } else {
        fitting(&archive, &area)?
    };
    area.write(&mut editor, &payload)?;
    to.deliver(path, &editor.finish()?)
}

/// gzip, or xz when only that fits. A payload that is far too large for the area, such as one with
/// programs in it, grows the image anyway: packing it slowly would gain nothing.
fn fitting(archive: &Archive, area: &EmbedArea) -> anyhow::Result<View> {
    let gzip = archive.gzip()?;
    let len = gzip.len() as u64;
    let can_grow = area.file.is_some();
    if len > area.len && (!can_grow || len <= 2 * area.len) {
        let xz = archive.xz()?;
        if xz.len() as u64 <= area.len {
            return Ok(View::bytes(xz));
        }
    }
    Ok(View::bytes(gzip))
}

fn is_profile(name: &str) -> bool {
    name.strip_prefix(NETWORK)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// A typing error here shows only on the console of a machine that does not boot.
fn check_config(config: &[u8]) -> anyhow::Result<()> {
    let parsed: Value =
        serde_json::from_slice(config).context("the Ignition config is not JSON")?;
    if parsed["ignition"]["version"].as_str().is_none() {
        bail!(
            "the Ignition config has no `ignition.version`; is it a Butane file? translate it first"
        );
    }
    Ok(())
}

fn print(bytes: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("writing to standard output"),
    }
}
