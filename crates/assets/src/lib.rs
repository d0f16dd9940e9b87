//! Content made from facts: what goes into a discovery image, and what a cluster is installed
//! from.
//!
//! Nothing here touches a network, a disk or a clock: randomness and time are handed in, so the
//! same input gives the same bytes.

pub mod agent_based;
mod bootstrap;
pub mod discovery;
pub mod entropy;
pub mod file;
pub mod graph;
pub mod host_configs;
pub mod identity;
pub mod ignition_configs;
pub mod kubeadmin;
pub mod kubeconfig;
pub mod live_programs;
pub mod manifests;
pub mod metadata;
pub mod node_settings;
pub mod patches;
pub mod pki;
pub mod plan;
pub mod profiles;
pub mod static_network;
pub mod workdir;
