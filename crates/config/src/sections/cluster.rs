//! What a new cluster gets when its owner does not say, and rules that hold for all of them.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use ipnet::IpNet;
use uuid::Uuid;

use super::section;
use crate::documents::RateLimits;
use crate::kinds::IdList;

/// A network of version 4 whose prefix is known to be valid.
fn ipv4(a: u8, b: u8, prefix: u8) -> IpNet {
    IpNet::new_assert(IpAddr::V4(Ipv4Addr::new(a, b, 0, 0)), prefix)
}

/// A network of version 6 whose prefix is known to be valid.
fn ipv6(first: u16, prefix: u8) -> IpNet {
    IpNet::new_assert(
        IpAddr::V6(Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, 0)),
        prefix,
    )
}

section! {
    /// What a new cluster gets when its owner does not say.
    pub struct ClusterDefaults at cluster {
        /// Cluster network (pods), IPv4.
        cluster_network_cidr: IpNet = ipv4(10, 128, 14), env ["CLUSTER_NETWORK_CIDR"];
        /// Prefix length of each node's subnet in it.
        cluster_network_host_prefix: u16 = 23, env ["CLUSTER_NETWORK_HOST_PREFIX"];
        /// Cluster network (pods), IPv6.
        cluster_network_cidr_ipv6: IpNet = ipv6(0xfd01, 48), env ["CLUSTER_NETWORK_CIDR_IPV6"];
        /// Prefix length of each node's subnet in it, IPv6.
        cluster_network_host_prefix_ipv6: u16 = 64, env ["CLUSTER_NETWORK_HOST_PREFIX_IPV6"];
        /// Service network, IPv4.
        service_network_cidr: IpNet = ipv4(172, 30, 16), env ["SERVICE_NETWORK_CIDR"];
        /// Service network, IPv6.
        service_network_cidr_ipv6: IpNet = ipv6(0xfd02, 112), env ["SERVICE_NETWORK_CIDR_IPV6"];
        /// File with the pull secret of clusters and infra-envs whose owners give none.
        pull_secret_file: Option<PathBuf> = None, env [];
        /// Additional time source of every host.
        ntp_default_server: String = String::new(), env ["NTP_DEFAULT_SERVER"];
        /// DNS domains we manage, as domain:zone/provider.
        base_dns_domains: BTreeMap<String, String> = BTreeMap::new(), env ["BASE_DNS_DOMAINS"];
        /// Host validations to disable.
        disabled_host_validations: IdList = IdList::default(), env ["DISABLED_HOST_VALIDATIONS"];
        /// Cluster validations to disable.
        disabled_cluster_validations: IdList = IdList::default(), env ["DISABLED_CLUSTER_VALIDATIONS"];
        /// Steps that are never sent to hosts.
        disabled_steps: IdList = IdList::default(), env ["DISABLED_STEPS"];
        /// Clocks of hosts may differ by this many minutes.
        max_time_difference_minutes: u32 = 4, env ["HW_VALIDATOR_MAX_TIME_DIFF_MINUTES"];
        /// Product names of machines that count as edge workers.
        edge_worker_products: Vec<String> = vec!["BlueField SoC".into()], env ["EDGE_WORKERS_PRODUCT_NAMES"];
        /// Shortest time between two events of one name, as {name: duration}.
        event_rate_limits: RateLimits = RateLimits::default(), env ["EVENT_RATE_LIMITS"];
        /// Cipher of encrypted disks; empty leaves the choice to the operating system.
        disk_encryption_cipher: String = String::new(), env ["DISK_ENCRYPTION_CIPHER"];
        /// Largest inventory an agent may send, in bytes; 0 is no limit.
        inventory_max_size: u64 = 0, env ["AGENT_INVENTORY_MAX_SIZE"];
        /// Disks smaller than this are left out of a truncated inventory, in bytes.
        inventory_disk_min_size: u64 = 0, env ["AGENT_INVENTORY_DISK_MIN_SIZE"];
        /// Who requests installations; agent-installer changes how credentials are handled.
        install_invoker: String = "assisted-installer".into(), env ["INSTALL_INVOKER"];
        /// Watch hosts that are added to a cluster until their nodes are ready, where its kubeconfig is known and its API is reached.
        follow_added_hosts: bool = true, env [];
        /// Approve certificate requests of hosts that are added to a cluster, if name and addresses are theirs.
        approve_added_hosts: bool = false, env [];
        /// Create BareMetalHost and Machine of control-plane nodes that are added to a cluster on bare metal, if those of the others have them.
        adopt_added_hosts: bool = true, env [];
        /// Id that every registered infra-env gets (agent-based installation).
        infra_env_id: Option<Uuid> = None, env ["INFRA_ENV_ID"];
        /// MAC address of the bootstrap host (agent-based installation).
        bootstrap_host_mac: String = String::new(), env ["BOOTSTRAP_HOST_MAC"];
        /// Folder with signers and a password hash of the cluster made beforehand (agent-based installation); they are used instead of generated ones.
        cluster_tls_override_dir: Option<PathBuf> = None, env ["EPHEMERAL_INSTALLER_CLUSTER_TLS_CERTS_OVERRIDE_DIR"];
    }
}
