//! What hosts boot: an ISO, or files for a network boot; and the ISO that only carries configuration.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    thread::JoinHandle,
};

use anyhow::Context;
use muster_assets::agent_based::{Planned, Secrets, config_files};
use muster_image::{
    Customization, Iso, Source, View,
    config_iso::ConfigIso,
    initrd::Archive,
    kargs::{Edits, KernelArguments},
    minimal::{self, Digest},
    pxe::{PxeSet, addrsize},
    view::Range,
};
use muster_model::Arch;

use super::{create::Boots, unfinished::Unfinished};

/// Folder of files for a network boot.
pub const FOLDER: &str = "boot-artifacts";

/// Writes the image; of the copy that was begun, if it has the form of its base.
pub fn write_iso(to: &Path, planned: &Planned, made: &mut Boots) -> anyhow::Result<()> {
    let view = iso(planned, made)?;
    match made.draft.take() {
        Some(draft) => draft.finish(to, &view),
        None => write(to, &view),
    }
}

/// The image.
fn iso(planned: &Planned, made: &Boots) -> anyhow::Result<View> {
    let mut custom = customization(planned, made);
    if !planned.is_minimal() {
        return Ok(custom.apply(&made.iso)?);
    }
    let early = planned.early_ramdisk()?;
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
    let early = planned.early_ramdisk()?;
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
    let base = planned.boot_artifacts_url();
    let rootfs = base.map(|base| format!("{base}/{}", rootfs_name(planned)));
    let of_network = of_network_boot(rootfs.as_deref(), &arguments);
    if let Some(base) = base {
        let script = format!(
            "#!ipxe\ninitrd --name initrd {base}/{}\nkernel {base}/{} initrd=initrd \
             {of_network}\nboot\n",
            name("-initrd.img"),
            name("-vmlinuz"),
        );
        write(
            &folder.join(name(".ipxe")),
            &View::bytes(script.into_bytes()),
        )?;
    }
    if planned.arch() == Ok(Arch::S390x) {
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
        // The loader passes on every byte of it: one line without an end.
        let parameters = View::bytes(of_network.into_bytes());
        write(&folder.join(name(".prm")), &parameters)?;
    }
    Ok(arguments)
}

/// The kernel arguments of a network boot, which needs to know where its root file system is.
fn of_network_boot(rootfs: Option<&str>, arguments: &str) -> String {
    match rootfs {
        Some(url) => format!("coreos.live.rootfs_url={url} {arguments}"),
        None => arguments.to_owned(),
    }
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
    let shown = || format!("writing {}", to.display());
    let file = Unfinished::in_folder(folder_of(to)).with_context(shown)?;
    copy(view, file.as_file(), None).with_context(shown)?;
    file.finish(to).with_context(shown)
}

fn folder_of(file: &Path) -> &Path {
    let folder = file.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// A copy of the base ISO, begun before it is known what the image changes in it: that takes as long
/// as making keys.
pub struct Draft {
    file: Unfinished,
    /// Device and number of the base ISO.
    base: (u64, u64),
    copying: JoinHandle<io::Result<()>>,
}

impl Draft {
    /// Begins to copy a file into a folder.
    pub fn begin(folder: &Path, base: &Path) -> anyhow::Result<Self> {
        let shown = || format!("copying {} to {}", base.display(), folder.display());
        let from = File::open(base).with_context(shown)?;
        let about = from.metadata().with_context(shown)?;
        let file = Unfinished::in_folder(folder).with_context(shown)?;
        let to = file.as_file().try_clone().with_context(shown)?;
        let whole = View::of(Source::file(from).with_context(shown)?);
        Ok(Self {
            file,
            base: (about.dev(), about.ino()),
            copying: std::thread::spawn(move || copy(&whole, &to, None)),
        })
    }

    /// Makes the image of it: writes what differs, and gives the file its name.
    pub fn finish(self, to: &Path, view: &View) -> anyhow::Result<()> {
        let shown = || format!("writing {}", to.display());
        let copied = self.copying.join();
        let copied = copied.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        copied.with_context(shown)?;
        copy(view, self.file.as_file(), Some(self.base)).with_context(shown)?;
        self.file.finish(to).with_context(shown)
    }
}

/// Copies a view; what comes from files is copied by the kernel, as `cp` has it done. `there` is a
/// file that was copied before: what is at the same place in it stays.
fn copy(view: &View, to: &File, there: Option<(u64, u64)>) -> io::Result<()> {
    let is_there = |source: &Source, offset: u64, position: u64| -> io::Result<bool> {
        let (Some(there), Some(file)) = (there, source.as_file()) else {
            return Ok(false);
        };
        let about = file.metadata()?;
        Ok(offset == position && (about.dev(), about.ino()) == there)
    };
    let mut position = 0;
    for range in view.ranges() {
        if let Range::Source {
            source,
            offset,
            len,
        } = range
            && is_there(source, *offset, position)?
        {
            position += len;
            continue;
        }
        let by_kernel = match range {
            Range::Source {
                source,
                offset,
                len,
            } => match source.as_file() {
                Some(from) => copy_range(from, *offset, to, position, *len)?,
                None => 0,
            },
            // A hole reads as zeros, where nothing was written before.
            Range::Zeros(len) if there.is_none() => *len,
            Range::Zeros(_) => 0,
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
#[cfg(target_os = "linux")]
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

#[cfg(not(target_os = "linux"))]
fn copy_range(_: &File, _: u64, _: &File, _: u64, _: u64) -> io::Result<u64> {
    Ok(0)
}

#[cfg(test)]
mod tests {
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
    fn a_network_boot_knows_its_root_file_system() {
        let url = "http://192.168.111.1/boot/agent.s390x-rootfs.img";
        assert_eq!(
            of_network_boot(Some(url), "ignition.firstboot fips=1"),
            format!("coreos.live.rootfs_url={url} ignition.firstboot fips=1")
        );
        assert_eq!(
            of_network_boot(None, "ignition.firstboot"),
            "ignition.firstboot"
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
        let drafted = folder.path().join("drafted");
        let draft = Draft::begin(folder.path(), &base).unwrap();
        draft.finish(&drafted, &view).unwrap();
        let mut expected = content;
        expected[1_500_000..1_500_007].copy_from_slice(b"changed");
        expected.extend([0; 10_000]);
        expected.extend(b"end");
        assert!(fs::read(&to).unwrap() == expected);
        assert!(fs::read(&drafted).unwrap() == expected);
        // Zeros over what was copied, content that has moved, and an end that is cut off.
        let source = Source::file(File::open(&base).unwrap()).unwrap();
        let whole = View::of(source);
        let mut view = whole.slice(0, 1000).unwrap();
        view.push(Range::Zeros(1000));
        view.append(&whole.slice(1000, 5000).unwrap());
        let draft = Draft::begin(folder.path(), &base).unwrap();
        draft.finish(&drafted, &view).unwrap();
        let mut shorter = expected[..1000].to_vec();
        shorter.extend([0; 1000]);
        shorter.extend(&expected[1000..6000]);
        assert!(fs::read(&drafted).unwrap() == shorter);
    }
}
