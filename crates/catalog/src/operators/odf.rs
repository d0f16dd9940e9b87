//! ODF: which hosts carry the storage, and the resources they need.
//!
//! ODF runs either on the control plane of a small cluster (compact) or on the workers of a
//! large one (standard). Which of the two follows from the roles that users gave, not from
//! those the service would suggest, or the answer would change while hosts come in.

use super::{OdfSettings, needs::HostRole};
use crate::Requirement;

const MIB_PER_GIB: u32 = 1024;

/// Control plane nodes of a usual cluster, and its hosts where roles may stay open.
const CONTROL_PLANE: usize = 3;

/// Hosts of a cluster by the role they were given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoleCounts {
    /// Hosts with the role master.
    pub masters: usize,
    /// Hosts with the role arbiter.
    pub arbiters: usize,
    /// Hosts with the role worker.
    pub workers: usize,
    /// Hosts that leave the choice to the service.
    pub auto_assign: usize,
}

impl RoleCounts {
    /// All hosts.
    #[must_use]
    pub const fn total(self) -> usize {
        self.masters + self.arbiters + self.workers + self.auto_assign
    }

    /// Whether it is known if a host without a role will carry storage: three hosts all become
    /// control plane, of more it is not known which do.
    #[must_use]
    pub const fn allows_open_roles(self) -> bool {
        self.total() == CONTROL_PLANE
    }
}

/// Where ODF runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OdfMode {
    /// On the control plane.
    Compact,
    /// On the workers.
    Standard,
    /// The roles allow neither, or are not known yet.
    Unknown,
}

impl OdfMode {
    /// The mode of a cluster.
    pub fn of(hosts: RoleCounts, settings: &OdfSettings) -> Self {
        let RoleCounts {
            masters,
            arbiters,
            workers,
            auto_assign,
        } = hosts;
        let enough = usize::try_from(settings.min_hosts).unwrap_or(usize::MAX);
        let three_node = masters + auto_assign == CONTROL_PLANE && workers == 0;
        let control_plane_only = workers == 0 && auto_assign == 0 && masters + arbiters >= enough;
        let quorum = masters >= CONTROL_PLANE || (masters >= 2 && arbiters > 0);
        if three_node || control_plane_only {
            Self::Compact
        } else if quorum && workers >= enough {
            Self::Standard
        } else {
            Self::Unknown
        }
    }

    /// Whether a host of that given role carries storage.
    pub const fn runs_on(self, role: HostRole) -> bool {
        match (self, role) {
            (Self::Compact, HostRole::Master | HostRole::Arbiter | HostRole::AutoAssign) => true,
            (Self::Standard, HostRole::Worker) => true,
            (Self::Compact, HostRole::Worker) => false,
            (Self::Standard, HostRole::Master | HostRole::Arbiter | HostRole::AutoAssign) => false,
            (Self::Unknown, _) => false,
        }
    }

    /// What ODF adds to a host with `disks` disks that it can use.
    ///
    /// In compact mode one disk is counted even where none was found yet, so that the numbers
    /// do not jump when the first disk appears.
    pub fn host_needs(self, role: HostRole, disks: u32, settings: &OdfSettings) -> Requirement {
        let (cpu, ram_gib, disks) = match self {
            _ if !self.runs_on(role) => return Requirement::default(),
            Self::Compact => (settings.compact_cpu, settings.compact_ram_gib, disks.max(1)),
            Self::Standard | Self::Unknown => {
                (settings.standard_cpu, settings.standard_ram_gib, disks)
            }
        };
        Requirement::cpu_and_ram(
            cpu.saturating_add(settings.disk_cpu.saturating_mul(disks)),
            ram_gib
                .saturating_add(settings.disk_ram_gib.saturating_mul(disks))
                .saturating_mul(MIB_PER_GIB),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(masters: usize, arbiters: usize, workers: usize, auto_assign: usize) -> OdfMode {
        let roles = RoleCounts {
            masters,
            arbiters,
            workers,
            auto_assign,
        };
        OdfMode::of(roles, &OdfSettings::default())
    }

    #[test]
    fn how_many_hosts_are_enough_is_a_setting() {
        let four = OdfSettings {
            min_hosts: 4,
            ..OdfSettings::default()
        };
        let mode = |masters, workers| {
            let roles = RoleCounts {
                masters,
                workers,
                ..RoleCounts::default()
            };
            OdfMode::of(roles, &four)
        };
        assert_eq!(
            mode(3, 0),
            OdfMode::Compact,
            "three nodes are a usual cluster"
        );
        assert_eq!(mode(4, 0), OdfMode::Compact);
        assert_eq!(mode(3, 3), OdfMode::Unknown);
        assert_eq!(mode(3, 4), OdfMode::Standard);
    }

    #[test]
    fn the_mode_follows_the_given_roles() {
        use OdfMode::{Compact, Standard, Unknown};
        for (counts, expected) in [
            ((3, 0, 0, 0), Compact),
            ((0, 0, 0, 3), Compact),
            ((1, 0, 0, 2), Compact),
            ((5, 0, 0, 0), Compact),
            ((2, 1, 0, 0), Compact),
            ((3, 0, 3, 0), Standard),
            ((2, 1, 3, 0), Standard),
            ((3, 0, 2, 0), Unknown),
            ((2, 0, 3, 0), Unknown),
            ((3, 0, 0, 1), Unknown),
            ((3, 0, 3, 1), Standard),
            ((1, 0, 0, 0), Unknown),
        ] {
            let (masters, arbiters, workers, auto) = counts;
            assert_eq!(
                mode(masters, arbiters, workers, auto),
                expected,
                "{counts:?}"
            );
        }
    }

    #[test]
    fn only_hosts_that_carry_storage_pay_for_it() {
        let settings = OdfSettings::default();
        let needs = |mode: OdfMode, role, disks| {
            let need = mode.host_needs(role, disks, &settings);
            (need.cpu_cores, need.ram_mib)
        };
        assert_eq!(needs(OdfMode::Compact, HostRole::Master, 1), (8, 24 * 1024));
        assert_eq!(
            needs(OdfMode::Compact, HostRole::Arbiter, 0),
            (8, 24 * 1024)
        );
        assert_eq!(needs(OdfMode::Compact, HostRole::Worker, 3), (0, 0));
        assert_eq!(
            needs(OdfMode::Standard, HostRole::Worker, 0),
            (8, 19 * 1024)
        );
        assert_eq!(
            needs(OdfMode::Standard, HostRole::Worker, 2),
            (12, 29 * 1024)
        );
        assert_eq!(needs(OdfMode::Standard, HostRole::Master, 2), (0, 0));
        assert_eq!(needs(OdfMode::Unknown, HostRole::Master, 2), (0, 0));
    }
}
