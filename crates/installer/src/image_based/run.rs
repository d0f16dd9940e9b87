//! Taking the steps on a machine.

use std::{
    cell::Cell,
    fmt,
    path::{Path, PathBuf},
    time::Duration,
};

use muster_machine::{Machine, Task, mounts};

use super::{
    account::Account,
    config::Configuration,
    journal::Journal,
    partition,
    plan::{Step, steps},
    precache, processors,
    progress::Event,
    seed::{self, Deployment, Info},
};
use crate::{
    disk::{Claim, Device, Devices, cleanup},
    error::{InstallError, ProgramError},
    installed_disk::{growpart, map_partitions},
    tasks,
};

/// Where the installed disk is mounted.
pub const ROOT: &str = "/mnt";
const BOOT: &str = "/mnt/boot";
/// Where container storage is mounted.
const STORAGE: &str = "/var/lib/containers";
/// Where the journal and the unpacked seed lie. On the file system of the object store, so that
/// objects are linked into it and not copied.
pub const WORK: &str = "/mnt/ostree/muster-image-based";
/// Says that mounts are ours; gone with the live system.
const MOUNTED: &str = "/run/muster-image-based/mounted";
/// Where the account of the installation stays on the installed system, below its `/var`.
const ACCOUNT: &str = "var/log/muster-image-based";
const REGISTRIES: &str = "/etc/containers/registries.conf";
/// Tar with a label that lets it write SELinux labels the live system does not know.
const TAR: &str = "/var/tmp/muster-tar";
const HOUR: Duration = Duration::from_secs(3600);
/// A seed that cannot be had is asked for again, this often at least every minute.
const FETCHES: u32 = 40;
/// Looks for new partitions, a second apart.
const LOOKS_FOR_PARTITIONS: u32 = 30;

/// Gets a seed onto the disk.
pub trait Fetch: Sync {
    /// Puts the files of the seed's root into a folder, which is empty. `ostree.tgz` is unpacked to
    /// `ostree/` by `tar`. Reports bytes so far and in all.
    ///
    /// # Errors
    /// Why it could not be had.
    fn fetch(
        &self,
        image: &str,
        into: &Path,
        tar: &str,
        report: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), String>;
}

/// What an installation needs besides the machine.
pub struct Around<'a> {
    /// Gets the seed.
    pub seeds: &'a dyn Fetch,
    /// Credentials of registries.
    pub pull_secret: PathBuf,
    /// A script of the user.
    pub post_script: PathBuf,
    /// Receives every event.
    pub report: &'a (dyn Fn(&Event) + Sync),
    /// Waits.
    pub sleep: &'a (dyn Fn(Duration) + Sync),
}

impl fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Around").finish_non_exhaustive()
    }
}

/// Prepares the machine, or goes on where an earlier attempt was.
///
/// # Errors
/// Why it is not ready; running it again goes on.
pub fn install(
    machine: &dyn Machine,
    text: &[u8],
    around: &Around<'_>,
) -> Result<(), InstallError> {
    let account = Account::default();
    let report = |event: &Event| {
        account.note(machine.now(), event);
        (around.report)(event);
    };
    let noting = Around {
        seeds: around.seeds,
        pull_secret: around.pull_secret.clone(),
        post_script: around.post_script.clone(),
        report: &report,
        sleep: around.sleep,
    };
    let failed = |error: &InstallError| {
        report(&Event::Failed {
            message: error.to_string(),
        });
    };
    let config = Configuration::read(text).inspect_err(failed)?;
    let installation = Installation {
        machine,
        around: &noting,
        account: &account,
        config: &config,
        text,
        is_mounted: Cell::new(false),
    };
    let ended = installation.run().and_then(|()| {
        // First the word that it is done: nothing is delivered once the machine goes down.
        report(&Event::Complete);
        installation.power_off()
    });
    ended.inspect_err(|error| {
        failed(error);
        installation.keep_account();
    })
}

struct Installation<'a> {
    machine: &'a dyn Machine,
    around: &'a Around<'a>,
    account: &'a Account,
    config: &'a Configuration,
    text: &'a [u8],
    /// Whether the disk is mounted, to be written.
    is_mounted: Cell<bool>,
}

/// The partitions that are used.
struct Parts {
    root: Device,
    boot: Device,
    storage: Device,
}

impl Installation<'_> {
    fn run(&self) -> Result<(), InstallError> {
        self.unmount()?;
        let disk = self.claim()?;
        let mut journal = self.resume(&disk)?;
        if !journal.has(Step::Partition) {
            // Before anything is erased.
            processors::check_count(self.config.processors, &self.processors())?;
            self.partition_start(&disk)?;
        }
        let has_script = self.machine.kind(&self.around.post_script).is_ok();
        for step in steps(self.config, has_script) {
            if journal.has(step) {
                (self.around.report)(&Event::Skipped { step });
                continue;
            }
            (self.around.report)(&Event::Started { step });
            self.take(step, &disk, &mut journal)
                .map_err(|cause| InstallError::Step {
                    step,
                    cause: Box::new(cause),
                })?;
            journal.finish(step);
            // Before there is a file system to keep it on, a restart begins at the beginning.
            if !step.makes_room_for_journal() || step == Step::Partition {
                // First what the step wrote, then the word that it did.
                self.sync()?;
                journal.save(self.machine, Path::new(WORK))?;
            }
            (self.around.report)(&Event::Finished { step });
            self.keep_account();
        }
        self.leave(&journal)
    }

    fn take(&self, step: Step, disk: &Claim, journal: &mut Journal) -> Result<(), InstallError> {
        match step {
            Step::CleanDisk => self.clean(disk),
            Step::WriteOs => self.write_os(disk),
            Step::Partition => self.partition(disk),
            Step::FetchSeed => self.fetch(),
            Step::Import => self.import(),
            Step::Deploy => self.deploy(),
            Step::Restore => self.restore(),
            Step::Precache => self.precache(journal),
            Step::PostScript => self.post_script(),
            Step::RemoveFirstOs => self.remove_first_os(),
        }
    }

    /// The disk, if it may be written.
    fn claim(&self) -> Result<Claim, InstallError> {
        let devices = Devices::read(self.machine);
        let named = Path::new(&self.config.installation_disk);
        Ok(Claim::of(self.machine, &devices, named)?)
    }

    /// The journal on the disk, if it is of this installation and mounts succeed; else a new one.
    fn resume(&self, disk: &Claim) -> Result<Journal, InstallError> {
        let fresh = Journal::new(self.text);
        let Ok(parts) = self.parts(disk) else {
            return Ok(fresh);
        };
        // Only looks: reading a disk that belongs to another system must not change it.
        if self.mount_root(&parts, "ro").is_err() {
            self.unmount()?;
            return Ok(fresh);
        }
        let found = Journal::read(self.machine, Path::new(WORK), self.text);
        self.unmount()?;
        match found {
            Some(journal) => {
                self.mount(&parts)?;
                self.account.take_up(self.machine, Path::new(WORK));
                Ok(journal)
            }
            None => Ok(fresh),
        }
    }

    fn clean(&self, disk: &Claim) -> Result<(), InstallError> {
        for action in cleanup(&Devices::read(self.machine), disk) {
            // Whatever stays is overwritten; coreos-installer says so if it cannot be.
            if let Err(why) = self.run_task(&action.task()) {
                tracing::warn!("{why}");
            }
        }
        Ok(())
    }

    fn write_os(&self, disk: &Claim) -> Result<(), InstallError> {
        let task = Task::new("coreos-installer", "write the operating system")
            .args(["install".to_owned(), disk.path().display().to_string()])
            .args(self.config.coreos_installer_args.iter().cloned())
            .deadline(HOUR);
        self.run_task(&task)?;
        self.settle(disk);
        Ok(())
    }

    /// Writes what happened to the disk, if it is there.
    fn keep_account(&self) {
        if self.is_mounted.get()
            && let Err(why) = self.account.save(self.machine, Path::new(WORK))
        {
            tracing::warn!("{why}");
        }
    }

    /// Where the partition of container storage begins.
    fn partition_start(&self, disk: &Claim) -> Result<String, InstallError> {
        let path = disk.path().display().to_string();
        let number = |option: &str| -> Result<u64, InstallError> {
            let task = Task::new("blockdev", "measure the installation disk").args([option, &path]);
            let text = self.run_task(&task)?;
            text.trim()
                .parse()
                .map_err(|_| InstallError::Unusable(format!("blockdev {option} printed {text:?}")))
        };
        let (bytes, sector) = (number("--getsize64")?, number("--getss")?);
        Ok(partition::start(
            &self.config.extra_partition_start,
            bytes,
            sector,
        )?)
    }

    fn partition(&self, disk: &Claim) -> Result<(), InstallError> {
        let path = disk.path().display().to_string();
        let label = &self.config.extra_partition_label;
        let start = self.partition_start(disk)?;
        // A kept partition may have the label already; then nothing is added, and its content stays.
        if self.parts(disk).is_err() {
            let task = tasks::flushing("sfdisk", "add the partition of container storage")
                .args(["--append", &path])
                .input(format!("start={start},name={label}\n"));
            self.run_task(&task)?;
            self.settle(disk);
            let storage = self.wait_for_parts(disk)?.storage;
            let task = Task::new("mkfs.xfs", "make the file system of container storage")
                .args(["-f".to_owned(), storage.path().display().to_string()])
                .deadline(HOUR);
            self.run_task(&task)?;
        }
        let parts = self.wait_for_parts(disk)?;
        let task = growpart(disk.device(), &parts.root, 0);
        let grown = self.machine.run(&task).map_err(ProgramError::from)?;
        // Status 1 without complaint: it is as large as it can be.
        if !grown.succeeded() && !format!("{}{}", grown.out(), grown.err()).contains("NOCHANGE") {
            return Err(InstallError::Unusable(format!("growpart: {}", grown.err())));
        }
        self.settle(disk);
        self.mount(&self.wait_for_parts(disk)?)?;
        self.run_task(&tasks::flushing("xfs_growfs", "grow the root file system").arg(ROOT))?;
        Ok(())
    }

    /// Lets udev see new partitions.
    fn settle(&self, disk: &Claim) {
        if let Err(why) = map_partitions(self.machine, disk.device()) {
            tracing::warn!("{why}");
        }
        let task = Task::new("udevadm", "wait for devices").args(["settle", "--timeout=30"]);
        if let Err(why) = self.run_task(&task) {
            tracing::warn!("{why}");
        }
    }

    /// The partitions of the disk itself, by label; never those of another disk.
    fn parts(&self, disk: &Claim) -> Result<Parts, InstallError> {
        let devices = Devices::read(self.machine);
        let find = |label: &str| {
            let mut parts = devices.partitions(&disk.device().name);
            let found = parts.find(|part| part.label.as_deref() == Some(label));
            found.cloned().ok_or_else(|| {
                InstallError::Unusable(format!(
                    "{} has no partition labelled {label}",
                    disk.named().display()
                ))
            })
        };
        Ok(Parts {
            root: find("root")?,
            boot: find("boot")?,
            storage: find(&self.config.extra_partition_label)?,
        })
    }

    fn wait_for_parts(&self, disk: &Claim) -> Result<Parts, InstallError> {
        let mut looks = 1;
        loop {
            let found = self.parts(disk);
            if found.is_ok() || looks == LOOKS_FOR_PARTITIONS {
                return found;
            }
            looks += 1;
            (self.around.sleep)(Duration::from_secs(1));
        }
    }

    fn mount_root(&self, parts: &Parts, mode: &str) -> Result<(), InstallError> {
        let noted = self
            .machine
            .make_directory(Path::new("/run/muster-image-based"), 0o700)
            .and_then(|()| self.machine.write(Path::new(MOUNTED), b"", 0o600));
        noted.map_err(InstallError::file(MOUNTED))?;
        self.mount_one(&parts.root, ROOT, mode)
    }

    fn mount(&self, parts: &Parts) -> Result<(), InstallError> {
        self.mount_root(parts, "rw")?;
        self.mount_one(&parts.boot, BOOT, "rw")?;
        let made = self.machine.make_directory(Path::new(STORAGE), 0o755);
        made.map_err(InstallError::file(STORAGE))?;
        self.mount_one(&parts.storage, STORAGE, "rw")?;
        // Systems without SELinux have no such program.
        let task = Task::new("restorecon", "label container storage").args(["-R", STORAGE]);
        if let Err(why) = self.run_task(&task) {
            tracing::debug!("{why}");
        }
        self.is_mounted.set(true);
        Ok(())
    }

    fn mount_one(&self, part: &Device, at: &str, mode: &str) -> Result<(), InstallError> {
        let device = part.path().display().to_string();
        let task = tasks::flushing("mount", "mount a partition of the installation disk")
            .args(["-o", mode, &device, at]);
        self.run_task(&task).map(drop)
    }

    /// Takes down mounts of an earlier attempt; those of others are not touched.
    fn unmount(&self) -> Result<(), InstallError> {
        self.is_mounted.set(false);
        if self.machine.kind(Path::new(MOUNTED)).is_err() {
            return Ok(());
        }
        let ours = [BOOT, STORAGE, ROOT];
        for at in ours {
            // CoreOS has /mnt as a link into /var, and the kernel names what the link leads to.
            let place = self.machine.resolve(Path::new(at));
            let place = place.unwrap_or_else(|_| PathBuf::from(at));
            let mounted = mounts(self.machine);
            if mounted
                .iter()
                .any(|mount| Path::new(&mount.target) == place)
            {
                let task = tasks::flushing("umount", "unmount the installation disk").arg(at);
                self.run_task(&task)?;
            }
        }
        Ok(())
    }

    fn fetch(&self) -> Result<(), InstallError> {
        let into = seed_folder();
        let tar = self.tar();
        let report = |done, total| {
            (self.around.report)(&Event::Bytes {
                step: Step::FetchSeed,
                done,
                total,
            });
        };
        let mut pause = 5;
        for attempt in 1.. {
            self.remove_tree(&into)?;
            let made = self.machine.make_directory(&into, 0o700);
            made.map_err(InstallError::file(into.display().to_string()))?;
            let image = &self.config.seed_image;
            match self.around.seeds.fetch(image, &into, &tar, &report) {
                Ok(()) => break,
                Err(why) if attempt >= FETCHES => return Err(InstallError::Registry(why)),
                Err(message) => {
                    (self.around.report)(&Event::Again {
                        step: Step::FetchSeed,
                        message,
                        seconds: pause,
                    });
                    self.keep_account();
                    (self.around.sleep)(Duration::from_secs(pause));
                    pause = (pause * 2).min(60);
                }
            }
        }
        let info = self.info()?;
        if info.seed_cluster_ocp_version != self.config.seed_version {
            return Err(InstallError::Unusable(format!(
                "the seed holds version {}, and {} is to be installed",
                info.seed_cluster_ocp_version, self.config.seed_version
            )));
        }
        let arguments = seed::kernel_arguments(&self.read_seed("mco-currentconfig.json")?)?;
        processors::check_arguments(&arguments, &self.processors())?;
        self.booted().map(drop)
    }

    /// The processors of this machine, as the kernel lists them.
    fn processors(&self) -> String {
        self.machine.text(processors::LISTED).unwrap_or_default()
    }

    /// A tar that may write any label, or that of the live system.
    fn tar(&self) -> String {
        let copied = self
            .run_task(&Task::new("cp", "copy tar").args(["/usr/bin/tar", TAR]))
            .and_then(|_| {
                let label = Task::new("chcon", "label tar").args(["-t", "install_exec_t", TAR]);
                self.run_task(&label)
            });
        match copied {
            Ok(_) => TAR.to_owned(),
            Err(why) => {
                tracing::debug!("{why}");
                "tar".to_owned()
            }
        }
    }

    fn import(&self) -> Result<(), InstallError> {
        let task = Task::new("ostree", "import the objects of the seed")
            .args(["pull-local", "--repo", "/mnt/ostree/repo"])
            .arg(seed_folder().join("ostree").display().to_string())
            .deadline(HOUR);
        self.run_task(&task).map(drop)
    }

    fn deploy(&self) -> Result<(), InstallError> {
        let root = self.config.stateroot();
        if self.deployment(&root).is_ok() {
            return Ok(());
        }
        let folder = format!("/mnt/ostree/deploy/{root}");
        if self.machine.kind(Path::new(&folder)).is_err() {
            let task = Task::new("ostree", "make the stateroot").args([
                "admin",
                "os-init",
                "--sysroot",
                ROOT,
                &root,
            ]);
            self.run_task(&task)?;
        }
        let own = seed::kernel_arguments(&self.read_seed("mco-currentconfig.json")?)?;
        let arguments = own
            .iter()
            .map(String::as_str)
            .chain(self.config.kernel_arguments());
        let task = Task::new("ostree", "deploy the seed")
            .args([
                "admin",
                "deploy",
                "--sysroot",
                ROOT,
                "--os",
                &root,
                "--no-prune",
            ])
            .args(arguments.flat_map(|argument| ["--karg-append", argument]))
            .arg(self.booted()?.commit)
            .deadline(HOUR);
        self.run_task(&task).map(drop)
    }

    fn restore(&self) -> Result<(), InstallError> {
        let root = self.config.stateroot();
        let id = self.deployment(&root)?;
        let state = PathBuf::from(format!("/mnt/ostree/deploy/{root}"));
        let deployment = state.join("deploy").join(&id);
        let origin = format!("ostree-{}.origin", self.booted()?.id);
        // Without one the deployment keeps the origin that ostree wrote.
        if let Ok(text) = self.machine.read(&seed_folder().join(origin)) {
            let path = state.join("deploy").join(format!("{id}.origin"));
            let written = self.machine.write(&path, &text, 0o644);
            written.map_err(InstallError::file(path.display().to_string()))?;
        }
        let tar = self.tar();
        for (archive, into) in [("var.tgz", &state), ("etc.tgz", &deployment)] {
            let task = Task::new(&*tar, format!("unpack {archive} of the seed"))
                .args([
                    "-xzf".to_owned(),
                    seed_folder().join(archive).display().to_string(),
                ])
                .args(["-C".to_owned(), into.display().to_string()])
                .args(TAR_OPTIONS.iter().copied())
                .deadline(HOUR);
            self.run_task(&task)?;
        }
        let deletions = self.read_seed("etc.deletions").unwrap_or_default();
        for path in seed::deletions(&String::from_utf8_lossy(&deletions)) {
            let path = deployment.join(path.trim_start_matches('/'));
            // What is gone already is as it should be.
            if let Err(cause) = self.machine.remove(&path) {
                tracing::debug!(path = %path.display(), %cause, "not removed");
            }
        }
        Ok(())
    }

    fn precache(&self, journal: &mut Journal) -> Result<(), InstallError> {
        let conf = self.machine.text(REGISTRIES).unwrap_or_default();
        let list = self.read_seed("containers.list")?;
        let images = seed::images(
            &String::from_utf8_lossy(&list),
            &self.info()?,
            &seed::mirror_sources(&conf),
            &self.config.release_registry,
        )?;
        let failed = precache::pull(self.machine, self.around, &images);
        journal.failed_images = failed.iter().map(|(image, _)| image.clone()).collect();
        let count = failed.len();
        match failed.into_iter().next() {
            None => Ok(()),
            Some(_) if self.config.precache_best_effort => Ok(()),
            Some((image, cause)) => Err(InstallError::Images {
                failed: count,
                total: images.len(),
                image,
                cause,
            }),
        }
    }

    fn post_script(&self) -> Result<(), InstallError> {
        let task = Task::new("bash", "run the user's script")
            .arg(self.around.post_script.display().to_string())
            .deadline(HOUR);
        self.run_task(&task).map(drop)
    }

    fn remove_first_os(&self) -> Result<(), InstallError> {
        let root = self.config.stateroot();
        while let Some(index) = self
            .deployments()?
            .iter()
            .position(|(stateroot, _)| *stateroot != root)
        {
            let task = Task::new("ostree", "remove the first operating system").args([
                "admin",
                "undeploy",
                "--sysroot",
                ROOT,
                &index.to_string(),
            ]);
            self.run_task(&task)?;
        }
        self.remove_tree(Path::new("/mnt/ostree/deploy/rhcos"))
    }

    /// Leaves an account of what was done, removes the rest and ends.
    fn leave(&self, journal: &Journal) -> Result<(), InstallError> {
        let root = self.config.stateroot();
        let account = format!("/mnt/ostree/deploy/{root}/{ACCOUNT}");
        journal.save(self.machine, Path::new(&account))?;
        self.account.save(self.machine, Path::new(&account))?;
        self.keep_live_journal(&account);
        self.remove_tree(Path::new(WORK))?;
        self.sync()?;
        self.unmount()
    }

    /// Copies the journal of the live system, which is in memory, to the installed one.
    fn keep_live_journal(&self, folder: &str) {
        let script = "umask 077; journalctl --boot --no-pager --output=short-iso > \"$0\" \
                      || { rm -f \"$0\"; exit 1; }";
        let task = Task::new("bash", "keep the journal of the live system").args([
            "-c".to_owned(),
            script.to_owned(),
            format!("{folder}/live-journal.log"),
        ]);
        if let Err(why) = self.run_task(&task) {
            tracing::warn!("{why}");
        }
    }

    fn power_off(&self) -> Result<(), InstallError> {
        if self.config.shutdown {
            self.run_task(&Task::new("systemctl", "power off").arg("poweroff"))?;
        }
        Ok(())
    }

    /// Only what is mounted of the installation disk: another disk, or a medium that does not answer any
    /// more, would be waited for as well.
    fn sync(&self) -> Result<(), InstallError> {
        let task = tasks::flushing("sync", "write everything to the disk")
            .args(["-f", ROOT, BOOT, STORAGE]);
        self.run_task(&task).map(drop)
    }

    fn deployments(&self) -> Result<Vec<(String, String)>, InstallError> {
        let task =
            Task::new("ostree", "list deployments").args(["admin", "status", "--sysroot", ROOT]);
        self.run_task(&task)
            .map(|status| seed::deployments(&status))
    }

    fn deployment(&self, root: &str) -> Result<String, InstallError> {
        let mut all = self.deployments()?.into_iter();
        let found = all.find(|(stateroot, _)| stateroot == root);
        found
            .map(|(_, id)| id)
            .ok_or_else(|| InstallError::Unusable(format!("there is no deployment of {root}")))
    }

    fn booted(&self) -> Result<Deployment, InstallError> {
        Ok(seed::booted(&self.read_seed("rpm-ostree.json")?)?)
    }

    fn info(&self) -> Result<Info, InstallError> {
        Ok(Info::read(&self.read_seed("manifest.json")?)?)
    }

    fn read_seed(&self, name: &str) -> Result<Vec<u8>, InstallError> {
        let path = seed_folder().join(name);
        self.machine
            .read(&path)
            .map_err(InstallError::file(format!("the seed has no {name}")))
    }

    fn remove_tree(&self, path: &Path) -> Result<(), InstallError> {
        let task = Task::new("rm", "remove what is not needed any more")
            .args(["-rf".to_owned(), path.display().to_string()])
            .deadline(HOUR);
        self.run_task(&task).map(drop)
    }

    fn run_task(&self, task: &Task) -> Result<String, InstallError> {
        Ok(tasks::run(self.machine, task)?.out())
    }
}

/// What a seed was packed with, and must be unpacked with.
pub const TAR_OPTIONS: &[&str] = &["--selinux", "--xattrs", "--xattrs-include=*", "--acls"];

fn seed_folder() -> PathBuf {
    Path::new(WORK).join("seed")
}
