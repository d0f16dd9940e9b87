//! Approving a certificate request that was found to be of a known host.

use std::collections::BTreeSet;

use crate::{
    csr,
    hosts::Host,
    kube::{Kind, Kube, KubeError},
    service::now,
};

/// Approves a request, read and checked again, because it may have changed. Whether it was.
///
/// # Errors
/// See [`KubeError`].
pub async fn approve(
    kube: &Kube,
    name: &str,
    node: &str,
    hosts: &[Host],
    nodes: &BTreeSet<String>,
) -> Result<bool, KubeError> {
    let at = Kind::CSR.named(name);
    let written = kube.update(&at, "approval", |request| {
        let same = csr::answer(request, hosts, nodes) == csr::Answer::Approve(node.to_owned());
        if same {
            csr::approve(request, &now());
        }
        same
    });
    match written.await {
        Err(error) if error.is_missing() => Ok(false),
        written => written,
    }
}
