//! What is thrown away, and when.

use std::time::Duration;

use super::{hours, section};

section! {
    /// What is thrown away, and when.
    pub struct Housekeeping at housekeeping {
        /// Delete clusters that are not used any more; never one that is installed or being installed.
        deregister_inactive: bool = false, env ["ENABLE_DEREGISTER_INACTIVE_GC"];
        /// Time between two searches for inactive clusters.
        deregister_interval: Duration = hours(1), env ["DEREGISTER_WORKER_INTERVAL"];
        /// A cluster untouched for so long is inactive.
        inactive_after: Duration = hours(480), env ["DELETED_INACTIVE_AFTER"];
        /// Delete deregistered clusters for good.
        delete_unregistered: bool = true, env ["ENABLE_DELETE_UNREGISTER_GC"];
        /// Time between two searches for deregistered clusters.
        deletion_interval: Duration = hours(1), env ["DELETION_WORKER_INTERVAL"];
        /// A deregistered cluster is kept for so long.
        unregistered_after: Duration = hours(72), env ["DELETED_UNREGISTERED_AFTER"];
        /// Delete infra-envs that belong to no cluster and are not used any more.
        delete_inactive_infra_envs: bool = false, env [];
        /// Running time from an announcement to the deletion, and without deletions after a jump of the clock.
        notice: Duration = hours(24), env [];
        /// Time between two searches for orphaned infra-envs and hosts.
        infra_env_interval: Duration = hours(1), env ["INFRAENV_DELETION_WORKER_INTERVAL"];
        /// An infra-env untouched for so long, without cluster, is deleted.
        infra_env_inactive_after: Duration = hours(480), env ["INFRAENV_DELETED_INACTIVE_AFTER"];
        /// Most clusters deregistered in one round.
        max_clusters_per_round: u32 = 100, env ["MAX_GC_CLUSTERS_PER_INTERVAL"];
        /// Most infra-envs deleted in one round.
        max_infra_envs_per_round: u32 = 100, env ["MAX_GC_INFRAENVS_PER_INTERVAL"];
    }
}
