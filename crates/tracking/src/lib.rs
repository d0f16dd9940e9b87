//! One continuous account of an installation, from the boot of its rendezvous host to the
//! finished cluster.
//!
//! ```text
//! service on node 0 ─┐
//! record in cluster ─┼─ sources ── Observation ── tracker (pure) ── Line, Status, Outcome
//! cluster itself ────┘
//! ```
//!
//! [`sources`] asks what can be asked at this moment; [`tracker`] compares it with what was known
//! and decides what is new, what is being waited for, and whether the goal is reached. Nothing is
//! kept between runs: everything shown follows from what the sources say now, so a run can start
//! late, be interrupted and be started again.

pub mod follow;
pub mod joining;
pub mod kubeconfig;
pub mod monitor;
pub mod observation;
pub mod sources;
pub mod tracker;

pub use follow::{Sink, follow};
pub use observation::{ApiSeen, ClusterView, Observation, ServiceSeen, ServiceView};
pub use tracker::{Goal, Level, Line, Outcome, Phase, Status, Tracker};
