//! Stories: real machines boot what Muster makes. `make testbed` runs them; each takes a minute
//! or more, so plain `cargo test` passes them over.

mod agent_based;
mod agent_based_cluster;
mod agent_based_network_boot;
mod bootstrap_in_place;
mod cluster;
mod desk;
mod discovery;
mod disk_safety;
mod failing_disk;
mod failure;
mod highly_available;
mod image_based;
mod installed;
mod joining;
mod lab;
mod live_iso;
mod network_boot;
mod packages;
mod rehearsal;
mod robustness;
mod scene;
mod site;
mod static_network;
mod two_nodes;
