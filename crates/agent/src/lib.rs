//! What runs on a machine being installed.
//!
//! [`session`] is the conversation with the service: hello, then polling. [`steps`] does what the
//! service asks, [`outbox`] brings the results back. [`probe`] and [`names`] ask the network
//! directly, without other programs. [`inventory`] describes the machine. Everything else about the computer goes through
//! [`muster_machine::Machine`].

pub mod backoff;
pub mod capture;
pub mod check;
pub mod commands;
pub mod dhcp;
pub mod gather;
pub mod identity;
pub mod image_based;
pub mod inventory;
pub mod journal;
pub mod link;
pub mod node_zero;
pub mod options;
pub mod outbox;
pub mod probe;
pub mod session;
pub mod steps;
