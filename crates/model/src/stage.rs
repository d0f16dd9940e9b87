//! The steps of an installation, as hosts and the controller report them.

use crate::{HostRole, names::named};

named! {
    /// A step a host goes through while it is installed.
    HostStage {
        StartingInstallation = "Starting installation",
        WaitingForControlPlane = "Waiting for control plane",
        WaitingForBootkube = "Waiting for bootkube",
        WaitingForController = "Waiting for controller",
        Installing = "Installing",
        WritingImageToDisk = "Writing image to disk",
        CopyingRegistryDataToDisk = "Copying registry data to disk",
        Rebooting = "Rebooting",
        WaitingForIgnition = "Waiting for ignition",
        Configuring = "Configuring",
        Joined = "Joined",
        Done = "Done",
        Failed = "Failed",
    }
}

named! {
    /// A step of the end of an installation, reported by the controller inside the cluster.
    FinalizingStage {
        WaitingForClusterOperators = "Waiting for cluster operators",
        AddingRouterCa = "Adding router ca",
        ApplyingOlmManifests = "Applying olm manifests",
        WaitingForOlmOperatorsCsvInitialization = "Waiting for olm operators csv initialization",
        WaitingForOlmOperatorsCsv = "Waiting for olm operators csv",
        WaitingForOlmOperatorSetupJobs = "Waiting for OLM operator setup jobs",
        Done = "Done",
    }
}

use HostStage::*;

const BOOTSTRAP: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    WaitingForControlPlane,
    WaitingForBootkube,
    WaitingForController,
    Rebooting,
    Configuring,
    Joined,
    Done,
];
const MASTER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
    Configuring,
    Joined,
    Done,
];
const WORKER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    Rebooting,
    WaitingForIgnition,
    Configuring,
    Joined,
    Done,
];
const SINGLE_NODE: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WaitingForBootkube,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
    Joined,
    Done,
];
const DAY2_WORKER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    WaitingForControlPlane,
    Rebooting,
];
const DAY2_MASTER: &[HostStage] = &[
    StartingInstallation,
    Installing,
    WritingImageToDisk,
    CopyingRegistryDataToDisk,
    Rebooting,
];

impl HostStage {
    /// The stages a host will report, in order; empty while its role is open.
    #[must_use]
    pub const fn expected(
        role: HostRole,
        bootstrap: bool,
        single_node: bool,
        day2: bool,
    ) -> &'static [Self] {
        match role {
            HostRole::Worker if day2 => DAY2_WORKER,
            HostRole::Master | HostRole::Arbiter | HostRole::Bootstrap if day2 => DAY2_MASTER,
            HostRole::Bootstrap => BOOTSTRAP,
            HostRole::Master | HostRole::Arbiter if single_node && bootstrap => SINGLE_NODE,
            HostRole::Master | HostRole::Arbiter if bootstrap => BOOTSTRAP,
            HostRole::Master | HostRole::Arbiter => MASTER,
            HostRole::Worker => WORKER,
            HostRole::AutoAssign => &[],
        }
    }
}
