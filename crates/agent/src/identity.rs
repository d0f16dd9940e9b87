//! Which machine this is: an id that stays the same across reboots and reinstallations.
//!
//! The rule is the reference's to the letter, oddities included: another rule would make known
//! machines strangers to the services, inventories and host definitions that know them.

use md5::{Digest, Md5};
use muster_machine::Machine;
use uuid::Uuid;

/// What firmware says without a serial number (lower case).
const NO_SERIAL: &[&str] = &[
    "",
    "unknown",
    "none",
    "(none)",
    "-",
    "unspecified base board serial number",
    "unspecified system serial number",
    "default string",
    "not specified",
    "pca_number.acc",
];

/// Firmware ids that many machines share.
const NOT_UNIQUE: &[&str] = &[
    "00000000-0000-0000-0000-000000000000",
    "03000200-0400-0500-0006-000700080009",
];

/// For a machine without any mark at all.
const UNKNOWN_HOST: Uuid = Uuid::from_u128(0xdead_dead_dead_dead_dead_dead_dead_dead);

/// The id of a machine: from the serial number of its board, else from its firmware, else from
/// the first of its network cards.
#[must_use]
pub fn host_id(machine: &dyn Machine) -> Uuid {
    let dmi = |file: &str| {
        let path = format!("/sys/class/dmi/id/{file}");
        machine.text(path).unwrap_or_else(|| "unknown".to_owned())
    };
    from_serial(&dmi("board_serial"))
        .or_else(|| from_firmware(&dmi("product_uuid")))
        .or_else(|| lowest_mac(machine).map(|mac| digest(&mac)))
        .unwrap_or(UNKNOWN_HOST)
}

fn from_serial(serial: &str) -> Option<Uuid> {
    let known = !NO_SERIAL.contains(&serial.to_lowercase().as_str());
    known.then(|| digest(serial))
}

fn from_firmware(id: &str) -> Option<Uuid> {
    let id = id.to_lowercase();
    if NOT_UNIQUE.contains(&id.as_str()) {
        return None;
    }
    id.parse().ok()
}

/// The MD5 sum written as an id. It is no id of any official version; none is asked for.
fn digest(text: &str) -> Uuid {
    Uuid::from_bytes(Md5::digest(text).into())
}

/// In a bond all cards show one address; the permanent one differs.
fn lowest_mac(machine: &dyn Machine) -> Option<String> {
    let links = machine.network().ok()?.links;
    links
        .into_iter()
        .filter_map(|link| link.permanent_mac.or(link.mac))
        .min()
}

#[cfg(test)]
mod tests {
    use muster_machine::{Link, Network, Node, Simulated};

    use super::*;

    fn machine(files: &[(&str, &str)], macs: &[&str]) -> Simulated {
        let machine = Simulated::default();
        machine.change(|tree| {
            for (path, content) in files {
                tree.insert(*path, Node::File(content.as_bytes().to_vec()));
            }
        });
        let link = |mac: &&str| Link {
            mac: Some((*mac).to_owned()),
            ..Link::default()
        };
        machine.set_network(Network {
            links: macs.iter().map(link).collect(),
            ..Network::default()
        });
        machine
    }

    const SERIAL: &str = "/sys/class/dmi/id/board_serial";
    const UUID: &str = "/sys/class/dmi/id/product_uuid";

    #[test]
    fn the_serial_number_of_the_board_wins_and_keeps_its_case() {
        let root = machine(
            &[
                (SERIAL, "AbC123\n"),
                (UUID, "4c4c4544-0051-3610-8057-b4c04f4d3232\n"),
            ],
            &[],
        );
        let id = host_id(&root);
        // As `md5sum` says.
        assert_eq!(id.to_string(), "aba3ab83-087a-b7e2-6b6d-8851b79c60bf");
        assert_ne!(id, digest("abc123"));
    }

    #[test]
    fn a_serial_number_that_says_nothing_gives_way_to_the_firmware() {
        for serial in [
            "None",
            "Default String",
            " ",
            "PCA_Number.ACC",
            "Not Specified",
        ] {
            let root = machine(
                &[
                    (SERIAL, serial),
                    (UUID, "4C4C4544-0051-3610-8057-B4C04F4D3232"),
                ],
                &[],
            );
            assert_eq!(
                host_id(&root).to_string(),
                "4c4c4544-0051-3610-8057-b4c04f4d3232"
            );
        }
    }

    #[test]
    fn without_firmware_the_lowest_hardware_address_decides() {
        let shared = (UUID, "03000200-0400-0500-0006-000700080009");
        let root = machine(&[shared], &["52:54:00:00:00:0b", "52:54:00:00:00:0a"]);
        // As the reference was seen to do for this address.
        assert_eq!(
            host_id(&root).to_string(),
            "4d5b53bf-e799-b31f-f374-432d47187920"
        );
    }

    #[test]
    fn a_machine_without_any_mark_still_has_an_id() {
        let root = machine(&[], &[]);
        assert_eq!(
            host_id(&root).to_string(),
            "deaddead-dead-dead-dead-deaddeaddead"
        );
    }
}
