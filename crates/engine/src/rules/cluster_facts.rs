//! The conditions of cluster rules, each a small named function.

use std::{sync::Arc, time::Duration};

use muster_model::{Cluster, Event, FinalizingStage, Host, HostStatus, Timestamp};

use crate::{
    checks::Findings, deadlines, events::EventKind, history, inventory::Inventory, networks,
    operators, roles, settings::Settings,
};

/// What rules may ask.
pub(crate) struct ClusterFacts<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) hosts: &'a [Host],
    pub(crate) inventories: &'a [Option<Arc<Inventory>>],
    pub(crate) findings: &'a Findings,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl ClusterFacts<'_> {
    pub(super) fn event(&self, kind: EventKind, message: impl Into<String>) -> Event {
        history::about_cluster(kind, self.cluster, self.now, message)
    }

    /// Overdue things are reported and waited for.
    pub(super) fn soft(&self) -> bool {
        deadlines::are_soft(self.cluster, self.settings)
    }

    pub(super) fn dhcp(&self) -> bool {
        networks::dhcp_vips(self.cluster)
    }

    pub(super) fn in_status_longer_than(&self, limit: Duration) -> bool {
        self.now.since(self.cluster.status_updated_at) > limit
    }

    pub(super) fn some_host(&self, status: HostStatus) -> bool {
        self.hosts.iter().any(|host| host.status == status)
    }

    pub(super) fn preparation(&self, status: &str) -> bool {
        self.cluster.preparation.status.as_deref() == Some(status)
    }

    pub(super) fn enough_installed(&self) -> bool {
        roles::enough(self.cluster, self.hosts, &[HostStatus::Installed])
    }

    /// Hosts follow the cluster into the installation, so those still prepared count too.
    pub(super) fn enough_installing(&self) -> bool {
        use HostStatus::*;
        const UNDER_WAY: &[HostStatus] = &[
            Installing,
            InstallingInProgress,
            Installed,
            InstallingPendingUserAction,
            PreparingSuccessful,
        ];
        roles::enough(self.cluster, self.hosts, UNDER_WAY)
    }

    pub(super) fn all_hosts_settled(&self) -> bool {
        let settled =
            |host: &Host| matches!(host.status, HostStatus::Installed | HostStatus::Error);
        self.hosts.iter().all(settled)
    }

    pub(super) fn complete(&self) -> bool {
        self.cluster.kubeconfig_uploaded && operators::all_settled(self.cluster)
    }

    pub(super) fn installation_overdue(&self) -> bool {
        let deadline = deadlines::installation(self.cluster, self.settings);
        deadline.is_some_and(|deadline| self.now > deadline)
    }

    /// Name and limit of the present finalizing stage.
    pub(super) fn stage(&self) -> (&'static str, u64) {
        let stage = self.cluster.progress.finalizing_stage;
        stage.map_or(("unknown", 0), |stage| {
            let limit = deadlines::finalizing_limit(stage, self.cluster, self.settings);
            (stage.as_str(), limit.as_secs() / 60)
        })
    }

    pub(super) fn stage_overdue(&self) -> bool {
        let deadline = deadlines::finalizing_stage(self.cluster, self.settings);
        deadline.is_some_and(|deadline| self.now > deadline)
    }

    /// Optional operators may fail without failing the cluster.
    pub(super) fn stage_may_fail(&self) -> bool {
        use FinalizingStage::*;
        matches!(
            self.cluster.progress.finalizing_stage,
            Some(
                ApplyingOlmManifests
                    | WaitingForOlmOperatorsCsvInitialization
                    | WaitingForOlmOperatorsCsv
            )
        )
    }

    pub(super) fn logs_overdue(&self) -> bool {
        let deadline = deadlines::cluster_logs(self.cluster, self.settings);
        deadline.is_some_and(|deadline| self.now > deadline)
    }
}
