//! Runs in a new cluster and brings its installation to the end.
//!
//! [`run()`] starts one task per duty and waits until the service, or the cluster itself, says that
//! the installation is over. What a duty decides is a function without input or output
//! ([`nodes`], [`csr`], [`mcs`], [`operators`], [`labels`], [`bare_metal`], [`dns`]); the task around it
//! (in `duties`) watches the objects it depends on, asks the function and does what it says. The
//! state of the service reaches all of them through [`context`], and [`record`] keeps what happened
//! in a ConfigMap, so that an installation can be followed when its service is gone. What ends by
//! itself (labels, BareMetalHosts, manifests, late hosts) is waited for after that, for a while.
//! [`control_plane`] is for nodes that are added later; the service calls it.

pub mod approval;
pub mod bare_metal;
pub mod chain;
pub mod context;
pub mod control_plane;
pub mod csr;
pub mod dns;
mod duties;
mod end;
mod finalize;
pub mod hosts;
pub mod kube;
pub mod labels;
mod logs;
mod manifests;
pub mod mcs;
pub mod nodes;
mod oc;
pub mod operators;
pub mod options;
mod reboots;
pub mod record;
mod run;
pub mod service;

pub use end::End;
pub use logs::OWN_LOG;
pub use options::ControllerOptions;
pub use run::{Failure, run, start};
