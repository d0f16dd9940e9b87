//! Inventories of machines we do not have, against what they should be.
//!
//! Each folder of `tests/machines` is a machine as `muster-agent capture` writes it, and
//! `inventory.json` what its inventory is. `BLESS=1` rewrites those; review the difference.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on must stop")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines")
}

fn inventory(from: &Path) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_muster-agent"))
        .args(["inventory", "--output", "json", "--from"])
        .arg(from)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn check(machine: &str) {
    let folder = folder().join(machine);
    let found = serde_json::to_string_pretty(&inventory(&folder)).unwrap() + "\n";
    let golden = folder.join("inventory.json");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &found).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            found,
            expected,
            "{machine}/inventory.json, line {}",
            number + 1
        );
    }
    assert_eq!(found.len(), expected.len(), "{machine}/inventory.json");
}

#[test]
fn a_server_with_raid_nvme_bonds_and_gpus_is_seen_whole() {
    check("server");
}

#[test]
fn a_virtual_machine_without_a_name_is_seen_whole() {
    check("virtual");
}

#[test]
fn an_arm_board_without_firmware_tables_is_seen_whole() {
    check("arm-board");
}

#[test]
fn a_volume_over_four_fibre_channel_paths_is_seen_whole() {
    check("fibre-channel");
}

#[test]
fn network_disks_are_evaluated_by_what_the_firmware_knows() {
    check("iscsi");
}

#[test]
fn a_guest_of_a_mainframe_is_seen_whole() {
    check("mainframe");
}

#[test]
fn every_machine_has_a_test() {
    let this = include_str!("machines.rs");
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            this.contains(&format!("check({name:?})")),
            "{name} is never looked at"
        );
    }
}

#[test]
fn the_table_shows_the_same_machine() {
    let output = Command::new(env!("CARGO_BIN_EXE_muster-agent"))
        .args(["inventory", "--output", "table", "--from"])
        .arg(folder().join("server"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "Example Systems RS-2240",
        "128 × Intel",
        "4 of 1.0 GiB",
        "secure boot Enabled",
        "Tesla T4",
        "no: Partition nvme1n1p1 is in use",
        "198.51.100.21/24",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_folder_that_is_no_capture_is_refused_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tree.txt"), "[/sys]\nwhat is this\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_muster-agent"))
        .args(["inventory", "--from"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("tree.txt") && said.contains("line 2"),
        "{said}"
    );
}
