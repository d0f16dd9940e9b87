//! Use cases on infra-envs: boot configurations, their images and files.

pub(crate) mod blank;
pub mod change;
pub mod create;
pub mod delete;
pub mod files;
pub mod ipxe;
pub mod links;
mod settings;
pub mod update;
