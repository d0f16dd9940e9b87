//! What each operation does: one folder or file per noun.
//!
//! A handler loads, decides (rules in `muster-engine`, field rules beside the handler), stores
//! and shows. It never sees a malformed request: the binder has been there before.

pub mod clusters;
pub mod events;
pub mod features;
pub mod fields;
pub mod files;
pub mod hosts;
pub mod infra_envs;
pub mod logs;
pub mod manifests;
pub mod operators;
pub mod versions;
