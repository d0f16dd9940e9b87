//! What is switched on.

use super::section;

section! {
    /// What is switched on.
    pub struct Features at features {
        /// Allow IPv6-only clusters.
        ipv6: bool = true, env ["IPV6_SUPPORT"];
        /// Allow encrypted disks.
        disk_encryption: bool = true, env ["DISK_ENCRYPTION_SUPPORT"];
        /// Allow clusters of two nodes and an arbiter.
        tna_clusters: bool = true, env ["TNA_CLUSTERS_SUPPORT"];
        /// Allow clusters of two nodes with fencing.
        tnf_clusters: bool = false, env ["TNF_CLUSTERS_SUPPORT"];
        /// Overdue stages cause a warning instead of a failure.
        soft_timeouts: bool = false, env ["ENABLE_SOFT_TIMEOUTS"];
        /// Assign roles to hosts for which the user sets none.
        auto_assign: bool = true, env ["ENABLE_AUTO_ASSIGN"];
        /// Include virtual network interfaces in inventories.
        virtual_interfaces: bool = false, env ["ENABLE_VIRTUAL_INTERFACES"];
        /// Ask agents of another version to replace themselves by images.agent. Only with an image referenced by digest (name@sha256:…): agents run it as root, and a tag can be moved.
        upgrade_agent: bool = true, env ["ENABLE_UPGRADE_AGENT"];
        /// Skip one reboot per host where the release allows it.
        skip_mco_reboot: bool = true, env ["ENABLE_SKIP_MCO_REBOOT"];
        /// Run a name server on single nodes.
        single_node_dnsmasq: bool = false, env ["ENABLE_SINGLE_NODE_DNSMASQ"];
        /// Wait for the cluster version operator before an installation counts as done.
        check_cluster_version: bool = false, env ["CHECK_CLUSTER_VERSION"];
        /// Generate placeholder Ignition configs and kubeconfigs, for tests.
        dummy_ignition: bool = false, env ["DUMMY_IGNITION"];
    }
}
