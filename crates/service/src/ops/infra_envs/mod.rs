//! Operations on infra-envs: boot configurations, their images and files.

mod archive;
pub(crate) mod blank;
pub mod change;
pub mod create;
pub mod delete;
mod discovery;
pub mod files;
pub mod ignition;
mod initrd;
pub mod ipxe;
pub mod links;
pub mod read;
mod settings;
mod static_network;
pub mod update;
