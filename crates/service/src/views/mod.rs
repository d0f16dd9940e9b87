//! Records as clients see them.
//!
//! The warts of the wire live here and in `muster-api`: zero dates for "never", JSON inside
//! JSON, members that are null in one answer and absent in the next. Which members appear in
//! which answer is taken from live observation of the reference; see `docs/compatibility.md`.

mod cluster;
mod host;
mod infra_env;

pub use cluster::{HostsShown, cluster, cluster_summary, operator};
pub use host::{HostDetail, host};
pub use infra_env::infra_env;

use muster_model::Timestamp;

/// A moment in a date-time member; never is a year-one date that clients compare with.
fn millis(at: Option<Timestamp>) -> Option<String> {
    Some(at.map_or_else(|| Timestamp::ZERO_MILLIS.to_owned(), Timestamp::millis))
}

/// A text member that is absent when empty.
fn text(value: &str) -> Option<String> {
    (!value.is_empty()).then(|| value.to_owned())
}

/// A number member that is absent when zero.
fn count(value: i64) -> Option<i64> {
    (value != 0).then_some(value)
}

/// A flag member that is absent when false.
fn flag(value: bool) -> Option<bool> {
    value.then_some(true)
}
