//! How many control plane nodes a cluster may have.

use std::ops::RangeInclusive;

use crate::{OpenshiftVersion, names::named};

named! {
    /// Whether the control plane survives the loss of a node.
    pub enum HighAvailability: "high availability mode" {
        /// Several control plane nodes.
        Full = "Full",
        /// A single node.
        None = "None",
    }
}

/// The counts of control plane nodes that a version can be installed with.
///
/// `two_nodes` says that two-node control planes (with an arbiter or with fencing) are switched
/// on in this service. A pre-release counts as its release.
pub fn control_plane_counts(
    mode: HighAvailability,
    version: &OpenshiftVersion,
    two_nodes: bool,
) -> RangeInclusive<u32> {
    match mode {
        HighAvailability::None => 1..=1,
        HighAvailability::Full if two_nodes && version.at_least(4, 19) => 2..=5,
        HighAvailability::Full if version.at_least(4, 18) => 3..=5,
        HighAvailability::Full => 3..=3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_and_smaller_control_planes_came_with_later_versions() {
        use HighAvailability::{Full, None};
        for (mode, version, two_nodes, expected) in [
            (None, "4.22", true, 1..=1),
            (Full, "4.17.56", true, 3..=3),
            (Full, "4.18.0-ec.1", true, 3..=5),
            (Full, "4.19", false, 3..=5),
            (Full, "4.19.0-rc.1", true, 2..=5),
            (Full, "5.0", true, 2..=5),
        ] {
            let counts = control_plane_counts(mode, &version.parse().unwrap(), two_nodes);
            assert_eq!(counts, expected, "{mode} {version}");
        }
    }
}
