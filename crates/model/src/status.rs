//! Statuses, kinds and roles, with the questions the rest of the code asks them.

use crate::names::named;

named! {
    /// Where a cluster is in its life.
    ClusterStatus {
        Insufficient = "insufficient",
        Ready = "ready",
        Error = "error",
        PreparingForInstallation = "preparing-for-installation",
        PendingForInput = "pending-for-input",
        Installing = "installing",
        Finalizing = "finalizing",
        Installed = "installed",
        AddingHosts = "adding-hosts",
        Cancelled = "cancelled",
        InstallingPendingUserAction = "installing-pending-user-action",
        Unmonitored = "unmonitored",
    }
}

impl ClusterStatus {
    /// Settings may change and hosts may join.
    #[must_use]
    pub const fn accepts_changes(self) -> bool {
        use ClusterStatus::*;
        match self {
            Insufficient | Ready | PendingForInput | AddingHosts => true,
            Error
            | PreparingForInstallation
            | Installing
            | Finalizing
            | Installed
            | Cancelled
            | InstallingPendingUserAction
            | Unmonitored => false,
        }
    }

    /// Generated files (Ignition, metadata, install-config) may be handed out.
    #[must_use]
    pub const fn has_files(self) -> bool {
        use ClusterStatus::*;
        match self {
            Installing
            | Finalizing
            | Installed
            | Error
            | AddingHosts
            | Cancelled
            | InstallingPendingUserAction => true,
            Insufficient | Ready | PreparingForInstallation | PendingForInput | Unmonitored => {
                false
            }
        }
    }

    /// An installation is under way and hosts may report its progress.
    #[must_use]
    pub const fn is_installing(self) -> bool {
        use ClusterStatus::*;
        match self {
            Installing | Finalizing | InstallingPendingUserAction => true,
            Insufficient
            | Ready
            | Error
            | PreparingForInstallation
            | PendingForInput
            | Installed
            | AddingHosts
            | Cancelled
            | Unmonitored => false,
        }
    }
}

named! {
    /// What sort of cluster record it is.
    ClusterKind {
        Cluster = "Cluster",
        AddHostsCluster = "AddHostsCluster",
        DisconnectedCluster = "DisconnectedCluster",
    }
}

named! {
    /// What sort of host record it is.
    HostKind {
        Host = "Host",
        AddToExistingClusterHost = "AddToExistingClusterHost",
    }
}

named! {
    /// Where a host is in its life.
    HostStatus {
        Discovering = "discovering",
        Known = "known",
        Disconnected = "disconnected",
        Insufficient = "insufficient",
        Disabled = "disabled",
        PreparingForInstallation = "preparing-for-installation",
        PreparingFailed = "preparing-failed",
        PreparingSuccessful = "preparing-successful",
        PendingForInput = "pending-for-input",
        Installing = "installing",
        InstallingInProgress = "installing-in-progress",
        InstallingPendingUserAction = "installing-pending-user-action",
        ResettingPendingUserAction = "resetting-pending-user-action",
        Installed = "installed",
        Error = "error",
        Resetting = "resetting",
        AddedToExistingCluster = "added-to-existing-cluster",
        Cancelled = "cancelled",
        Binding = "binding",
        Unbinding = "unbinding",
        UnbindingPendingUserAction = "unbinding-pending-user-action",
        KnownUnbound = "known-unbound",
        DisconnectedUnbound = "disconnected-unbound",
        InsufficientUnbound = "insufficient-unbound",
        DisabledUnbound = "disabled-unbound",
        DiscoveringUnbound = "discovering-unbound",
        Reclaiming = "reclaiming",
        ReclaimingRebooting = "reclaiming-rebooting",
    }
}

impl HostStatus {
    /// The user may change name, role, disks and labels.
    #[must_use]
    pub const fn accepts_changes(self) -> bool {
        use HostStatus::*;
        match self {
            Discovering | Known | Disconnected | Insufficient | PendingForInput
            | DisconnectedUnbound | InsufficientUnbound | DiscoveringUnbound | KnownUnbound
            | Binding => true,
            Disabled
            | PreparingForInstallation
            | PreparingFailed
            | PreparingSuccessful
            | Installing
            | InstallingInProgress
            | InstallingPendingUserAction
            | ResettingPendingUserAction
            | Installed
            | Error
            | Resetting
            | AddedToExistingCluster
            | Cancelled
            | Unbinding
            | UnbindingPendingUserAction
            | DisabledUnbound
            | Reclaiming
            | ReclaimingRebooting => false,
        }
    }
}

named! {
    /// What a host is or is to become in the cluster.
    HostRole {
        AutoAssign = "auto-assign",
        Master = "master",
        Arbiter = "arbiter",
        Worker = "worker",
        Bootstrap = "bootstrap",
    }
}

named! {
    /// What kind of discovery image an infra-env hands out.
    ImageType {
        FullIso = "full-iso",
        MinimalIso = "minimal-iso",
        DisconnectedIso = "disconnected-iso",
    }
}

impl ImageType {
    /// The file name at the end of a download URL.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::FullIso => "full.iso",
            Self::MinimalIso => "minimal.iso",
            Self::DisconnectedIso => "disconnected.iso",
        }
    }
}

named! {
    /// Where the machines run.
    PlatformType {
        Baremetal = "baremetal",
        Nutanix = "nutanix",
        Vsphere = "vsphere",
        None = "none",
        External = "external",
    }
}

named! {
    /// How far a log collection has come.
    LogsState {
        Requested = "requested",
        Collecting = "collecting",
        Completed = "completed",
        Timeout = "timeout",
        Unset = "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_survives_text_and_json() {
        for status in HostStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(*status));
            let json = serde_json::to_string(status).unwrap();
            assert_eq!(json, format!("{:?}", status.as_str()));
        }
        assert!("sleeping".parse::<HostStatus>().is_err());
    }
}
