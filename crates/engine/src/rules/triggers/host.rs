//! Everything else that is done to a host: progress, failures, cancel, reset, binding,
//! reclaiming, lost media.

use muster_model::{Host, HostKind, HostReports, HostRole, HostStage, HostStatus};

use super::{
    Occasion, Row, To,
    Trigger::{self, *},
    register::{forget_discovery, forget_logs},
    row,
};

use HostStatus::*;

/// The host runs the discovery image and can restart its agent by itself.
const DISCOVERY: &[HostStatus] = &[
    Known,
    Discovering,
    Disconnected,
    Insufficient,
    PendingForInput,
];

/// The table.
pub(crate) static ROWS: &[Row<Host>] = &[
    // Progress; the new stage is stored already, so conditions see it.
    Row {
        when: |host| host.is_day2() && at(host, HostStage::Rebooting),
        ..row(
            HostProgressChanged,
            "a day-2 host reboots",
            &[Installing, InstallingInProgress],
            To::Go(InstallingInProgress),
        )
    },
    Row {
        when: |host| host.is_day2() && at(host, HostStage::Done),
        ..row(
            HostProgressChanged,
            "a day-2 host is done",
            &[
                Installing,
                InstallingInProgress,
                InstallingPendingUserAction,
            ],
            To::Go(AddedToExistingCluster),
        )
    },
    Row {
        when: |host| at(host, HostStage::Done),
        ..row(
            HostProgressChanged,
            "a host is done",
            &[
                Installing,
                InstallingInProgress,
                InstallingPendingUserAction,
            ],
            To::Go(Installed),
        )
    },
    row(
        HostProgressChanged,
        "a host reaches a stage",
        &[
            Installing,
            InstallingInProgress,
            InstallingPendingUserAction,
        ],
        To::Go(InstallingInProgress),
    ),
    row(
        HostReportedFailure,
        "the installer gave up",
        &[
            Installing,
            InstallingInProgress,
            InstallingPendingUserAction,
        ],
        To::Go(Error),
    ),
    row(
        HostInstallationFailed,
        "the installer could not be run",
        &[Installing, InstallingInProgress],
        To::Go(Error),
    ),
    // The user.
    row(
        CancelInstallation,
        "cancelled while installing",
        &[
            InstallingPendingUserAction,
            Installing,
            InstallingInProgress,
            Installed,
            Error,
        ],
        To::Go(Cancelled),
    ),
    row(
        CancelInstallation,
        "cancelled while preparing",
        &[
            PreparingForInstallation,
            PreparingSuccessful,
            PreparingFailed,
        ],
        To::Go(Known),
    ),
    row(
        CancelInstallation,
        "nothing to cancel on this host",
        &[
            Known,
            Discovering,
            Disconnected,
            Insufficient,
            PendingForInput,
            Binding,
        ],
        To::Stay,
    ),
    Row {
        when: Host::is_day2,
        says: |_, _| "The installation has begun".to_owned(),
        ..row(
            InstallHost,
            "a day-2 host is installed",
            &[Known],
            To::Go(Installing),
        )
    },
    Row {
        says: |_, _| "Boot the host from the discovery image to complete the reset".to_owned(),
        ..row(
            Trigger::ResettingPendingUserAction,
            "reset",
            &[
                Resetting,
                Discovering,
                Known,
                InstallingPendingUserAction,
                Installing,
                PreparingForInstallation,
                PreparingSuccessful,
                PreparingFailed,
                PendingForInput,
                HostStatus::ResettingPendingUserAction,
                InstallingInProgress,
                Installed,
                Error,
                Cancelled,
                AddedToExistingCluster,
            ],
            To::Go(HostStatus::ResettingPendingUserAction),
        )
    },
    Row {
        says: |_, _| "The host restarts its agent to join the cluster".to_owned(),
        also: |host, _| forget_discovery(host),
        ..row(BindHost, "bound", &[KnownUnbound], To::Go(Binding))
    },
    Row {
        says: |_, _| "The host restarts its agent to leave the cluster".to_owned(),
        also: forget_cluster,
        ..row(UnbindHost, "unbound", DISCOVERY, To::Go(Unbinding))
    },
    Row {
        says: |_, _| {
            "The host restarts its agent to leave the cluster it was about to join".to_owned()
        },
        also: forget_cluster,
        ..row(
            UnbindHost,
            "unbound before it joined",
            &[Binding],
            To::Go(Unbinding),
        )
    },
    Row {
        says: boot_to_leave,
        also: forget_cluster,
        ..row(
            UnbindHost,
            "unbound with its disk in use",
            &[
                PreparingForInstallation,
                PreparingFailed,
                PreparingSuccessful,
                Installing,
                InstallingInProgress,
                InstallingPendingUserAction,
                HostStatus::ResettingPendingUserAction,
                Installed,
                AddedToExistingCluster,
                Error,
                Cancelled,
            ],
            To::Go(UnbindingPendingUserAction),
        )
    },
    Row {
        says: |_, _| "Its cluster was deleted; the host restarts its agent".to_owned(),
        also: forget_everything,
        ..row(
            ClusterDeleted,
            "lost its cluster before the installation",
            &[
                Known,
                Discovering,
                Disconnected,
                Insufficient,
                PendingForInput,
                Binding,
                Disabled,
            ],
            To::Go(Unbinding),
        )
    },
    Row {
        says: |_, _| {
            "Its cluster was deleted; boot the host from the discovery image to use it again"
                .to_owned()
        },
        also: forget_everything,
        ..row(
            ClusterDeleted,
            "lost its cluster with its disk in use",
            &[
                PreparingForInstallation,
                PreparingFailed,
                PreparingSuccessful,
                Installing,
                InstallingInProgress,
                InstallingPendingUserAction,
                HostStatus::ResettingPendingUserAction,
                Resetting,
                Installed,
                Error,
                AddedToExistingCluster,
                Cancelled,
            ],
            To::Go(UnbindingPendingUserAction),
        )
    },
    // Reclaiming: a node of a running cluster goes back to the pool without hands.
    Row {
        says: |_, _| "The node fetches the discovery image to leave its cluster".to_owned(),
        also: forget_cluster,
        ..row(
            ReclaimHost,
            "a node is reclaimed",
            &[Installed, AddedToExistingCluster],
            To::Go(Reclaiming),
        )
    },
    Row {
        says: |_, _| "The host restarts its agent to leave the cluster".to_owned(),
        also: forget_cluster,
        ..row(
            ReclaimHost,
            "a host in discovery is reclaimed",
            DISCOVERY,
            To::Go(Unbinding),
        )
    },
    Row {
        says: boot_to_leave,
        also: forget_cluster,
        ..row(
            ReclaimHost,
            "a failed host cannot be reclaimed automatically",
            &[Error, Cancelled],
            To::Go(UnbindingPendingUserAction),
        )
    },
    Row {
        says: |_, _| "The node reboots into discovery".to_owned(),
        ..row(
            RebootingForReclaim,
            "the discovery image is on the node",
            &[Reclaiming],
            To::Go(ReclaimingRebooting),
        )
    },
    Row {
        says: |_, on| {
            format!(
                "The node could not fetch the discovery image ({}); boot it from there manually",
                on.said
            )
        },
        also: forget_cluster,
        ..row(
            ReclaimHostFailed,
            "the discovery image did not reach the node",
            &[Reclaiming, ReclaimingRebooting],
            To::Go(UnbindingPendingUserAction),
        )
    },
    // Media.
    Row {
        says: medium_lost,
        also: |host, _| host.media_connected = false,
        ..row(
            MediaDisconnect,
            "medium lost before the installation",
            &[
                Discovering,
                Insufficient,
                Known,
                PendingForInput,
                Disconnected,
                Binding,
            ],
            To::Go(Disconnected),
        )
    },
    Row {
        says: |host, occasion| {
            format!(
                "Failed - {} ({})",
                medium_lost(host, occasion),
                host.status_info
            )
        },
        also: |host, _| host.media_connected = false,
        ..row(
            MediaDisconnect,
            "medium lost after a failure",
            &[Error],
            To::Go(Error),
        )
    },
    Row {
        says: medium_lost,
        also: |host, _| host.media_connected = false,
        ..row(
            MediaDisconnect,
            "medium lost while installing",
            &[
                PreparingForInstallation,
                PreparingFailed,
                PreparingSuccessful,
                Installing,
                InstallingInProgress,
            ],
            To::Go(Error),
        )
    },
    Row {
        says: medium_lost,
        also: |host, _| host.media_connected = false,
        ..row(
            MediaDisconnect,
            "medium lost in the pool",
            &[
                DiscoveringUnbound,
                InsufficientUnbound,
                KnownUnbound,
                DisconnectedUnbound,
                Unbinding,
            ],
            To::Go(DisconnectedUnbound),
        )
    },
];

fn at(host: &Host, stage: HostStage) -> bool {
    host.progress.stage == Some(stage)
}

fn medium_lost(_: &Host, _: &Occasion<'_>) -> String {
    "The host cannot read its boot medium any more; connect it again or boot the host again"
        .to_owned()
}

fn boot_to_leave(_: &Host, _: &Occasion<'_>) -> String {
    "Boot the host from the discovery image to take it out of the cluster".to_owned()
}

/// Everything a host learnt as part of a cluster.
pub(crate) fn forget_cluster(host: &mut Host, _: &Occasion<'_>) {
    forget_discovery(host);
    forget_logs(host);
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
    host.followed = false;
}

/// Disk speed is a property of the machine; all else was found out for the cluster.
fn forget_everything(host: &mut Host, occasion: &Occasion<'_>) {
    forget_cluster(host, occasion);
    let disks_info = host.reports.disks_info.take();
    host.reports = HostReports {
        disks_info,
        ..HostReports::default()
    };
}
