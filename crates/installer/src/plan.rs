//! Which steps an installation takes, in which order.
//!
//! The plan is a pure function of what was asked, so it can be printed before anything happens
//! (`muster-agent install --dry-run`) and played by simulated hosts. Each step says which stage the service shows for it,
//! whether it writes to a disk, and what its failure means. Start at [`Plan::of`].

use std::fmt;

use muster_model::HostStage;
use serde::{Deserialize, Serialize};

use crate::options::{InstallOptions, Role};

/// The ways a node can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// The node that runs the temporary control plane of a new cluster.
    Bootstrap,
    /// The only node of a cluster, which is its own bootstrap.
    SingleNode,
    /// A control-plane node or an arbiter, on day 1 or later.
    ControlPlane,
    /// A compute node, on day 1 or later.
    Worker,
}

/// What a request leaves out of, or adds to, the steps of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The operating system is deployed beside the running one instead of onto a disk.
    pub existing_root: bool,
    /// What was built on the installation disk is switched off and erased.
    pub cleans_disk: bool,
    /// Other disks lose their boot sectors.
    pub erases_boot_sectors: bool,
    /// The operating system of the cluster is deployed ahead of the first boot.
    pub writes_final_image: bool,
    /// The boot medium carries a registry that control-plane nodes keep.
    pub copies_registry: bool,
}

impl Flow {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Bootstrap,
        Self::SingleNode,
        Self::ControlPlane,
        Self::Worker,
    ];

    /// Which nodes are installed this way.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Bootstrap => "the control-plane node that runs the bootstrap",
            Self::SingleNode => "the only node of a cluster, which is its own bootstrap",
            Self::ControlPlane => "other control-plane nodes and arbiters, also those added later",
            Self::Worker => "workers, also those added later",
        }
    }

    /// The flow for a request. Only a bootstrap host may become a single node: a control-plane
    /// node added later to a cluster that began with one node says the same count.
    #[must_use]
    pub const fn of(role: Role, control_plane_count: u32) -> Self {
        match role {
            Role::Bootstrap if control_plane_count == 1 => Self::SingleNode,
            Role::Bootstrap => Self::Bootstrap,
            Role::Master | Role::Arbiter => Self::ControlPlane,
            Role::Worker => Self::Worker,
        }
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Find the installation disk and see that nothing uses it.
    CheckDisk,
    /// See that the running root is on the disk that was named.
    CheckRoot,
    /// Apply the config of the temporary control plane to the live system.
    ApplyBootstrap,
    /// Start the temporary control plane.
    StartBootstrap,
    /// Fetch the host's Ignition config. Before any disk is touched: without it there is nothing
    /// to install.
    FetchIgnition,
    /// Erase the boot sectors of the disks the user chose.
    EraseBootSectors,
    /// Switch off and erase what was built on the installation disk.
    CleanDisk,
    /// Wait until the temporary control plane has done its part.
    WaitForBootkube,
    /// Put what the bootstrap made of a single node together with the host's own config.
    MergeInPlace,
    /// Write the operating system and the Ignition config to the disk.
    WriteImage,
    /// Deploy the operating system beside the running one, on the same disk.
    DeployIntoRoot,
    /// Deploy the operating system that the cluster wants, which saves the node a reboot.
    WriteFinalImage,
    /// Wait until enough control-plane nodes are done.
    WaitForControlPlane,
    /// Wait, on the bootstrap host, until enough other control-plane nodes are ready.
    WaitForNodes,
    /// Wait until the cluster runs etcd and the API on its own.
    WaitForEtcd,
    /// Wait until the controller runs in the cluster.
    WaitForController,
    /// Wait, in agent-based installations, until no worker needs the service on this host.
    WaitForWorkers,
    /// Wait until the cluster has settled on the configs of its nodes.
    WaitForMachineConfigs,
    /// Have the firmware start the installed disk.
    SetBootOrder,
    /// Copy the registry on the boot medium to the installed disk.
    CopyRegistryData,
    /// Send the logs of this host to the service.
    SendLogs,
    /// Leave the live system.
    Reboot,
}

/// What the failure of a step means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The installation has failed.
    Fatal,
    /// The installation goes on, and the service shows the warning.
    Warning,
}

impl Step {
    /// The stage the service shows while it runs; none if it belongs to the one before.
    #[must_use]
    pub const fn stage(self) -> Option<HostStage> {
        match self {
            Self::CheckDisk | Self::CheckRoot => Some(HostStage::StartingInstallation),
            Self::FetchIgnition => Some(HostStage::Installing),
            Self::WriteImage | Self::DeployIntoRoot => Some(HostStage::WritingImageToDisk),
            Self::WaitForControlPlane | Self::WaitForNodes => {
                Some(HostStage::WaitingForControlPlane)
            }
            Self::WaitForBootkube => Some(HostStage::WaitingForBootkube),
            Self::WaitForController => Some(HostStage::WaitingForController),
            Self::CopyRegistryData => Some(HostStage::CopyingRegistryDataToDisk),
            Self::Reboot => Some(HostStage::Rebooting),
            Self::ApplyBootstrap
            | Self::StartBootstrap
            | Self::EraseBootSectors
            | Self::CleanDisk
            | Self::MergeInPlace
            | Self::WriteFinalImage
            | Self::WaitForEtcd
            | Self::WaitForWorkers
            | Self::WaitForMachineConfigs
            | Self::SetBootOrder
            | Self::SendLogs => None,
        }
    }

    /// What its failure means.
    #[must_use]
    pub const fn failure(self) -> Failure {
        match self {
            Self::EraseBootSectors
            | Self::CleanDisk
            | Self::WriteFinalImage
            | Self::WaitForMachineConfigs
            | Self::SetBootOrder
            | Self::SendLogs => Failure::Warning,
            Self::CheckDisk
            | Self::CheckRoot
            | Self::ApplyBootstrap
            | Self::StartBootstrap
            | Self::FetchIgnition
            | Self::WaitForBootkube
            | Self::MergeInPlace
            | Self::WriteImage
            | Self::DeployIntoRoot
            | Self::WaitForControlPlane
            | Self::WaitForNodes
            | Self::WaitForEtcd
            | Self::WaitForController
            | Self::WaitForWorkers
            | Self::CopyRegistryData
            | Self::Reboot => Failure::Fatal,
        }
    }

    /// Whether it is done at most once per installation, also when the installer starts again.
    /// The others look at the machine or wait, and are cheap to repeat.
    #[must_use]
    pub const fn is_done_once(self) -> bool {
        match self {
            Self::ApplyBootstrap
            | Self::EraseBootSectors
            | Self::CleanDisk
            | Self::WriteImage
            | Self::DeployIntoRoot
            | Self::WriteFinalImage
            | Self::SetBootOrder
            | Self::CopyRegistryData => true,
            Self::CheckDisk
            | Self::CheckRoot
            | Self::StartBootstrap
            | Self::FetchIgnition
            | Self::WaitForBootkube
            | Self::MergeInPlace
            | Self::WaitForControlPlane
            | Self::WaitForNodes
            | Self::WaitForEtcd
            | Self::WaitForController
            | Self::WaitForWorkers
            | Self::WaitForMachineConfigs
            | Self::SendLogs
            | Self::Reboot => false,
        }
    }

    /// In a few words.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::CheckDisk => "check that the installation disk exists and is not in use",
            Self::CheckRoot => "check that the running root is on the installation disk",
            Self::ApplyBootstrap => "apply the config of the temporary control plane",
            Self::StartBootstrap => "start the temporary control plane",
            Self::FetchIgnition => "fetch the Ignition config of this host",
            Self::EraseBootSectors => "erase the boot sectors of the disks chosen for it",
            Self::CleanDisk => "switch off and erase what is on the installation disk",
            Self::WaitForBootkube => "wait until the temporary control plane has done its part",
            Self::MergeInPlace => "add this host's config to what the bootstrap made",
            Self::WriteImage => "write the operating system with coreos-installer",
            Self::DeployIntoRoot => "deploy the operating system beside the running one",
            Self::WriteFinalImage => "deploy the operating system of the cluster on the disk",
            Self::WaitForControlPlane => "wait for two control-plane nodes (day 1 only)",
            Self::WaitForNodes => "wait until other control-plane nodes are ready",
            Self::WaitForEtcd => "wait until the cluster runs etcd and the API on its own",
            Self::WaitForController => "wait until the controller runs in the cluster",
            Self::WaitForWorkers => {
                "wait until no worker needs the service here (agent-based only)"
            }
            Self::WaitForMachineConfigs => "wait until the configs of the nodes are settled",
            Self::CopyRegistryData => "copy the registry of the boot medium (appliances only)",
            Self::SetBootOrder => "make the firmware start the installed disk (UEFI only)",
            Self::SendLogs => "send the logs of this host to the service",
            Self::Reboot => "reboot into the installed system",
        }
    }
}

/// The steps of one installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How the node is installed.
    pub flow: Flow,
    /// In order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// The plan for a request on a machine whose boot medium does or does not carry a registry.
    #[must_use]
    pub fn of(options: &InstallOptions, carries_registry: bool) -> Self {
        let existing_root = !options.coreos_image.is_empty();
        Self::with(
            Flow::of(options.role, options.control_plane_count),
            Choices {
                existing_root,
                cleans_disk: !options.skip_installation_disk_cleanup,
                erases_boot_sectors: !options.format_disks.is_empty(),
                writes_final_image: options.enable_skip_mco_reboot,
                copies_registry: carries_registry
                    && matches!(options.role, Role::Bootstrap | Role::Master),
            },
        )
    }

    /// The plan with every step the flow may have when it writes to a disk.
    #[must_use]
    pub fn full(flow: Flow) -> Self {
        let choices = Choices {
            existing_root: false,
            cleans_disk: true,
            erases_boot_sectors: true,
            writes_final_image: true,
            copies_registry: flow != Flow::Worker,
        };
        Self::with(flow, choices)
    }

    /// The plan of a flow with these choices.
    #[must_use]
    pub fn with(flow: Flow, choices: Choices) -> Self {
        let single = flow == Flow::SingleNode;
        let first = flow == Flow::Bootstrap;
        let existing_root = choices.existing_root;
        let onto_disk = !existing_root;
        let steps = [
            (Step::CheckDisk, onto_disk),
            (Step::CheckRoot, existing_root),
            (Step::ApplyBootstrap, first || single),
            (Step::StartBootstrap, first || single),
            (Step::FetchIgnition, true),
            (
                Step::EraseBootSectors,
                onto_disk && choices.erases_boot_sectors,
            ),
            (Step::CleanDisk, onto_disk && choices.cleans_disk),
            (Step::WaitForBootkube, single),
            (Step::MergeInPlace, single),
            (Step::WriteImage, onto_disk),
            (Step::DeployIntoRoot, existing_root),
            (Step::WaitForControlPlane, flow == Flow::Worker),
            (
                Step::WriteFinalImage,
                onto_disk && choices.writes_final_image,
            ),
            (Step::SetBootOrder, onto_disk),
            (Step::CopyRegistryData, onto_disk && choices.copies_registry),
            (Step::WaitForNodes, first),
            (Step::WaitForBootkube, first),
            (Step::WaitForEtcd, first),
            (Step::WaitForController, first),
            (Step::WaitForWorkers, first),
            (Step::WaitForMachineConfigs, first),
            (Step::SendLogs, true),
            (Step::Reboot, true),
        ];
        let steps = steps
            .into_iter()
            .filter_map(|(step, wanted)| wanted.then_some(step))
            .collect();
        Self { flow, steps }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            let stage = step.stage().map_or("", |stage| stage.as_str());
            writeln!(f, "{:>2}. {:<26} {}", index + 1, stage, step.summary())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::tests::options;

    #[test]
    fn the_config_is_had_before_any_disk_is_touched() {
        for role in ["bootstrap", "master", "arbiter", "worker"] {
            let plan = Plan::of(
                &options(&["--role", role, "--format-disk", "/dev/sdb"]),
                true,
            );
            let place = |step| plan.steps.iter().position(|other| *other == step).unwrap();
            for destructive in [Step::EraseBootSectors, Step::CleanDisk, Step::WriteImage] {
                assert!(place(Step::FetchIgnition) < place(destructive), "{role}");
                assert!(place(Step::CheckDisk) < place(destructive), "{role}");
            }
            assert_eq!(plan.steps.last(), Some(&Step::Reboot));
        }
    }

    /// The service refuses a stage that is not in the list of a host's role, or behind it.
    #[test]
    fn stages_are_those_the_service_expects_of_the_role_in_its_order() {
        use muster_model::HostRole;
        for (name, count, role) in [
            ("bootstrap", "3", HostRole::Bootstrap),
            ("bootstrap", "1", HostRole::Master),
            ("master", "3", HostRole::Master),
            ("arbiter", "3", HostRole::Arbiter),
            ("worker", "3", HostRole::Worker),
        ] {
            let first = name == "bootstrap";
            for day2 in [false, true].into_iter().filter(|day2| !(first && *day2)) {
                let expected = HostStage::expected(role, first, count == "1", day2);
                let given = ["--role", name, "--control-plane-count", count];
                let plan = Plan::of(&options(&given), true);
                let stages = plan.steps.iter().filter_map(|step| step.stage());
                let places: Vec<_> = stages
                    .map(|stage| expected.iter().position(|other| *other == stage))
                    .collect();
                assert!(places.iter().all(Option::is_some), "{name}: {places:?}");
                assert!(places.is_sorted(), "{name}: {places:?}");
            }
        }
    }

    #[test]
    fn a_later_control_plane_node_of_a_single_node_cluster_is_no_single_node() {
        assert_eq!(Flow::of(Role::Master, 1), Flow::ControlPlane);
        assert_eq!(Flow::of(Role::Worker, 1), Flow::Worker);
        assert_eq!(Flow::of(Role::Bootstrap, 1), Flow::SingleNode);
    }

    #[test]
    fn partitions_that_are_kept_are_not_cleaned() {
        let plan = Plan::of(&options(&["--skip-installation-disk-cleanup"]), true);
        assert!(!plan.steps.contains(&Step::CleanDisk));
    }

    #[test]
    fn an_installation_into_the_running_root_touches_no_disk_beside_it() {
        let given = [
            "--coreos-image",
            "image",
            "--format-disk",
            "/dev/sdb",
            "--enable-skip-mco-reboot",
        ];
        let plan = Plan::of(&options(&given), true);
        let expected = [
            Step::CheckRoot,
            Step::FetchIgnition,
            Step::DeployIntoRoot,
            Step::SendLogs,
            Step::Reboot,
        ];
        assert_eq!(plan.steps, expected);
    }

    #[test]
    fn a_registry_on_the_medium_is_kept_by_control_plane_nodes_alone() {
        for (role, keeps) in [
            ("bootstrap", true),
            ("master", true),
            ("arbiter", false),
            ("worker", false),
        ] {
            let given = options(&["--role", role]);
            let copies = |carries| {
                Plan::of(&given, carries)
                    .steps
                    .contains(&Step::CopyRegistryData)
            };
            assert_eq!(copies(true), keeps, "{role}");
            assert!(!copies(false), "{role}");
        }
    }

    #[test]
    fn the_final_system_is_written_once_the_control_plane_serves_its_config() {
        let plan = Plan::of(
            &options(&["--role", "worker", "--enable-skip-mco-reboot"]),
            true,
        );
        let place = |step| plan.steps.iter().position(|other| *other == step);
        assert!(place(Step::WaitForControlPlane) < place(Step::WriteFinalImage));
        assert!(place(Step::WriteFinalImage) < place(Step::SetBootOrder));
    }
}
