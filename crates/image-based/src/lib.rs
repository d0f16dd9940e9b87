//! Image-based installation at the desk.
//!
//! A machine is prepared in a factory from a seed image ([`factory`]: what the live system of the
//! installation image does), and configured at its site by a small image ([`site`]: identity, keys,
//! network). [`seed`] compares both with the seed before a disk is erased or a node is shipped;
//! [`candidate`] checks a running cluster before it becomes one.
//!
//! Nothing here touches a network, a disk or a clock: randomness and time are handed in, so the
//! same input gives the same bytes.

pub mod candidate;
pub mod factory;
mod go_json;
pub mod manifests;
pub mod seed;
pub mod site;
