//! Operations on infra-envs.

pub mod create;
pub mod delete;
pub mod files;
pub mod links;
pub mod read;
pub mod update;
