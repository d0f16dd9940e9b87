//! A machine is installed and starts from its own disk: `coreos-installer` in the live system writes
//! the metal image, Ignition runs at the first boot of the disk, follows the pointer it finds
//! there, and leaves the machine alone from then on. The disk starts with UEFI and with BIOS.

use std::fs;

use anyhow::{Context, Result};
use muster_image::Customization;
use muster_testbed::{Os, evidence_of, link_or_copy};
use muster_vm::{Boot, Firmware, Machine, Network, Offer, program::Background};
use serde_json::{Value, json};

use crate::scene::{BOOT, GREETED, GREETING, customized};

const WRITTEN: &str = "the disk is written";

/// What the firmware's list of systems calls the installed one.
const LISTED: &str = "Red Hat Enterprise Linux";

/// Writes the metal image and the pointer onto the first disk and has the firmware start it, with
/// the words a node installer uses.
fn installs_itself(web: &str) -> String {
    let unit = format!(
        "[Unit]\nWants=network-online.target\nAfter=network-online.target\n\
         [Service]\nType=oneshot\n\
         ExecStart=/usr/bin/coreos-installer install /dev/vda --insecure --insecure-ignition \
         --image-url {web}/metal.img.zst --ignition-url {web}/pointer.ign\n\
         ExecStart=/usr/bin/efibootmgr -v -d /dev/vda -p 2 -c -L \"{LISTED}\" \
         -l \\\\EFI\\\\redhat\\\\shimx64.efi\n\
         ExecStart=/bin/sh -c 'echo {WRITTEN} > /dev/ttyS0'\n\
         [Install]\nWantedBy=multi-user.target\n"
    );
    json!({
        "ignition": {"version": "3.1.0"},
        "systemd": {"units": [{"name": "install.service", "enabled": true, "contents": unit}]},
    })
    .to_string()
}

/// The greeting, and a unit that says which of the firmware's list was started.
fn tells_its_start() -> Result<String> {
    let unit = "[Unit]\nConditionPathExists=/sys/firmware/efi\n[Service]\nType=oneshot\n\
        ExecStart=/bin/sh -c 'efibootmgr | grep \"^Boot$$(efibootmgr | sed -n \"s/BootCurrent: //p\")\" \
        > /dev/ttyS0'\n[Install]\nWantedBy=multi-user.target\n";
    let mut config: Value = serde_json::from_str(GREETING)?;
    let unit = json!({"name": "started-from.service", "enabled": true, "contents": unit});
    let units = config["systemd"]["units"].as_array_mut();
    units.context("the greeting has units")?.push(unit);
    Ok(config.to_string())
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn an_installed_machine_runs_ignition_at_its_first_boot_only() -> Result<()> {
    let evidence = evidence_of("installed-disk")?;
    let os = Os::ready()?;
    let address = format!("http://{}:8000", Network::GATEWAY);
    let customization = Customization {
        ignition: Some(installs_itself(&address).into_bytes().into()),
        ..Customization::default()
    };
    let image = customized(&os, &evidence, &customization)?;
    let mut machine = Machine::numbered("installed", 81, Boot::Cd(image));
    machine.firmware = Firmware::Uefi;
    let mut network = Network::new(&evidence)?;
    network.serve(&Offer::default(), &[&machine])?;

    let web = evidence.part("web")?;
    link_or_copy(&os.metal()?, &web.file("metal.img.zst"))?;
    let pointer = json!({"ignition": {
        "version": "3.1.0",
        "config": {"merge": [{"source": format!("{address}/pointed.ign")}]},
    }});
    fs::write(web.file("pointer.ign"), pointer.to_string())?;
    fs::write(web.file("pointed.ign"), tells_its_start()?)?;
    let mut server = network.command("python3");
    server
        .args(["-m", "http.server", "8000", "--directory"])
        .arg(web.folder());
    let _server = Background::start("web server", &mut server, &evidence.file("web.log"))?;

    let mut machine = machine.start(&network, &evidence)?;
    machine.wait_for(WRITTEN, BOOT)?;
    machine.eject()?;
    machine.reset()?;
    let started = format!("* {LISTED}");
    machine.wait_until("the firmware to start the disk", BOOT, |machine| {
        let said = machine.evidence().text("console.log");
        Ok(said.contains(&started).then_some(()))
    })?;
    machine.wait_for(GREETED, BOOT)?;
    machine.wait_for("Finished ignition-firstboot-complete.service", BOOT)?;

    // The second boot: after a power cut, and as if the disk had been put into an older machine.
    let mut machine = machine.unplug();
    machine.firmware = Firmware::Bios;
    machine.boot = Boot::Disk;
    let mut machine = machine.start(&network, &evidence)?;
    machine.wait_until("the second boot of the disk", BOOT, |machine| {
        let said = machine.evidence().text("console.log");
        Ok((said.matches(GREETED).count() == 2).then_some(()))
    })?;
    let runs = machine
        .evidence()
        .text("journal.log")
        .matches("Starting ignition-files.service")
        .count();
    assert_eq!(
        runs, 2,
        "Ignition runs in the live system and at the first boot of the disk"
    );
    Ok(())
}
