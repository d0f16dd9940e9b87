//! A machine prepared from a seed in a real registry, with the real ostree and tar. Only what needs a
//! disk of its own is stood in: its partitions are a folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../../release/tests/registry/support/mod.rs"]
mod support;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, SystemTime},
};

use clap::Parser;
use muster_agent::image_based::{ImageBasedOptions, Registry as Seeds};
use muster_installer::{
    error::InstallError,
    image_based::{
        progress::Event,
        run::{Around, Fetch, install},
    },
};
use muster_machine::{
    Finished, Kernel, Kind, Machine, Network, Node, Real, Simulated, Task, TaskError, Tree,
};
use support::{
    images::{Packing, Recipe, layer, push},
    link::Link,
    noise, secret_text,
    server::{PASSWORD, Registry},
};

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    options: ImageBasedOptions,
}

fn sh(folder: &Path, script: &str) -> String {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{script}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A tree that ostree can deploy, as a commit in a repository.
fn commit(folder: &Path, name: &str, payload: usize) -> String {
    fs::write(folder.join("payload"), noise(payload, 7)).unwrap();
    sh(
        folder,
        &format!(
            "rm -rf tree; mkdir -p tree/usr/etc tree/usr/lib/modules/6.1 tree/usr/share
             echo kernel > tree/usr/lib/modules/6.1/vmlinuz
             echo initrd > tree/usr/lib/modules/6.1/initramfs.img
             printf 'NAME={name}\\nID={name}\\nVERSION_ID=1\\nPRETTY_NAME={name}\\n' > tree/usr/lib/os-release
             echo {name} > tree/usr/etc/release
             echo x > tree/usr/etc/gone
             mv payload tree/usr/share/payload
             ostree --repo={name} init --mode=bare
             ostree --repo={name} commit --branch=b --no-xattrs --owner-uid=0 --owner-gid=0 tree"
        ),
    )
}

/// The real files and programs below a folder that plays `/mnt`; devices are simulated.
#[derive(Debug)]
struct Desk {
    root: PathBuf,
    devices: Simulated,
    /// Repository and commit of the operating system that `coreos-installer` brings.
    first: (PathBuf, String),
    pulled: Mutex<Vec<String>>,
    /// Commands until the process is stopped; none is run from then on.
    fuse: AtomicUsize,
}

impl Desk {
    fn new(root: &Path, first: (PathBuf, String)) -> Self {
        let devices = Simulated::new(Tree::default());
        devices.change(|tree| {
            tree.line("/sys/block/vda/dev", "252:0");
            tree.insert("/dev/vda", Node::Block(vec![]));
            tree.insert("/proc/1/mountinfo", Node::File(vec![]));
        });
        Self {
            root: root.to_owned(),
            devices,
            first,
            pulled: Mutex::default(),
            fuse: AtomicUsize::new(usize::MAX),
        }
    }

    fn inside(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix("/mnt").ok()?;
        Some(self.root.join(below))
    }

    fn label(&self, labels: &[&str]) {
        self.devices.change(|tree| {
            for (index, label) in labels.iter().enumerate() {
                let number = index + 1;
                let folder = format!("/sys/block/vda/vda{number}");
                tree.line(format!("{folder}/dev"), &format!("252:{number}"));
                tree.line(format!("{folder}/partition"), &number.to_string());
                tree.line(format!("{folder}/uevent"), &format!("PARTNAME={label}"));
                tree.insert(format!("/dev/vda{number}"), Node::Block(vec![]));
            }
        });
    }

    fn perform(&self, task: &Task) -> Result<Finished, TaskError> {
        const LABELS: [&str; 5] = [
            "BIOS-BOOT",
            "EFI-SYSTEM",
            "boot",
            "root",
            "var-lib-containers",
        ];
        match task.program.as_str() {
            "coreos-installer" => {
                let (repository, commit) = &self.first;
                sh(
                    &self.root,
                    &format!(
                        "chattr -R -i . 2>/dev/null || true; rm -rf ostree boot; mkdir -p boot
                         ostree admin init-fs --modern . ; ostree admin os-init --sysroot . rhcos
                         ostree pull-local --repo ostree/repo {} {commit}
                         ostree admin deploy --sysroot . --os rhcos {commit}",
                        repository.display()
                    ),
                );
                self.label(&LABELS[..4]);
            }
            "sfdisk" => self.label(&LABELS),
            "blockdev" if task.args[0] == "--getss" => return Ok(Finished::with_output("512")),
            "blockdev" => return Ok(Finished::with_output((100_u64 << 30).to_string())),
            "podman" => self
                .pulled
                .lock()
                .unwrap()
                .push(task.args.last().unwrap().clone()),
            "wipefs" | "udevadm" | "mkfs.xfs" | "growpart" | "xfs_growfs" | "mount" | "umount"
            | "restorecon" | "sync" | "systemctl" => {}
            "cp" | "chcon" => return Ok(Finished::failed(1, "there is no SELinux here")),
            _ => {
                let mut task = task.clone();
                for word in &mut task.args {
                    if let Some(path) = self.inside(Path::new(word.as_str())) {
                        *word = path.display().to_string();
                    }
                }
                return Real.run(&task);
            }
        }
        Ok(Finished::with_output(""))
    }
}

impl Machine for Desk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.inside(path) {
            Some(path) => fs::read(path),
            None => self.devices.read(path),
        }
    }
    fn read_start(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        self.devices.read_start(path, length)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.devices.list(path)
    }
    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        self.devices.link(path)
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.devices.resolve(path)
    }
    fn kind(&self, path: &Path) -> io::Result<Kind> {
        match self.inside(path) {
            Some(path) => Real.kind(&path),
            None => self.devices.kind(path),
        }
    }
    fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        match self.inside(path) {
            Some(path) => Real.write(&path, content, mode),
            None => self.devices.write(path, content, mode),
        }
    }
    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        match self.inside(path) {
            Some(path) => Real.make_directory(&path, mode),
            None => self.devices.make_directory(path, mode),
        }
    }
    fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        self.devices.make_link(path, target)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        match self.inside(path) {
            Some(path) => fs::remove_file(path),
            None => self.devices.remove(path),
        }
    }
    fn network(&self) -> io::Result<Network> {
        self.devices.network()
    }
    fn kernel(&self) -> Kernel {
        self.devices.kernel()
    }
    fn run(&self, task: &Task) -> Result<Finished, TaskError> {
        let left = self.fuse.load(SeqCst);
        if left == 0 {
            return Ok(Finished::failed(255, "the power is off"));
        }
        self.fuse.store(left - 1, SeqCst);
        self.perform(task)
    }
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// The seed goes below the folder too.
struct Below<'a>(&'a Desk, Seeds<'a>);

impl Fetch for Below<'_> {
    fn fetch(
        &self,
        image: &str,
        into: &Path,
        tar: &str,
        report: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), String> {
        if self.0.fuse.load(SeqCst) == 0 {
            return Err("the power is off".to_owned());
        }
        self.1
            .fetch(image, &self.0.inside(into).unwrap(), tar, report)
    }
}

fn prepare(
    desk: &Desk,
    options: &ImageBasedOptions,
    config: &str,
) -> (Result<(), InstallError>, Vec<Event>) {
    let events = Mutex::new(Vec::new());
    let around = Around {
        seeds: &Below(desk, Seeds { options }),
        pull_secret: "/var/tmp/pull-secret.json".into(),
        post_script: "/nowhere".into(),
        report: &|event| events.lock().unwrap().push(event.clone()),
        sleep: &|_: Duration| {},
    };
    let ended = install(desk, config.as_bytes(), &around);
    (ended, events.into_inner().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_becomes_the_only_deployment_of_a_machine() {
    support::init();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let first = commit(at, "first", 10);
    let seed = commit(at, "seed", 3 << 20);
    sh(
        at,
        "tar -czf ostree.tgz -C seed .
         mkdir -p v/var/lib e/etc; echo of-the-seed > v/var/lib/marker; echo site > e/etc/site.conf
         tar -czf var.tgz -C v var; tar -czf etc.tgz -C e etc",
    );
    let read = |name: &str| fs::read(at.join(name)).unwrap();
    let status = format!(r#"{{"deployments":[{{"id":"rhcos-{seed}.0","booted":true}}]}}"#);
    let origin = format!("ostree-{seed}.0.origin");
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("lca-cli", noise(100_000, 3)),
        (
            "manifest.json",
            br#"{"seed_cluster_ocp_version":"4.18.5"}"#.to_vec(),
        ),
        ("rpm-ostree.json", status.into_bytes()),
        (
            "mco-currentconfig.json",
            br#"{"spec":{"kernelArguments":["seed.arg=1"]}}"#.to_vec(),
        ),
        ("containers.list", b"quay.io/a@sha256:1".to_vec()),
        ("etc.deletions", b"/etc/gone\n/etc/never-there".to_vec()),
        (
            &origin,
            b"[origin]\ncontainer-image-reference=seed\n".to_vec(),
        ),
        ("ostree.tgz", read("ostree.tgz")),
        ("var.tgz", read("var.tgz")),
        ("etc.tgz", read("etc.tgz")),
    ];
    let entries: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (*name, &**bytes))
        .collect();

    let registry = Registry::start().await;
    let recipe = Recipe::new(vec![layer(Packing::Gzip, &entries)]);
    let pushed = push(&registry, "seeds/a", "1", recipe).await;
    // The first two connections break in the middle of the layer.
    let link = Link::to(registry.host()).await;
    link.behaviour.cut_after.store(1 << 20, SeqCst);
    link.behaviour.cuts.store(2, SeqCst);
    fs::write(
        at.join("pull-secret.json"),
        secret_text(&[&link.host()], PASSWORD),
    )
    .unwrap();
    let file = |name: &str| at.join(name).display().to_string();
    let options = Cli::parse_from([
        "agent",
        "--pull-secret-file",
        &file("pull-secret.json"),
        "--trust",
        &registry.ca_file().display().to_string(),
        "--registries",
        "/nowhere",
    ])
    .options;
    let config = format!(
        r#"{{"seedImage":"{}/seeds/a@sha256:{}","seedVersion":"4.18.5","installationDisk":"/dev/vda","shutdown":true,"coreosInstallerArgs":["--append-karg","user.arg=2"]}}"#,
        link.host(),
        pushed.digest.hex()
    );
    let disk = at.join("disk");
    fs::create_dir(&disk).unwrap();
    let desk = Desk::new(&disk, (at.join("first"), first));

    let ended = tokio::task::spawn_blocking(move || {
        // Stopped after the import, then started again.
        desk.fuse.store(25, SeqCst);
        let (stopped, before) = prepare(&desk, &options, &config);
        assert!(stopped.is_err(), "{before:?}");
        desk.fuse.store(usize::MAX, SeqCst);
        let (ended, after) = prepare(&desk, &options, &config);
        ended.unwrap_or_else(|why| panic!("{why}; {after:?}"));
        let fetched = |events: &[Event]| {
            events
                .iter()
                .any(|event| matches!(event, Event::Bytes { .. }))
        };
        assert!(fetched(&before), "{before:?}");
        assert!(!fetched(&after), "the seed is pulled once: {after:?}");
        desk
    });
    let desk = ended.await.unwrap();
    let status = sh(&disk, "ostree admin status --sysroot .");
    assert_eq!(status.matches("rhcos").count(), 1, "{status}");
    let state = disk.join("ostree/deploy/rhcos_4.18.5");
    let deployment = state.join(format!("deploy/{seed}.0"));
    let text = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text(deployment.join("etc/site.conf")), "site\n");
    assert_eq!(text(deployment.join("etc/release")), "seed\n");
    assert!(!deployment.join("etc/gone").exists());
    assert_eq!(text(state.join("var/lib/marker")), "of-the-seed\n");
    assert!(
        text(state.join(format!("deploy/{seed}.0.origin"))).contains("container-image-reference")
    );
    assert_eq!(
        fs::read(deployment.join("usr/share/payload")).unwrap(),
        noise(3 << 20, 7)
    );
    let entry = sh(&disk, "cat boot/loader/entries/*.conf");
    assert!(
        entry.contains("seed.arg=1") && entry.contains("user.arg=2"),
        "{entry}"
    );
    assert!(
        !disk.join("ostree/muster-image-based").exists()
            && !disk.join("ostree/deploy/rhcos").exists()
    );
    assert!(
        text(state.join("var/log/muster-image-based/journal.json")).contains("remove-first-os")
    );
    let log = text(state.join("var/log/muster-image-based/installation.log"));
    assert!(
        log.contains("failed: ") && log.contains("done before: write the operating system"),
        "{log}"
    );
    assert_eq!(*desk.pulled.lock().unwrap(), ["quay.io/a@sha256:1"]);
    // Deployments are immutable, and folders of tests are removed.
    sh(&disk, "chattr -R -i ostree 2>/dev/null || true");
}
