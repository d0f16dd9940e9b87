//! From an install-config to Ignition, validated by the programs that will read it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod cases;
mod consumption;
mod control_plane;
mod features;
mod gathering;
mod golden;
mod host;
mod hosts;
mod node_image;
mod nutanix;
mod readers;
mod real_podman;
mod scripts;
mod services;
mod vsphere;
