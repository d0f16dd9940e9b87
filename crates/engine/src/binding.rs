//! Hosts join a cluster after discovery, and leave it again.
//!
//! Both end only when the agent restarts and registers: the record changes now, the machine
//! follows with its next poll.

use muster_model::{Cluster, ClusterId, Host, HostKind, HostRole, HostStatus, Severity, Timestamp};

use crate::{
    draft, history,
    inventory::{self, Inventory},
    registration,
    view::{Decision, RefusalCode, Refused},
};

/// Binds a host to a cluster; `cluster` is `None` if no cluster has the id that was asked for.
///
/// # Errors
/// 409 when the host is bound or not known, or the cluster takes no hosts; 400 when the cluster
/// does not exist or is of another architecture.
pub fn bind(
    host: &Host,
    asked: ClusterId,
    cluster: Option<&Cluster>,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let refuse = |code: RefusalCode, reason: String| {
        let mut meant = host.clone();
        meant.cluster = Some(asked);
        let message = format!(
            "Host {}: binding to cluster {asked} refused: {reason}",
            inventory::hostname(host)
        );
        let event = history::of_host("host_bind_failed", Severity::Error, &meant, now, message);
        Err(Refused::new(code, reason).with(event))
    };
    if let Some(present) = host.cluster {
        return refuse(
            RefusalCode::Conflict,
            format!(
                "host {} is bound to cluster {present}; unbind it first",
                host.id
            ),
        );
    }
    let Some(cluster) = cluster else {
        return refuse(
            RefusalCode::BadRequest,
            format!("there is no cluster {asked}"),
        );
    };
    let wanted = cluster.cpu_architecture.as_deref().unwrap_or_default();
    let inventory = Inventory::of(host).ok();
    let own = inventory
        .as_ref()
        .map_or("", |inventory| inventory.architecture());
    if !matches!(wanted, "" | "multi") && !own.is_empty() && !same_architecture(wanted, own) {
        return refuse(
            RefusalCode::BadRequest,
            format!(
                "host {} has architecture {own}, cluster {} needs {wanted}",
                host.id, cluster.name
            ),
        );
    }
    if !cluster.status.accepts_changes() {
        return refuse(
            RefusalCode::Conflict,
            format!(
                "cluster {} is {} and takes no new hosts now",
                cluster.name, cluster.status
            ),
        );
    }
    if host.status != HostStatus::KnownUnbound {
        return refuse(
            RefusalCode::Conflict,
            format!(
                "host {} is {}; only known-unbound hosts can be bound",
                host.id, host.status
            ),
        );
    }
    let mut bound = host.clone();
    registration::forget_discovery(&mut bound);
    bound.cluster = Some(cluster.id);
    let mut events = Vec::new();
    history::move_host(
        &mut bound,
        HostStatus::Binding,
        "The host restarts its agent to join the cluster",
        now,
        &mut events,
    );
    let message = format!(
        "Host {}: bound to cluster {}",
        inventory::hostname(host),
        cluster.name
    );
    events.push(history::of_host(
        "host_bind_succeeded",
        Severity::Info,
        &bound,
        now,
        message,
    ));
    Ok(draft::about_host(host, bound, events, now))
}

fn same_architecture(a: &str, b: &str) -> bool {
    let common = |name: &str| match name {
        "aarch64" => "arm64".to_owned(),
        "amd64" => "x86_64".to_owned(),
        other => other.to_owned(),
    };
    common(a) == common(b)
}

/// Unbinds a host; `infra_env_is_bound` says that its infra-env itself belongs to a cluster.
///
/// # Errors
/// 409 when it is not bound, is installing, is between two bindings, or cannot leave because
/// its infra-env would bind it again.
pub fn unbind(host: &Host, infra_env_is_bound: bool, now: Timestamp) -> Result<Decision, Refused> {
    use HostStatus::*;
    let refuse = |reason: String| {
        let message = format!(
            "Host {}: unbinding refused: {reason}",
            inventory::hostname(host)
        );
        let event = history::of_host("host_unbind_failed", Severity::Error, host, now, message);
        Err(Refused::conflict(reason).with(event))
    };
    if host.cluster.is_none() {
        return refuse(format!("host {} is not bound to a cluster", host.id));
    }
    if infra_env_is_bound {
        return refuse(format!(
            "the infra-env of host {} belongs to its cluster; delete the host instead",
            host.id
        ));
    }
    let (to, info) = match host.status {
        Known | Discovering | Disconnected | Insufficient | PendingForInput => (
            Unbinding,
            "The host restarts its agent to leave the cluster",
        ),
        Installed | AddedToExistingCluster | Error | Cancelled => (
            UnbindingPendingUserAction,
            "Boot the host from the discovery image to take it out of the cluster",
        ),
        PreparingForInstallation
        | PreparingFailed
        | PreparingSuccessful
        | Installing
        | InstallingInProgress
        | InstallingPendingUserAction => {
            return refuse(format!(
                "host {} is {}; cancel the installation first",
                host.id, host.status
            ));
        }
        Disabled
        | ResettingPendingUserAction
        | Resetting
        | Binding
        | Unbinding
        | UnbindingPendingUserAction
        | KnownUnbound
        | DisconnectedUnbound
        | InsufficientUnbound
        | DisabledUnbound
        | DiscoveringUnbound
        | Reclaiming
        | ReclaimingRebooting => {
            return refuse(format!(
                "host {} is {} and cannot be unbound now",
                host.id, host.status
            ));
        }
    };
    let mut free = host.clone();
    forget_cluster(&mut free);
    let mut events = Vec::new();
    history::move_host(&mut free, to, info, now, &mut events);
    let message = format!(
        "Host {}: unbound from its cluster",
        inventory::hostname(host)
    );
    events.push(history::of_host(
        "host_unbind_succeeded",
        Severity::Info,
        &free,
        now,
        message,
    ));
    Ok(draft::about_host(host, free, events, now))
}

/// Everything a host learnt as part of a cluster.
pub(crate) fn forget_cluster(host: &mut Host) {
    registration::forget_discovery(host);
    registration::forget_logs(host);
    host.cluster = None;
    host.kind = HostKind::Host;
    host.role = HostRole::AutoAssign;
    host.suggested_role = HostRole::AutoAssign;
    host.reports.connectivity = None;
    host.reports.domain_name_resolutions = None;
    host.reports.free_addresses = None;
    host.reports.vips = None;
    host.reports.api_vip_connectivity = None;
    host.installation_disk_id = None;
    host.installation_disk_path = None;
    host.machine_config_pool_name = None;
}
