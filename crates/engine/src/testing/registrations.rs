//! Registration of a machine from every status.

use muster_model::{ClusterKind, ClusterStatus, HostKind, HostStage, HostStatus};

use super::{Fleet, heard_no, key};
use crate::{
    RefusalKind,
    registration::{self, NewHost},
};

use HostStatus::*;
use RefusalKind::{Conflict, Invalid};

pub(super) const SCENARIOS: &[fn()] = &[
    a_registration_leads_where_the_contract_says,
    a_cluster_begins_as_its_kind_does,
    a_cluster_that_installs_takes_no_new_hosts,
];

/// What a registration leads to, by status, stage and whether the host is a day-2 host.
type Registration = (
    HostStatus,
    Option<HostStage>,
    bool,
    Result<HostStatus, RefusalKind>,
);

/// The table.
const REGISTRATIONS: &[Registration] = &[
    (PreparingForInstallation, None, false, Ok(Known)),
    (PreparingSuccessful, None, false, Ok(Known)),
    (Discovering, None, false, Ok(Discovering)),
    (Known, None, false, Ok(Discovering)),
    (Disconnected, None, false, Ok(Discovering)),
    (Insufficient, None, false, Ok(Discovering)),
    (ResettingPendingUserAction, None, false, Ok(Discovering)),
    (Binding, None, false, Ok(Discovering)),
    (PendingForInput, None, false, Ok(Discovering)),
    (Resetting, Some(HostStage::Rebooting), false, Ok(Resetting)),
    (Resetting, Some(HostStage::Done), false, Ok(Discovering)),
    (
        InstallingInProgress,
        Some(HostStage::Rebooting),
        false,
        Ok(InstallingPendingUserAction),
    ),
    (
        InstallingPendingUserAction,
        Some(HostStage::Rebooting),
        false,
        Err(Invalid),
    ),
    (
        InstallingPendingUserAction,
        Some(HostStage::Joined),
        false,
        Err(Invalid),
    ),
    (
        AddedToExistingCluster,
        Some(HostStage::Done),
        true,
        Ok(InstallingPendingUserAction),
    ),
    (
        AddedToExistingCluster,
        Some(HostStage::Done),
        false,
        Err(Invalid),
    ),
    (
        InstallingPendingUserAction,
        Some(HostStage::Done),
        true,
        Err(Invalid),
    ),
    (Installing, None, false, Ok(Error)),
    (
        InstallingInProgress,
        Some(HostStage::Installing),
        false,
        Ok(Error),
    ),
    (
        InstallingInProgress,
        Some(HostStage::Done),
        true,
        Ok(InstallingPendingUserAction),
    ),
    (Error, None, false, Ok(Error)),
    (Installed, Some(HostStage::Done), false, Err(Conflict)),
    (Cancelled, None, false, Err(Invalid)),
    (PreparingFailed, None, false, Err(Invalid)),
    (Disabled, None, false, Err(Invalid)),
    (DisabledUnbound, None, false, Err(Invalid)),
    (Reclaiming, None, false, Err(Invalid)),
    (DiscoveringUnbound, None, false, Ok(DiscoveringUnbound)),
    (DisconnectedUnbound, None, false, Ok(DiscoveringUnbound)),
    (InsufficientUnbound, None, false, Ok(DiscoveringUnbound)),
    (KnownUnbound, None, false, Ok(DiscoveringUnbound)),
    (Unbinding, None, false, Ok(DiscoveringUnbound)),
    (
        UnbindingPendingUserAction,
        None,
        false,
        Ok(DiscoveringUnbound),
    ),
    (ReclaimingRebooting, None, false, Ok(DiscoveringUnbound)),
];

#[test]
pub(super) fn a_registration_leads_where_the_contract_says() {
    let fleet = Fleet::ready(3, 3);
    for status in HostStatus::ALL {
        assert!(
            REGISTRATIONS.iter().any(|row| row.0 == *status),
            "{status} is not listed"
        );
    }
    for (status, stage, day2, expected) in REGISTRATIONS {
        let mut host = fleet.host(1).clone();
        host.status = *status;
        host.progress.stage = *stage;
        if *day2 {
            host.kind = HostKind::AddToExistingClusterHost;
        }
        let new = NewHost {
            key: key(1),
            cluster: Some(&fleet.cluster),
            agent_version: Some("agent:2"),
            user_name: "admin",
        };
        let answer = registration::register(Some(&host), &new, fleet.now).inspect_err(heard_no);
        let led = answer.as_ref().map(|r| r.host.status).map_err(|no| no.kind);
        assert_eq!(led, *expected, "{status} {stage:?}");
        if let Ok(registered) = answer {
            let restarted = matches!(registered.host.status, Discovering | DiscoveringUnbound);
            assert_eq!(
                registered.host.reports.inventory.is_none(),
                restarted,
                "{status}"
            );
        }
    }
}

#[test]
pub(super) fn a_cluster_begins_as_its_kind_does() {
    let begins = ClusterKind::ALL
        .iter()
        .map(|kind| registration::first_status(*kind));
    let expected = [
        ClusterStatus::Insufficient,
        ClusterStatus::AddingHosts,
        ClusterStatus::Unmonitored,
    ];
    assert_eq!(begins.collect::<Vec<_>>(), expected);
}

#[test]
pub(super) fn a_cluster_that_installs_takes_no_new_hosts() {
    for status in ClusterStatus::ALL {
        let mut fleet = Fleet::new(3, 1);
        fleet.cluster.status = *status;
        let welcome = fleet.boot(1);
        assert_eq!(welcome.is_ok(), status.accepts_changes(), "{status}");
        assert!(welcome.is_ok_and(|()| true) || fleet.hosts.is_empty());
    }
}
