//! Control planes of other sizes than one and three, when hosts install themselves: which platforms,
//! releases and architectures have them. The service on the rendezvous host would refuse the others.

use muster_model::MinorVersion;

use super::{Diagnostics, Facts, Rule};
use crate::install_config::{
    Method,
    schema::wording::one_of,
    types::{Architecture, PlatformName},
};

const READS: &[&str] = &["controlPlane", "arbiter", "platform"];

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "agent-large-control-plane", path: "controlPlane.replicas", reads: READS, text: "When hosts install themselves: four or five control-plane machines are amd64, on platform baremetal, external or none, from 4.18 on.", check: large },
    Rule { name: "agent-arbiter", path: "arbiter", reads: READS, text: "When hosts install themselves: arbiters on platform baremetal from 4.19 on, on none from 4.22 on.", check: arbiter },
    Rule { name: "agent-fencing", path: "controlPlane.fencing", reads: READS, text: "When hosts install themselves: two machines with fencing on platform baremetal or none, from 4.20 on.", check: fencing },
];

/// A kind of control plane.
struct Topology {
    /// As the subject of a message.
    name: &'static str,
    /// The field that asks for it.
    path: &'static str,
    /// Platforms that have it, and since which release.
    since: &'static [(PlatformName, MinorVersion)],
    /// Platforms that another rule refuses.
    refused_elsewhere: &'static [PlatformName],
    /// Architectures of the control plane that have it; empty for all.
    architectures: &'static [Architecture],
    /// What can be installed in its place.
    instead: &'static str,
}

const fn from(minor: u32) -> MinorVersion {
    MinorVersion::new(4, minor)
}

static LARGE: Topology = Topology {
    name: "a control plane of more than three machines",
    path: "controlPlane.replicas",
    since: &[
        (PlatformName::BareMetal, from(18)),
        (PlatformName::External, from(18)),
        (PlatformName::None, from(18)),
    ],
    refused_elsewhere: &[],
    architectures: &[Architecture::Amd64],
    instead: "write `replicas: 3`",
};

static ARBITER: Topology = Topology {
    name: "an arbiter",
    path: "arbiter",
    since: &[
        (PlatformName::BareMetal, from(19)),
        (PlatformName::None, from(22)),
    ],
    refused_elsewhere: &[PlatformName::Vsphere, PlatformName::Nutanix],
    architectures: &[],
    instead: "remove it and write `replicas: 3` in controlPlane",
};

static FENCING: Topology = Topology {
    name: "a pair of machines with fencing",
    path: "controlPlane.fencing",
    since: &[
        (PlatformName::BareMetal, from(20)),
        (PlatformName::None, from(20)),
    ],
    refused_elsewhere: &[PlatformName::Vsphere, PlatformName::Nutanix],
    architectures: &[],
    instead: "remove it and write `replicas: 3` in controlPlane",
};

fn large(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    // More than five are refused by another rule.
    if matches!(facts.config.control_plane_replicas(), 4 | 5) {
        LARGE.check(facts, diagnostics);
    }
}

fn arbiter(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.config.arbiter.is_some() {
        ARBITER.check(facts, diagnostics);
    }
}

fn fencing(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let pool = facts.config.control_plane.as_ref();
    if pool.is_some_and(|pool| pool.fencing.is_some()) {
        FENCING.check(facts, diagnostics);
    }
}

impl Topology {
    fn check(&self, facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
        let (Method::Agent, Some(platform)) = (facts.around.method, facts.config.platform.name())
        else {
            return;
        };
        let Self { name, instead, .. } = self;
        let Some((_, since)) = self.since.iter().find(|(known, _)| *known == platform) else {
            if !self.refused_elsewhere.contains(&platform) {
                let platforms: Vec<&str> = self.since.iter().map(|(name, _)| name.word()).collect();
                diagnostics.fault(
                    self.path,
                    format!("{name} is not possible on {platform}"),
                    format!("use platform {}, or {instead}", one_of(&platforms)),
                );
            }
            return;
        };
        if let Some(release) = facts.around.release.filter(|release| release < since) {
            diagnostics.fault(
                self.path,
                format!("{name} on {platform} needs release {since} or later, not {release}"),
                format!("install a later release, or {instead}"),
            );
        }
        let known = self.architectures;
        let lacks = |own: &Architecture| !known.is_empty() && !known.contains(own);
        if let Some(own) = facts.config.architecture().filter(lacks) {
            let known: Vec<&str> = known.iter().map(|known| known.word()).collect();
            diagnostics.fault(
                self.path,
                format!("{name} is not possible on {own}"),
                format!("use machines of {}, or {instead}", one_of(&known)),
            );
        }
    }
}
