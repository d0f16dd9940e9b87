//! How long things may take.

use std::time::Duration;

use super::{hours, minutes, section};

section! {
    /// How long things may take.
    pub struct Timeouts at timeouts {
        /// Preparation of a cluster; never shorter than its slowest check and 2 minutes.
        prepare_cluster: Duration = minutes(10), env ["PREPARE_FOR_INSTALLATION_TIMEOUT"];
        /// Preparation of a host; never shorter than its slowest check and 1 minute.
        prepare_host: Duration = minutes(8), env ["PREPARE_FOR_INSTALLATION_HOST_TIMEOUT"];
        /// Speed check of a disk.
        disk_check: Duration = minutes(8), env ["DISK_CHECK_TIMEOUT"];
        /// Pull of the images an installation needs.
        image_availability: Duration = minutes(16), env ["IMAGE_AVAILABILITY_TIMEOUT"];
        /// Whole installation of a cluster.
        installation: Duration = hours(24), env ["INSTALLATION_TIMEOUT"];
        /// Finalizing of a cluster.
        finalizing: Duration = hours(5), env ["FINALIZING_TIMEOUT"];
        /// Poll interval of agents; twice as long while little can happen; at least 1s.
        poll_interval: Duration = minutes(1), env [];
        /// Hosts that wait for their installation send their logs this often; 0s: only hosts whose installation failed send them. At least 1 minute.
        discovery_logs: Duration = Duration::ZERO, env [];
        /// A silent host counts as disconnected after this time.
        host_disconnection: Duration = minutes(3), env ["HOST_MAX_DISCONNECTION_TIME"];
        /// Longest time a host may wait for user action while installing.
        host_pending_user_action: Duration = minutes(60), env ["HOST_INSTALLING_PENDING_USER_ACTION_TIMEOUT"];
        /// Longest time a host may be installing without reporting a stage.
        host_without_progress: Duration = minutes(20), env ["HOST_INSTALLING_WITHOUT_PROGRESS_TIMEOUT"];
        /// Reboot of a single node, which takes longer than other reboots.
        single_node_reboot: Duration = minutes(80), env ["SINGLE_NODE_REBOOT_TIMEOUT"];
        /// Additional time the bootstrap host may be silent, as it is busy.
        bootstrap_grace: Duration = minutes(2), env ["BOOTSTRAP_DISCONNECTION_GRACE"];
        /// A bound host that does not join within this time becomes disconnected.
        host_binding: Duration = minutes(10), env ["HOST_BINDING_TIMEOUT"];
        /// After this time it is reported that no host leases the virtual addresses.
        vip_lease: Duration = minutes(2), env ["VIP_LEASE_TIMEOUT"];
        /// A node that has not returned to discovery after this time needs user action.
        host_reclaim: Duration = minutes(60), env ["HOST_RECLAIM_TIMEOUT"];
        /// Reset of a cluster.
        reset_cluster: Duration = minutes(3), env ["RESET_CLUSTER_TIMEOUT"];
        /// Cluster logs, from the request to their end.
        log_collection: Duration = minutes(60), env ["LOG_COLLECTION_TIMEOUT"];
        /// Cluster logs, until the collection starts.
        log_pending: Duration = minutes(10), env ["LOG_PENDING_TIMEOUT"];
        /// Host logs, from the request to their end.
        host_log_collection: Duration = minutes(10), env ["HOST_LOG_COLLECTION_TIMEOUT"];
        /// Host logs, until the collection starts.
        host_log_pending: Duration = minutes(2), env ["HOST_LOG_PENDING_TIMEOUT"];
    }
}

section! {
    /// How long each stage of a host may take.
    pub struct HostStages at host_stages {
        /// Starting installation.
        starting_installation: Duration = minutes(30), env ["HOST_STAGE_STARTING_INSTALLATION_TIMEOUT"];
        /// Installing.
        installing: Duration = minutes(60), env ["HOST_STAGE_INSTALLING_TIMEOUT"];
        /// Writing image to disk.
        writing_image_to_disk: Duration = minutes(30), env ["HOST_STAGE_WRITING_IMAGE_TO_DISK_TIMEOUT"];
        /// Copying registry data to disk.
        copying_registry_data_to_disk: Duration = minutes(90), env ["HOST_STAGE_COPYING_REGISTRY_DATA_TO_DISK_TIMEOUT"];
        /// Waiting for control plane.
        waiting_for_control_plane: Duration = minutes(60), env ["HOST_STAGE_WAITING_FOR_CONTROL_PLANE_TIMEOUT"];
        /// Waiting for bootkube.
        waiting_for_bootkube: Duration = minutes(60), env ["HOST_STAGE_WAITING_FOR_BOOTKUBE_TIMEOUT"];
        /// Waiting for controller.
        waiting_for_controller: Duration = minutes(60), env ["HOST_STAGE_WAITING_FOR_CONTROLLER_TIMEOUT"];
        /// Rebooting.
        rebooting: Duration = minutes(40), env ["HOST_STAGE_REBOOTING_TIMEOUT"];
        /// Waiting for ignition.
        waiting_for_ignition: Duration = hours(24), env ["HOST_STAGE_WAITING_FOR_IGNITION_TIMEOUT"];
        /// Configuring.
        configuring: Duration = minutes(60), env ["HOST_STAGE_CONFIGURING_TIMEOUT"];
        /// Joined.
        joined: Duration = minutes(60), env ["HOST_STAGE_JOINED_TIMEOUT"];
        /// Any other stage.
        other: Duration = minutes(60), env [];
    }
}

impl HostStages {
    /// The limit of a stage, by the name it has in the API.
    pub fn limit(&self, stage: &str) -> Duration {
        match stage {
            "Starting installation" => self.starting_installation,
            "Installing" => self.installing,
            "Writing image to disk" => self.writing_image_to_disk,
            "Copying registry data to disk" => self.copying_registry_data_to_disk,
            "Waiting for control plane" => self.waiting_for_control_plane,
            "Waiting for bootkube" => self.waiting_for_bootkube,
            "Waiting for controller" => self.waiting_for_controller,
            "Rebooting" => self.rebooting,
            "Waiting for ignition" => self.waiting_for_ignition,
            "Configuring" => self.configuring,
            "Joined" => self.joined,
            _ => self.other,
        }
    }
}

section! {
    /// How long each stage of finalizing may take.
    pub struct FinalizingStages at finalizing_stages {
        /// Waiting for cluster operators.
        waiting_for_cluster_operators: Duration = hours(10), env ["FINALIZING_STAGE_WAITING_FOR_CLUSTER_OPERATORS_TIMEOUT"],
            else "10h, or 70m if features.soft_timeouts is on";
        /// Adding router ca.
        adding_router_ca: Duration = minutes(70), env ["FINALIZING_STAGE_ADDING_ROUTER_CA_TIMEOUT"];
        /// Applying olm manifests.
        applying_olm_manifests: Duration = minutes(10), env ["FINALIZING_STAGE_APPLYING_OLM_MANIFESTS_TIMEOUT"];
        /// Waiting for olm operators csv initialization.
        waiting_for_olm_operators_csv_initialization: Duration = minutes(70), env ["FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_INITIALIZATION_TIMEOUT"];
        /// Waiting for olm operators csv.
        waiting_for_olm_operators_csv: Duration = minutes(70), env ["FINALIZING_STAGE_WAITING_FOR_OLM_OPERATORS_CSV_TIMEOUT"];
        /// Waiting for OLM operator setup jobs.
        waiting_for_olm_operator_setup_jobs: Duration = minutes(10), env ["FINALIZING_STAGE_WAITING_FOR_OLM_OPERATOR_SETUP_JOBS_TIMEOUT"];
        /// Done.
        done: Duration = minutes(70), env ["FINALIZING_STAGE_DONE_TIMEOUT"];
    }
}

impl FinalizingStages {
    /// The limit of a stage, by the name it has in the API; `None` for a name it does not know.
    pub fn limit(&self, stage: &str) -> Option<Duration> {
        Some(match stage {
            "Waiting for cluster operators" => self.waiting_for_cluster_operators,
            "Adding router ca" => self.adding_router_ca,
            "Applying olm manifests" => self.applying_olm_manifests,
            "Waiting for olm operators csv initialization" => {
                self.waiting_for_olm_operators_csv_initialization
            }
            "Waiting for olm operators csv" => self.waiting_for_olm_operators_csv,
            "Waiting for OLM operator setup jobs" => self.waiting_for_olm_operator_setup_jobs,
            "Done" => self.done,
            _ => return None,
        })
    }
}
