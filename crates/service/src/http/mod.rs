//! The HTTP side: listeners, dispatch of requests to handlers, and responses.
//!
//! Start at [`dispatch`], which says what happens to a request in which order.

pub mod admission;
mod aliases;
mod body;
mod browser;
mod budget;
mod call;
mod connections;
mod cors;
pub mod dispatch;
mod explain;
mod failure;
mod file_spans;
pub mod host_guard;
mod intake;
pub mod link_place;
mod login;
mod pages;
mod pieces;
mod pool;
mod quiet;
mod reply;
mod routes;
pub mod server;
pub mod sessions;
pub mod socket;
mod stall;
mod warm;
mod web;
mod wire;

pub use call::Call;
pub use failure::{Failure, status_of_refusal};
pub use intake::Intake;
pub use reply::{Body, Chunks, Reply};
