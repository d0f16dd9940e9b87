//! Content made from facts: what goes into a discovery image, and what a cluster is installed
//! from.
//!
//! Nothing here touches a network, a disk or a clock: randomness and time are handed in, so the
//! same input gives the same bytes.

pub mod discovery;
pub mod static_network;
