//! Operations on infra-envs: boot configurations, their images and files.

pub mod create;
pub mod delete;
pub mod files;
pub mod links;
pub mod read;
pub mod update;
