//! A machine that starts from its own disk: Ignition runs once, follows the pointer it finds on
//! the boot partition, and leaves the machine alone from then on.

use std::{fs, process::Command};

use anyhow::{Context, Result};
use muster_testbed::{
    Boot, Firmware, Machine, Network, Os,
    evidence::Evidence,
    network::Offer,
    os::metal,
    program::{Background, run},
};

use crate::scene::{BOOT, GREETED, GREETING};

fn first_boot_and_second(story: &str, firmware: Firmware) -> Result<()> {
    let evidence = Evidence::of(story)?;
    let os = Os::ready()?;
    let mut machine = Machine::numbered("installed", 81, Boot::Disk);
    machine.firmware = firmware;
    let mut network = Network::new(&evidence)?;
    network.serve(&Offer::default(), &[&machine])?;

    let web = evidence.part("web")?;
    fs::write(web.file("pointed.ign"), GREETING)?;
    let mut server = network.command("python3");
    server
        .args(["-m", "http.server", "8000", "--directory"])
        .arg(web.folder());
    let _server = Background::start("web server", &mut server, &evidence.file("web.log"))?;

    let disk = evidence.part(&machine.name)?.file("disk0.img");
    run(Command::new("cp")
        .arg("--sparse=always")
        .arg(os.metal()?)
        .arg(&disk))?;
    let pointer = evidence.file("pointer.ign");
    let source = format!("http://{}:8000/pointed.ign", Network::GATEWAY);
    let text = format!(
        r#"{{"ignition":{{"version":"3.1.0","config":{{"merge":[{{"source":"{source}"}}]}}}}}}"#
    );
    fs::write(&pointer, text)?;
    metal::put_on_boot(&disk, &pointer, "ignition/config.ign").context("placing the pointer")?;

    let mut machine = machine.start(&network, &evidence)?;
    machine.wait_for(GREETED, BOOT)?;
    machine.wait_for("Finished ignition-firstboot-complete.service", BOOT)?;
    machine.reset()?;
    machine.wait_until("the second boot", BOOT, |machine| {
        let said = machine.evidence().text("console.log");
        Ok((said.matches(GREETED).count() == 2).then_some(()))
    })?;
    let runs = machine
        .evidence()
        .text("journal.log")
        .matches("Starting ignition-files.service")
        .count();
    assert_eq!(runs, 1, "Ignition ran again");
    Ok(())
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn an_installed_disk_runs_ignition_at_its_first_boot_only() -> Result<()> {
    first_boot_and_second("installed-disk", Firmware::Bios)
}
