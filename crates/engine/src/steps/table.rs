//! Which steps a host gets in which status: three tables, read from the top.
//!
//! The order of steps is the order in the answer. A status that no row names gets no steps and
//! is asked to come back at the normal pace.

use std::time::Duration;

use muster_model::{Host, HostStatus, HostStatus as S};

use super::{StepType, StepType as T};
use crate::settings::Polling;

/// Steps that go together.
type Group = &'static [StepType];

const INVENTORY: Group = &[T::Inventory];
/// What the host finds around itself.
const NEIGHBOURS: Group = &[
    T::ConnectivityCheck,
    T::TangConnectivityCheck,
    T::FreeNetworkAddresses,
    T::DhcpLeaseAllocate,
];
/// What the network offers.
const SERVICES: Group = &[T::NtpSynchronizer, T::DomainResolution, T::VerifyVips];
const NEIGHBOURS_DAY2: Group = &[
    T::ConnectivityCheck,
    T::ApiVipConnectivityCheck,
    T::TangConnectivityCheck,
];
const SERVICES_DAY2: Group = &[T::NtpSynchronizer, T::DomainResolution];
/// Leases run out unless they are renewed, also while the cluster is being installed.
const LEASE: Group = &[T::DhcpLeaseAllocate];
const LAST_CHECKS: Group = &[T::InstallationDiskSpeedCheck, T::ContainerImageAvailability];
const AFTERMATH: Group = &[T::LogsGather, T::StopInstallation];

/// When to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// As a rule.
    Normal,
    /// Little can happen soon.
    Slow,
    /// A change is near.
    NearChange,
    /// Leave at once and register again.
    Leave,
    /// Do this as the last thing, then leave.
    LastWork,
}

impl Pace {
    pub(super) const fn interval(self, polling: &Polling) -> Duration {
        match self {
            Self::Normal => polling.normal,
            Self::Slow | Self::LastWork => polling.slow,
            Self::NearChange => polling.near_change,
            Self::Leave => Duration::ZERO,
        }
    }

    pub(super) const fn exit(self) -> bool {
        match self {
            Self::Leave | Self::LastWork => true,
            Self::Normal | Self::Slow | Self::NearChange => false,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Slow | Self::LastWork => "slow",
            Self::NearChange => "near-change",
            Self::Leave => "at-once",
        }
    }
}

pub(super) struct Row {
    statuses: &'static [HostStatus],
    groups: &'static [Group],
    pub(super) pace: Pace,
    why: &'static str,
}

impl Row {
    pub(super) fn steps(&self) -> impl Iterator<Item = StepType> {
        self.groups.iter().copied().flatten().copied()
    }
}

const fn row(
    statuses: &'static [HostStatus],
    groups: &'static [Group],
    pace: Pace,
    why: &'static str,
) -> Row {
    Row {
        statuses,
        groups,
        pace,
        why,
    }
}

#[rustfmt::skip]
static DAY1: &[Row] = &[
    row(&[S::Discovering], &[INVENTORY], Pace::Normal,
        "nothing can be evaluated before the hardware is known"),
    row(&[S::Known], &[NEIGHBOURS, INVENTORY, SERVICES], Pace::Normal,
        "a ready host is checked continuously, so that it is still ready when the installation starts"),
    row(&[S::Insufficient, S::PendingForInput], &[INVENTORY, NEIGHBOURS, SERVICES], Pace::Normal,
        "hardware comes first: it may be the cause"),
    row(&[S::Disconnected], &[INVENTORY], Pace::Slow,
        "an agent that reconnects reports its inventory first"),
    row(&[S::PreparingForInstallation], &[LEASE, LAST_CHECKS], Pace::NearChange,
        "the last checks before disks are written"),
    row(&[S::PreparingSuccessful], &[], Pace::NearChange,
        "the host waits for the others and should learn soon that all are ready"),
    row(&[S::Installing], &[&[T::Install], LEASE], Pace::Normal,
        "repeated until the installer reports its first stage"),
    row(&[S::InstallingInProgress], &[LEASE], Pace::Normal,
        "the installer is running; only leases have to be renewed"),
    row(&[S::Error, S::Cancelled], &[AFTERMATH], Pace::Slow,
        "logs are requested until they arrive, and no installer may continue to write disks"),
    row(&[S::Disabled, S::Resetting], &[], Pace::Slow,
        "another action has to come first"),
    row(&[S::Binding], &[], Pace::Leave,
        "the agent joins its cluster by registering again"),
];

#[rustfmt::skip]
static DAY2: &[Row] = &[
    row(&[S::Discovering], &[INVENTORY, SERVICES_DAY2], Pace::Normal,
        "the cluster already runs, so its names and time sources can be checked at once"),
    row(&[S::Known], &[NEIGHBOURS_DAY2, INVENTORY, SERVICES_DAY2], Pace::Normal,
        "a ready host is checked continuously, so that it is still ready when the installation starts"),
    row(&[S::Insufficient], &[INVENTORY, NEIGHBOURS_DAY2, SERVICES_DAY2], Pace::Normal,
        "hardware comes first: it may be the cause"),
    row(&[S::PendingForInput], &[INVENTORY, NEIGHBOURS_DAY2], Pace::Normal,
        "input of the user is missing, so names and time sources do not matter yet"),
    row(&[S::Disconnected], &[INVENTORY], Pace::Slow,
        "an agent that reconnects reports its inventory first"),
    row(&[S::Installing], &[&[T::Install]], Pace::Normal,
        "repeated until the installer reports its first stage"),
    row(&[S::Error, S::Cancelled], &[AFTERMATH], Pace::Slow,
        "logs are requested until they arrive, and no installer may continue to write disks"),
    row(&[S::Disabled, S::Resetting], &[], Pace::Slow,
        "another action has to come first"),
    row(&[S::Binding], &[], Pace::Leave,
        "the reference has no such row; an agent without instructions would never join its new cluster"),
];

#[rustfmt::skip]
static POOL: &[Row] = &[
    row(&[S::DiscoveringUnbound, S::InsufficientUnbound, S::KnownUnbound], &[INVENTORY, &[T::NtpSynchronizer]], Pace::Normal,
        "without a cluster only the machine itself and its clock can be evaluated"),
    row(&[S::DisconnectedUnbound], &[INVENTORY], Pace::Slow,
        "an agent that reconnects reports its inventory first"),
    row(&[S::DisabledUnbound], &[], Pace::Slow,
        "another action has to come first"),
    row(&[S::Unbinding, S::UnbindingPendingUserAction], &[], Pace::Leave,
        "the agent comes back to the pool by registering again"),
    row(&[S::Reclaiming], &[&[T::DownloadBootArtifacts]], Pace::Normal,
        "a node that leaves its cluster fetches what it needs to boot into discovery"),
    row(&[S::ReclaimingRebooting], &[&[T::RebootForReclaim]], Pace::LastWork,
        "the reboot ends this agent; another one registers from the discovery image"),
];

/// For statuses that no row names.
static REST: Row = row(
    &[],
    &[],
    Pace::Normal,
    "every other status: there is nothing to do",
);

/// Statuses in which an agent may be exchanged without harm.
pub(super) const UPGRADABLE: &[HostStatus] = &[
    S::Binding,
    S::Discovering,
    S::DiscoveringUnbound,
    S::Insufficient,
    S::InsufficientUnbound,
    S::Known,
    S::KnownUnbound,
    S::PendingForInput,
];

/// The row a host is in.
pub(super) fn row_of(host: &Host) -> &'static Row {
    let table = if host.cluster.is_none() {
        POOL
    } else if host.is_day2() {
        DAY2
    } else {
        DAY1
    };
    table
        .iter()
        .find(|row| row.statuses.contains(&host.status))
        .unwrap_or(&REST)
}

/// One row of the tables, for people and documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// `any`, `day-1`, `day-2` or `pool`.
    pub kind: &'static str,
    /// Statuses it is for; none means every other one.
    pub statuses: Vec<HostStatus>,
    /// What is handed out, in order; a step that has nothing to ask yet is left out.
    pub steps: Vec<StepType>,
    /// Name of the setting the pause comes from: `normal`, `slow`, `near-change`, or `at-once`.
    pub interval: &'static str,
    /// The agent stops asking and registers again.
    pub exit: bool,
    /// Why it is so.
    pub why: &'static str,
}

/// All rows, in the order in which they are tried.
#[must_use]
pub fn table() -> Vec<StepRow> {
    let upgrade = StepRow {
        kind: "any",
        statuses: UPGRADABLE.to_vec(),
        steps: vec![T::UpgradeAgent],
        interval: Pace::Normal.name(),
        exit: false,
        why: "an agent of another version is upgraded first, and does nothing else until then",
    };
    let rows = [("day-1", DAY1), ("day-2", DAY2), ("pool", POOL)]
        .into_iter()
        .flat_map(|(kind, rows)| {
            rows.iter().chain([&REST]).map(move |row| StepRow {
                kind,
                statuses: row.statuses.to_vec(),
                steps: row.steps().collect(),
                interval: row.pace.name(),
                exit: row.pace.exit(),
                why: row.why,
            })
        });
    [upgrade].into_iter().chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_status_has_two_rows_and_every_row_says_why() {
        for kind in ["day-1", "day-2", "pool"] {
            let rows: Vec<StepRow> = table().into_iter().filter(|row| row.kind == kind).collect();
            let mut seen: Vec<HostStatus> = Vec::new();
            for row in &rows {
                assert!(!row.why.is_empty(), "{kind} {:?}", row.statuses);
                for status in &row.statuses {
                    assert!(!seen.contains(status), "{kind} {status}");
                    seen.push(*status);
                }
            }
            assert!(rows.last().unwrap().statuses.is_empty());
        }
    }

    #[test]
    fn every_step_that_is_handed_out_has_a_row() {
        let never = [T::Execute, T::NextStepRunner];
        let handed_out: Vec<StepType> = table().into_iter().flat_map(|row| row.steps).collect();
        for step in StepType::ALL {
            assert_eq!(handed_out.contains(step), !never.contains(step), "{step}");
        }
    }
}
