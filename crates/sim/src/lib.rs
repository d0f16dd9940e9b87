//! A fleet of hosts that exist only as the requests they send.
//!
//! [`Scenario`] plays one cluster from its creation to its end: a user ([`user`]) who calls the
//! REST API, machines ([`machine`], [`network`]) whose agents ([`host`], [`replies`]) speak the
//! agent protocol, installers and the controller of the new cluster ([`installer`],
//! [`controller`]). Everything is drawn from one [`Seed`], durations are those of real
//! installations shortened by a [`Pace`], and a [`Fault`] injects a failure.
//! [`View`] shows it on a terminal, [`Report`] remembers it for tests.

mod cluster_request;
pub mod controller;
mod fault;
mod feature;
mod histogram;
pub mod host;
pub mod image;
pub mod installer;
pub mod inventory;
mod line;
mod listing;
mod logs;
pub mod machine;
pub mod network;
pub mod nodes;
mod observer;
mod pace;
mod plan;
mod plug;
pub mod replies;
mod report;
mod scenario;
mod seed;
mod tally;
mod topology;
mod trap;
pub mod user;
mod view;

pub use cluster_request::ClusterRequest;
pub use fault::{BadFault, Ending, Fault, Planned, Sign};
pub use feature::Feature;
pub use line::Line;
pub use listing::list;
pub use observer::{Observed, Observer, Places, Snapshot};
pub use pace::Pace;
pub use plan::{End, Plan, Stuck};
pub use plug::Plugs;
pub use report::{Change, Moment, Report};
pub use scenario::Scenario;
pub use seed::Seed;
pub use tally::{Kind, Traffic};
pub use topology::{Act, Topology, UnknownName, Until};
pub use view::{Style, View};
