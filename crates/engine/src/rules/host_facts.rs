//! The conditions of host rules, each a small named function.

use std::time::Duration;

use muster_model::{Cluster, ClusterStatus, Host, HostRole, HostStage, HostStatus, Timestamp};

use crate::{
    agent_json::Stored,
    checks::{
        Findings,
        host::{Gate, HOST_CHECKS, is_advisory, open},
    },
    deadlines,
    inventory::Inventory,
    reports, roles,
    settings::Settings,
};

/// What rules may ask.
pub(crate) struct HostFacts<'a> {
    pub(crate) host: &'a Host,
    pub(crate) inventory: Option<&'a Inventory>,
    pub(crate) cluster: ClusterStatus,
    pub(crate) single_node: bool,
    /// Overdue things are reported and waited for.
    pub(crate) soft: bool,
    /// Its cluster and all hosts of it, if it is bound.
    pub(crate) fleet: Option<(&'a Cluster, &'a [Host])>,
    pub(crate) findings: &'a Findings,
    pub(crate) settings: &'a Settings,
    pub(crate) now: Timestamp,
}

impl HostFacts<'_> {
    pub(super) fn reachable(&self) -> bool {
        open(self.findings, Gate::Connection)
    }

    /// Its agent talks, whatever became of its boot medium.
    pub(super) fn connected(&self) -> bool {
        self.findings.passes("connected")
    }

    /// Its hardware is known, as far as validations have a say in that.
    pub(super) fn described(&self) -> bool {
        open(self.findings, Gate::Inventory)
    }

    /// vSphere shows the disks by their ids. Where that is not evaluated it does not matter.
    pub(super) fn disk_uuids_enabled(&self) -> bool {
        const ID: &str = "vsphere-disk-uuid-enabled";
        self.findings.passes(ID) || !HOST_CHECKS.iter().any(|check| check.id == ID)
    }

    pub(super) fn preparing(&self) -> bool {
        self.cluster == ClusterStatus::PreparingForInstallation
    }

    pub(super) fn has_fixed_role(&self) -> bool {
        matches!(
            self.host.role,
            HostRole::Master | HostRole::Arbiter | HostRole::Worker
        )
    }

    pub(super) fn in_status_longer_than(&self, limit: Duration) -> bool {
        self.now.since(self.host.status_updated_at) > limit
    }

    /// The disk was measured, or need not be.
    pub(super) fn disk_proven(&self) -> bool {
        reports::saves_partitions(self.host)
            || self.inventory.is_some_and(Inventory::boots_from_disk)
            || reports::boot_disk_speed(self.host).is_some_and(|speed| speed.exit_code == 0)
    }

    pub(super) fn disk_not_bad(&self) -> bool {
        self.findings.passes("sufficient-installation-disk-speed")
    }

    /// Every image was pulled. The release may be read while hosts pull the first ones; what it
    /// adds to them is waited for.
    pub(super) fn images_proven(&self) -> bool {
        let missing = self.fleet.is_some_and(|(cluster, _)| {
            !reports::images_not_reported(self.host, cluster, &self.settings.images).is_empty()
        });
        !missing
            && matches!(
                reports::images_of(self.host),
                Stored::Here(images) if !images.is_empty() && !images.values().any(reports::ImageStatus::is_bad)
            )
    }

    pub(super) fn images_not_bad(&self) -> bool {
        self.findings.passes("container-images-available")
    }

    pub(super) fn waits_for_the_user_elsewhere(&self) -> bool {
        deadlines::is_frozen(self.host, self.cluster)
    }

    /// The cluster would work with the hosts that are installed already.
    pub(super) fn others_suffice(&self) -> bool {
        self.fleet
            .is_some_and(|(cluster, hosts)| roles::enough(cluster, hosts, &[HostStatus::Installed]))
    }

    pub(super) fn stage(&self) -> &'static str {
        self.host
            .progress
            .stage
            .map_or("unknown", HostStage::as_str)
    }

    pub(super) fn stage_minutes(&self) -> u64 {
        deadlines::stage_limit(self.host, self.single_node, self.settings).as_secs() / 60
    }

    pub(super) fn reboots(&self) -> bool {
        self.host.progress.stage == Some(HostStage::Rebooting)
    }

    pub(super) fn writes_to_disk(&self) -> bool {
        matches!(
            self.host.progress.stage,
            Some(HostStage::WritingImageToDisk | HostStage::CopyingRegistryDataToDisk)
        )
    }

    pub(super) fn stage_overdue(&self) -> bool {
        self.now > deadlines::stage(self.host, self.single_node, self.settings)
    }

    pub(super) fn logs_overdue(&self) -> bool {
        let deadline = deadlines::host_logs(self.host, self.settings);
        deadline.is_some_and(|deadline| self.now > deadline)
    }

    pub(super) fn why(&self, head: &str) -> String {
        let failures = self.findings.failures(is_advisory);
        if failures.is_empty() {
            format!("{head}: waiting for data from the host")
        } else {
            format!("{head}: {failures}")
        }
    }

    pub(super) fn silence(&self, otherwise: &str) -> String {
        if self.host.media_connected {
            otherwise.to_owned()
        } else {
            "The host cannot read its boot medium any more".to_owned()
        }
    }

    pub(super) fn disk(&self) -> String {
        let path = self
            .host
            .installation_disk_path
            .as_deref()
            .unwrap_or_default();
        let id = self
            .host
            .installation_disk_id
            .as_deref()
            .unwrap_or_default();
        if path.is_empty() && id.is_empty() {
            "the installation disk".to_owned()
        } else {
            format!("the installation disk ({path}, {id})")
        }
    }
}
