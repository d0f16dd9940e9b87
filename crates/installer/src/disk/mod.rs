//! The installation disk: what lies on it, whether it may be written, and how it is emptied.
//!
//! Everything here follows exact ancestry in the kernel's own device tree. No name is ever
//! compared with a part of another name: `sda` and `sdaa`, `nvme0n1` and `nvme0n10` are
//! different disks, and a volume group or an array that reaches over several disks is switched
//! off, but its other members keep every byte. Start at [`Claim::of`].

mod claim;
mod cleanup;
mod devices;

pub use claim::{Claim, Refused};
pub use cleanup::{Action, cleanup};
pub use devices::{Device, Devices, Kind};

#[cfg(test)]
mod tests;
