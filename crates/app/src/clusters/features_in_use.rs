//! Which features a cluster uses, and whether they can be installed together.

use muster_catalog::features::{
    Feature,
    activation::{Choices, ImageType},
    enforcement::violations,
};
use muster_model::{Cluster, Host, HostRole, InfraEnv, OpenshiftVersion};

use super::{dual_stack, operators_choice, vips};
use crate::Invalid;

/// Refuses what cannot be installed: alone, and on the architecture of each bound infra-env.
/// Clusters that already run are not validated.
pub fn check<'a>(
    cluster: &Cluster,
    hosts: &[Host],
    infra_envs: impl IntoIterator<Item = &'a InfraEnv>,
) -> Result<(), Invalid> {
    if cluster.is_day2() {
        return Ok(());
    }
    let version: Option<OpenshiftVersion> = cluster.openshift_version.parse().ok();
    let active = choices(cluster, hosts).active_features();
    let mut found = violations(&active, version.as_ref(), cluster.arch());
    for infra_env in infra_envs {
        let mut active = active.clone();
        active.extend(image_feature(infra_env));
        for violation in violations(&active, version.as_ref(), infra_env.cpu_architecture.arch()) {
            if !found.contains(&violation) {
                found.push(violation);
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(found
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
        .into())
}

fn image_feature(infra_env: &InfraEnv) -> Option<Feature> {
    infra_env
        .image_type
        .as_str()
        .parse::<ImageType>()
        .ok()
        .and_then(ImageType::feature)
}

/// The cluster as far as features care.
#[must_use]
pub fn choices(cluster: &Cluster, hosts: &[Host]) -> Choices {
    let platform = cluster.platform.as_ref();
    let arbiter = hosts
        .iter()
        .any(|host| host.effective_role() == HostRole::Arbiter);
    Choices {
        control_plane_count: cluster
            .control_plane_count
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(0),
        arbiter,
        fencing: cluster.control_plane_count == Some(2)
            && !arbiter
            && hosts.iter().any(|host| host.fencing_credentials.is_some()),
        platform: platform.and_then(|platform| platform.kind.as_str().parse().ok()),
        external_platform_name: platform.and_then(|platform| platform.external_name.clone()),
        user_managed_networking: cluster.user_managed_networking == Some(true),
        vip_dhcp_allocation: cluster.vip_dhcp_allocation == Some(true),
        dual_stack: dual_stack::is_dual_stack(&cluster.networks),
        ipv6_first: dual_stack::ipv6_first(&cluster.networks),
        api_vips: cluster.api_vips.as_ref().map_or(0, Vec::len),
        user_managed_load_balancer: vips::is_user_balanced(cluster),
        network_type: cluster
            .network_type
            .as_deref()
            .and_then(|text| text.parse().ok()),
        operators: operators_choice::of_cluster(cluster).collect(),
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{
        ClusterId, ClusterKind, ClusterStatus, ImageType as Image, InfraEnvId, Ntp, Platform,
        PlatformType, Proxy, Secret, Timestamp,
    };
    use uuid::Uuid;

    use super::*;

    fn cluster() -> Cluster {
        let id = ClusterId(Uuid::nil());
        let mut cluster = Cluster::blank(
            id,
            ClusterKind::Cluster,
            "c",
            ClusterStatus::Insufficient,
            "admin",
            Timestamp(0),
        );
        cluster.openshift_version = "4.16.68".into();
        cluster.cpu_architecture = Some("x86_64".into());
        cluster.control_plane_count = Some(3);
        cluster.user_managed_networking = Some(false);
        cluster.network_type = Some("OVNKubernetes".into());
        cluster.platform = Some(Platform {
            kind: PlatformType::Baremetal,
            external_name: None,
            cloud_controller_manager: None,
        });
        cluster
    }

    fn infra_env(arch: &str, image_type: Image) -> InfraEnv {
        InfraEnv {
            id: InfraEnvId(Uuid::nil()),
            name: "i".into(),
            cluster: None,
            cpu_architecture: arch.into(),
            openshift_version: "4.16".into(),
            image_type,
            download_url: None,
            expires_at: None,
            pull_secret: Secret::default(),
            ssh_authorized_key: None,
            proxy: Proxy::default(),
            ntp: Ntp::default(),
            ignition_config_override: None,
            static_network: Vec::new(),
            kernel_arguments: None,
            additional_trust_bundle: None,
            rendezvous_ip: None,
            network_discovery_delay_seconds: None,
            image_token_key: Secret::default(),
            agent_token_generation: 0,
            user_name: "admin".into(),
            created_at: Timestamp(0),
            updated_at: Timestamp(0),
        }
    }

    #[test]
    fn a_plain_cluster_is_fine_and_a_retired_network_is_not() {
        assert_eq!(check(&cluster(), &[], []), Ok(()));
        let mut sdn = cluster();
        sdn.network_type = Some("OpenShiftSDN".into());
        assert!(check(&sdn, &[], []).is_err());
        sdn.openshift_version = "4.14.71".into();
        assert_eq!(check(&sdn, &[], []), Ok(()));
        sdn.openshift_version = "4.16.68".into();
        sdn.kind = ClusterKind::AddHostsCluster;
        assert_eq!(
            check(&sdn, &[], []),
            Ok(()),
            "a running cluster is not validated"
        );
    }

    #[test]
    fn the_architectures_of_bound_infra_envs_count_too() {
        let mut multi = cluster();
        multi.cpu_architecture = Some("multi".into());
        assert_eq!(
            check(&multi, &[], [&infra_env("arm64", Image::MinimalIso)]),
            Ok(())
        );
        assert!(check(&multi, &[], [&infra_env("s390x", Image::FullIso)]).is_err());
    }

    #[test]
    fn incompatible_choices_are_reported_all_at_once() {
        let mut balanced = cluster();
        balanced.load_balancer = Some("user-managed".into());
        balanced.vip_dhcp_allocation = Some(true);
        balanced.openshift_version = "4.14.71".into();
        assert!(
            check(&balanced, &[], [])
                .unwrap_err()
                .contains("cannot be combined")
        );
        let mut large = cluster();
        large.control_plane_count = Some(5);
        large.platform = Some(Platform {
            kind: PlatformType::Vsphere,
            external_name: None,
            cloud_controller_manager: None,
        });
        assert!(check(&large, &[], []).unwrap_err().lines().count() >= 2);
    }
}
