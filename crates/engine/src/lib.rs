//! Decisions: how clusters and hosts change.
//!
//! Pure: no I/O, no clock, no randomness, no logger. A view and the time come in, a
//! [`Decision`] goes out. Start at [`refresh`]; each request that changes state has a module
//! of its own, and so do next steps and replies of agents. Rules and validations are ordered
//! tables (`rules`, `checks`).

pub mod agent_json;
pub mod binding;
pub mod cancel;
mod checks;
mod deadlines;
mod disks;
mod draft;
pub mod events;
mod figures;
pub mod heartbeat;
mod history;
mod ignition;
pub mod install;
pub mod inventory;
pub mod leases;
mod majority;
pub mod media;
mod networks;
pub mod operators;
pub mod progress;
mod refresh;
pub mod registration;
pub mod replies;
pub mod reports;
pub mod reset;
mod roles;
mod rules;
pub mod settings;
pub mod steps;
pub mod tables;
pub mod tang;
#[cfg(test)]
mod testing;
mod view;
mod vips;

pub use checks::{
    cluster::NEVER_IGNORED as CLUSTER_CHECKS_NEVER_IGNORED, failing as failing_checks,
    host::NEVER_IGNORED as HOST_CHECKS_NEVER_IGNORED,
};
pub use networks::forget_derived_machine_networks;
pub use refresh::{refresh, refresh_unbound};
pub use settings::Settings;
pub use steps::StepType;
pub use view::{
    ClusterView, Decision, Environment, HostView, Job, Measured, Move, RefusalKind, Refused,
};
