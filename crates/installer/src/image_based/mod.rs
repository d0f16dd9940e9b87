//! Prepares a machine from a seed image: what the live system of a factory does.
//!
//! ```text
//! clean disk ─ write OS ─ partition ─┬─ fetch seed ─ import ─ deploy ─ restore ─ precache ─ script ─ tidy
//!                                    └ from here the journal is on the disk: a power cut costs one step
//! ```
//!
//! [`plan`] says which steps are taken, [`seed`] reads what a seed holds, [`run`] takes the steps on a
//! [`muster_machine::Machine`]. The seed is pulled once: its object store is unpacked onto the disk
//! while it streams by, and never held in memory.

mod account;
pub mod config;
pub mod journal;
pub mod partition;
pub mod plan;
mod precache;
pub mod processors;
pub mod progress;
pub mod run;
pub mod seed;

#[cfg(test)]
mod tests;
