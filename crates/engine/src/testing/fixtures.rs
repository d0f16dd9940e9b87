//! Valid clusters and machines to start from.

use std::time::Duration;

use muster_model::{
    Cluster, ClusterId, ClusterKind, ClusterNetwork, ClusterStatus, HostId, HostKey, InfraEnvId,
    MonitoredOperator, Platform, PlatformType, Secret, Timestamp, Vip,
};
use uuid::Uuid;

pub(crate) const START: Timestamp = Timestamp(1_700_000_000_000_000);

pub(crate) fn key(n: u128) -> HostKey {
    HostKey {
        infra_env: InfraEnvId(Uuid::from_u128(0xE)),
        host: HostId(Uuid::from_u128(n)),
    }
}

pub(crate) fn minutes(n: u64) -> Duration {
    Duration::from_secs(n * 60)
}

/// A machine before it says anything.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) number: u128,
    pub(crate) cores: i64,
    pub(crate) memory_gib: i64,
    pub(crate) disk_gb: i64,
    pub(crate) hostname: String,
    /// Peers it cannot reach.
    pub(crate) cut_off_from: Vec<u128>,
    /// Images it cannot pull end with this text.
    pub(crate) bad_image: Option<String>,
    pub(crate) disk_check_exit_code: i64,
    /// What is unusual about the inventory it sends.
    pub(crate) oddity: Option<fn(&mut serde_json::Value)>,
    /// Its agent asks for work.
    pub(crate) alive: bool,
}

impl Machine {
    pub(crate) fn new(number: u128) -> Self {
        Self {
            number,
            cores: 8,
            memory_gib: 32,
            disk_gb: 120,
            hostname: format!("host-{number}"),
            cut_off_from: Vec::new(),
            bad_image: None,
            disk_check_exit_code: 0,
            oddity: None,
            alive: true,
        }
    }
}

pub(crate) fn good_cluster(control_planes: i64) -> Cluster {
    let id = ClusterId(Uuid::from_u128(0xC));
    let mut cluster = Cluster::blank(
        id,
        ClusterKind::Cluster,
        "muster",
        ClusterStatus::Insufficient,
        "admin",
        START,
    );
    cluster.openshift_version = "4.16.3".into();
    cluster.ocp_release_image = Some("registry.example.com/release:4.16.3".into());
    cluster.cpu_architecture = Some("x86_64".into());
    cluster.base_dns_domain = Some("example.com".into());
    cluster.pull_secret = Secret::new("{}");
    cluster.control_plane_count = Some(control_planes);
    cluster.network_type = Some("OVNKubernetes".into());
    cluster.networks.cluster = Some(vec![ClusterNetwork {
        cidr: "10.128.0.0/14".into(),
        host_prefix: 23,
    }]);
    cluster.networks.service = Some(vec!["172.30.0.0/16".into()]);
    let single = control_planes == 1;
    let kind = if single {
        PlatformType::None
    } else {
        PlatformType::Baremetal
    };
    cluster.platform = Some(Platform {
        kind,
        external_name: None,
        cloud_controller_manager: None,
    });
    cluster.user_managed_networking = Some(single);
    if !single {
        cluster.api_vips = Some(vec![vip("192.0.2.200")]);
        cluster.ingress_vips = Some(vec![vip("192.0.2.201")]);
    }
    cluster.monitored_operators = Some(vec![
        operator("console", "builtin"),
        operator("cvo", "builtin"),
    ]);
    cluster
}

pub(crate) fn vip(ip: &str) -> Vip {
    Vip {
        ip: ip.parse().unwrap(),
        verification: None,
    }
}

pub(crate) fn operator(name: &str, kind: &str) -> MonitoredOperator {
    MonitoredOperator {
        name: name.into(),
        operator_type: kind.into(),
        namespace: None,
        subscription_name: None,
        properties: None,
        timeout_seconds: 3600,
        source_bundles: None,
        dependency_only: false,
        version: None,
        status: None,
        status_info: None,
        status_updated_at: None,
    }
}
