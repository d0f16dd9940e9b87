//! Real machines for tests: they boot the images that Muster makes, in software.
//!
//! [`Os`] is the operating system they run, built from Debian packages in the shape of CoreOS;
//! [`Network`] is a wire with DHCP, DNS, NTP and TFTP in a network namespace of its own;
//! [`Machine`] says what a computer has and [`Running`] is one that is switched on; [`Service`] is
//! `muster serve` on that wire, [`Registry`] one of container images. A story in `tests/stories` is made of these. `docs/testbed.md`
//! tells how to run them and how to read a failure.

pub mod evidence;
pub mod machine;
pub mod network;
pub mod os;
pub mod program;
pub mod qmp;
pub mod registry;
pub mod running;
pub mod service;

pub use machine::{Boot, Bus, Disk, Firmware, Machine, Nic};
pub use network::Network;
pub use os::Os;
pub use registry::Registry;
pub use running::Running;
pub use service::Service;

use std::path::PathBuf;

/// The folder of everything the test bed builds and leaves: `target/testbed`.
#[must_use]
pub fn workshop() -> PathBuf {
    target().join("testbed")
}

/// Cargo's folder of results.
#[must_use]
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")),
        PathBuf::from,
    )
}
