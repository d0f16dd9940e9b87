//! The stand-in release: one small image that plays every component a bootstrap runs.

use std::fs;

use anyhow::{Context, Result};
use muster_vm::Network;

use crate::{
    Registry, control_plane,
    registry::{self, Content},
};

/// What the release calls itself.
pub const VERSION: &str = "4.20.3";
const PROGRAM: &str = include_str!("../release/program.sh");
/// Names under which bootkube.sh and the kubelet start programs of the release.
const PROGRAMS: &[&str] = &[
    "bin/cat",
    "usr/bin/bootstrap",
    "usr/bin/bootstrap-in-place",
    "usr/bin/cluster-config-operator",
    "usr/bin/cluster-etcd-operator",
    "usr/bin/cluster-kube-apiserver-operator",
    "usr/bin/cluster-kube-controller-manager-operator",
    "usr/bin/cluster-kube-scheduler-operator",
    "usr/bin/config-server",
    "usr/bin/etcdctl",
    "usr/bin/image",
    "usr/bin/kube-apiserver",
    "usr/bin/render",
    "usr/bin/render-bootcmd-mc",
    "usr/bin/start",
];
/// Components that an installation of this release names.
const COMPONENTS: &[&str] = &[
    "cloud-credential-operator",
    "cluster-authentication-operator",
    "cluster-bootstrap",
    "cluster-config-api",
    "cluster-config-operator",
    "cluster-etcd-operator",
    "cluster-ingress-operator",
    "cluster-kube-apiserver-operator",
    "cluster-kube-controller-manager-operator",
    "cluster-kube-scheduler-operator",
    "cluster-node-tuning-operator",
    "cluster-policy-controller",
    "etcd",
    "hyperkube",
    "machine-config-operator",
    "must-gather",
    "pod",
];

const COMPONENT: &str = "ocp/component:1";
/// The component that has an image of its own where a story needs one that no host has pulled before
/// its bootstrap runs. It is neither the first nor the last to run.
const LATE_COMPONENT: &str = "cluster-kube-apiserver-operator";
/// The name of that image.
pub const LATE_IMAGE: &str = "ocp/late-component";

/// The whole name of the image that plays every component.
#[must_use]
pub fn component() -> String {
    format!("{}/{COMPONENT}", registry::address())
}

/// Puts the release into a registry; returns its name there.
///
/// # Errors
/// When podman fails or busybox is missing.
pub fn push(registry: &Registry, network: &Network) -> Result<String> {
    let component = push_component(registry, network)?;
    push_components(registry, network, &component, &component)
}

/// The same with an image that is first pulled in the middle of the bootstrap: all others are there
/// since the service had hosts check that they can be pulled.
///
/// # Errors
/// When podman fails or busybox is missing.
pub fn push_with_late_image(registry: &Registry, network: &Network) -> Result<String> {
    let component = push_component(registry, network)?;
    let (busybox, program) = (busybox()?, program("unknown"));
    let mut files = files(&busybox, &program);
    files.push(("late", &b"another image has another digest"[..]));
    let late = registry.push(network, &format!("{LATE_IMAGE}:1"), &files)?;
    push_components(registry, network, &component, &late)
}

fn push_components(
    registry: &Registry,
    network: &Network,
    component: &str,
    late: &str,
) -> Result<String> {
    let image_of = |name: &str| match name == LATE_COMPONENT {
        true => late,
        false => component,
    };
    let components: Vec<_> = COMPONENTS
        .iter()
        .map(|name| (*name, image_of(name)))
        .collect();
    let (busybox, program) = (busybox()?, program(component));
    registry.push_release(network, VERSION, &components, &files(&busybox, &program))
}

/// Where a mirrored release has its images in its own words.
pub const SOURCE: &str = "quay.io/openshift-release-dev";
/// Its repositories; the registry has them below `ocp/`.
pub const MIRRORED: &[&str] = &["release", "component"];

/// Puts the release there as a site without internet has it: by its own words all images are in
/// [`SOURCE`], which no machine reaches. Returns its name there, by digest.
///
/// # Errors
/// When podman fails or busybox is missing.
pub fn push_mirrored(registry: &Registry, network: &Network) -> Result<String> {
    let busybox = busybox()?;
    let component = at_source(&push_component(registry, network)?)?;
    let components: Vec<_> = COMPONENTS
        .iter()
        .map(|name| (*name, component.as_str()))
        .collect();
    let program = program(&component);
    let programs = files(&busybox, &program);
    at_source(&registry.push_release_by_digest(network, VERSION, &components, &programs)?)
}

/// The name at the source of an image of the registry.
fn at_source(image: &str) -> Result<String> {
    let (_, name) = image.rsplit_once('/').context("an image is in a folder")?;
    Ok(format!("{SOURCE}/{name}"))
}

/// Puts the image of every component there; returns its name by digest.
///
/// # Errors
/// When podman fails or busybox is missing.
pub fn push_component(registry: &Registry, network: &Network) -> Result<String> {
    // The image cannot know its own digest; only the release's programs need it.
    let program = program("unknown");
    registry.push(network, COMPONENT, &files(&busybox()?, &program))
}

fn busybox() -> Result<Vec<u8>> {
    fs::read("/bin/busybox").context("busybox-static is not installed")
}

fn program(component: &str) -> String {
    PROGRAM
        .replace("@HARNESS@", &control_plane::outside_url())
        .replace("@API@", &Network::GATEWAY.to_string())
        .replace("@IMAGE@", component)
}

fn files<'a>(busybox: &'a [u8], program: &'a str) -> Vec<Content<'a>> {
    let programs = PROGRAMS.iter().map(|name| (*name, program.as_bytes()));
    // Containers mount over these, or expect them.
    let folders = ["tmp/.keep", "etc/mcs/.keep", "var/.keep"].map(|name| (name, &b""[..]));
    [("bin/busybox", busybox)]
        .into_iter()
        .chain(programs)
        .chain(folders)
        .collect()
}
