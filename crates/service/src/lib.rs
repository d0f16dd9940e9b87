//! The server: REST API v2 over HTTP(S), the driver round the engine, jobs, pages.
//!
//! The only place where the rules (`muster-engine`) meet the records (`muster-store`).
//! A request goes `http::dispatch` → `ops::…` → `aggregate` (load, decide, store) → `views`.
//! [`start`] wires it all; [`Running`] is a started service.

mod access;
pub mod aggregate;
pub mod app;
mod bodies;
mod catalog;
pub mod driver;
mod event_limits;
mod heartbeats;
mod housekeeping;
pub mod http;
pub mod images;
mod jobs;
mod metrics;
mod ops;
mod preparation;
mod replicas;
mod rules;
mod start;
mod steps;
mod systemd;
mod views;
mod watch;

pub use access::FirstUser;
pub use start::{Running, StartError, start};
