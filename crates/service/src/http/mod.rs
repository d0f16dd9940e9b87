//! The HTTP side: listeners, the way of a request to its handler, and answers.
//!
//! Start at [`dispatch`], which says what happens to a request in which order.

pub mod admission;
mod body;
mod call;
mod cors;
pub mod dispatch;
mod lane;
pub mod link_place;
mod login;
mod pages;
mod pieces;
mod quiet;
mod reply;
mod routes;
pub mod server;
mod stall;
mod warm;
mod wire;

pub use call::Call;
pub use reply::{Body, Chunks, Reply};
