//! Operations on hosts.

pub mod actions;
pub mod overrides;
pub mod progress;
pub mod read;
pub mod register;
pub mod steps;
pub mod update;
