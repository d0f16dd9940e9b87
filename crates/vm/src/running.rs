//! A machine that is switched on: a QEMU process, its consoles in files, its remote control.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::{
    evidence::Evidence,
    machine::{Boot, Bus, Disk, Firmware, Machine},
    network::Network,
    program::{Background, command, eventually},
    qmp::Qmp,
};

const KVM: &str = "kvm";
/// Without KVM. The cache of translated code is small on purpose: when memory that held programs is
/// used again, each write looks through all their translations, and only a full cache forgets them.
const SOFTWARE: &str = "tcg,thread=multi,tb-size=128";
/// The least that RHEL 9 runs on: emulating what came later costs time. It calls itself AMD's, so
/// that the kernel does not guard it against Meltdown: that would be a third of the time.
const EMULATED: &str = "Nehalem,vendor=AuthenticAMD";
const OVMF_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
const OVMF_VARS: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";

/// A machine that is switched on, until this goes away.
#[derive(Debug)]
pub struct Running {
    /// What it is.
    pub machine: Machine,
    process: Background,
    _tpm: Option<Background>,
    started: Instant,
    qmp: Qmp,
    evidence: Evidence,
    /// Whether it will be switched on again.
    keeps_disks: bool,
}

impl Machine {
    /// Switches it on.
    ///
    /// # Errors
    /// When QEMU refuses.
    pub fn start(self, network: &Network, story: &Evidence) -> Result<Running> {
        let evidence = story.part(&self.name)?;
        let mut qemu = network.command("qemu-system-x86_64");
        self.describe(&mut qemu, network, &evidence)?;
        let tpm = match self.tpm {
            true => Some(start_tpm(&mut qemu, &evidence)?),
            false => None,
        };
        let socket = socket("qmp");
        qemu.args([
            "-qmp",
            &format!("unix:{},server=on,wait=off", socket.display()),
        ]);
        let log = evidence.file("qemu.log");
        fs::write(&log, format!("{qemu:?}\n"))?;
        let mut process = Background::start("QEMU", &mut qemu, &log)?;
        eventually(Duration::from_secs(30), "QEMU's monitor", || {
            process.must_live(&log)?;
            Ok(socket.exists().then_some(()))
        })?;
        let qmp = Qmp::connect(&socket)?;
        // Both ends are open; the name has done its work.
        fs::remove_file(&socket)?;
        Ok(Running {
            machine: self,
            process,
            _tpm: tpm,
            started: Instant::now(),
            qmp,
            evidence,
            keeps_disks: false,
        })
    }

    fn describe(&self, qemu: &mut Command, network: &Network, evidence: &Evidence) -> Result<()> {
        let file = |name: &str| evidence.file(name).display().to_string();
        qemu.args([
            "-name",
            &self.name,
            "-display",
            "none",
            "-nodefaults",
            "-vga",
            "std",
        ]);
        let accelerator = accelerator();
        let cpu = if accelerator == KVM { "host" } else { EMULATED };
        let machine = "pc,memory-backend=memory";
        qemu.args(["-machine", machine, "-accel", accelerator, "-cpu", cpu]);
        let (cpus, memory) = (self.cpus.to_string(), self.memory_mib.to_string());
        qemu.args(["-smp", &cpus, "-m", &memory]);
        // Only what is used takes room, so a laptop may promise more than it has.
        let memory = format!("memory-backend-ram,id=memory,size={memory}M,reserve=off");
        qemu.args(["-object", &memory]);
        qemu.args(["-device", "virtio-rng-pci"]);
        for console in ["console", "second-console", "journal"] {
            // Appended to: a machine that is switched on again goes on with its story.
            let path = file(&format!("{console}.log"));
            let chardev = format!("file,id={console},path={path},append=on");
            qemu.args([
                "-chardev",
                &chardev,
                "-serial",
                &format!("chardev:{console}"),
            ]);
        }
        qemu.args([
            "-smbios",
            &format!(
                "type=1,manufacturer={},product={},serial={},uuid={}",
                self.vendor, self.product, self.serial, self.uuid
            ),
        ]);
        if let Some(clock) = &self.clock {
            qemu.args(["-rtc", &format!("base={clock}")]);
        }
        if self.firmware == Firmware::Uefi {
            let variables = file("uefi-variables.fd");
            // Those of an earlier start are kept, as the disks are: they say what starts first.
            if !Path::new(&variables).exists() {
                fs::copy(OVMF_VARS, &variables)
                    .with_context(|| format!("{OVMF_VARS} is missing; install the package ovmf"))?;
            }
            qemu.args([
                "-drive",
                &format!("if=pflash,format=raw,readonly=on,file={OVMF_CODE}"),
            ]);
            qemu.args(["-drive", &format!("if=pflash,format=raw,file={variables}")]);
        }
        match &self.boot {
            Boot::Cd(image) | Boot::DiskThenCd(image) => {
                let drive = format!(
                    "if=none,id=cd,media=cdrom,format=raw,readonly=on,file={}",
                    value(&image.display().to_string())
                );
                let turn = u8::from(matches!(self.boot, Boot::DiskThenCd(_)));
                let device = format!("ide-cd,drive=cd,id=cd-drive,bootindex={turn}");
                qemu.args(["-drive", &drive, "-device", &device]);
            }
            Boot::Usb(image) => {
                let drive = format!(
                    "if=none,id=stick,format=raw,readonly=on,file={}",
                    image.display()
                );
                let device = "usb-storage,drive=stick,removable=on,bootindex=0";
                qemu.args(["-device", "qemu-xhci", "-drive", &drive, "-device", device]);
            }
            Boot::Network | Boot::DiskThenNetwork | Boot::Disk => {}
        }
        for (index, nic) in self.nics.iter().enumerate() {
            let tap = network.plug()?;
            let netdev = format!("tap,id=net{index},ifname={tap},script=no,downscript=no");
            let order = match (index, &self.boot) {
                (0, Boot::Network) => ",bootindex=0",
                (0, Boot::DiskThenNetwork) => ",bootindex=1",
                (0, Boot::Cd(_) | Boot::DiskThenCd(_) | Boot::Usb(_) | Boot::Disk) | (1.., _) => "",
            };
            let device = format!(
                "virtio-net-pci,netdev=net{index},id=nic{index},mac={}{order}",
                nic.mac
            );
            qemu.args(["-netdev", &netdev, "-device", &device]);
        }
        if self.disks.iter().any(|disk| disk.bus == Bus::Scsi) {
            qemu.args(["-device", "virtio-scsi-pci,id=scsi"]);
        }
        for (index, disk) in self.disks.iter().enumerate() {
            let path = evidence.file(&format!("disk{index}.img"));
            prepare(&path, disk)?;
            let drive = format!(
                "if=none,id=disk{index},format=raw,discard=unmap,cache=unsafe,{}",
                backing(&path, disk)
            );
            // The first disk is next when there is nothing else to start from.
            let order = match (index, &self.boot) {
                (0, Boot::Disk | Boot::DiskThenCd(_) | Boot::DiskThenNetwork) => ",bootindex=0",
                (0, Boot::Cd(_) | Boot::Usb(_) | Boot::Network) => ",bootindex=1",
                (1.., _) => "",
            };
            let device = device(disk, index, order);
            qemu.args(["-drive", &drive, "-device", &device]);
        }
        Ok(())
    }
}

/// A short name of its own: the names of sockets must be shorter than many a folder.
fn socket(kind: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("muster-{}-{number}.{kind}", std::process::id()))
}

/// A TPM 2.0 as a program beside the machine; it ends when the machine lets go of it.
fn start_tpm(qemu: &mut Command, evidence: &Evidence) -> Result<Background> {
    let (state, log, socket) = (
        evidence.part("tpm")?,
        evidence.file("tpm.log"),
        socket("tpm"),
    );
    let mut swtpm = command("setpriv");
    swtpm.args([
        "--pdeathsig",
        "KILL",
        "swtpm",
        "socket",
        "--tpm2",
        "--terminate",
    ]);
    swtpm
        .arg("--tpmstate")
        .arg(format!("dir={}", state.folder().display()));
    swtpm
        .arg("--ctrl")
        .arg(format!("type=unixio,path={}", socket.display()));
    let mut process = Background::start("swtpm", &mut swtpm, &log)?;
    eventually(Duration::from_secs(30), "the TPM", || {
        process.must_live(&log)?;
        Ok(socket.exists().then_some(()))
    })?;
    let chardev = format!("socket,id=tpm-wire,path={}", socket.display());
    qemu.args([
        "-chardev",
        &chardev,
        "-tpmdev",
        "emulator,id=tpm,chardev=tpm-wire",
    ]);
    qemu.args(["-device", "tpm-tis,tpmdev=tpm"]);
    Ok(process)
}

/// A file of holes; one that is already there is kept, it holds an installed system.
fn prepare(path: &Path, disk: &Disk) -> Result<()> {
    let file = fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)?;
    file.set_len(disk.gib << 30)?;
    Ok(())
}

/// Where the bytes of a disk are. Writes that touch its bad sector fail with `EIO`, which the guest sees.
fn backing(path: &Path, disk: &Disk) -> String {
    let path = path.display();
    match disk.bad_sector {
        None => format!("file={path}"),
        Some(sector) => format!(
            "file.driver=blkdebug,file.image.driver=file,file.image.filename={path},\
             file.inject-error.0.event=none,file.inject-error.0.iotype=write,\
             file.inject-error.0.errno=5,file.inject-error.0.sector={sector}"
        ),
    }
}

fn device(disk: &Disk, index: usize, order: &str) -> String {
    let serial = value(&disk.serial);
    let kind = match disk.bus {
        Bus::Virtio => "virtio-blk-pci".to_owned(),
        Bus::Nvme => "nvme".to_owned(),
        Bus::Scsi => {
            let mut kind = "scsi-hd,bus=scsi.0".to_owned();
            if let Some(wwn) = disk.wwn {
                kind += &format!(",wwn=0x{wwn:016x}");
            }
            if let Some(vendor) = &disk.vendor {
                kind += &format!(",vendor={}", value(vendor));
            }
            if let Some(model) = &disk.model {
                kind += &format!(",product={}", value(model));
            }
            if disk.solid_state {
                kind += ",rotation_rate=1";
            }
            kind
        }
    };
    format!("{kind},drive=disk{index},serial={serial}{order}")
}

/// A value among QEMU's options, which end at a comma.
fn value(text: &str) -> String {
    text.replace(',', ",,")
}

/// Hardware virtualisation where it works, else software.
fn accelerator() -> &'static str {
    static FOUND: OnceLock<&str> = OnceLock::new();
    FOUND.get_or_init(|| {
        // Some hosts offer KVM without it and run kernels that were not made for them at a crawl.
        let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let mut words = processor.split_whitespace();
        if !words.any(|word| word == "vmx" || word == "svm") {
            return SOFTWARE;
        }
        let words = "5 qemu-system-x86_64 -accel kvm -cpu max -display none -nodefaults -S";
        let output = command("timeout").args(words.split(' ')).output();
        // One that works waits until its time is up; one that does not ends with an error.
        match output.ok().and_then(|output| output.status.code()) {
            Some(124) => KVM,
            Some(_) | None => SOFTWARE,
        }
    })
}

impl Running {
    /// Where it writes down what it does.
    #[must_use]
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// All it has said on its consoles and in its journal.
    #[must_use]
    pub fn said(&self) -> String {
        ["console.log", "second-console.log", "journal.log"]
            .map(|name| self.evidence.text(name))
            .join("\n")
    }

    /// Waits until it says this.
    ///
    /// # Errors
    /// When it does not in time or goes off; with what a person should read first.
    pub fn wait_for(&mut self, words: &str, limit: Duration) -> Result<()> {
        self.wait_until(&format!("{words:?}"), limit, |machine| {
            Ok(machine.said().contains(words).then_some(()))
        })
    }

    /// Waits for an answer, as long as the machine lives.
    ///
    /// # Errors
    /// When there is none in time or it goes off; with what a person should read first.
    pub fn wait_until<T>(
        &mut self,
        what: &str,
        limit: Duration,
        mut question: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let outcome = eventually(limit, what, || {
            let answer = question(self)?;
            if answer.is_none() {
                self.must_be_well()
                    .with_context(|| format!("waiting for {what}"))?;
            }
            Ok(answer)
        });
        let name = &self.machine.name;
        let seconds = self.started.elapsed().as_secs();
        if outcome.is_ok() {
            eprintln!("   machine {name}: {what}, {seconds} s after power on");
        }
        outcome.map_err(|error| {
            self.screenshot();
            let name = &self.machine.name;
            anyhow::anyhow!("machine {name}: {error:#}\n{}", self.evidence.summary())
        })
    }

    /// Fails if it has gone off or given up.
    ///
    /// # Errors
    /// When it has.
    pub fn must_be_well(&mut self) -> Result<()> {
        self.process.must_live(&self.evidence.file("qemu.log"))?;
        if self.said().contains("Reached target emergency.target") {
            bail!("it went into emergency mode");
        }
        Ok(())
    }

    /// Takes a picture of its screen; a machine that is off has none.
    pub fn screenshot(&mut self) {
        let file = self.evidence.file("screen.png");
        let arguments = json!({"filename": file, "format": "png"});
        if let Err(error) = self.qmp.ask("screendump", arguments) {
            // Evidence is a help, not a duty; its absence is noted beside it.
            let _ = fs::write(
                file.with_extension("txt"),
                format!("no picture: {error:#}\n"),
            );
        }
    }

    /// Presses the power button.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn press_power(&mut self) -> Result<()> {
        self.qmp.ask("system_powerdown", json!({})).map(drop)
    }

    /// Presses the reset button.
    ///
    /// # Errors
    /// When the machine is gone.
    pub fn reset(&mut self) -> Result<()> {
        self.qmp.ask("system_reset", json!({})).map(drop)
    }

    /// Cuts its power; the disks are kept, so it can be started again, perhaps with other settings.
    #[must_use]
    pub fn unplug(mut self) -> Machine {
        self.keeps_disks = true;
        self.machine.clone()
    }

    /// Enlarges a disk while the machine runs, as hypervisors can.
    ///
    /// # Errors
    /// When there is no such disk.
    pub fn grow_disk(&mut self, index: usize, gib: u64) -> Result<()> {
        let arguments = json!({"device": format!("disk{index}"), "size": gib << 30});
        self.qmp.ask("block_resize", arguments)?;
        let disk = self.machine.disks.get_mut(index);
        disk.context("there is no such disk")?.gib = gib;
        Ok(())
    }

    /// Takes the CD out, whether it is in use or not.
    ///
    /// # Errors
    /// When there is no drive.
    pub fn eject(&mut self) -> Result<()> {
        self.qmp
            .ask("eject", json!({"id": "cd-drive", "force": true}))
            .map(drop)
    }

    /// Pulls a network cable or puts it back.
    ///
    /// # Errors
    /// When there is no such card.
    pub fn cable(&mut self, nic: usize, plugged: bool) -> Result<()> {
        let arguments = json!({"name": format!("nic{nic}"), "up": plugged});
        self.qmp.ask("set_link", arguments).map(drop)
    }

    /// Waits until it has switched itself off.
    ///
    /// # Errors
    /// When it does not.
    pub fn wait_off(&mut self, limit: Duration) -> Result<()> {
        self.process
            .wait(limit)
            .with_context(|| self.evidence.summary())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.screenshot();
            eprintln!("machine {}: {}", self.machine.name, self.evidence.summary());
        } else if !self.keeps_disks {
            // Disks are large, and those of a story that went well are not needed.
            for index in 0..self.machine.disks.len() {
                let _ = fs::remove_file(self.evidence.file(&format!("disk{index}.img")));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scsi_disk_reports_what_it_is_made_to() {
        let mut disk = Disk::new(Bus::Scsi, 1, "S,1").with_wwn(0x5000_c500_a1b2_c3d4);
        disk.vendor = Some("DELL".to_owned());
        disk.model = Some("PERC H740P".to_owned());
        disk.solid_state = true;
        assert_eq!(
            device(&disk, 2, ""),
            "scsi-hd,bus=scsi.0,wwn=0x5000c500a1b2c3d4,vendor=DELL,product=PERC H740P,\
             rotation_rate=1,drive=disk2,serial=S,,1"
        );
    }
}
