//! The REST handlers: one folder or file per noun.
//!
//! A handler reads its arguments, calls a use case of `muster_app` and shows the outcome (`views`). It
//! never sees a malformed request: the binder has been there before.

pub mod clusters;
pub mod events;
pub mod features;
pub mod files;
pub mod hosts;
pub mod infra_envs;
pub mod logs;
pub mod manifests;
pub mod operators;
pub mod versions;
