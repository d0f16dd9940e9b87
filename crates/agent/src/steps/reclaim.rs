//! `download-boot-artifacts` and `reboot-for-reclaim`: a node leaves its cluster and boots into
//! discovery from its own disk.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Component, Path, PathBuf},
    time::Duration,
};

use muster_machine::Task;
use serde::Deserialize;

use super::{
    Context, Outcome,
    args::{Unusable, Usable, WebUrl, one},
    web::{self, Trust, about},
};

const ATTEMPTS: u32 = 5;
const BETWEEN: Duration = Duration::from_secs(60);
const STALLED: Duration = Duration::from_secs(120);
/// Kernels and initrds of live images together stay below this.
const LARGEST: u64 = 2 << 30;

#[derive(Deserialize)]
struct Download {
    kernel_url: WebUrl,
    /// Signed, so it is shown nowhere.
    initrd_url: WebUrl,
    rootfs_url: WebUrl,
    host_fs_mount_dir: Root,
}

#[derive(Debug, Deserialize)]
struct Reboot {
    host_fs_mount_dir: Root,
}

/// Where the root of the node is seen: an absolute path without ways up.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Root(PathBuf);

impl TryFrom<String> for Root {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let path = PathBuf::from(&text);
        let plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        if path.is_absolute() && path.components().all(plain) && !text.contains(char::is_control) {
            return Ok(Self(path));
        }
        Err(format!("{text:?} is no plain absolute path"))
    }
}

impl Root {
    fn kernel(&self) -> PathBuf {
        self.0.join("boot/discovery/vmlinuz")
    }
    fn initrd(&self) -> PathBuf {
        self.0.join("boot/discovery/initrd")
    }
    fn entry(&self) -> PathBuf {
        self.0
            .join("boot/loader/entries/00-assisted-discovery.conf")
    }
}

pub(super) async fn download(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Download = one(args)?;
    let entry = entry(&request.rootfs_url)?;
    let root = &request.host_fs_mount_dir;
    if [root.kernel(), root.initrd(), root.entry()]
        .iter()
        .all(|path| path.exists())
    {
        return Ok(text("the boot files are there already"));
    }
    Ok(match fetch_all(context, &request, &entry).await {
        Ok(()) => text("the boot files are in place"),
        Err(problem) => Outcome::refused(problem),
    })
}

fn text(words: &str) -> Outcome {
    Outcome {
        output: words.to_owned(),
        ..Outcome::default()
    }
}

/// The boot loader's entry; it sorts before the installed system's.
fn entry(rootfs: &str) -> Usable<String> {
    // Kernel arguments are parted by blanks and may be quoted; a URL has neither.
    if rootfs.contains(['\'', '"', '\\']) {
        return Err(Unusable("rootfs_url has quotes or backslashes".to_owned()));
    }
    let s390x = std::env::consts::ARCH == "s390x";
    let (location, more) = if s390x {
        (
            format!("coreos.live.rootfs_url={rootfs}"),
            " ai.ip_cfg_override=1",
        )
    } else {
        (format!("'coreos.live.rootfs_url={rootfs}'"), "")
    };
    Ok(format!(
        "title Discovery of Muster\nversion 999\noptions random.trust_cpu=on ignition.firstboot \
         ignition.platform.id=metal {location}{more}\nlinux /boot/discovery/vmlinuz\n\
         initrd /boot/discovery/initrd\n"
    ))
}

async fn fetch_all(context: &Context, request: &Download, entry: &str) -> Result<(), String> {
    let root = &request.host_fs_mount_dir;
    let boot = root.0.join("boot");
    writable(&boot)?;
    for folder in [boot.join("discovery"), boot.join("loader/entries")] {
        fs::create_dir_all(&folder).map_err(|cause| about(&folder, &cause))?;
    }
    let trust = match &context.link.directions().cacert {
        Some(path) => Trust::Only(fs::read(path).map_err(|cause| about(path, &cause))?),
        None => Trust::System,
    };
    let client = web::client_with(&trust, |builder| builder.read_timeout(STALLED))?;
    // Beside their destination, so that a rename puts them in place: a node that loses power
    // half-way never boots half a kernel.
    for (url, place) in [
        (&request.kernel_url, root.kernel()),
        (&request.initrd_url, root.initrd()),
    ] {
        let name = place
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let part = place.with_extension("part");
        let mut attempt = 1;
        loop {
            match fetch(context, &client, url, &part, &boot).await {
                Ok(()) => break,
                Err(problem) if attempt == ATTEMPTS => {
                    let _ = fs::remove_file(&part);
                    return Err(format!("{name}: {problem}"));
                }
                Err(problem) => tracing::warn!("{name}: {problem}; trying again"),
            }
            attempt += 1;
            tokio::time::sleep(BETWEEN).await;
        }
        fs::rename(&part, &place).map_err(|cause| about(&place, &cause))?;
    }
    let place = root.entry();
    let part = place.with_extension("part");
    let written = File::create(&part)
        .and_then(|mut file| {
            file.write_all(entry.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| fs::rename(&part, &place));
    written.map_err(|cause| about(&place, &cause))
}

/// `/boot` of a running node is mounted read-only.
fn writable(boot: &Path) -> Result<(), String> {
    use rustix::mount::{MountFlags, mount_remount};
    match mount_remount(boot, MountFlags::empty(), "") {
        Ok(()) => Ok(()),
        // No mount of its own; then the file system it is part of decides.
        Err(rustix::io::Errno::INVAL) => Ok(()),
        Err(cause) => Err(format!(
            "{} cannot be made writable: {cause}",
            boot.display()
        )),
    }
}

async fn fetch(
    context: &Context,
    client: &reqwest::Client,
    url: &str,
    part: &Path,
    boot: &Path,
) -> Result<(), String> {
    // URLs may be signed; errors of the client would quote them.
    let shown = |cause: reqwest::Error| web::error_chain(&cause.without_url());
    let mut response = client.get(url).send().await.map_err(shown)?;
    if !response.status().is_success() {
        return Err(format!("the server answers {}", response.status()));
    }
    let size = response.content_length().unwrap_or(0);
    if size > LARGEST {
        return Err(format!("{size} bytes is no boot file"));
    }
    make_room(context, boot, size).await?;
    let mut file = File::create(part).map_err(|cause| about(part, &cause))?;
    let mut written = 0;
    while let Some(chunk) = response.chunk().await.map_err(shown)? {
        written += chunk.len() as u64;
        if written > LARGEST {
            return Err("the answer does not end".to_owned());
        }
        file.write_all(&chunk)
            .map_err(|cause| about(part, &cause))?;
    }
    if written == 0 || (size > 0 && written != size) {
        return Err(format!("{written} of {size} bytes arrived"));
    }
    file.sync_all().map_err(|cause| about(part, &cause))
}

/// Old deployments of the operating system are the only thing in `/boot` that can go.
async fn make_room(context: &Context, boot: &Path, size: u64) -> Result<(), String> {
    let free = || -> io::Result<u64> {
        let about = rustix::fs::statvfs(boot)?;
        Ok(about.f_bavail * about.f_frsize)
    };
    let describe = |cause: io::Error| about(boot, &cause);
    if free().map_err(describe)? > size {
        return Ok(());
    }
    let cleanup =
        Task::new("rpm-ostree", "make room in /boot").args(["cleanup", "--os=rhcos", "-r"]);
    let _ = context
        .task(cleanup.deadline(Duration::from_secs(300)))
        .await;
    let free = free().map_err(describe)?;
    if free > size {
        return Ok(());
    }
    Err(format!(
        "{} has room for {free} bytes, {size} are needed",
        boot.display()
    ))
}

pub(super) async fn reboot(context: &Context, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Reboot = one(args)?;
    let Root(root) = &request.host_fs_mount_dir;
    if std::env::consts::ARCH == "s390x" {
        return Ok(Outcome::refused(
            "on s390x the boot record has to be written by zipl, which this agent cannot do yet",
        ));
    }
    let reboot = Task::new("chroot", "boot into discovery").args([
        root.to_string_lossy().into_owned(),
        "systemctl".into(),
        "reboot".into(),
    ]);
    Ok(match context.task(reboot).await {
        Ok(finished) if finished.succeeded() => Outcome::default(),
        Ok(finished) => Outcome::failed(finished.code.unwrap_or(-1).into(), finished.err()),
        Err(cause) => Outcome::refused(cause.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;
    use crate::steps::tests::{answering, on};

    #[tokio::test]
    async fn kernel_initrd_and_entry_are_put_in_place() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("boot")).unwrap();
        let url = answering("200 OK", "kernel").await;
        let args = serde_json::json!({
            "kernel_url": url, "initrd_url": format!("{url}/i?api_key=hush"),
            "rootfs_url": "http://x/rootfs.img", "host_fs_mount_dir": root.path(),
        });
        let (context, _) = on(Simulated::default());
        let outcome = download(&context, vec![args.to_string()]).await.unwrap();
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        let here = Root(root.path().into());
        assert_eq!(fs::read(here.kernel()).unwrap(), b"kernel");
        assert!(here.initrd().exists());
        let entry = fs::read_to_string(here.entry()).unwrap();
        assert!(
            entry.contains("'coreos.live.rootfs_url=http://x/rootfs.img'"),
            "{entry}"
        );
        let again = download(&context, vec![args.to_string()]).await.unwrap();
        assert!(again.output.contains("already"));
    }

    #[tokio::test]
    async fn a_reboot_goes_through_the_given_root() {
        let machine = Simulated::default();
        machine.on(["chroot"], Finished::with_output(""));
        let (context, machine) = on(machine);
        let args = vec![r#"{"host_fs_mount_dir":"/host"}"#.to_owned()];
        assert_eq!(reboot(&context, args).await.unwrap().exit_code, 0);
        assert_eq!(machine.ran(), [["chroot", "/host", "systemctl", "reboot"]]);
    }

    #[test]
    fn roots_are_plain_and_kernel_arguments_cannot_be_added() {
        for bad in ["", "host", "/host/../etc", "-x", "/a\nb"] {
            assert!(Root::try_from(bad.to_owned()).is_err(), "{bad}");
        }
        assert!(entry("http://x/' init=/bin/sh '").is_err());
    }
}
