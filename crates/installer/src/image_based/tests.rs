//! A machine that is cut off at any command comes up again and is prepared in the end.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::{Duration, SystemTime},
};

use muster_machine::{
    Finished, Kernel, Kind, Machine, Network, Node, Simulated, Task, TaskError, Tree,
};

use super::{
    partition::PartitionError,
    plan::Step,
    processors::ProcessorsError,
    progress::Event,
    run::{Around, Fetch, WORK, install},
};
use crate::{disk::Refused, error::InstallError};

const CONFIG: &str = r#"{"seedImage":"lab/seed@sha256:1","seedVersion":"4.18.5-rc.1","installationDisk":"/dev/disk/by-id/one","shutdown":true,"coreosInstallerArgs":["--append-karg","console=ttyS0"]}"#;

fn commit() -> String {
    "c".repeat(64)
}

/// A machine with one disk and a scripted world of programs.
#[derive(Debug)]
struct Bench {
    inner: Simulated,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What is on the root file system of the disk; seen below `/mnt` while it is mounted.
    disk: BTreeMap<PathBuf, Vec<u8>>,
    partitions: Vec<&'static str>,
    formatted: bool,
    imported: bool,
    deployments: Vec<String>,
    mounted: Vec<String>,
    ran: Vec<Vec<String>>,
    pulled: Vec<String>,
    /// Commands until the power is cut.
    fuse: Option<usize>,
    dead: bool,
    off: bool,
    seed_failures: usize,
    pull_failures: usize,
    /// One more kernel argument of the seed.
    isolated: Option<&'static str>,
}

impl Bench {
    fn new() -> Self {
        let inner = Simulated::new(Tree::default());
        inner.change(|tree| {
            tree.line("/sys/block/vda/dev", "252:0");
            tree.insert("/dev/vda", Node::Block(vec![]));
            tree.insert("/dev/disk/by-id/one", Node::Link("../../vda".into()));
            tree.line("/sys/block/vdb/dev", "252:16");
            tree.insert("/dev/vdb", Node::Block(vec![]));
            // Another disk with the same labels: it must never be touched.
            tree.line("/sys/block/vdb/vdb4/dev", "252:20");
            tree.line("/sys/block/vdb/vdb4/partition", "4");
            tree.line("/sys/block/vdb/vdb4/uevent", "PARTNAME=root");
            tree.insert("/dev/vdb4", Node::Block(vec![]));
            tree.insert("/var/tmp/post.sh", Node::File(b"true".to_vec()));
            tree.line("/etc/containers/registries.conf", "");
        });
        Self {
            inner,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Power comes back: what was in memory is gone.
    fn power_on(&self) {
        let mut state = self.state();
        state.dead = false;
        state.fuse = None;
        state.mounted.clear();
        self.inner.change(|tree| {
            let _ = tree.remove(Path::new("/run/muster-image-based/mounted"));
        });
        drop(state);
        self.show();
    }

    /// Shows partitions and mounts where the kernel does.
    fn show(&self) {
        let state = self.state();
        self.inner.change(|tree| {
            for (index, label) in state.partitions.iter().enumerate() {
                let number = index + 1;
                let folder = format!("/sys/block/vda/vda{number}");
                tree.line(format!("{folder}/dev"), &format!("252:{number}"));
                tree.line(format!("{folder}/partition"), &number.to_string());
                // The one that was grown has its label only in the files of udev.
                match *label {
                    "root" => tree.line(
                        format!("/run/udev/data/b252:{number}"),
                        &format!("E:ID_PART_ENTRY_NAME={label}"),
                    ),
                    _ => tree.line(format!("{folder}/uevent"), &format!("PARTNAME={label}")),
                }
                tree.insert(format!("/dev/vda{number}"), Node::Block(vec![]));
            }
            // A new partition table has forgotten the others.
            for number in state.partitions.len() + 1..=5 {
                let _ = tree.remove(Path::new(&format!("/run/udev/data/b252:{number}")));
                for file in ["dev", "partition", "uevent"] {
                    let path = format!("/sys/block/vda/vda{number}/{file}");
                    let _ = tree.remove(Path::new(&path));
                }
                let _ = tree.remove(Path::new(&format!("/dev/vda{number}")));
            }
            let lines: Vec<String> = state
                .mounted
                .iter()
                .map(|at| format!("1 1 0:99 / {at} rw - xfs none rw"))
                .collect();
            tree.insert(
                "/proc/1/mountinfo",
                Node::File(lines.join("\n").into_bytes()),
            );
        });
    }

    fn is_on_disk(&self, path: &Path) -> bool {
        path.starts_with("/mnt") && path != Path::new("/mnt")
    }

    fn disk_file(&self, path: &str) -> Option<Vec<u8>> {
        self.state().disk.get(Path::new(path)).cloned()
    }

    fn perform(&self, words: &[&str]) -> Finished {
        let mut state = self.state();
        let root_mounted = state.mounted.iter().any(|at| at == "/mnt");
        match words {
            ["coreos-installer", "install", "/dev/vda", ..] => {
                state.disk.clear();
                state.formatted = false;
                state.imported = false;
                state.partitions = vec!["BIOS-BOOT", "EFI-SYSTEM", "boot", "root"];
                state.deployments = vec!["rhcos".to_owned()];
            }
            ["sfdisk", "--append", "/dev/vda"] => state.partitions.push("var-lib-containers"),
            ["mkfs.xfs", "-f", "/dev/vda5"] => state.formatted = true,
            ["mount", "-o", _, device, at] => {
                if *device == "/dev/vda5" && !state.formatted {
                    return Finished::failed(32, "wrong fs type");
                }
                state.mounted.push((*at).to_owned());
            }
            ["umount", at] => state.mounted.retain(|mounted| mounted != at),
            ["blockdev", "--getsize64", _] => return Finished::with_output("128849018880\n"),
            ["blockdev", "--getss", _] => return Finished::with_output("512\n"),
            ["growpart", "/dev/vda", "4"] => return Finished::failed(1, "NOCHANGE: partition 4"),
            ["ostree", "pull-local", ..] if root_mounted => state.imported = true,
            ["ostree", "admin", "status", ..] if root_mounted => {
                let lines: Vec<String> = state
                    .deployments
                    .iter()
                    .map(|root| format!("  {root} {}.0", commit()))
                    .collect();
                return Finished::with_output(lines.join("\n"));
            }
            ["ostree", "admin", "os-init", ..] if root_mounted => {}
            ["ostree", "admin", "deploy", ..] if state.imported => {
                state.deployments.insert(0, "rhcos_4.18.5_rc.1".to_owned());
            }
            ["ostree", "admin", "undeploy", _, _, index] => {
                state.deployments.remove(index.parse().unwrap());
            }
            ["podman", "pull", .., image] => {
                if state.pull_failures > 0 {
                    state.pull_failures -= 1;
                    return Finished::failed(125, "connection refused");
                }
                assert!(state.mounted.iter().any(|at| at == "/var/lib/containers"));
                state.pulled.push((*image).to_owned());
            }
            ["rm", "-rf", path] => {
                let path = PathBuf::from(path);
                state.disk.retain(|file, _| !file.starts_with(&path));
            }
            ["systemctl", "poweroff"] => state.off = true,
            [
                "wipefs" | "udevadm" | "restorecon" | "xfs_growfs" | "cp" | "chcon" | "bash",
                ..,
            ] => {}
            ["sync", "-f", "/mnt", "/mnt/boot", "/var/lib/containers"] if root_mounted => {}
            [program, ..] if program.ends_with("tar") => {}
            other => panic!("no such program: {other:?}"),
        }
        Finished::with_output("")
    }
}

impl Machine for Bench {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if self.is_on_disk(path) {
            let state = self.state();
            let mounted = state.mounted.iter().any(|at| at == "/mnt");
            let found = state.disk.get(path).filter(|_| mounted && !state.dead);
            return found.cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        }
        self.inner.read(path)
    }
    fn read_start(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        self.inner.read_start(path, length)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.inner.list(path)
    }
    fn link(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.link(path)
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.resolve(path)
    }
    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.inner.kind(path)
    }
    fn write(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        if self.is_on_disk(path) {
            let mut state = self.state();
            if state.dead || !state.mounted.iter().any(|at| at == "/mnt") {
                return Err(io::ErrorKind::NotFound.into());
            }
            state.disk.insert(path.to_owned(), content.to_vec());
            return Ok(());
        }
        self.inner.write(path, content, mode)
    }
    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        match self.is_on_disk(path) {
            true => Ok(()),
            false => self.inner.make_directory(path, mode),
        }
    }
    fn make_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        self.inner.make_link(path, target)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        match self.is_on_disk(path) {
            true => self
                .state()
                .disk
                .remove(path)
                .map(drop)
                .ok_or_else(|| io::ErrorKind::NotFound.into()),
            false => self.inner.remove(path),
        }
    }
    fn network(&self) -> io::Result<Network> {
        self.inner.network()
    }
    fn kernel(&self) -> Kernel {
        self.inner.kernel()
    }
    fn run(&self, task: &Task) -> Result<Finished, TaskError> {
        {
            let mut guard = self.state();
            let state = &mut *guard;
            if let Some(fuse) = &mut state.fuse {
                if *fuse == 0 {
                    state.dead = true;
                } else {
                    *fuse -= 1;
                }
            }
            if state.dead {
                return Ok(Finished::failed(255, "the power is off"));
            }
            state.ran.push(task.command());
        }
        if matches!(&*task.program, "mount" | "umount" | "sync" | "wipefs") {
            assert!(task.deadline >= Duration::from_secs(20 * 60), "{task:?}");
        }
        let command = task.command();
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let finished = self.perform(&words);
        self.show();
        Ok(finished)
    }
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// Puts the files of a seed onto the machine's disk.
impl Fetch for Bench {
    fn fetch(
        &self,
        image: &str,
        into: &Path,
        _tar: &str,
        report: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), String> {
        assert_eq!(image, "lab/seed@sha256:1");
        let mut state = self.state();
        if state.dead {
            return Err("the power is off".to_owned());
        }
        if state.seed_failures > 0 {
            state.seed_failures -= 1;
            return Err("the registry is away".to_owned());
        }
        let status = format!(
            r#"{{"deployments":[{{"id":"rhcos-{}.0","booted":true}}]}}"#,
            commit()
        );
        let arguments: Vec<&str> = ["a=1"].into_iter().chain(state.isolated).collect();
        let machine_config = format!(r#"{{"spec":{{"kernelArguments":{arguments:?}}}}}"#);
        for (name, text) in [
            ("rpm-ostree.json", status.as_str()),
            (
                "manifest.json",
                r#"{"seed_cluster_ocp_version":"4.18.5-rc.1"}"#,
            ),
            ("mco-currentconfig.json", machine_config.as_str()),
            ("containers.list", "quay.io/a@sha256:1\nquay.io/b@sha256:2"),
            ("etc.deletions", "/etc/gone"),
            (&format!("ostree-{}.0.origin", commit()), "[origin]"),
        ] {
            state.disk.insert(into.join(name), text.as_bytes().to_vec());
        }
        report(1, 1);
        Ok(())
    }
}

fn prepare(bench: &Bench, config: &str) -> (Result<(), InstallError>, Vec<Event>) {
    let events = Mutex::new(Vec::new());
    let around = Around {
        seeds: bench,
        pull_secret: "/var/tmp/pull-secret.json".into(),
        post_script: "/var/tmp/post.sh".into(),
        report: &|event| events.lock().unwrap().push(event.clone()),
        sleep: &|_: Duration| {},
    };
    let ended = install(bench, config.as_bytes(), &around);
    (ended, events.into_inner().unwrap())
}

fn is_prepared(bench: &Bench) {
    let state = bench.state();
    assert!(state.off, "it powers off");
    assert_eq!(state.deployments, ["rhcos_4.18.5_rc.1"]);
    assert!(state.mounted.is_empty(), "{:?}", state.mounted);
    assert!(
        !state.disk.keys().any(|path| path.starts_with(WORK)),
        "work files are removed"
    );
    let mut pulled = state.pulled.clone();
    pulled.sort();
    pulled.dedup();
    assert_eq!(pulled, ["quay.io/a@sha256:1", "quay.io/b@sha256:2"]);
    let root = "/mnt/ostree/deploy/rhcos_4.18.5_rc.1";
    assert!(state.disk.contains_key(Path::new(&format!(
        "{root}/var/log/muster-image-based/journal.json"
    ))));
    let log = format!("{root}/var/log/muster-image-based/installation.log");
    let log = String::from_utf8_lossy(&state.disk[Path::new(&log)]).into_owned();
    for line in [
        "1970-01-01T00:00:00.000Z write the operating system\n",
        "done: pull the images of the release\n",
    ] {
        assert!(log.contains(line), "{line}: {log}");
    }
    let origin = format!("{root}/deploy/{}.0.origin", commit());
    assert_eq!(state.disk[Path::new(&origin)], b"[origin]");
    for command in &state.ran {
        assert!(
            !command.iter().any(|word| word.contains("vdb")),
            "another disk: {command:?}"
        );
    }
}

fn count(bench: &Bench, words: &[&str]) -> usize {
    let state = bench.state();
    state
        .ran
        .iter()
        .filter(|command| command.iter().zip(words).filter(|(a, b)| a == b).count() == words.len())
        .count()
}

#[test]
fn a_machine_is_prepared_in_order_and_powers_off() {
    let bench = Bench::new();
    let (ended, events) = prepare(&bench, CONFIG);
    ended.unwrap();
    is_prepared(&bench);
    assert_eq!(events.last(), Some(&Event::Complete));
    let deploy = bench
        .state()
        .ran
        .iter()
        .find(|command| command.get(2).is_some_and(|word| word == "deploy"))
        .cloned();
    let deploy = deploy.unwrap().join(" ");
    assert!(
        deploy.contains("--karg-append a=1 --karg-append console=ttyS0"),
        "{deploy}"
    );
    assert!(deploy.ends_with(&commit()), "{deploy}");
    assert_eq!(bench.disk_file("/mnt/ostree/deploy/rhcos"), None);
}

#[test]
fn a_power_cut_at_any_command_is_survived() {
    let whole = Bench::new();
    prepare(&whole, CONFIG).0.unwrap();
    let commands = whole.state().ran.len();
    for cut in 0..commands {
        let bench = Bench::new();
        bench.state().fuse = Some(cut);
        let (ended, _) = prepare(&bench, CONFIG);
        let was_off = bench.state().off;
        assert!(ended.is_err() || was_off, "cut at {cut}");
        let journal = bench.disk_file(&format!("{WORK}/journal.json")).is_some();
        bench.power_on();
        if was_off {
            continue;
        }
        let (ended, events) = prepare(&bench, CONFIG);
        ended.unwrap_or_else(|why| panic!("cut at {cut}: {why}"));
        is_prepared(&bench);
        if journal {
            let skipped = events
                .iter()
                .filter(|event| matches!(event, Event::Skipped { .. }));
            assert!(
                skipped.count() >= 3,
                "cut at {cut}: it goes on where it was"
            );
            assert_eq!(
                count(&bench, &["coreos-installer"]),
                1,
                "cut at {cut}: the disk is written once"
            );
        }
    }
}

#[test]
fn a_process_that_is_started_again_goes_on() {
    let whole = Bench::new();
    prepare(&whole, CONFIG).0.unwrap();
    let commands = whole.state().ran.len();
    for cut in 0..commands {
        let bench = Bench::new();
        bench.state().fuse = Some(cut);
        if prepare(&bench, CONFIG).0.is_ok() {
            continue;
        }
        // The live system is still up: mounts and files in memory stay.
        {
            let mut state = bench.state();
            state.fuse = None;
            state.dead = false;
        }
        prepare(&bench, CONFIG)
            .0
            .unwrap_or_else(|why| panic!("cut at {cut}: {why}"));
        is_prepared(&bench);
    }
}

#[test]
fn registries_that_are_away_are_asked_again() {
    let bench = Bench::new();
    bench.state().seed_failures = 12;
    bench.state().pull_failures = 5;
    let (ended, events) = prepare(&bench, CONFIG);
    ended.unwrap();
    is_prepared(&bench);
    let again = events
        .iter()
        .filter(|event| matches!(event, Event::Again { .. }))
        .count();
    assert_eq!(again, 17);
    let log = "/mnt/ostree/deploy/rhcos_4.18.5_rc.1/var/log/muster-image-based/installation.log";
    let log = bench.disk_file(log).unwrap();
    let log = String::from_utf8_lossy(&log);
    assert_eq!(log.matches("; next attempt in ").count(), 17, "{log}");
}

#[test]
fn what_happened_before_a_power_cut_stays_known() {
    let bench = Bench::new();
    // Away for longer than is waited for: the journal has the first steps, and the log says why.
    bench.state().seed_failures = 1000;
    assert!(prepare(&bench, CONFIG).0.is_err());
    bench.power_on();
    bench.state().seed_failures = 0;
    prepare(&bench, CONFIG).0.unwrap();
    is_prepared(&bench);
    let log = "/mnt/ostree/deploy/rhcos_4.18.5_rc.1/var/log/muster-image-based/installation.log";
    let log = bench.disk_file(log).unwrap();
    let log = String::from_utf8_lossy(&log);
    let at = |words: &str| log.find(words).unwrap_or_else(|| panic!("{words}: {log}"));
    assert!(at("the registry is away") < at("failed: pull the seed image"));
    assert!(at("failed: pull the seed image") < at("done before: write the operating system"));
}

#[test]
fn a_disk_that_is_too_small_is_refused_before_it_is_erased() {
    let bench = Bench::new();
    let config = CONFIG.replace(
        "\"shutdown\"",
        "\"extraPartitionStart\":\"-200G\",\"shutdown\"",
    );
    let why = prepare(&bench, &config).0.unwrap_err();
    let is_too_large = matches!(
        why,
        InstallError::Partition(PartitionError::TooLarge { .. })
    );
    assert!(is_too_large, "{why}");
    let state = bench.state();
    assert!(
        state.ran.iter().all(|command| command[0] == "blockdev"),
        "{:?}",
        state.ran
    );
}

#[test]
fn a_machine_with_other_processors_is_refused_before_it_is_erased() {
    let bench = Bench::new();
    let list = |text: &str| {
        let path = "/sys/devices/system/cpu/present";
        bench.inner.change(|tree| tree.line(path, text));
    };
    list("0-3");
    let config = CONFIG.replace("\"shutdown\"", "\"processors\":8,\"shutdown\"");
    let why = prepare(&bench, &config).0.unwrap_err();
    let counted = matches!(
        why,
        InstallError::Processors(ProcessorsError::Count {
            present: 4,
            expected: 8
        })
    );
    assert!(counted, "{why}");
    assert!(bench.state().ran.is_empty(), "nothing was run");
    list("0-7");
    prepare(&bench, &config).0.unwrap();
    is_prepared(&bench);
}

#[test]
fn a_seed_tuned_for_processors_that_are_not_there_is_refused_in_the_factory() {
    let bench = Bench::new();
    let path = "/sys/devices/system/cpu/present";
    bench.inner.change(|tree| tree.line(path, "0-1"));
    bench.state().isolated = Some("isolcpus=managed_irq,2-31");
    let why = prepare(&bench, CONFIG).0.unwrap_err();
    assert!(why.to_string().contains("tuned for processor 31"), "{why}");
    assert!(!bench.state().off);
}

#[test]
fn images_that_cannot_be_had_end_it_unless_effort_is_enough() {
    let bench = Bench::new();
    bench.state().pull_failures = 1000;
    let why = prepare(&bench, CONFIG).0.unwrap_err();
    let step = matches!(
        why,
        InstallError::Step {
            step: Step::Precache,
            ..
        }
    );
    assert!(step, "{why}");
    let why = why.to_string();
    assert!(why.contains("2 of 2 images could not be pulled"), "{why}");
    assert!(!bench.state().off);
    let bench = Bench::new();
    bench.state().pull_failures = 12;
    let config = CONFIG.replace("\"shutdown\"", "\"precacheBestEffort\":true,\"shutdown\"");
    prepare(&bench, &config).0.unwrap();
    let root = "/mnt/ostree/deploy/rhcos_4.18.5_rc.1";
    let account = bench
        .disk_file(&format!("{root}/var/log/muster-image-based/journal.json"))
        .unwrap();
    assert!(String::from_utf8_lossy(&account).contains("quay.io/a@sha256:1"));
}

#[test]
fn another_installation_on_the_disk_is_not_continued() {
    let bench = Bench::new();
    let whole = Bench::new();
    prepare(&whole, CONFIG).0.unwrap();
    bench.state().fuse = Some(whole.state().ran.len() - 5);
    assert!(prepare(&bench, CONFIG).0.is_err());
    bench.power_on();
    bench.state().pulled.clear();
    let other = CONFIG.replace(
        "\"shutdown\":true",
        "\"shutdown\":true,\"precacheBestEffort\":true",
    );
    prepare(&bench, &other).0.unwrap();
    assert_eq!(
        count(&bench, &["coreos-installer"]),
        2,
        "it begins at the beginning"
    );
    is_prepared(&bench);
}

#[test]
fn a_disk_in_use_or_a_partition_is_refused() {
    let bench = Bench::new();
    bench
        .inner
        .change(|tree| tree.line("/proc/swaps", "Filename\n/dev/vda file 1 0 -2"));
    let refused = prepare(&bench, CONFIG).0;
    assert!(matches!(
        refused,
        Err(InstallError::Disk(Refused::Swap { .. }))
    ));
    assert!(bench.state().ran.is_empty(), "nothing was run");
    let bench = Bench::new();
    let config = CONFIG.replace("/dev/disk/by-id/one", "/dev/vdb4");
    let refused = prepare(&bench, &config).0;
    assert!(matches!(
        refused,
        Err(InstallError::Disk(Refused::Partition { .. }))
    ));
}
