//! Static networks: one nmstate document per host, and which card each name in it means.
//!
//! Read when an infra-env is saved ([`read`]), so that the author of a document hears of its
//! faults at once: which host, which interface, which line, which rule. What a host gets are
//! NetworkManager keyfiles made from it ([`keyfiles`]) by nmstate itself, for every version of
//! the operating system: then neither the boot image nor its initrd needs nmstate. Every host
//! boots the same image, so each carries the networks of all and finds its own by hardware
//! address ([`carried`]).

mod carried;
mod document;
mod fault;
mod keyfiles;
mod policy;
mod rules;

pub use carried::{Carried, SCRIPT, SCRIPT_PATH, UNIT_NAME, carried, initrd_unit, live_unit, tar};
pub use fault::NetworkFault;
pub use keyfiles::{Keyfile, keyfiles};
pub use rules::read;

#[cfg(test)]
pub mod tests;
