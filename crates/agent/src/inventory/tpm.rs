//! The trusted platform module.

use std::{io, path::Path};

use muster_machine::Machine;

/// Version of the first module; `none` if there is none, absent if it is unknown.
pub fn version(machine: &dyn Machine) -> Option<String> {
    match machine.read(Path::new("/sys/class/tpm/tpm0/tpm_version_major")) {
        Ok(bytes) => match String::from_utf8_lossy(&bytes).trim() {
            "" => None,
            "1" => Some("1.2".to_owned()),
            "2" => Some("2.0".to_owned()),
            other => Some(other.to_owned()),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some("none".to_owned()),
        Err(_) => None,
    }
}
