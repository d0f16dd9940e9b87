//! What is thrown away, and when.

use std::time::Duration;

use super::{hours, section};

section! {
    /// What is thrown away, and when.
    pub struct Housekeeping at housekeeping {
        /// Delete unused clusters; never one that is installed or being installed.
        deregister_inactive: bool = false, env ["ENABLE_DEREGISTER_INACTIVE_GC"];
        /// Time between two searches for inactive clusters.
        deregister_interval: Duration = hours(1), env ["DEREGISTER_WORKER_INTERVAL"];
        /// A cluster that is not used for this time is inactive.
        inactive_after: Duration = hours(480), env ["DELETED_INACTIVE_AFTER"];
        /// Purge deregistered clusters.
        delete_unregistered: bool = true, env ["ENABLE_DELETE_UNREGISTER_GC"];
        /// Time between two searches for deregistered clusters.
        deletion_interval: Duration = hours(1), env ["DELETION_WORKER_INTERVAL"];
        /// A deregistered cluster is kept for this time.
        unregistered_after: Duration = hours(72), env ["DELETED_UNREGISTERED_AFTER"];
        /// Delete unused infra-envs without a cluster.
        delete_inactive_infra_envs: bool = false, env [];
        /// Uptime between an announcement and the deletion, and without deletions after a clock jump.
        notice: Duration = hours(24), env [];
        /// Time between two searches for orphaned infra-envs and hosts.
        infra_env_interval: Duration = hours(1), env ["INFRAENV_DELETION_WORKER_INTERVAL"];
        /// An infra-env without a cluster that is not used for this time is deleted.
        infra_env_inactive_after: Duration = hours(480), env ["INFRAENV_DELETED_INACTIVE_AFTER"];
        /// Most clusters deregistered in one round.
        max_clusters_per_round: u32 = 100, env ["MAX_GC_CLUSTERS_PER_INTERVAL"];
        /// Most infra-envs deleted in one round.
        max_infra_envs_per_round: u32 = 100, env ["MAX_GC_INFRAENVS_PER_INTERVAL"];
    }
}
