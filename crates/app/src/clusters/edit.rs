//! From a request to change a cluster to its changed record.
//!
//! Pure, like [`super::new_cluster`]. Every fault found here is the request's; whether the
//! cluster may be changed now at all is asked afterwards.

use muster_api::wire;
use muster_catalog::HighAvailability;
use muster_model::{Cluster, Host, HostRole, InfraEnv, OpenshiftVersion, Secret};

use super::{
    control_plane, feature_usage, features_in_use, networking_change,
    operators_choice::{self, Named},
    plain_settings::{self, kept},
    site::Site,
};
use crate::Invalid;

/// Changes the cluster; `infra_envs` are those bound to it. Hosts change only in that their
/// suggested roles are open again when other operators are chosen.
pub fn apply<'a>(
    cluster: &mut Cluster,
    hosts: &mut [Host],
    request: &wire::V2ClusterUpdateParams,
    infra_envs: impl IntoIterator<Item = &'a InfraEnv>,
    site: Site<'_>,
) -> Result<(), Invalid> {
    change_count(cluster, request.control_plane_count, site)?;
    networking_change::apply(cluster, hosts, request, site.config.features.ipv6)?;
    plain_settings::apply(cluster, request, site)?;
    if let Some(name) = &request.api_vip_dns_name {
        if !cluster.is_day2() {
            return Err("api_vip_dns_name is for clusters that hosts are added to; this one is not installed yet".into());
        }
        cluster.api_vip_dns_name = kept(name);
    }
    change_operators(cluster, hosts, request)?;
    features_in_use::check(cluster, hosts, infra_envs)?;
    if let Some(secret) = &request.pull_secret {
        cluster.pull_secret = if secret.is_empty() {
            Secret::default()
        } else {
            plain_settings::pull_secret(cluster, secret, site)?
        };
    }
    if !cluster.imported {
        feature_usage::refresh(cluster, hosts);
    }
    Ok(())
}

/// Of a running cluster we do not know what its count means; it is only noted.
fn change_count(cluster: &mut Cluster, wanted: Option<i64>, site: Site<'_>) -> Result<(), Invalid> {
    let Some(count) = wanted else { return Ok(()) };
    let version: Option<OpenshiftVersion> = cluster.openshift_version.parse().ok();
    if let (false, Some(version)) = (cluster.is_day2(), version) {
        let mode = cluster
            .high_availability_mode
            .as_deref()
            .and_then(|text| text.parse().ok());
        control_plane::check(
            mode.unwrap_or(HighAvailability::Full),
            count,
            &version,
            site.has_two_node_clusters(),
        )?;
    }
    cluster.control_plane_count = Some(count);
    Ok(())
}

fn change_operators(
    cluster: &mut Cluster,
    hosts: &mut [Host],
    request: &wire::V2ClusterUpdateParams,
) -> Result<(), Invalid> {
    let named = Named {
        operators: request.olm_operators.as_deref(),
        bundles: request.operator_bundles.as_deref(),
    };
    if named.is_nothing() {
        return Ok(());
    }
    let version: OpenshiftVersion = cluster.openshift_version.parse().map_err(|fault| {
        format!("operators cannot be chosen while the version of the cluster is unknown: {fault}")
    })?;
    let chosen = operators_choice::choose(named, &version, cluster.is_single_node())?;
    if operators_choice::replace(cluster, chosen) {
        // Operators add to what a role needs of a host, so the best roles may be others now.
        for host in hosts
            .iter_mut()
            .filter(|host| host.role == HostRole::AutoAssign)
        {
            host.suggested_role = HostRole::AutoAssign;
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
