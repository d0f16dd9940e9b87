//! When things are overdue. Rules ask whether a moment has passed, the shell asks when to look
//! again; both ask here, so they cannot disagree.

use std::time::Duration;

use muster_model::{
    Cluster, ClusterStatus, FinalizingStage, Host, HostStage, HostStatus, LogsState, Timestamp,
};

use crate::{checks::host::past_reboot, networks, operators, settings::Settings};

/// How often the clock of a stage is moved on while another host needs the user; once a minute
/// is exact enough and spares the store.
pub(crate) const FROZEN_CLOCK_STEP: Duration = Duration::from_secs(60);

/// Whether this cluster is waited for when it is overdue: the site wants it so, and the cluster
/// was registered here, where its owner could agree (an imported one was not).
pub(crate) const fn are_soft(cluster: &Cluster, settings: &Settings) -> bool {
    settings.soft_timeouts && !cluster.imported
}

/// When silence becomes a disconnection; never after the reboot, where no agent polls.
pub(crate) fn silence(host: &Host, last_seen: Timestamp, settings: &Settings) -> Option<Timestamp> {
    if past_reboot(host.progress.stage) {
        return None;
    }
    let limits = &settings.timeouts;
    let grace = if host.bootstrap {
        limits.bootstrap_grace
    } else {
        Duration::ZERO
    };
    Some(last_seen.plus(limits.disconnection.saturating_add(grace)))
}

/// How long the present stage of a host may stand still.
pub(crate) fn stage_limit(host: &Host, single_node: bool, settings: &Settings) -> Duration {
    let stage = host.progress.stage;
    let stage = stage.unwrap_or(HostStage::StartingInstallation);
    settings.timeouts.host_stage(stage, single_node)
}

/// When it has stood still too long.
pub(crate) fn stage(host: &Host, single_node: bool, settings: &Settings) -> Timestamp {
    stage_moved(host).plus(stage_limit(host, single_node, settings))
}

/// Last sign of progress.
pub(crate) fn stage_moved(host: &Host) -> Timestamp {
    let moved = host.progress.stage_updated_at;
    moved.unwrap_or(host.status_updated_at)
}

/// The host waits for the control plane, and that waits for a person elsewhere.
pub(crate) fn is_frozen(host: &Host, cluster: ClusterStatus) -> bool {
    use HostStage::*;
    cluster == ClusterStatus::InstallingPendingUserAction
        && matches!(
            host.progress.stage,
            Some(WaitingForControlPlane | WaitingForController | WaitingForBootkube | Rebooting)
        )
}

/// When waiting for a host's logs is given up; `None` once that is settled.
pub(crate) fn host_logs(host: &Host, settings: &Settings) -> Option<Timestamp> {
    let (pending, collecting) = settings.timeouts.host_logs;
    match host.logs_info.unwrap_or(LogsState::Unset) {
        LogsState::Unset if host.logs_started_at.is_none() => {
            Some(host.status_updated_at.plus(pending))
        }
        LogsState::Requested => {
            let since = host.logs_collected_at.or(host.logs_started_at);
            since.map(|since| since.plus(collecting))
        }
        LogsState::Collecting => host.logs_collected_at.map(|since| since.plus(pending)),
        LogsState::Unset | LogsState::Completed | LogsState::Timeout => None,
    }
}

/// When waiting for the controller's logs is given up; `None` once that is settled.
pub(crate) fn cluster_logs(cluster: &Cluster, settings: &Settings) -> Option<Timestamp> {
    let (pending, collecting) = settings.timeouts.cluster_logs;
    match cluster.logs_info.unwrap_or(LogsState::Unset) {
        LogsState::Unset if cluster.controller_logs_started_at.is_none() => {
            Some(cluster.status_updated_at.plus(pending))
        }
        LogsState::Requested | LogsState::Collecting => {
            let collected = cluster.controller_logs_collected_at;
            let since = collected.or(cluster.controller_logs_started_at);
            since.map(|since| since.plus(collecting))
        }
        LogsState::Unset | LogsState::Completed | LogsState::Timeout => None,
    }
}

/// When an installation that waits, for the user or for anything, has waited enough.
pub(crate) fn installation(cluster: &Cluster, settings: &Settings) -> Option<Timestamp> {
    let started = cluster.install_started_at?;
    Some(started.plus(settings.timeouts.installation))
}

/// How long a finalizing stage may take on this cluster.
pub(crate) fn finalizing_limit(
    stage: FinalizingStage,
    cluster: &Cluster,
    settings: &Settings,
) -> Duration {
    let slowest = operators::slowest_olm(cluster);
    settings.timeouts.finalizing_stage(stage, slowest)
}

/// When the present finalizing stage is overdue, if there is one.
pub(crate) fn finalizing_stage(cluster: &Cluster, settings: &Settings) -> Option<Timestamp> {
    let stage = cluster.progress.finalizing_stage?;
    let started = cluster.progress.finalizing_stage_started_at?;
    Some(started.plus(finalizing_limit(stage, cluster, settings)))
}

/// When leases for the virtual addresses are overdue; `None` once they are there or it was reported.
pub(crate) fn leases(cluster: &Cluster, settings: &Settings) -> Option<Timestamp> {
    let missing = networks::vips(&cluster.api_vips).is_empty()
        || networks::vips(&cluster.ingress_vips).is_empty();
    let since = cluster.leases.awaited_since?;
    (missing && !cluster.leases.overdue_reported).then(|| since.plus(settings.timeouts.vip_lease))
}

/// The next moment at which the result of a rule for this host may change.
pub(crate) fn next_of_host(
    host: &Host,
    last_seen: Timestamp,
    cluster: Option<&Cluster>,
    settings: &Settings,
    now: Timestamp,
) -> Option<Timestamp> {
    use HostStatus::*;
    let silence = silence(host, last_seen, settings);
    let in_status = |limit| Some(host.status_updated_at.plus(limit));
    let limits = &settings.timeouts;
    let frozen = cluster.is_some_and(|cluster| is_frozen(host, cluster.status));
    let single_node = cluster.is_some_and(Cluster::is_single_node);
    let all = match host.status {
        Discovering | Known | Insufficient | PendingForInput | PreparingFailed
        | PreparingSuccessful | DiscoveringUnbound | KnownUnbound | InsufficientUnbound
        | Unbinding => [silence, None],
        PreparingForInstallation => [silence, in_status(limits.host_preparing)],
        Installing => [silence, in_status(limits.host_installing)],
        InstallingInProgress if frozen => {
            [silence, Some(stage_moved(host).plus(FROZEN_CLOCK_STEP))]
        }
        InstallingInProgress => [silence, Some(stage(host, single_node, settings))],
        InstallingPendingUserAction => [in_status(limits.host_pending_user_action), None],
        Binding => [silence, in_status(limits.binding)],
        Reclaiming | ReclaimingRebooting => [in_status(limits.reclaim), None],
        Error | Cancelled => [host_logs(host, settings), None],
        Disconnected
        | DisconnectedUnbound
        | Disabled
        | DisabledUnbound
        | ResettingPendingUserAction
        | Installed
        | Resetting
        | AddedToExistingCluster
        | UnbindingPendingUserAction => [None, None],
    };
    earliest(all, now)
}

/// The same for a cluster itself.
pub(crate) fn next_of_cluster(
    cluster: &Cluster,
    settings: &Settings,
    now: Timestamp,
) -> Option<Timestamp> {
    use ClusterStatus::*;
    let in_status = |limit| Some(cluster.status_updated_at.plus(limit));
    let limits = &settings.timeouts;
    let soft = are_soft(cluster, settings);
    let all = match cluster.status {
        Installing if soft => [installation(cluster, settings), None],
        Finalizing if soft => [
            installation(cluster, settings),
            finalizing_stage(cluster, settings),
        ],
        PreparingForInstallation => [in_status(limits.cluster_preparing), None],
        InstallingPendingUserAction => [installation(cluster, settings), None],
        Finalizing => [
            in_status(limits.finalizing),
            finalizing_stage(cluster, settings),
        ],
        Error | Cancelled => [cluster_logs(cluster, settings), None],
        Insufficient | Ready | PendingForInput => [leases(cluster, settings), None],
        Installing | Installed | AddingHosts | Unmonitored => [None, None],
    };
    earliest(all, now)
}

/// The first deadline that still lies ahead. Rules ask whether it has *passed*, so the moment
/// to look again is just behind it.
fn earliest(all: [Option<Timestamp>; 2], now: Timestamp) -> Option<Timestamp> {
    all.into_iter()
        .flatten()
        .filter(|deadline| *deadline >= now)
        .min()
        .map(|deadline| Timestamp(deadline.0.saturating_add(1)))
}
