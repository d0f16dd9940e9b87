//! The controller at work in a real API: etcd and kube-apiserver with the kinds of OpenShift, and a
//! service on loopback. Kubelets, operators and people are played by the test.
//!
//! `tests/setup-kube-apiserver` and `tests/setup-crds` fetch what is needed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod added_control_plane;
mod bed;
mod failures;
mod installation;
mod operators;
mod restarts;
mod service;
mod troubles;
mod without_service;
