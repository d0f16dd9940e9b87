//! Looking into an image.

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
};

use anyhow::{Context, bail};
use muster_image::{
    Iso,
    embed::EmbedArea,
    iso9660::{
        Kind,
        eltorito::{self, Platform},
    },
    kargs::{KernelArguments, Place},
    live::LiveImage,
    miniso::Recipe,
    partition::Hybrid,
};
use serde_json::{Value, json};

use super::deliver::{copy, open};
use crate::output::Printed;

/// Everything about an image. Parts an image lacks are `null`.
pub fn info(path: &Path) -> anyhow::Result<Value> {
    let iso = open(path)?;
    let live = LiveImage::of(&iso)?;
    let boot: Vec<Value> = eltorito::boot_images(&iso)?
        .iter()
        .map(|image| {
            let firmware = match image.platform {
                Platform::Bios => "bios".to_owned(),
                Platform::Uefi => "uefi".to_owned(),
                Platform::Other(id) => format!("platform {id}"),
            };
            json!({"firmware": firmware, "sector": image.sector})
        })
        .collect();
    let partitions = Hybrid::read(iso.view())?.map(|hybrid| hybrid.partitions());
    let partitions: Vec<Value> = partitions
        .unwrap_or_default()
        .iter()
        .map(|part| {
            json!({"table": part.table, "number": part.number, "start": part.start, "blocks": part.blocks})
        })
        .collect();
    Ok(json!({
        "label": iso.label(),
        "bytes": iso.view().len(),
        "live": live,
        "rock_ridge": iso.has_rock_ridge(),
        "joliet": iso.joliet().is_some(),
        "boot": boot,
        "partitions": partitions,
        "ignition": live.is_some().then(|| ignition(&iso)).transpose()?.flatten(),
        "kernel_arguments": live.is_some().then(|| kargs(&iso)).transpose()?.flatten(),
        "minimal_recipe": Recipe::read(&iso)?.is_some(),
        "rootfs_bytes": iso.find_file("images/pxeboot/rootfs.img")?.map(|file| file.len()),
    }))
}

fn ignition(iso: &Iso) -> anyhow::Result<Option<Value>> {
    let area = match EmbedArea::locate(iso) {
        Ok(area) => area,
        Err(muster_image::Error::NoEmbedArea) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let archive = area.read(iso)?;
    let members: Vec<Value> = archive
        .members()
        .iter()
        .map(|member| json!({"name": member.name, "bytes": member.data.len()}))
        .collect();
    Ok(Some(json!({
        "announced": area.announced,
        "file": area.file.as_ref().map(|(file, _)| file),
        "offset": area.start,
        "length": area.len,
        "members": members,
    })))
}

fn kargs(iso: &Iso) -> anyhow::Result<Option<Value>> {
    let kargs = match KernelArguments::locate(iso) {
        Ok(kargs) => kargs,
        Err(muster_image::Error::NoKernelArguments) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (files, room): (Vec<&String>, _) = match &kargs.place {
        Place::Areas(areas) => (
            areas.areas.iter().map(|area| &area.file).collect(),
            Some(areas.size - 1),
        ),
        Place::BootConfigs(files) => (files.iter().collect(), None),
    };
    Ok(Some(json!({
        "current": kargs.current,
        "default": kargs.default,
        "longest": room,
        "files": files,
    })))
}

/// The same for people.
pub fn summary(path: &Path) -> anyhow::Result<String> {
    let info = info(path)?;
    let text = |value: &Value| match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let list = |value: &Value, name: &str| {
        let names = value
            .as_array()
            .into_iter()
            .flatten()
            .map(|item| text(&item[name]));
        let names: Vec<String> = names.collect();
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    };
    let mut out = String::new();
    let live = &info["live"];
    let kind = if live.is_null() {
        "not a CoreOS live image".to_owned()
    } else {
        format!(
            "{} {} for {}",
            text(&live["family"]),
            text(&live["version"]),
            text(&live["architecture"])
        )
    };
    let mut line = |name: &str, value: String| {
        let _ = writeln!(out, "{name:<18}{value}");
    };
    line("label", text(&info["label"]));
    line("kind", kind);
    line("size", format!("{} bytes", info["bytes"]));
    line("boots from CD", list(&info["boot"], "firmware"));
    line(
        "boots from USB",
        if list(&info["partitions"], "table") == "nothing" {
            "no".into()
        } else {
            "yes".into()
        },
    );
    let area = &info["ignition"];
    if !area.is_null() {
        line(
            "Ignition area",
            format!("{} bytes in {}", area["length"], text(&area["file"])),
        );
        line("embedded", list(&area["members"], "name"));
    }
    let kargs = &info["kernel_arguments"];
    if !kargs.is_null() {
        line("kernel arguments", text(&kargs["current"]));
        line(
            "",
            if kargs["default"] == kargs["current"] {
                "as published".into()
            } else {
                "changed, or not known as published".into()
            },
        );
    }
    line(
        "root file system",
        if info["rootfs_bytes"].is_null() {
            "fetched while booting".into()
        } else {
            format!("{} bytes", info["rootfs_bytes"])
        },
    );
    Ok(out)
}

/// File names, one a line.
pub fn list(path: &Path, below: Option<&str>, long: bool) -> anyhow::Result<Printed> {
    let iso = open(path)?;
    let below = below.unwrap_or_default().trim_matches('/');
    if !below.is_empty() {
        iso.find(below)?;
    }
    let mut text = String::new();
    let mut rows = Vec::new();
    for (path, entry) in iso.walk()? {
        if !is_below(&path, below) {
            continue;
        }
        let (end, kind, target) = match &entry.kind {
            Kind::File => (String::new(), "file", None),
            Kind::Directory => ("/".into(), "directory", None),
            Kind::Link(target) => (format!(" -> {target}"), "link", Some(target)),
        };
        let sector = entry.extents.first().map_or(0, |extent| extent.sector);
        if long {
            let _ = write!(text, "{:>12} {sector:>9} ", entry.len());
        }
        let _ = writeln!(text, "{path}{end}");
        rows.push(json!({
            "path": path,
            "kind": kind,
            "target": target,
            "size": entry.len(),
            "sector": sector,
        }));
    }
    let json = rows.into();
    Ok(Printed { text, json })
}

/// One file to standard output.
pub fn cat(path: &Path, file: &str) -> anyhow::Result<()> {
    let iso = open(path)?;
    let content = iso.file(file)?;
    match copy(&content, &mut io::stdout().lock()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.with_context(|| format!("printing {file}")),
    }
}

/// Copies files out of an image.
pub fn extract(path: &Path, paths: &[String], directory: &Path) -> anyhow::Result<()> {
    let iso = open(path)?;
    let wanted: Vec<&str> = paths.iter().map(|path| path.trim_matches('/')).collect();
    for path in &wanted {
        iso.find(path)?;
    }
    for (path, entry) in iso.walk()? {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| is_below(&path, wanted)) {
            continue;
        }
        // Names come from the image, and must not lead out of the directory.
        if path
            .split('/')
            .any(|part| matches!(part, "" | "." | "..") || part.contains('\0'))
        {
            bail!("the image has a file named {path:?}, which would be written elsewhere");
        }
        let to = directory.join(&path);
        match entry.kind {
            Kind::Directory => {
                fs::create_dir_all(&to).with_context(|| format!("creating {}", to.display()))?
            }
            Kind::File => {
                if let Some(parent) = to.parent() {
                    fs::create_dir_all(parent)
                        .with_context(|| format!("creating {}", parent.display()))?;
                }
                let shown = || format!("writing {}", to.display());
                let mut file = fs::File::create_new(&to).with_context(shown)?;
                copy(&iso.content(&entry)?, &mut file).with_context(shown)?;
            }
            Kind::Link(target) => {
                let _ = writeln!(io::stderr(), "muster: left out {path}, a link to {target}");
            }
        }
    }
    Ok(())
}

fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty()
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
