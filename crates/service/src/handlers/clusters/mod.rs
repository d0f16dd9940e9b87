//! Operations on clusters.

pub mod actions;
pub mod create;
pub mod delete;
pub mod install_config;
pub mod read;
pub mod settings;
pub mod update;
