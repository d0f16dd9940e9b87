//! A cluster in its wire form.

use std::collections::BTreeMap;

use muster_api::wire;
use muster_app::heartbeats::Heartbeats;
use muster_catalog::BundleId;
use muster_engine::inventory::Inventory;
use muster_model::{
    Cluster, ClusterKind, Host, HostStatus, LogsState, MonitoredOperator, PlatformType, Timestamp,
    Vip,
};
use muster_store::Row;
use serde_json::json;

use super::{count, flag, host, host::HostDetail, millis, text};

/// How much of its hosts an answer shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostsShown {
    /// All of them with counters and networks (`GET cluster` and most answers).
    Full,
    /// Counters only, as lists do; `hosts` is an empty list.
    CountersOnly,
    /// Records without derived members, as lists with hosts do.
    Records,
    /// `hosts` is null and there are no counters.
    Excluded,
}

/// The cluster in the answer of a single-cluster operation.
#[must_use]
pub fn cluster(
    cluster: &Cluster,
    hosts: &[Row<Host>],
    shown: HostsShown,
    heartbeats: &Heartbeats,
) -> wire::Cluster {
    let mut view = record(cluster);
    view.operator_bundles = Some(bundles(cluster));
    view.host_networks = Some(if shown == HostsShown::Excluded {
        Vec::new()
    } else {
        host_networks(hosts)
    });
    add_hosts(&mut view, cluster, hosts, shown, heartbeats);
    view
}

/// The cluster in a list: the same members, some of them null.
#[must_use]
pub fn cluster_summary(
    cluster: &Cluster,
    hosts: &[Row<Host>],
    shown: HostsShown,
    heartbeats: &Heartbeats,
) -> wire::Cluster {
    let mut view = record(cluster);
    view.image_info = Some(wire::ImageInfo {
        created_at: Some(cluster.created_at.precise()),
        expires_at: Some(Timestamp::ZERO_MILLIS.to_owned()),
        ..Default::default()
    });
    add_hosts(&mut view, cluster, hosts, shown, heartbeats);
    view
}

fn add_hosts(
    view: &mut wire::Cluster,
    cluster: &Cluster,
    hosts: &[Row<Host>],
    shown: HostsShown,
    heartbeats: &Heartbeats,
) {
    let detail = match shown {
        HostsShown::Excluded => {
            view.hosts = None;
            return;
        }
        HostsShown::CountersOnly => None,
        HostsShown::Full => Some(HostDetail::Full),
        HostsShown::Records => Some(HostDetail::Record),
    };
    view.hosts = Some(match detail {
        None => Vec::new(),
        Some(detail) => hosts
            .iter()
            .map(|one| host(one, Some(cluster), detail, heartbeats))
            .collect(),
    });
    let known = hosts
        .iter()
        .filter(|one| one.status == HostStatus::Known)
        .count();
    let enabled = hosts
        .iter()
        .filter(|one| one.status != HostStatus::Disabled)
        .count();
    view.total_host_count = count(hosts.len() as i64);
    view.enabled_host_count = count(enabled as i64);
    view.ready_host_count = count(known as i64);
}

fn record(cluster: &Cluster) -> wire::Cluster {
    let id = cluster.id.to_string();
    let day1 = cluster.kind == ClusterKind::Cluster
        || !cluster.imported && cluster.cpu_architecture.is_some();
    wire::Cluster {
        kind: Some(cluster.kind.to_string()),
        href: Some(format!("/api/assisted-install/v2/clusters/{id}")),
        name: text(&cluster.name),
        high_availability_mode: cluster.high_availability_mode.clone(),
        control_plane_count: cluster.control_plane_count,
        user_name: text(&cluster.user_name),
        email_domain: Some("Unknown".to_owned()),
        openshift_version: text(&cluster.openshift_version),
        ocp_release_image: cluster.ocp_release_image.clone(),
        openshift_cluster_id: cluster.openshift_cluster_id.map(|id| id.to_string()),
        image_info: Some(wire::ImageInfo {
            created_at: Some(Timestamp::ZERO_PRECISE.to_owned()),
            expires_at: Some(Timestamp::ZERO_MILLIS.to_owned()),
            ..Default::default()
        }),
        platform: cluster.platform.as_ref().map(|platform| wire::Platform {
            r#type: Some(platform.kind.to_string()),
            external: Some(match platform.kind {
                PlatformType::External => wire::PlatformExternal {
                    platform_name: platform.external_name.clone(),
                    cloud_controller_manager: platform.cloud_controller_manager.clone(),
                },
                PlatformType::Baremetal
                | PlatformType::Nutanix
                | PlatformType::Vsphere
                | PlatformType::None => wire::PlatformExternal::default(),
            }),
        }),
        base_dns_domain: cluster.base_dns_domain.clone(),
        api_vips: vips(
            &id,
            cluster.api_vips.as_deref(),
            |cluster_id, ip, verification| wire::ApiVip {
                cluster_id,
                ip,
                verification,
            },
        ),
        ingress_vips: vips(
            &id,
            cluster.ingress_vips.as_deref(),
            |cluster_id, ip, verification| wire::IngressVip {
                cluster_id,
                ip,
                verification,
            },
        ),
        api_vip_dns_name: cluster.api_vip_dns_name.clone(),
        cluster_networks: cluster.networks.cluster.as_ref().map(|networks| {
            networks
                .iter()
                .map(|network| wire::ClusterNetwork {
                    cluster_id: Some(id.clone()),
                    cidr: Some(network.cidr.clone()),
                    host_prefix: count(network.host_prefix),
                })
                .collect()
        }),
        service_networks: cluster.networks.service.as_ref().map(|networks| {
            networks
                .iter()
                .map(|cidr| wire::ServiceNetwork {
                    cluster_id: Some(id.clone()),
                    cidr: Some(cidr.clone()),
                })
                .collect()
        }),
        machine_networks: cluster.networks.machine.as_ref().map(|networks| {
            networks
                .iter()
                .map(|cidr| wire::MachineNetwork {
                    cluster_id: Some(id.clone()),
                    cidr: Some(cidr.clone()),
                })
                .collect()
        }),
        ssh_public_key: cluster.ssh_public_key.clone(),
        http_proxy: cluster.proxy.http.as_deref().and_then(text),
        https_proxy: cluster.proxy.https.as_deref().and_then(text),
        no_proxy: cluster.proxy.no_proxy.as_deref().and_then(text),
        status: Some(cluster.status.to_string()),
        status_info: Some(cluster.status_info.clone()),
        status_updated_at: millis(Some(cluster.status_updated_at)),
        progress: Some(wire::ClusterProgressInfo {
            total_percentage: count(cluster.progress.total),
            preparing_for_installation_stage_percentage: count(cluster.progress.preparing),
            installing_stage_percentage: count(cluster.progress.installing),
            finalizing_stage_percentage: count(cluster.progress.finalizing),
            finalizing_stage: cluster
                .progress
                .finalizing_stage
                .map(|stage| stage.to_string()),
            finalizing_stage_started_at: millis(cluster.progress.finalizing_stage_started_at),
            finalizing_stage_timed_out: flag(cluster.progress.finalizing_stage_timed_out),
        }),
        disk_encryption: Some(cluster.disk_encryption.as_ref().map_or_else(
            Default::default,
            |setting| wire::DiskEncryption {
                enable_on: Some(setting.enable_on.clone()),
                mode: Some(setting.mode.clone()),
                tang_servers: setting.tang_servers.clone(),
            },
        )),
        schedulable_masters: Some(cluster.schedulable_masters),
        schedulable_masters_forced_true: Some(cluster.schedulable_masters_forced_true),
        updated_at: Some(cluster.updated_at.precise()),
        created_at: Some(cluster.created_at.precise()),
        install_started_at: millis(cluster.install_started_at),
        install_completed_at: millis(cluster.install_completed_at),
        pull_secret_set: flag(!cluster.pull_secret.is_empty()),
        vip_dhcp_allocation: cluster.vip_dhcp_allocation,
        validations_info: cluster.validations_info.clone(),
        logs_info: cluster
            .logs_info
            .filter(|state| *state != LogsState::Unset)
            .map(|state| state.to_string()),
        install_config_overrides: cluster.install_config_overrides.as_deref().and_then(text),
        controller_logs_collected_at: millis(cluster.controller_logs_collected_at),
        controller_logs_started_at: millis(cluster.controller_logs_started_at),
        connectivity_majority_groups: cluster.connectivity_majority_groups.clone(),
        ip_collisions: cluster.ip_collisions.clone(),
        deleted_at: cluster.deleted_at.map(Timestamp::precise),
        user_managed_networking: cluster.user_managed_networking,
        additional_ntp_source: cluster.ntp.additional.as_deref().and_then(text),
        ntp_sources: cluster.ntp.sources.as_deref().and_then(text),
        monitored_operators: cluster
            .monitored_operators
            .as_ref()
            .map(|operators| operators.iter().map(|one| operator(cluster, one)).collect()),
        hyperthreading: cluster.hyperthreading.clone(),
        feature_usage: day1.then(|| feature_usage(cluster)),
        network_type: cluster.network_type.clone(),
        cpu_architecture: cluster.cpu_architecture.as_ref().map(ToString::to_string),
        ignition_endpoint: Some(wire::IgnitionEndpoint {
            url: cluster.ignition_endpoint.url.clone(),
            ca_certificate: cluster.ignition_endpoint.ca_certificate.clone(),
        }),
        imported: flag(cluster.imported),
        tags: cluster.tags.as_deref().and_then(text),
        last_installation_preparation: Some(wire::LastInstallationPreparation {
            status: cluster.preparation.status.clone(),
            reason: cluster.preparation.reason.clone(),
        }),
        org_soft_timeouts_enabled: day1.then_some(true),
        load_balancer: Some(wire::LoadBalancer {
            r#type: Some(
                cluster
                    .load_balancer
                    .clone()
                    .unwrap_or_else(|| "cluster-managed".to_owned()),
            ),
        }),
        id: Some(id),
        ..Default::default()
    }
}

fn vips<T>(
    id: &str,
    vips: Option<&[Vip]>,
    make: impl Fn(Option<String>, Option<String>, Option<String>) -> T,
) -> Option<Vec<T>> {
    vips.map(|vips| {
        vips.iter()
            .map(|vip| {
                make(
                    Some(id.to_owned()),
                    Some(vip.ip.to_string()),
                    vip.verification.clone(),
                )
            })
            .collect()
    })
}

/// One monitored operator.
#[must_use]
pub fn operator(cluster: &Cluster, operator: &MonitoredOperator) -> wire::MonitoredOperator {
    wire::MonitoredOperator {
        cluster_id: Some(cluster.id.to_string()),
        name: Some(operator.name.clone()),
        version: operator.version.clone(),
        namespace: operator.namespace.clone(),
        subscription_name: operator.subscription_name.clone(),
        operator_type: Some(operator.operator_type.clone()),
        properties: operator.properties.clone(),
        timeout_seconds: Some(operator.timeout_seconds),
        status: operator.status.clone(),
        status_info: operator.status_info.as_deref().and_then(text),
        status_updated_at: millis(operator.status_updated_at),
        source_bundles: operator.source_bundles.clone(),
        dependency_only: flag(operator.dependency_only),
        ..Default::default()
    }
}

/// The bundles the user chose, recovered from where each operator came from.
fn bundles(cluster: &Cluster) -> Vec<wire::BundleCreateParams> {
    let mut ids: Vec<&String> = cluster
        .monitored_operators
        .iter()
        .flatten()
        .filter_map(|one| one.source_bundles.as_ref())
        .flatten()
        .collect();
    ids.sort();
    ids.dedup();
    ids.into_iter()
        .map(|id| {
            let optional = optional_operators(id, cluster.is_single_node());
            let chosen: Vec<String> = cluster
                .monitored_operators
                .iter()
                .flatten()
                .filter(|one| {
                    one.source_bundles
                        .as_ref()
                        .is_some_and(|from| from.contains(id))
                })
                .filter(|one| optional.contains(&one.name))
                .map(|one| one.name.clone())
                .collect();
            wire::BundleCreateParams {
                id: Some(id.clone()),
                optional_operators: (!chosen.is_empty()).then_some(chosen),
            }
        })
        .collect()
}

fn optional_operators(bundle: &str, single_node: bool) -> Vec<String> {
    let bundle = bundle.parse::<BundleId>().map(|id| id.bundle(single_node));
    bundle.map_or_else(
        |_| Vec::new(),
        |bundle| {
            bundle
                .optional_operators
                .iter()
                .map(ToString::to_string)
                .collect()
        },
    )
}

fn feature_usage(cluster: &Cluster) -> String {
    let features: serde_json::Map<String, serde_json::Value> = cluster
        .feature_usage
        .iter()
        .map(|(name, usage)| {
            let mut entry = json!({"id": usage.id, "name": name});
            if !usage.data.is_empty() {
                entry["data"] = json!(usage.data);
            }
            (name.clone(), entry)
        })
        .collect();
    serde_json::Value::Object(features).to_string()
}

/// Which networks the hosts see, each with the hosts in it.
fn host_networks(hosts: &[Row<Host>]) -> Vec<wire::HostNetwork> {
    let mut networks: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for host in hosts {
        let Some(inventory) = Inventory::known(host) else {
            continue;
        };
        for (_, address) in inventory.addresses() {
            let ids = networks.entry(address.trunc().to_string()).or_default();
            let id = host.id.to_string();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    networks
        .into_iter()
        .map(|(cidr, host_ids)| wire::HostNetwork {
            cidr: Some(cidr),
            host_ids: Some(host_ids),
        })
        .collect()
}
