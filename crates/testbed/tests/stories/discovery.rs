//! A machine boots the image of an infra-env and is discovered as exactly what it is.

use anyhow::{Context, Result};
use muster_vm::{Boot, Bus, Disk, Firmware, Machine, Network, Nic};
use serde_json::{Value, json};

use crate::scene::{BOOT, GREETED, GREETING, Scene};

/// A machine with one of everything.
fn well_equipped(number: u8, boot: Boot) -> Machine {
    let mut machine = Machine::numbered("bench", number, boot);
    machine.nics.push(Nic {
        mac: format!("52:54:00:6d:76:{number:02x}"),
    });
    machine.cpus = 2;
    machine.disks = vec![
        Disk::new(Bus::Virtio, 20, "MUSTER-VIRTIO"),
        Disk::new(Bus::Scsi, 30, "MUSTER-SCSI").with_wwn(0x5000_c500_1234_5678),
        Disk::new(Bus::Nvme, 40, "MUSTER-NVME"),
    ];
    machine
}

/// What the definition promises, in the words of the inventory.
fn promised(machine: &Machine, boot_mode: &str) -> Value {
    let mut macs: Vec<&str> = machine.nics.iter().map(|nic| nic.mac.as_str()).collect();
    macs.sort_unstable();
    let mut disks: Vec<Value> = machine
        .disks
        .iter()
        .map(|disk| {
            json!({
                "serial": disk.serial,
                "size_bytes": disk.gib << 30,
                "wwn": disk.wwn.map(|wwn| format!("0x{wwn:016x}")),
            })
        })
        .collect();
    disks.sort_by_key(ToString::to_string);
    json!({
        "manufacturer": machine.vendor,
        "product": machine.product,
        "serial": machine.serial,
        "virtual": true,
        "cpus": machine.cpus,
        "memory": machine.memory_mib << 20,
        "boot_mode": boot_mode,
        "tpm": if machine.tpm { "2.0" } else { "none" },
        "macs": macs,
        "disks": disks,
    })
}

/// The inventory, reduced to the fields that the definition has.
fn reported(inventory: &Value) -> Result<Value> {
    let list = |name: &str| {
        inventory[name]
            .as_array()
            .with_context(|| format!("no {name}"))
    };
    let mut macs: Vec<&Value> = list("interfaces")?
        .iter()
        .map(|nic| &nic["mac_address"])
        .collect();
    macs.sort_by_key(ToString::to_string);
    let mut disks: Vec<Value> = list("disks")?
        .iter()
        // The medium we boot from is none of the machine's disks.
        .filter(|disk| disk["drive_type"] != "ODD" && disk["removable"] != true)
        .map(|disk| {
            // Only SCSI disks have a name of this kind; NVMe has one of its own making.
            let wwn = disk["wwn"].as_str().filter(|wwn| wwn.starts_with("0x"));
            json!({"serial": disk["serial"], "size_bytes": disk["size_bytes"], "wwn": wwn})
        })
        .collect();
    disks.sort_by_key(ToString::to_string);
    let vendor = &inventory["system_vendor"];
    Ok(json!({
        "manufacturer": vendor["manufacturer"],
        "product": vendor["product_name"],
        "serial": vendor["serial_number"],
        "virtual": vendor["virtual"],
        "cpus": inventory["cpu"]["count"],
        "memory": inventory["memory"]["physical_bytes"],
        "boot_mode": inventory["boot"]["current_boot_mode"],
        "tpm": inventory["tpm_version"],
        "macs": macs,
        "disks": disks,
    }))
}

fn address_of(inventory: &Value, mac: &str) -> Option<String> {
    let nic = inventory["interfaces"]
        .as_array()?
        .iter()
        .find(|nic| nic["mac_address"] == mac)?;
    Some(nic["ipv4_addresses"][0].as_str()?.to_owned())
}

fn is_discovered_as_it_is(
    story: &str,
    firmware: Firmware,
    boot: fn(std::path::PathBuf) -> Boot,
) -> Result<()> {
    let definition = well_equipped(21, boot("unknown yet".into()));
    let scene = Scene::new(story, &[&definition])?;
    let settings = json!({
        "ignition_config_override": GREETING,
        "kernel_arguments": [{"operation": "append", "value": "marked.by=story"}],
    });
    let (infra_env, image) = scene.image(&settings)?;
    let mut definition = well_equipped(21, boot(image));
    definition.firmware = firmware;
    // As it is sold: new machines have one, old ones do not.
    definition.tpm = firmware == Firmware::Uefi;
    let mode = match firmware {
        Firmware::Bios => "bios",
        Firmware::Uefi => "uefi",
    };
    let mut machine = scene.start(definition.clone())?;
    let host = scene.discovered(&mut machine, &infra_env)?;
    let inventory = &host["inventory"];
    assert_eq!(
        reported(inventory)?,
        promised(&definition, mode),
        "{inventory:#}"
    );
    let address = address_of(inventory, definition.mac());
    assert_eq!(address, Some(format!("{}/24", Network::address(21))));
    assert_eq!(inventory["hostname"], "bench");
    let arguments = inventory["boot"]["command_line"]
        .as_str()
        .unwrap_or_default();
    assert!(arguments.contains("marked.by=story"), "{arguments}");
    machine.wait_for(GREETED, BOOT)
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_with_a_cd_and_bios_is_discovered_as_it_is() -> Result<()> {
    is_discovered_as_it_is("cd-bios", Firmware::Bios, Boot::Cd)
}

#[test]
#[ignore = "starts virtual machines; run `make testbed`"]
fn a_machine_with_a_stick_and_uefi_is_discovered_as_it_is() -> Result<()> {
    is_discovered_as_it_is("usb-uefi", Firmware::Uefi, Boot::Usb)
}
