//! Which features a cluster makes use of, for statistics and support.
//!
//! Recomputed from the settings whenever they change; entries that other parts of the service
//! write (custom manifests, host settings …) are left alone.

use muster_model::{Cluster, FeatureUse, PlatformType};

use super::{dual_stack, operators_choice, vips};

/// Whether a cluster uses a feature.
type IsUsed = fn(&Cluster) -> bool;

/// Features by display name.
const FEATURES: &[(&str, IsUsed)] = &[
    ("SNO", Cluster::is_single_node),
    ("Hyperthreading", |cluster| {
        cluster
            .hyperthreading
            .as_deref()
            .is_some_and(|on| on != "none")
    }),
    ("OVN network type", |cluster| {
        network(cluster, "OVNKubernetes")
    }),
    ("SDN network type", |cluster| {
        network(cluster, "OpenShiftSDN")
    }),
    ("Cilium network type", |cluster| network(cluster, "Cilium")),
    ("Calico network type", |cluster| network(cluster, "Calico")),
    ("CiscoACI network type", |cluster| {
        network(cluster, "CiscoACI")
    }),
    ("None network type", |cluster| network(cluster, "None")),
    ("Proxy", |cluster| {
        let proxy = &cluster.proxy;
        proxy.http.is_some() || proxy.https.is_some() || proxy.no_proxy.is_some()
    }),
    ("Additional NTP Source", |cluster| {
        cluster
            .ntp
            .additional
            .as_deref()
            .is_some_and(|list| !list.is_empty())
    }),
    ("NTP Sources", |cluster| {
        cluster
            .ntp
            .sources
            .as_deref()
            .is_some_and(|list| !list.is_empty())
    }),
    ("VIP DHCP allocation", |cluster| {
        cluster.vip_dhcp_allocation == Some(true)
    }),
    ("User Managed Networking With Multi Node", |cluster| {
        cluster.user_managed_networking == Some(true) && !cluster.is_single_node()
    }),
    ("User Managed Load Balancer", vips::is_user_balanced),
    ("Dual-stack", |cluster| {
        dual_stack::is_dual_stack(&cluster.networks)
    }),
    ("Dual-stack VIPs", |cluster| {
        cluster.api_vips.as_ref().is_some_and(|vips| vips.len() > 1)
    }),
    ("Disk encryption", |cluster| {
        cluster
            .disk_encryption
            .as_ref()
            .is_some_and(|setting| setting.enable_on != "none")
    }),
    ("Schedulable masters", |cluster| cluster.schedulable_masters),
    ("Cluster Tags", |cluster| {
        cluster.tags.as_deref().is_some_and(|tags| !tags.is_empty())
    }),
    ("Platform selection", |cluster| {
        cluster
            .platform
            .as_ref()
            .is_some_and(|platform| match platform.kind {
                PlatformType::Vsphere | PlatformType::Nutanix | PlatformType::External => true,
                PlatformType::Baremetal | PlatformType::None => false,
            })
    }),
    ("ARM64 Architecture", |cluster| {
        cluster.cpu_architecture.as_deref() == Some("arm64")
    }),
    ("Multi-arch release", |cluster| {
        cluster.cpu_architecture.as_deref() == Some("multi")
    }),
];

fn network(cluster: &Cluster, name: &str) -> bool {
    cluster.network_type.as_deref() == Some(name)
}

/// Brings the record up to date with the settings.
pub fn refresh(cluster: &mut Cluster) {
    for (name, is_used) in FEATURES {
        set(cluster, name, is_used(cluster));
    }
    let used: Vec<_> = operators_choice::of_cluster(cluster).collect();
    for operator in muster_catalog::Operator::ALL {
        set(
            cluster,
            &operator.as_str().to_uppercase(),
            used.contains(operator),
        );
    }
    if let Some(platform) = &cluster.platform
        && let Some(entry) = cluster.feature_usage.get_mut("Platform selection")
    {
        entry
            .data
            .insert("platform_type".to_owned(), platform.kind.to_string());
    }
}

fn set(cluster: &mut Cluster, name: &str, used: bool) {
    if used {
        let id = name.to_uppercase().replace([' ', '-'], "_");
        cluster
            .feature_usage
            .entry(name.to_owned())
            .or_insert_with(|| FeatureUse {
                id,
                data: Default::default(),
            });
    } else {
        cluster.feature_usage.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, Timestamp};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn usage_follows_the_settings_and_leaves_entries_of_others_alone() {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        cluster.control_plane_count = Some(1);
        cluster.hyperthreading = Some("all".into());
        cluster.network_type = Some("OVNKubernetes".into());
        cluster.feature_usage.insert(
            "Custom manifest".into(),
            FeatureUse {
                id: "CUSTOM_MANIFEST".into(),
                data: Default::default(),
            },
        );
        refresh(&mut cluster);
        let names: Vec<_> = cluster.feature_usage.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "Custom manifest",
                "Hyperthreading",
                "OVN network type",
                "SNO"
            ]
        );
        assert_eq!(
            cluster.feature_usage["OVN network type"].id,
            "OVN_NETWORK_TYPE"
        );
        cluster.hyperthreading = Some("none".into());
        refresh(&mut cluster);
        assert!(!cluster.feature_usage.contains_key("Hyperthreading"));
    }
}
