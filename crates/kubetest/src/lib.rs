//! A real etcd and a real kube-apiserver for tests.
//!
//! [`Machine`] starts and logs servers, on this computer or in a network of its own; [`Issuer`] makes
//! certificates; [`ControlPlane`] is the two servers on loopback, for tests that want an API and do
//! not care about its certificates; [`published`] are the schemas of OpenShift's kinds.
//! `tests/setup-kube-apiserver` and `tests/setup-crds` fetch what is needed.
#![allow(
    clippy::unwrap_used,
    reason = "only tests use this crate, and they fail by panicking"
)]

mod control_plane;
mod definitions;
mod issuing;
mod machine;

use std::path::{Path, PathBuf};

pub use control_plane::ControlPlane;
pub use definitions::published;
pub use issuing::{Issuer, request};
pub use machine::Machine;

/// Where the set-up scripts put what they fetch.
fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-tools")
}

/// The server.
///
/// # Panics
/// It was not built.
#[must_use]
pub fn kube_apiserver() -> PathBuf {
    let program = tools().join("bin/kube-apiserver");
    assert!(
        program.exists(),
        "no kube-apiserver; `tests/setup-kube-apiserver` builds it"
    );
    program
}
