//! From a request for a new cluster to its first record.
//!
//! Pure: what can be installed comes with the [`Site`], time and id come from the caller.
//! Nothing is stored unless all of this succeeds.

use muster_api::wire;
use muster_catalog::{ReleaseImage, features::activation::NetworkType};
use muster_engine::registration::first_status;
use muster_model::{
    Arch, Cluster, ClusterId, ClusterKind, ClusterNetwork, Networks, OpenshiftVersion, Timestamp,
};
use uuid::Uuid;

use super::{
    control_plane, disk_encryption, dual_stack, feature_usage, features_in_use,
    names::{self, Dots},
    networking_change,
    networks::{self, HostBits},
    operators_choice::{self, Named},
    plain_settings::{self, kept},
    platforms::{self, Ground, PlatformRequest},
    site::Site,
    vips::{self, Pairs},
};
use crate::Invalid;

/// First version that can run on a single node.
const SINGLE_NODE_SINCE: (u64, u64) = (4, 8);

/// Who asks, when, and under which id the record will be known.
#[derive(Clone, Copy, Debug)]
pub struct Birth<'a> {
    /// The new id.
    pub id: ClusterId,
    /// Who asks.
    pub user: &'a str,
    /// When.
    pub now: Timestamp,
}

impl Birth<'_> {
    fn blank(&self, kind: ClusterKind, name: &str, info: &str) -> Cluster {
        let status = first_status(kind);
        let mut cluster = Cluster::blank(self.id, kind, name, status, self.user, self.now);
        cluster.status_info = info.to_owned();
        cluster
    }
}

/// A cluster to be installed.
pub fn day1(
    params: wire::ClusterCreateParams,
    birth: Birth<'_>,
    site: Site<'_>,
) -> Result<Cluster, Invalid> {
    let (release, arch) = release(&params, site)?;
    let version = &release.version;
    let (mode, count) = control_plane::choose(
        params.high_availability_mode.as_deref(),
        params.control_plane_count,
    )?;
    control_plane::check(mode, count, version, site.has_two_node_clusters())?;

    let name = params.name.clone().unwrap_or_default();
    let mut cluster = birth.blank(
        ClusterKind::Cluster,
        &name,
        "Waiting for hosts and settings",
    );
    cluster.openshift_version = version.to_string();
    cluster.ocp_release_image = Some(release.url.clone());
    cluster.cpu_architecture = Some(
        if release.is_multi() {
            Arch::Multi
        } else {
            arch
        }
        .into(),
    );
    cluster.control_plane_count = Some(count);
    cluster.high_availability_mode = Some(mode.to_string());
    cluster.schedulable_masters_forced_true = true;
    cluster.hyperthreading = Some("all".to_owned());
    cluster.disk_encryption = Some(disk_encryption::unset());
    set_network(&mut cluster, &params, arch, version, site)?;
    set_plain(&mut cluster, &params, site)?;

    let named = Named {
        operators: params.olm_operators.as_deref(),
        bundles: params.operator_bundles.as_deref(),
    };
    let mut operators = operators_choice::builtins(site.config.features.check_cluster_version);
    operators.extend(operators_choice::choose(
        named,
        version,
        cluster.is_single_node(),
    )?);
    cluster.monitored_operators = Some(operators);
    features_in_use::check(&cluster, &[], [])?;

    cluster.pull_secret = plain_settings::pull_secret(
        &cluster,
        params.pull_secret.as_deref().unwrap_or_default(),
        site,
    )?;
    feature_usage::refresh(&mut cluster, &[]);
    Ok(cluster)
}

/// The release that is meant, and the architecture it is meant for.
fn release<'a>(
    params: &wire::ClusterCreateParams,
    site: Site<'a>,
) -> Result<(&'a ReleaseImage, Arch), Invalid> {
    let asked = params
        .cpu_architecture
        .as_deref()
        .filter(|text| !text.is_empty())
        .unwrap_or("x86_64");
    let arch: Arch = asked
        .parse()
        .map_err(|unknown| format!("cpu_architecture: {unknown}"))?;
    if arch.as_str() != asked {
        return Err(
            format!("cpu_architecture {asked} is named {arch} for clusters; use that").into(),
        );
    }
    let version = params.openshift_version.as_deref().unwrap_or_default();
    let releases = &site.catalog.releases;
    let found = match params
        .ocp_release_image
        .as_deref()
        .filter(|url| !url.is_empty())
    {
        Some(url) => releases
            .resolve_url(url, arch)
            .map_err(|fault| format!("ocp_release_image: {fault}"))?,
        None => releases
            .resolve(version, arch)
            .map_err(|fault| format!("openshift_version: {fault}"))?,
    };
    if found.is_okd() && !site.config.catalog.okd_support {
        return Err(format!(
            "openshift_version: OKD ({}) is disabled in this service (catalog.okd_support)",
            found.version
        )
        .into());
    }
    // A payload for many architectures boots whatever its hosts need; that is checked with them.
    let boots_one = !found.is_multi() && site.config.images.enabled;
    if boots_one || !matches!(arch, Arch::X86_64 | Arch::Multi) {
        let boots = site.catalog.os_images.find(found.version.as_str(), arch);
        boots.map_err(|fault| format!("cpu_architecture: {fault}"))?;
    }
    Ok((found, arch))
}

fn set_network(
    cluster: &mut Cluster,
    params: &wire::ClusterCreateParams,
    arch: Arch,
    version: &OpenshiftVersion,
    site: Site<'_>,
) -> Result<(), Invalid> {
    let wanted = PlatformRequest::read(
        params.platform.as_ref(),
        params.user_managed_networking,
        None,
    )?;
    let ground = Ground::new(cluster.control_plane_count, Some(arch));
    if ground.single_node && !version.at_least(SINGLE_NODE_SINCE.0, SINGLE_NODE_SINCE.1) {
        return Err(
            format!("OpenShift {version} cannot run on a single node; use 4.8 or later").into(),
        );
    }
    let choice = platforms::choose(wanted, ground)?;
    cluster.platform = Some(choice.platform);
    cluster.user_managed_networking = choice.user_managed;
    cluster.load_balancer = params
        .load_balancer
        .as_ref()
        .and_then(|balancer| balancer.r#type.clone());

    let user_managed = cluster.user_managed_networking == Some(true);
    cluster.vip_dhcp_allocation = Some(params.vip_dhcp_allocation.unwrap_or(false));
    if user_managed && cluster.vip_dhcp_allocation == Some(true) {
        return Err("vip_dhcp_allocation cannot be combined with user_managed_networking, which single nodes always have".into());
    }
    let count = cluster
        .control_plane_count
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or(0);
    let usual = || NetworkType::default_for(version, count).to_string();
    cluster.network_type = Some(
        params
            .network_type
            .clone()
            .filter(|text| !text.is_empty())
            .unwrap_or_else(usual),
    );
    networking_change::check_network_type(
        cluster.network_type.as_deref(),
        cluster.is_single_node(),
    )?;

    let read = |member: &str, list: Vec<Option<&str>>| vips::read(member, list.into_iter(), &[]);
    cluster.api_vips = Some(read(
        "api_vips",
        params
            .api_vips
            .iter()
            .flatten()
            .map(|vip| vip.ip.as_deref())
            .collect(),
    )?);
    cluster.ingress_vips = Some(read(
        "ingress_vips",
        params
            .ingress_vips
            .iter()
            .flatten()
            .map(|vip| vip.ip.as_deref())
            .collect(),
    )?);
    set_ranges(cluster, params, site)?;
    // A single node that was not asked for its own networking may name addresses: clients send the
    // same settings for every size. Nothing uses them.
    if params.user_managed_networking == Some(true) || !ground.single_node {
        vips::check_manager(cluster)?;
    }
    vips::check(cluster, Pairs::Always)?;
    vips::check_places(
        cluster,
        &networks::ranges(cluster.networks.machine.as_deref()),
    )
}

/// Ranges given are validated as given; only then the usual ones fill the gaps.
fn set_ranges(
    cluster: &mut Cluster,
    params: &wire::ClusterCreateParams,
    site: Site<'_>,
) -> Result<(), Invalid> {
    let machines = networks::machines(
        params.machine_networks.as_deref().unwrap_or_default(),
        HostBits::Cut,
    )?;
    let several = machines.len() > 1;
    cluster.networks = Networks {
        cluster: params
            .cluster_networks
            .as_deref()
            .map(|list| networks::pods(list, HostBits::Cut))
            .transpose()?,
        service: params
            .service_networks
            .as_deref()
            .map(|list| networks::services(list, HostBits::Cut))
            .transpose()?,
        machine: Some(machines),
    };
    let version: Option<OpenshiftVersion> = cluster.openshift_version.parse().ok();
    let all = dual_stack::Named {
        pods: true,
        services: true,
        machines: true,
        vips: true,
    };
    dual_stack::check(cluster, version.as_ref(), all)?;
    dual_stack::check_allowed(cluster, site.config.features.ipv6)?;
    if several && !dual_stack::is_dual_stack(&cluster.networks) && !vips::is_user_balanced(cluster)
    {
        return Err("several machine_networks are possible in dual-stack clusters or with a user-managed load_balancer only".into());
    }
    let usual = &site.config.cluster;
    cluster.networks.cluster.get_or_insert_with(|| {
        vec![ClusterNetwork {
            cidr: usual.cluster_network_cidr.to_string(),
            host_prefix: i64::from(usual.cluster_network_host_prefix),
        }]
    });
    cluster
        .networks
        .service
        .get_or_insert_with(|| vec![usual.service_network_cidr.to_string()]);
    Ok(())
}

fn set_plain(
    cluster: &mut Cluster,
    params: &wire::ClusterCreateParams,
    site: Site<'_>,
) -> Result<(), Invalid> {
    let no_time_source = params.additional_ntp_source.is_none() && params.ntp_sources.is_none();
    if no_time_source {
        cluster.ntp.additional = kept(&site.config.cluster.ntp_default_server);
    }
    let plain = wire::V2ClusterUpdateParams {
        additional_ntp_source: params.additional_ntp_source.clone(),
        base_dns_domain: params.base_dns_domain.clone(),
        disk_encryption: params.disk_encryption.clone(),
        http_proxy: params.http_proxy.clone(),
        https_proxy: params.https_proxy.clone(),
        hyperthreading: params.hyperthreading.clone(),
        ignition_endpoint: params.ignition_endpoint.clone(),
        name: params.name.clone(),
        no_proxy: params.no_proxy.clone(),
        ntp_sources: params.ntp_sources.clone(),
        schedulable_masters: params.schedulable_masters,
        ssh_public_key: params.ssh_public_key.clone(),
        tags: params.tags.clone(),
        ..Default::default()
    };
    plain_settings::apply(cluster, &plain, site)
}

/// A running cluster that is to get more hosts.
///
/// The name of its API holds name and domain, if it has the usual form; the name in the request
/// counts only otherwise.
pub fn imported(params: &wire::ImportClusterParams, birth: Birth<'_>) -> Result<Cluster, Invalid> {
    let api = params.api_vip_dnsname.clone().unwrap_or_default();
    let given = params.name.clone().unwrap_or_default();
    let (name, base) = match names::of_api(&api) {
        Some((name, base)) => (name.to_owned(), Some(base.to_owned())),
        None => (given, None),
    };
    names::name(&name, Dots::Refused)?;
    let mut cluster = birth.blank(ClusterKind::AddHostsCluster, &name, "Hosts can be added");
    cluster.base_dns_domain = base;
    cluster.api_vip_dns_name = Some(api);
    cluster.openshift_version = params.openshift_version.clone().unwrap_or_default();
    cluster.openshift_cluster_id = params
        .openshift_cluster_id
        .as_deref()
        .and_then(|id| Uuid::parse_str(id).ok());
    cluster.platform = Some(muster_model::Platform {
        kind: muster_model::PlatformType::Baremetal,
        external_name: None,
        cloud_controller_manager: None,
    });
    cluster.imported = true;
    Ok(cluster)
}

/// A record for a site without connection; nothing watches it.
pub fn disconnected(
    params: &wire::DisconnectedClusterCreateParams,
    birth: Birth<'_>,
) -> Result<Cluster, Invalid> {
    let version = params.openshift_version.clone().unwrap_or_default();
    if version.is_empty() {
        return Err(
            "openshift_version is empty; give the version that will be installed, such as 4.16"
                .into(),
        );
    }
    let name = params.name.clone().unwrap_or_default();
    let mut cluster = birth.blank(
        ClusterKind::DisconnectedCluster,
        &name,
        "Registered only; not monitored",
    );
    cluster.openshift_version = version;
    Ok(cluster)
}

#[cfg(test)]
#[path = "new_cluster_tests.rs"]
mod tests;
