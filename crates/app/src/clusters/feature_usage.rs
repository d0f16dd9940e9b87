//! Which features a cluster makes use of, for statistics and support.
//!
//! Recomputed from the settings whenever they change; entries that other parts of the service
//! write (custom manifests, host settings …) are left alone.

use muster_engine::inventory::Inventory;
use muster_model::{Arch, Cluster, FeatureUse, Host, PlatformType, UseDetail};

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
    ("VIP auto alloc.", |cluster| {
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
    ("arm64 architecture", |cluster| {
        runs_on(cluster, Arch::Arm64)
    }),
    ("ppc64le architecture", |cluster| {
        runs_on(cluster, Arch::Ppc64le)
    }),
    ("s390x architecture", |cluster| {
        runs_on(cluster, Arch::S390x)
    }),
    ("Multi-arch release", |cluster| {
        runs_on(cluster, Arch::Multi)
    }),
];

fn network(cluster: &Cluster, name: &str) -> bool {
    cluster.network_type.as_deref() == Some(name)
}

fn runs_on(cluster: &Cluster, arch: Arch) -> bool {
    cluster.arch() == Some(arch)
}

/// Virtual machines in a cluster that runs its own load balancer.
const VIRTUAL_HOSTS: &str = "Cluster managed networking with VMs";

/// Names that records of earlier versions may have.
const RETIRED: &[&str] = &["VIP DHCP allocation", "ARM64 Architecture"];

/// Brings the record up to date with the settings and the hosts.
pub fn refresh(cluster: &mut Cluster, hosts: &[Host]) {
    for name in RETIRED {
        cluster.feature_usage.remove(*name);
    }
    for (name, is_used) in FEATURES {
        let usage = is_used(cluster).then(|| detailed(cluster, name));
        set(cluster, name, usage);
    }
    let used: Vec<_> = operators_choice::of_cluster(cluster).collect();
    for operator in muster_catalog::Operator::ALL {
        let name = operator.as_str().to_uppercase();
        let usage = used.contains(operator).then(|| FeatureUse::of(&name));
        set(cluster, &name, usage);
    }
    let usage = virtual_hosts(cluster, hosts)
        .map(|ids| FeatureUse::of(VIRTUAL_HOSTS).with("VM Hosts", UseDetail::List(ids)));
    set(cluster, VIRTUAL_HOSTS, usage);
}

/// The use of a feature with what is worth knowing about it.
fn detailed(cluster: &Cluster, name: &str) -> FeatureUse {
    let usage = FeatureUse::of(name);
    let text = |text: &str| UseDetail::Text(text.to_owned());
    match name {
        "Hyperthreading" => {
            let on = cluster.hyperthreading.as_deref().unwrap_or_default();
            usage.with("hyperthreading_enabled", text(on))
        }
        "Disk encryption" => match &cluster.disk_encryption {
            Some(setting) => usage
                .with("enable_on", text(&setting.enable_on))
                .with("mode", text(&setting.mode))
                .with(
                    "tang_servers",
                    text(setting.tang_servers.as_deref().unwrap_or_default()),
                ),
            None => usage,
        },
        "Additional NTP Source" => {
            let sources = cluster.ntp.additional.as_deref().unwrap_or_default();
            let count = sources.split(',').count() as u64;
            usage.with("source_count", UseDetail::Count(count))
        }
        "Proxy" => {
            let proxy = &cluster.proxy;
            let members = [
                ("http_proxy", &proxy.http),
                ("https_proxy", &proxy.https),
                ("no_proxy", &proxy.no_proxy),
            ];
            let set = members.into_iter().filter(|(_, value)| value.is_some());
            set.fold(usage, |usage, (key, _)| {
                usage.with(key, UseDetail::Count(1))
            })
        }
        "Platform selection" => match &cluster.platform {
            Some(platform) => usage.with("platform_type", text(platform.kind.as_str())),
            None => usage,
        },
        _ => usage,
    }
}

/// Ids of virtual machines, where the cluster manages its network itself; nothing if there is none.
fn virtual_hosts(cluster: &Cluster, hosts: &[Host]) -> Option<Vec<String>> {
    let platform = cluster.platform.as_ref().map(|platform| platform.kind);
    let plain = matches!(
        platform,
        None | Some(PlatformType::Baremetal | PlatformType::None)
    );
    if !plain || cluster.user_managed_networking == Some(true) {
        return None;
    }
    let is_virtual = |host: &&Host| {
        Inventory::known(host)
            .and_then(|inventory| {
                inventory
                    .system_vendor
                    .as_ref()
                    .map(|vendor| vendor.is_virtual)
            })
            .unwrap_or(false)
    };
    let ids: Vec<String> = hosts
        .iter()
        .filter(is_virtual)
        .map(|host| host.id.to_string())
        .collect();
    (!ids.is_empty()).then_some(ids)
}

fn set(cluster: &mut Cluster, name: &str, usage: Option<FeatureUse>) {
    match usage {
        Some(usage) => drop(cluster.feature_usage.insert(name.to_owned(), usage)),
        None => drop(cluster.feature_usage.remove(name)),
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
        cluster
            .feature_usage
            .insert("Custom manifest".into(), FeatureUse::of("Custom manifest"));
        refresh(&mut cluster, &[]);
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
        refresh(&mut cluster, &[]);
        assert!(!cluster.feature_usage.contains_key("Hyperthreading"));
    }

    #[test]
    fn uses_carry_what_is_worth_knowing_about_them() {
        let id = ClusterId(Uuid::nil());
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Insufficient);
        let mut cluster = Cluster::blank(id, kind, "c", status, "admin", Timestamp(0));
        cluster.hyperthreading = Some("masters".into());
        cluster.ntp.additional = Some("a.example,b.example".into());
        cluster.proxy.http = Some("http://proxy:1".into());
        cluster.vip_dhcp_allocation = Some(true);
        cluster.disk_encryption = Some(muster_model::DiskEncryption {
            enable_on: "all".into(),
            mode: "tpmv2".into(),
            tang_servers: None,
        });
        let host = |number: u128, is_virtual: bool| {
            let key = muster_model::HostKey {
                infra_env: muster_model::InfraEnvId(Uuid::nil()),
                host: muster_model::HostId(Uuid::from_u128(number)),
            };
            let mut host = Host::registered(key, Some(id), "admin", Timestamp(0));
            let inventory = serde_json::json!({"system_vendor": {"virtual": is_virtual}});
            host.reports.inventory = Some(inventory.to_string().into());
            host
        };
        let hosts = [host(1, true), host(2, false)];
        refresh(&mut cluster, &hosts);
        let data = |cluster: &Cluster, name: &str| {
            serde_json::to_value(&cluster.feature_usage[name].data).unwrap()
        };
        for (name, expected) in [
            (
                "Hyperthreading",
                serde_json::json!({"hyperthreading_enabled": "masters"}),
            ),
            (
                "Disk encryption",
                serde_json::json!({"enable_on": "all", "mode": "tpmv2", "tang_servers": ""}),
            ),
            (
                "Additional NTP Source",
                serde_json::json!({"source_count": 2}),
            ),
            ("Proxy", serde_json::json!({"http_proxy": 1})),
            (
                VIRTUAL_HOSTS,
                serde_json::json!({"VM Hosts": [hosts[0].id.to_string()]}),
            ),
        ] {
            assert_eq!(data(&cluster, name), expected, "{name}");
        }
        assert_eq!(
            cluster.feature_usage["VIP auto alloc."].id,
            "VIP_AUTO_ALLOC"
        );
        cluster.user_managed_networking = Some(true);
        refresh(&mut cluster, &hosts);
        assert!(!cluster.feature_usage.contains_key(VIRTUAL_HOSTS));
    }
}
