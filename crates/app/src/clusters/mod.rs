//! Use cases on clusters.

pub mod actions;
mod control_plane;
pub mod create;
pub mod defaults;
pub mod delete;
mod disk_encryption;
mod dual_stack;
mod edit;
pub mod feature_usage;
pub mod features_in_use;
mod ignition_endpoint;
pub mod install_config;
mod machine_network;
mod names;
mod networking_change;
mod networks;
mod new_cluster;
mod operators_choice;
mod plain_settings;
pub mod platforms;
pub mod preflight;
pub mod settings;
mod site;
mod tags;
pub mod update;
mod vips;
