//! Which machine this is: an id that stays the same across reboots and reinstallations.

use std::fs;

use anyhow::bail;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Firmware ids that many machines share; they identify nothing.
const NOT_UNIQUE: &[&str] = &[
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "03000200-0400-0500-0006-000700080009",
    "12345678-1234-5678-90ab-cddeefaabbcc",
];

/// The firmware's id, else one made of the board's serial number or the first network card.
pub fn host_id() -> anyhow::Result<Uuid> {
    let read = |path: &str| {
        fs::read_to_string(path)
            .ok()
            .map(|text| text.trim().to_lowercase())
            .filter(|text| !text.is_empty())
    };
    if let Some(id) = read("/sys/class/dmi/id/product_uuid")
        .filter(|id| !NOT_UNIQUE.contains(&id.as_str()))
        .and_then(|id| id.parse().ok())
    {
        return Ok(id);
    }
    if let Some(serial) = read("/sys/class/dmi/id/board_serial").filter(|serial| {
        !matches!(
            serial.as_str(),
            "none" | "unspecified base board serial number"
        )
    }) {
        return Ok(derived("serial", &serial));
    }
    match first_mac() {
        Some(mac) => Ok(derived("mac", &mac)),
        None => bail!("no firmware id, no board serial number and no network card"),
    }
}

fn first_mac() -> Option<String> {
    let mut macs: Vec<String> = fs::read_dir("/sys/class/net")
        .ok()?
        .filter_map(Result::ok)
        .filter(|card| card.path().join("device").exists())
        .filter_map(|card| fs::read_to_string(card.path().join("address")).ok())
        .map(|mac| mac.trim().to_owned())
        .collect();
    macs.sort();
    macs.into_iter().next()
}

fn derived(kind: &str, text: &str) -> Uuid {
    let digest = Sha256::digest(format!("muster {kind} {text}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_made_of_a_serial_number_stays_the_same_and_differs_from_others() {
        assert_eq!(derived("serial", "abc"), derived("serial", "abc"));
        assert_ne!(derived("serial", "abc"), derived("serial", "abd"));
        assert_ne!(derived("serial", "abc"), derived("mac", "abc"));
    }
}
