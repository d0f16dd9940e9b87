//! The profiles we make are those of the nmstate tool, and NetworkManager reads them.

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
};

use muster_assets::static_network::{keyfiles, read};

use crate::{NETWORKS, network, said};

/// Sections, each with its lines as a set.
fn sections(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut sections: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if line.starts_with('[') {
            line.clone_into(&mut name);
        } else {
            sections
                .entry(name.clone())
                .or_default()
                .push(line.to_owned());
        }
    }
    sections.values_mut().for_each(|lines| lines.sort());
    sections
}

/// Recorded once with the tool itself, `nmstatectl gc FILE` of version 2.2.62 (crates.io).
fn by_the_tool(name: &str) -> BTreeMap<String, String> {
    let path = format!(
        "{}/tests/suite/networks/{name}.tool.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let recorded: BTreeMap<String, Vec<(String, String)>> =
        serde_yaml_ng::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    recorded["NetworkManager"].iter().cloned().collect()
}

#[test]
fn profiles_are_those_of_the_nmstate_tool_with_our_preference() {
    for (name, yaml, _) in NETWORKS {
        let mut tool = by_the_tool(name);
        for file in keyfiles(yaml).unwrap() {
            let wanted = tool.remove(&file.name);
            let wanted =
                wanted.unwrap_or_else(|| panic!("{name}: {} is not the tool's", file.name));
            let mut wanted = sections(&wanted);
            let connection = wanted.get_mut("[connection]").unwrap();
            connection.push("autoconnect-priority=1".to_owned());
            connection.sort();
            assert_eq!(sections(&file.text), wanted, "{name}: {}", file.name);
        }
        assert!(tool.is_empty(), "{name}: not made: {:?}", tool.keys());
    }
}

#[test]
fn all_of_them_may_be_in_one_infra_env() {
    let all = NETWORKS.iter().map(|(name, ..)| network(name)).collect();
    assert_eq!(read(all).map(|hosts| hosts.len()), Ok(NETWORKS.len()));
}

#[test]
fn networkmanager_reads_every_profile() {
    for (name, yaml, _) in NETWORKS {
        for file in keyfiles(yaml).unwrap() {
            // Offline it reads a profile, changes it and writes it; it refuses what is invalid.
            let mut nmcli = Command::new("nmcli")
                .args([
                    "--offline",
                    "connection",
                    "modify",
                    "connection.autoconnect-retries",
                    "1",
                ])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap_or_else(|cause| panic!("nmcli: {cause}; run scripts/prepare test"));
            nmcli
                .stdin
                .take()
                .unwrap()
                .write_all(file.text.as_bytes())
                .unwrap();
            let output = nmcli.wait_with_output().unwrap();
            assert!(
                output.status.success(),
                "{name}: {}: {}",
                file.name,
                said(&output)
            );
            let back = String::from_utf8(output.stdout).unwrap();
            let id = file
                .text
                .lines()
                .find(|line| line.starts_with("id="))
                .unwrap();
            assert!(back.contains(id), "{back}");
        }
    }
}
