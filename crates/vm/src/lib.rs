//! Virtual machines, and the networks between them.
//!
//! [`Machine`] says what a computer has and [`Running`] is one that is switched on, in QEMU;
//! [`Network`] is a wire with DHCP, DNS, NTP and TFTP that cannot be seen from outside; [`Evidence`] is
//! the folder where all of them leave what happened. `muster rehearse` boots a user's cluster with
//! these, and the stories of the test bed are made of them.

pub mod evidence;
pub mod machine;
pub mod network;
pub mod program;
pub mod qmp;
pub mod running;
mod tagger;

pub use evidence::Evidence;
pub use machine::{Boot, Bus, Disk, Firmware, Machine, Nic};
pub use network::{Network, Offer, Seat};
pub use running::Running;
