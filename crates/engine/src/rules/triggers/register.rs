//! Registration of a machine, by the status of its record.
//!
//! An agent sleeps for ever on a conflict and tries again when its request is invalid, so "not
//! now" is invalid where a later registration may succeed, and a conflict where only a person can
//! help. Statuses without a row (cancelled,
//! preparing-failed, disabled, reclaiming) are refused by the caller.

use muster_model::{Host, HostKind, HostProgress, HostStage, HostStatus};

use super::{Occasion, Row, To, Trigger::RegisterHost, row};
use crate::{
    disks,
    inventory::{self, Inventory},
    view::RefusalKind,
};

use HostStatus::*;

/// Said of a host that has yet to report its hardware.
pub(crate) const WAITING: &str = "Waiting for the host's inventory";

/// The table.
pub(crate) static ROWS: &[Row<Host>] = &[
    Row {
        when: |host| host.cluster.is_some(),
        says: |_, _| WAITING.to_owned(),
        ..row(
            RegisterHost,
            "a machine registers with a cluster",
            &[],
            To::Go(Discovering),
        )
    },
    Row {
        when: |host| host.cluster.is_none(),
        says: |_, _| WAITING.to_owned(),
        ..row(
            RegisterHost,
            "a machine registers with the pool",
            &[],
            To::Go(DiscoveringUnbound),
        )
    },
    Row {
        says: |_, _| "The host restarted during the preparation and is ready again".to_owned(),
        also: prepare_again,
        ..row(
            RegisterHost,
            "restarted while preparing",
            &[PreparingForInstallation, PreparingSuccessful],
            To::Go(Known),
        )
    },
    Row {
        says: |_, _| WAITING.to_owned(),
        also: start_over,
        ..row(
            RegisterHost,
            "restarted before the installation",
            &[
                Discovering,
                Known,
                Disconnected,
                Insufficient,
                ResettingPendingUserAction,
                Binding,
                PendingForInput,
            ],
            To::Go(Discovering),
        )
    },
    Row {
        when: is_rebooting,
        ..row(
            RegisterHost,
            "still rebooting for a reset",
            &[Resetting],
            To::Stay,
        )
    },
    Row {
        says: |_, _| WAITING.to_owned(),
        also: start_over,
        ..row(
            RegisterHost,
            "back from a reset",
            &[Resetting],
            To::Go(Discovering),
        )
    },
    Row {
        when: has_left_the_image,
        says: |host, _| {
            format!(
                "host {} booted the discovery image again; {}",
                host.id,
                boot_order(host)
            )
        },
        ..row(
            RegisterHost,
            "the image was booted repeatedly",
            &[InstallingPendingUserAction],
            To::Refuse(RefusalKind::Invalid),
        )
    },
    Row {
        when: has_left_the_image,
        says: |host, _| {
            format!(
                "The host booted the discovery image instead of its disk; {}",
                boot_order(host)
            )
        },
        ..row(
            RegisterHost,
            "the image was booted instead of the disk",
            &[InstallingInProgress, AddedToExistingCluster],
            To::Go(InstallingPendingUserAction),
        )
    },
    Row {
        says: |_, _| "The host restarted unexpectedly during the installation".to_owned(),
        ..row(
            RegisterHost,
            "restarted while installing",
            &[Installing, InstallingInProgress],
            To::Go(Error),
        )
    },
    row(RegisterHost, "failed already", &[Error], To::Stay),
    Row {
        says: |host, _| {
            format!(
                "host {} is installed but booted the discovery image; correct its boot order",
                inventory::hostname(host)
            )
        },
        ..row(
            RegisterHost,
            "an installed host booted the image",
            &[Installed],
            To::Refuse(RefusalKind::Conflict),
        )
    },
    Row {
        says: |_, _| WAITING.to_owned(),
        also: start_over,
        ..row(
            RegisterHost,
            "back in the pool",
            &[
                DiscoveringUnbound,
                DisconnectedUnbound,
                InsufficientUnbound,
                KnownUnbound,
                Unbinding,
                UnbindingPendingUserAction,
                ReclaimingRebooting,
            ],
            To::Go(DiscoveringUnbound),
        )
    },
];

fn is_rebooting(host: &Host) -> bool {
    host.progress.stage == Some(HostStage::Rebooting)
}

/// It should run from its disk by now.
fn has_left_the_image(host: &Host) -> bool {
    is_rebooting(host) || (host.is_day2() && host.progress.stage == Some(HostStage::Done))
}

/// Keeps what was learnt about the machine; only the images must be checked again.
fn prepare_again(host: &mut Host, occasion: &Occasion<'_>) {
    forget_progress(host);
    host.reports.images_status = None;
    forget_logs(host);
    refresh_identity(host, occasion);
}

/// A live system that started again knows nothing of its past.
fn start_over(host: &mut Host, occasion: &Occasion<'_>) {
    forget_discovery(host);
    forget_logs(host);
    refresh_identity(host, occasion);
}

pub(crate) fn forget_discovery(host: &mut Host) {
    forget_progress(host);
    host.reports.inventory = None;
    host.reports.images_status = None;
    host.bootstrap = false;
}

/// The flags of soft timeouts go too: they speak of an attempt that is over.
fn forget_progress(host: &mut Host) {
    host.progress = HostProgress::default();
    host.connection_timed_out = false;
}

pub(crate) fn forget_logs(host: &mut Host) {
    host.logs_info = None;
    host.logs_started_at = None;
    host.logs_collected_at = None;
}

fn refresh_identity(host: &mut Host, occasion: &Occasion<'_>) {
    host.reports.ntp_sources = None;
    if let Some(new) = occasion.newcomer {
        host.discovery_agent_version = new.agent_version.map(str::to_owned);
        host.kind = match new.cluster {
            Some(cluster) if cluster.is_day2() => HostKind::AddToExistingClusterHost,
            Some(_) | None => HostKind::Host,
        };
    }
}

/// Names the disk to boot from, if it is known.
fn boot_order(host: &Host) -> String {
    let inventory = Inventory::of(host).ok();
    let present = [
        host.installation_disk_id.as_deref().unwrap_or_default(),
        host.installation_disk_path.as_deref().unwrap_or_default(),
    ];
    let disk = inventory
        .as_ref()
        .and_then(|inventory| disks::choose(inventory, &present));
    match disk {
        Some(disk) => format!(
            "correct the boot order so that it boots from {} {} ({}, {})",
            disk.model, disk.serial, disk.name, disk.id
        ),
        None => "correct the boot order so that it boots from its installation disk".to_owned(),
    }
}
