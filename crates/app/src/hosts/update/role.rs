//! The role of a host, and what its cluster must support for it.

use muster_config::sections::Features;
use muster_model::{Cluster, Host, HostRole, OpenshiftVersion, PlatformType};

use crate::Invalid;

/// Gives the host a role.
///
/// # Errors
/// The cluster has no place for it.
pub fn set(
    host: &mut Host,
    cluster: Option<&Cluster>,
    wanted: &str,
    features: &Features,
) -> Result<(), Invalid> {
    let role: HostRole = wanted
        .parse()
        .map_err(|cause| format!("host_role: {cause}"))?;
    match role {
        HostRole::Arbiter => check_arbiter(cluster, features)?,
        HostRole::Worker => host.bootstrap = false,
        HostRole::AutoAssign | HostRole::Master | HostRole::Bootstrap => {}
    }
    // A day-2 host takes its machine config from the pool of its role, unless the request says otherwise.
    let pool = host.machine_config_pool_name.as_deref().unwrap_or_default();
    if host.is_day2() && (pool.is_empty() || pool == host.role.as_str()) {
        host.machine_config_pool_name = Some(role.to_string());
    }
    host.role = role;
    host.suggested_role = role;
    Ok(())
}

/// Why a cluster has no place for an unbound host with what was set on it, if so.
pub fn misfit(host: &Host, cluster: &Cluster, features: &Features) -> Option<String> {
    let fenced = host.fencing_credentials.as_ref();
    let fenced = fenced.is_some_and(|secret| !secret.is_empty());
    let checks = [
        (host.role == HostRole::Arbiter).then(|| check_arbiter(Some(cluster), features)),
        fenced.then(|| check_fencing(Some(cluster), features)),
    ];
    checks
        .into_iter()
        .flatten()
        .find_map(Result::err)
        .map(|why| why.to_string())
}

/// Arbiters are for clusters of two nodes; an unbound host is validated when it is bound.
fn check_arbiter(cluster: Option<&Cluster>, features: &Features) -> Result<(), Invalid> {
    let Some(cluster) = cluster else {
        return Ok(());
    };
    if !features.tna_clusters {
        return Err(
            "host_role: clusters with an arbiter are disabled in this service \
                    (features.tna_clusters)"
                .into(),
        );
    }
    let planned = cluster.control_plane_count.filter(|_| !cluster.is_day2());
    if let Some(count) = planned.filter(|count| *count != 2) {
        return Err(format!(
            "host_role: an arbiter goes with 2 control plane hosts, cluster {} is to have {count}; \
             choose another role",
            cluster.name
        )
        .into());
    }
    require(
        cluster,
        "host_role: an arbiter",
        (4, 19),
        |platform| match platform {
            PlatformType::Baremetal => Some((4, 19)),
            PlatformType::None => Some((4, 22)),
            PlatformType::Nutanix | PlatformType::Vsphere | PlatformType::External => None,
        },
    )
}

/// Fencing is for clusters of two nodes; an unbound host is validated when it is bound.
///
/// # Errors
/// It is switched off, or the cluster has no place for it.
pub fn check_fencing(cluster: Option<&Cluster>, features: &Features) -> Result<(), Invalid> {
    if !features.tnf_clusters {
        return Err(
            "fencing_credentials: clusters with fencing are disabled in this service \
                    (features.tnf_clusters)"
                .into(),
        );
    }
    let Some(cluster) = cluster else {
        return Ok(());
    };
    require(
        cluster,
        "fencing_credentials: fencing",
        (4, 20),
        |platform| match platform {
            PlatformType::Baremetal | PlatformType::None => Some((4, 20)),
            PlatformType::Nutanix | PlatformType::Vsphere | PlatformType::External => None,
        },
    )
}

/// Refuses a cluster that is too old or runs elsewhere; `since` says from which version on a
/// platform can do it.
fn require(
    cluster: &Cluster,
    what: &str,
    least: (u64, u64),
    since: impl Fn(PlatformType) -> Option<(u64, u64)>,
) -> Result<(), Invalid> {
    let version: Option<OpenshiftVersion> = cluster.openshift_version.parse().ok();
    let reaches = |(major, minor)| version.as_ref().is_some_and(|v| v.at_least(major, minor));
    if !reaches(least) {
        return Err(format!(
            "{what} needs OpenShift {}.{} or later, cluster {} has {}",
            least.0, least.1, cluster.name, cluster.openshift_version
        )
        .into());
    }
    let platform = cluster.platform.as_ref().map(|platform| platform.kind);
    if platform.and_then(since).is_some_and(reaches) {
        return Ok(());
    }
    Err(format!(
        "{what} is not possible on platform {} with OpenShift {}; platform baremetal can",
        platform.map_or("(none chosen)", PlatformType::as_str),
        cluster.openshift_version
    )
    .into())
}
