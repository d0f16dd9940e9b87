//! What hosts boot: an ISO, or files for a network boot; and the ISO that only carries configuration.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
};

use anyhow::{Context, anyhow};
use muster_assets::agent_based::{Planned, Secrets, config_files};
use muster_image::{
    Customization, Iso, View,
    config_iso::ConfigIso,
    initrd::Archive,
    kargs::{Edits, KernelArguments},
    minimal::{self, Digest},
    pxe::{PxeSet, addrsize},
    view::Range,
};

use super::create::Boots;

/// Folder of files for a network boot.
pub const FOLDER: &str = "boot-artifacts";

/// The image.
pub fn iso(planned: &Planned, made: &Boots) -> anyhow::Result<View> {
    let mut custom = customization(planned, made);
    if !planned.is_minimal() {
        return Ok(custom.apply(&made.iso)?);
    }
    let early = planned.early_ramdisk().map_err(|why| anyhow!(why))?;
    custom.ramdisks.extend(early.map(View::bytes));
    let url = planned.boot_artifacts_url().context(
        "a minimal image fetches its root file system: set bootArtifactsBaseURL in agent-config.yaml",
    )?;
    let url = format!("{url}/{}", rootfs_name(planned));
    let (minimal, _) = minimal::minimal(&made.iso, Some(&url), Digest::Trust)?;
    custom
        .kargs
        .append
        .insert(0, format!("coreos.live.rootfs_url={url}"));
    Ok(custom.apply(&Iso::open(minimal)?)?)
}

fn customization(planned: &Planned, made: &Boots) -> Customization {
    Customization {
        ignition: Some(made.ignition.clone().into()),
        ramdisks: vec![made.programs.clone()],
        kargs: Edits {
            append: planned.kernel_arguments(),
            ..Edits::default()
        },
    }
}

fn rootfs_name(planned: &Planned) -> String {
    format!(
        "{}.{}-rootfs.img",
        planned.file_prefix(),
        planned.architecture()
    )
}

/// Writes the root file system that a minimal image fetches.
pub fn write_rootfs(directory: &Path, planned: &Planned, made: &Boots) -> anyhow::Result<()> {
    let folder = fresh_folder(directory)?;
    let rootfs = PxeSet::of(&made.iso, &View::default())?.rootfs;
    write(&folder.join(rootfs_name(planned)), &rootfs)
}

/// Writes the files for a network boot; gives the kernel arguments.
pub fn pxe(directory: &Path, planned: &Planned, made: &Boots) -> anyhow::Result<String> {
    let folder = fresh_folder(directory)?;
    let mut custom = customization(planned, made);
    let early = planned.early_ramdisk().map_err(|why| anyhow!(why))?;
    custom.ramdisks.extend(early.map(View::bytes));
    let set = PxeSet::of(&made.iso, &custom.payload()?)?;
    let prefix = planned.file_prefix();
    let name = |part: &str| format!("{prefix}.{}{part}", planned.architecture());
    write(&folder.join(rootfs_name(planned)), &set.rootfs)?;
    write(&folder.join(name("-initrd.img")), &set.initrd)?;
    write(&folder.join(name("-vmlinuz")), &set.kernel)?;

    let published = KernelArguments::read(&made.iso)?;
    let published = published.default.unwrap_or(published.current);
    let words = published
        .split_whitespace()
        .filter(|word| !word.starts_with("coreos.liveiso="));
    let words: Vec<String> = words
        .map(str::to_owned)
        .chain(planned.kernel_arguments())
        .collect();
    let arguments = words.join(" ");
    if let Some(base) = planned.boot_artifacts_url() {
        let script = format!(
            "#!ipxe\ninitrd --name initrd {base}/{}\nkernel {base}/{} initrd=initrd \
             coreos.live.rootfs_url={base}/{} {arguments}\nboot\n",
            name("-initrd.img"),
            name("-vmlinuz"),
            rootfs_name(planned),
        );
        write(
            &folder.join(name(".ipxe")),
            &View::bytes(script.into_bytes()),
        )?;
    }
    if planned.architecture() == "s390x" {
        let place = addrsize(&made.iso, &set.initrd)?;
        write(&folder.join(name("-initrd.addrsize")), &View::bytes(place))?;
        let ins = made
            .iso
            .small_file("generic.ins", 64 << 10)?
            .context("the base ISO has no generic.ins")?;
        let ins = with_names(&String::from_utf8_lossy(&ins), &name);
        write(
            &folder.join(name("-generic.ins")),
            &View::bytes(ins.into_bytes()),
        )?;
        let parameters = View::bytes(format!("{arguments}\n").into_bytes());
        write(&folder.join(name(".prm")), &parameters)?;
    }
    Ok(arguments)
}

/// The list of what an s390x machine loads where, with the names of our files.
fn with_names(list: &str, name: &dyn Fn(&str) -> String) -> String {
    let lines = list.lines().map(|line| {
        let (path, place) = line.split_once(' ').unwrap_or((line, ""));
        let file = path.rsplit('/').next().unwrap_or(path);
        let own = match file {
            "kernel.img" | "vmlinuz" => name("-vmlinuz"),
            "initrd.img" => name("-initrd.img"),
            "initrd.addrsize" => name("-initrd.addrsize"),
            file if file.ends_with(".prm") => name(".prm"),
            _ => return format!("{line}\n"),
        };
        format!("{own} {place}\n")
    });
    lines.collect()
}

/// The ISO that carries configuration to hosts with an unconfigured image.
pub fn config_image(planned: &Planned, secrets: &Secrets) -> anyhow::Result<View> {
    let mut archive = Archive::default();
    for file in config_files(planned, secrets)? {
        let path = format!("/{}", file.path);
        archive.put(&path, 0o100_000 | file.mode, file.content);
    }
    let content = View::bytes(archive.gzip()?);
    let iso = ConfigIso::new("agent_configimage")?.file("config.gz", content)?;
    Ok(iso.build()?)
}

fn fresh_folder(directory: &Path) -> anyhow::Result<std::path::PathBuf> {
    let folder = directory.join(FOLDER);
    match fs::remove_dir_all(&folder) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            return Err(cause).with_context(|| format!("replacing {}", folder.display()));
        }
        Ok(()) | Err(_) => {}
    }
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    Ok(folder)
}

/// Writes a file in one step; it replaces what is there.
pub fn write(to: &Path, view: &View) -> anyhow::Result<()> {
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let shown = || format!("writing {}", to.display());
    let file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .with_context(shown)?;
    copy(view, file.as_file()).with_context(shown)?;
    file.persist(to).with_context(shown)?;
    Ok(())
}

/// Copies a view; what comes from files is copied by the kernel, as `cp` has it done.
fn copy(view: &View, to: &File) -> io::Result<()> {
    let mut position = 0;
    for range in view.ranges() {
        let by_kernel = match range {
            Range::Source {
                source,
                offset,
                len,
            } => match source.as_file() {
                Some(from) => copy_range(from, *offset, to, position, *len)?,
                None => 0,
            },
            // A hole reads as zeros.
            Range::Zeros(len) => *len,
            Range::Bytes(_) => 0,
        };
        let rest = view.slice(position + by_kernel, range.len() - by_kernel);
        let rest = rest.map_err(io::Error::other)?;
        let mut reader = rest.reader();
        let mut at = position + by_kernel;
        let mut buffer = vec![0; 1 << 20];
        while at < position + range.len() {
            let count = reader.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            to.write_all_at(&buffer[..count], at)?;
            at += count as u64;
        }
        position += range.len();
    }
    to.set_len(position)
}

/// Bytes that the kernel has copied; fewer than `len` where the file systems do not allow more.
fn copy_range(from: &File, offset: u64, to: &File, position: u64, len: u64) -> io::Result<u64> {
    /// More than the kernel takes at once.
    const MOST: u64 = 1 << 30;
    let mut done = 0;
    while done < len {
        let (mut source, mut target) = (offset + done, position + done);
        let count = usize::try_from((len - done).min(MOST)).unwrap_or(usize::MAX);
        let copied =
            rustix::fs::copy_file_range(from, Some(&mut source), to, Some(&mut target), count);
        match copied {
            Ok(0) | Err(rustix::io::Errno::XDEV | rustix::io::Errno::INVAL) => break,
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => break,
            Ok(count) => done += count as u64,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use muster_image::Source;

    use super::*;

    #[test]
    fn the_list_of_an_s390x_machine_names_our_files() {
        let list = "* a comment\nimages/kernel.img 0x00000000\nimages/initrd.img 0x02000000\n\
                    images/genericdvd.prm 0x00010480\nimages/initrd.addrsize 0x00010408\n";
        let name = |part: &str| format!("agent{part}");
        assert_eq!(
            with_names(list, &name),
            "* a comment\nagent-vmlinuz 0x00000000\nagent-initrd.img 0x02000000\n\
             agent.prm 0x00010480\nagent-initrd.addrsize 0x00010408\n"
        );
    }

    #[test]
    fn a_view_is_written_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        let content: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
        fs::write(&base, &content).unwrap();
        let source = Source::file(File::open(&base).unwrap()).unwrap();
        let mut view = View::of(source)
            .patched(1_500_000, &b"changed"[..])
            .unwrap();
        view.push(Range::Zeros(10_000));
        view.append(&View::bytes(&b"end"[..]));
        let to = folder.path().join("copy");
        write(&to, &view).unwrap();
        let mut expected = content;
        expected[1_500_000..1_500_007].copy_from_slice(b"changed");
        expected.extend([0; 10_000]);
        expected.extend(b"end");
        assert!(fs::read(&to).unwrap() == expected);
    }
}
