//! The REST v2 contract as data, and everything generated from it.
//!
//! The files under `contract/` are the source. From them come the Rust types of the wire
//! ([`wire`]), the router ([`Contract::route`]), the checks every request passes before a
//! handler sees it ([`bind()`]), the requests of clients (`requests`, sent by `client`), the published
//! documents ([`openapi3`], [`swagger2`]) and the types of a web page ([`typescript()`]).
//! [`Failure`] is how a refusal looks on the wire.

pub mod bind;
#[cfg(feature = "client")]
pub mod client;
pub mod contract;
pub mod error;
mod openapi;
mod percent;
#[cfg(feature = "client")]
pub mod requests;
mod typescript;
#[cfg(feature = "client")]
pub mod watch;
pub mod wire;

pub use bind::{Args, Bound, Violation, bind};
pub use contract::{Contract, Operation, PathParams, RouteMiss, contract};
pub use error::{Failure, Shape};
pub use openapi::{openapi3, swagger2};
pub use typescript::typescript;

/// Where the API lives on the server; the paths of the contract are below it.
pub const BASE_PATH: &str = "/api/assisted-install";
