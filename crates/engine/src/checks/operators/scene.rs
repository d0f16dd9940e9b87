//! A cluster and a host in it, as operator rules see them.
//!
//! [`Scene`] holds what all hosts share (the choice of operators, versions, roles) and is made
//! once per pass of a refresh; [`OnHost`] puts one host into it, with the role it has or with a
//! role it is tried in.

use std::collections::BTreeSet;

use muster_catalog::{
    Operator, Requirement,
    operators::{
        OdfSettings, OperatorSettings,
        needs::{self, ClusterShape, HostShape},
        odf::{OdfMode, RoleCounts},
    },
};
use muster_model::{Cluster, Host, HostRole, OpenshiftVersion};

use crate::{
    checks::CheckResult,
    inventory::{Disk, Inventory},
    operators,
};

const BYTES_PER_GB: i64 = 1_000_000_000;

/// With fewer workers the control plane runs workload too.
const WORKERS_THAT_FREE_MASTERS: usize = 2;

/// The cluster. The default is one without operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scene {
    chosen: BTreeSet<Operator>,
    version: Option<OpenshiftVersion>,
    single_node: bool,
    day2: bool,
    /// Roles as users gave them.
    given: RoleCounts,
    /// Hosts that are workers, given or suggested.
    workers: usize,
}

impl Scene {
    pub(crate) fn of<'h>(cluster: &Cluster, hosts: impl Iterator<Item = &'h Host>) -> Self {
        let mut scene = Self {
            chosen: operators::chosen(cluster).collect(),
            version: cluster.openshift_version.parse().ok(),
            single_node: cluster.is_single_node(),
            day2: cluster.is_day2(),
            ..Self::default()
        };
        for host in hosts {
            *slot(&mut scene.given, host.role) += 1;
            scene.workers += usize::from(host.effective_role() == HostRole::Worker);
        }
        scene
    }

    /// The same cluster with another number of workers, for roles that are still open.
    pub(crate) fn with_workers(&self, workers: usize) -> Self {
        Self {
            workers,
            ..self.clone()
        }
    }

    /// The same cluster with a host given another role.
    fn recast(&self, host: &Host, role: HostRole) -> Self {
        let mut scene = self.clone();
        let left = slot(&mut scene.given, host.role);
        *left = left.saturating_sub(1);
        *slot(&mut scene.given, role) += 1;
        scene
    }

    pub(super) fn has(&self, operator: Operator) -> bool {
        self.chosen.contains(&operator)
    }

    /// Hosts that join a running cluster are its business, not ours.
    pub(super) fn is_day2(&self) -> bool {
        self.day2
    }

    pub(super) fn is_single_node(&self) -> bool {
        self.single_node
    }

    /// The version, if it can be read.
    pub(super) fn version(&self) -> Option<&OpenshiftVersion> {
        self.version.as_ref()
    }

    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    pub(super) fn given_roles(&self) -> RoleCounts {
        self.given
    }

    pub(super) fn masters_schedulable(&self) -> bool {
        self.single_node || self.workers < WORKERS_THAT_FREE_MASTERS
    }

    pub(super) fn odf_mode(&self, settings: &OdfSettings) -> OdfMode {
        OdfMode::of(self.given, settings)
    }

    /// By how much MCE enlarges each data disk of LVM or ODF, in GB.
    pub(super) fn extra_disk_gb(&self) -> u32 {
        let chosen: Vec<Operator> = self.chosen.iter().copied().collect();
        needs::mce_extra_disk_gb(&chosen, self.single_node)
    }

    pub(super) fn shape(&self) -> ClusterShape<'_> {
        ClusterShape {
            version: self.version.as_ref(),
            single_node: self.single_node,
            masters_schedulable: self.masters_schedulable(),
            roles: self.given,
        }
    }
}

/// Where hosts of a role are counted.
fn slot(counts: &mut RoleCounts, role: HostRole) -> &mut usize {
    match role {
        HostRole::Master | HostRole::Bootstrap => &mut counts.masters,
        HostRole::Arbiter => &mut counts.arbiters,
        HostRole::Worker => &mut counts.workers,
        HostRole::AutoAssign => &mut counts.auto_assign,
    }
}

/// The role in the words of the catalogue.
pub(super) const fn catalogued(role: HostRole) -> needs::HostRole {
    match role {
        HostRole::Master | HostRole::Bootstrap => needs::HostRole::Master,
        HostRole::Arbiter => needs::HostRole::Arbiter,
        HostRole::Worker => needs::HostRole::Worker,
        HostRole::AutoAssign => needs::HostRole::AutoAssign,
    }
}

/// A host of the scene.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnHost<'a> {
    pub(super) scene: &'a Scene,
    pub(super) host: &'a Host,
    pub(super) inventory: Option<&'a Inventory>,
    pub(super) settings: &'a OperatorSettings,
    /// The role the user gave.
    pub(super) given: HostRole,
    /// The role in effect: given, else suggested.
    pub(super) role: HostRole,
}

impl<'a> OnHost<'a> {
    pub(crate) fn new(
        scene: &'a Scene,
        host: &'a Host,
        inventory: Option<&'a Inventory>,
        settings: &'a OperatorSettings,
    ) -> Self {
        Self {
            scene,
            host,
            inventory,
            settings,
            given: host.role,
            role: host.effective_role(),
        }
    }

    /// Answers a question about the host as if the user had given it that role.
    pub(crate) fn tried_as<T>(&self, role: HostRole, ask: impl FnOnce(&OnHost<'_>) -> T) -> T {
        let scene = self.scene.recast(self.host, role);
        ask(&OnHost {
            scene: &scene,
            given: role,
            role,
            ..*self
        })
    }

    /// Operators whose cost a host must bear; a host that joins later bears none.
    pub(super) fn burden(&self) -> impl Iterator<Item = Operator> {
        let none = self.scene.is_day2();
        self.scene.chosen.iter().copied().filter(move |_| !none)
    }

    /// What one operator takes of this host. ODF goes by the given role, because its mode does.
    pub(super) fn share(&self, operator: Operator) -> Requirement {
        let (role, odf_disks) = if operator == Operator::Odf {
            let disks = self.data_disks(self.settings.odf.min_disk_gb);
            (self.given, disks.large)
        } else {
            (self.role, 0)
        };
        let cnv_devices = if operator == Operator::Cnv {
            self.cnv_devices()
        } else {
            0
        };
        let shape = HostShape {
            role: catalogued(role),
            odf_disks,
            cnv_devices,
        };
        needs::host_needs(operator, shape, self.scene.shape(), self.settings)
    }

    pub(super) fn no_inventory(&self) -> CheckResult {
        if self.host.reports.inventory.is_some() {
            CheckResult::fail("The stored inventory cannot be read; restart the agent on the host")
        } else {
            CheckResult::wait("The host has not sent its inventory yet")
        }
    }

    /// Disks that storage may use: real drives other than the installation disk.
    pub(super) fn spare_disks(&self) -> impl Iterator<Item = &'a Disk> {
        let boot = self
            .host
            .installation_disk_id
            .as_deref()
            .unwrap_or_default();
        let disks = self.inventory.map_or(&[][..], |found| found.disks.items());
        disks.iter().filter(move |disk| {
            matches!(disk.drive_type.as_str(), "SSD" | "HDD")
                && disk.id != boot
                && disk.size_bytes != 0
        })
    }

    /// The same, by whether they reach a size.
    pub(super) fn data_disks(&self, least_gb: u32) -> DataDisks {
        let least = i64::from(least_gb).saturating_mul(BYTES_PER_GB);
        let mut found = DataDisks::default();
        for disk in self.spare_disks() {
            if disk.size_bytes >= least {
                found.large += 1;
            } else {
                found.small += 1;
            }
        }
        found
    }

    /// GPUs and network cards that CNV hands through to guests.
    fn cnv_devices(&self) -> u32 {
        let Some(inventory) = self.inventory else {
            return 0;
        };
        let listed = |list: &[String], vendor: &str, device: &str| {
            let id = format!("{}:{}", pci_id(vendor), pci_id(device));
            list.contains(&id)
        };
        let gpus = inventory.gpus.items().iter();
        let nics = inventory.interfaces.items().iter();
        let gpus =
            gpus.filter(|gpu| listed(&self.settings.cnv_gpus, &gpu.vendor_id, &gpu.device_id));
        let nics = nics.filter(|nic| listed(&self.settings.cnv_nics, &nic.vendor, &nic.product));
        u32::try_from(gpus.count() + nics.count()).unwrap_or(u32::MAX)
    }
}

/// A PCI id as settings write it: agents add a prefix to some of them.
pub(super) fn pci_id(text: &str) -> String {
    let plain = text.trim().to_ascii_lowercase();
    plain.strip_prefix("0x").unwrap_or(&plain).to_owned()
}

/// Spare disks of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DataDisks {
    /// Large enough.
    pub(super) large: u32,
    /// There, but too small.
    pub(super) small: u32,
}
