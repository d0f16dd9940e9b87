//! The server: REST API v2 over HTTP(S), watching, pages, boot images.
//!
//! A shell over the application (`muster-app`). A request goes `http::dispatch` → `handlers::…` →
//! a use case of `muster_app` (load, decide, store) → `views`.
//! [`start`] wires it all; [`Running`] is a started service.

mod access;
mod bodies;
mod first_user;
mod handlers;
pub mod http;
mod images;
mod redact;
pub mod sealing;
mod service;
mod start;
mod systemd;
mod views;
mod watch;

pub use access::{FirstUser, lacks_shared_users};
pub use images::ranges;
pub use start::{Running, StartError, start};
