//! Only the chosen disk is written. A machine with disks from `sda` to `sdab`, with LVM, RAID and
//! mapped devices over several of them and names that look alike, is installed; then all its disks
//! are compared from outside, byte for byte. On the way a disk in use is refused, and one that
//! fails while it is written is named.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use muster_ignition::file;
use muster_image::Customization;
use muster_testbed::{Os, evidence_of, service::agent};
use muster_vm::{Boot, Bus, Disk, Machine, Network, Offer, Running, program::Background};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::scene::{BOOT, customized};

const GUEST: &str = include_str!("disk_safety/guest.sh");
const SERVICE: &str = include_str!("disk_safety/service.py");
const PORT: &str = "8000";
/// The last of them is `sdab`.
const DISKS: u8 = 28;
const CHUNK: usize = 1 << 20;

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn only_the_chosen_disk_is_written() -> Result<()> {
    let evidence = evidence_of("disk-safety")?;
    let os = Os::ready()?;
    let customization = Customization {
        ignition: Some(config()?.into_bytes().into()),
        ..Customization::default()
    };
    let image = customized(&os, &evidence, &customization)?;
    let mut machine = Machine::numbered("many-disks", 71, Boot::Cd(image));
    machine.disks = (0..DISKS)
        .map(|number| Disk::new(Bus::Scsi, 4, &serial(number)))
        .collect();
    let mut network = Network::new(&evidence)?;
    network.serve(&Offer::default(), &[&machine])?;
    let web = evidence.part("web")?;
    fs::hard_link(os.metal()?, web.file("metal.img.zst"))?;
    let script = evidence.file("service.py");
    fs::write(&script, SERVICE)?;
    let mut server = network.command("python3");
    server
        .arg(script)
        .args([&Network::GATEWAY.to_string(), PORT]);
    server.arg(web.folder());
    let _server = Background::start("service", &mut server, &evidence.file("web.log"))?;

    let mut machine = machine.start(&network, &evidence)?;
    said(&mut machine, "prepared")?;
    let before = contents(&machine)?;
    let names = names(&machine)?;
    fs::write(web.file("go"), "")?;
    said(&mut machine, "the guest is done")?;
    let after = contents(&machine)?;

    let changed: Vec<&str> = names
        .iter()
        .filter(|(_, serial)| before[*serial] != after[*serial])
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(changed, ["sda", "sdd"], "and sdd was named too: it fails");
    let said = machine.said();
    for words in [
        "installation on /dev/sdab: failure",
        "is mounted at /var/precious",
        "installation on /dev/sda1: failure",
        "choose the disk it is on (sda)",
        "installation on /dev/mapper/failing: failure",
        "writing /dev/mapper/failing failed",
        "Input/output error",
        "installation on /dev/sda: success",
        "the volume on sdab is still mounted",
        "the mapped device called sda1 is still there",
        "the volume over sda and sdaa is switched off",
        "the array over sda and sdb is switched off",
        "EFI-SYSTEM boot root",
    ] {
        assert!(said.contains(words), "it did not say {words:?}");
    }
    Ok(())
}

fn serial(number: u8) -> String {
    format!("MUSTER-{number:02}")
}

/// The agent, the script that drives it, and no reboot at its end.
fn config() -> Result<String> {
    let url = format!("http://{}:{PORT}", Network::GATEWAY);
    let unit = format!(
        "[Unit]\nWants=network-online.target\nAfter=network-online.target\n\
         [Service]\nType=oneshot\nExecStart=/usr/local/bin/guest {url}\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    let program = fs::read(agent()?)?;
    let files = [
        file::packed("/usr/local/bin/muster-agent", 0o755, &program),
        file::packed("/usr/local/bin/guest", 0o755, GUEST.as_bytes()),
        file::packed("/usr/local/sbin/shutdown", 0o755, b"#!/bin/sh\n"),
    ];
    let config = json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": serde_json::to_value(files)?},
        "systemd": {"units": [{"name": "guest.service", "enabled": true, "contents": unit}]},
    });
    Ok(config.to_string())
}

/// Waits for words of the guest, unless it says that it failed.
fn said(machine: &mut Running, words: &str) -> Result<()> {
    machine.wait_until(&format!("{words:?}"), BOOT, |machine| {
        let console = machine.evidence().text("console.log");
        let failed = console
            .lines()
            .find(|line| line.contains("the guest failed"));
        ensure!(failed.is_none(), "{}", failed.unwrap_or_default());
        Ok(console
            .lines()
            .any(|line| line.ends_with(words))
            .then_some(()))
    })
}

/// The disks by the names the kernel gave them, with their serial numbers.
fn names(machine: &Running) -> Result<BTreeMap<String, String>> {
    let console = machine.evidence().text("console.log");
    let names: BTreeMap<String, String> = console
        .lines()
        .filter_map(|line| {
            // The console is also the login's.
            let (_, line) = line.split_once("disk sd")?;
            let (name, serial) = line.split_once(" is ")?;
            Some((format!("sd{name}"), serial.strip_suffix('.')?.to_owned()))
        })
        .collect();
    ensure!(
        names.len() == usize::from(DISKS),
        "not all disks were seen: {names:?}"
    );
    ensure!(names.contains_key("sdab"), "there is no sdab: {names:?}");
    Ok(names)
}

/// A digest of each disk, by its serial number.
fn contents(machine: &Running) -> Result<BTreeMap<String, String>> {
    (0..DISKS)
        .map(|number| {
            let path = machine.evidence().file(&format!("disk{number}.img"));
            let digest = digest(&path).with_context(|| path.display().to_string())?;
            Ok((serial(number), digest))
        })
        .collect()
}

/// Of what is not zero, with its place: most of a disk is a hole.
fn digest(path: &Path) -> Result<String> {
    let mut file = fs::File::open(path)?;
    let mut hash = Sha256::new();
    if file.metadata()?.blocks() == 0 {
        return Ok("empty".to_owned());
    }
    let (mut chunk, zeros) = (vec![0; CHUNK], vec![0; CHUNK]);
    let mut place = 0_u64;
    loop {
        file.seek(SeekFrom::Start(place))?;
        let count = file.read(&mut chunk)?;
        if count == 0 {
            break;
        }
        // As a whole: byte by byte, gigabytes take minutes in a test that is not optimised.
        if chunk[..count] != zeros[..count] {
            hash.update(place.to_le_bytes());
            hash.update(&chunk[..count]);
        }
        place += count as u64;
    }
    Ok(format!("{:x}", hash.finalize()))
}
