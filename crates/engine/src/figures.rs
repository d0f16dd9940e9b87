//! Metrics of hosts and installations, stored as events of category `metrics`.
//!
//! They have no name of their own and are in no catalogue: the message says what is counted, the
//! properties say how much.

use muster_model::{
    Category, Cluster, ClusterStatus, Event, EventScope, Host, HostStage, Severity, Timestamp,
};
use serde_json::{Value, json};

use crate::{history, inventory::Inventory};

const GIB: i64 = 1 << 30;

/// A figure about a host.
pub(crate) fn about_host(host: &Host, now: Timestamp, what: &str, props: &Value) -> Event {
    let mut event = Event::new("", Severity::Info, history::scope_of(host), now, what);
    event.category = Category::Metrics;
    event.scope.infra_env = None;
    event.props = Some(props.to_string());
    event
}

/// How an installation ended, and after how long: when the cluster left the status `from` for its end,
/// or for a stop that needs a person.
pub(crate) fn of_installation(
    cluster: &Cluster,
    from: ClusterStatus,
    now: Timestamp,
) -> Option<Event> {
    use ClusterStatus::*;
    let began = cluster.install_started_at?;
    let ended = match cluster.status {
        Installed => true,
        // A stop for a person was counted when it began.
        Error | InstallingPendingUserAction => from != InstallingPendingUserAction,
        Cancelled => matches!(from, PreparingForInstallation | Installing | Finalizing),
        Insufficient
        | Ready
        | PreparingForInstallation
        | PendingForInput
        | Installing
        | Finalizing
        | AddingHosts
        | Unmonitored => false,
    };
    if !ended {
        return None;
    }
    let props = json!({
        "duration": now.since(began).as_secs_f64(),
        "result": cluster.status.as_str(),
        "lastState": from.as_str(),
    });
    let scope = EventScope {
        cluster: Some(cluster.id),
        host: None,
        infra_env: None,
    };
    let what = "cluster.installation.results";
    let mut event = Event::new("", Severity::Info, scope, now, what);
    event.category = Category::Metrics;
    event.props = Some(props.to_string());
    Some(event)
}

/// Which machines can be installed: at the end of a host's installation, good or bad.
pub(crate) fn of_hardware(host: &Host, result: HostStage, now: Timestamp) -> Vec<Event> {
    let Some(inventory) = Inventory::known(host) else {
        return Vec::new();
    };
    let figure = |what: &str, mut props: Value| {
        props["host_result"] = json!(result.as_str());
        props["host_role"] = json!(role(host));
        about_host(host, now, what, &props)
    };
    let memory = inventory
        .memory
        .as_ref()
        .map_or(0, |memory| memory.physical_bytes);
    let cores = inventory.cpu.as_ref().map_or(0, |cpu| cpu.count);
    let mut figures = vec![figure(
        "host.mem.cpu",
        // The member says bytes and has always held GiB.
        json!({ "mem_bytes": memory / GIB, "core_count": cores }),
    )];
    figures.extend(inventory.disks.items().iter().map(|disk| {
        let size = disk.size_bytes / GIB;
        let props = json!({ "disk_type": disk.drive_type, "disk_size": size });
        figure("disk.size.type", props)
    }));
    figures.extend(
        inventory
            .interfaces
            .items()
            .iter()
            .map(|nic| figure("nic.speed", json!({ "nic_speed": nic.speed_mbps }))),
    );
    figures
}

/// How long a stage took, when the host leaves it for `next`.
pub(crate) fn of_stage(before: &Host, next: HostStage, now: Timestamp) -> Option<Event> {
    let stage = before.progress.stage?;
    let began = before.progress.stage_started_at?;
    let inventory = Inventory::known(before);
    let vendor = inventory
        .as_ref()
        .and_then(|known| known.system_vendor.as_ref());
    let disk = inventory.as_ref().and_then(|known| {
        let id = before.installation_disk_id.as_deref()?;
        known.disks.items().iter().find(|disk| disk.id == id)
    });
    let result = if next == HostStage::Failed {
        HostStage::Failed
    } else {
        HostStage::Done
    };
    let unknown = || "Unknown".to_owned();
    let props = json!({
        "result": result.as_str(),
        "duration": now.since(began).as_secs_f64(),
        "host_stage": stage.as_str(),
        "vendor": vendor.map_or_else(unknown, |vendor| vendor.manufacturer.clone()),
        "product": vendor.map_or_else(unknown, |vendor| vendor.product_name.clone()),
        "disk_type": disk.map_or_else(unknown, |disk| disk.drive_type.clone()),
        "host_role": role(before),
    });
    Some(about_host(before, now, "host.stage.duration", &props))
}

/// The bootstrap host is counted apart.
fn role(host: &Host) -> &'static str {
    if host.bootstrap {
        "bootstrap"
    } else {
        host.role.as_str()
    }
}
