//! Installs a node.
//!
//! [`plan`] decides, from what was asked, which steps are taken in which order; [`node`] takes
//! them on a [`muster_machine::Machine`] and reports each stage to the service. [`disk`] knows
//! what lies on a disk and is the only way to write to one; [`journal`] remembers finished steps,
//! so that an installer that starts again never repeats one that changes a disk.

pub mod apply;
pub mod boot_order;
mod bootstrap;
mod cluster_nodes;
pub mod controller_manifests;
pub mod disk;
pub mod error;
mod existing_root;
mod final_image;
pub mod image;
pub mod image_based;
mod installed_disk;
pub mod installer_args;
pub mod journal;
mod leftovers;
pub mod node;
pub mod options;
pub mod plan;
pub mod progress;
pub mod proxies;
pub mod registry_data;
mod selinux;
mod tasks;
