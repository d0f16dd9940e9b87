//! Which features a cluster uses, given what its user chose.

use std::collections::BTreeSet;

use super::Feature;
use crate::{OpenshiftVersion, Operator, Platform, names::named};

named! {
    /// The cluster network.
    pub enum NetworkType: "network type" {
        /// The default since 4.12.
        OvnKubernetes = "OVNKubernetes",
        /// The default before, gone with 4.15.
        OpenshiftSdn = "OpenShiftSDN",
        /// Calico.
        Calico = "Calico",
        /// Cilium.
        Cilium = "Cilium",
        /// Cisco ACI.
        CiscoAci = "CiscoACI",
        /// The user brings one along.
        None = "None",
    }
}

named! {
    /// The kind of discovery image.
    pub enum ImageType: "image type" {
        /// Everything inside.
        FullIso = "full-iso",
        /// Fetches its root file system at boot.
        MinimalIso = "minimal-iso",
        /// Full, for sites without a way out.
        DisconnectedIso = "disconnected-iso",
    }
}

/// What a user chose for a cluster, as far as features care.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Number of control plane nodes.
    pub control_plane_count: u32,
    /// Some host is an arbiter.
    pub arbiter: bool,
    /// Two control plane nodes that fence each other.
    pub fencing: bool,
    /// The platform, once chosen.
    pub platform: Option<Platform>,
    /// The name of an external platform.
    pub external_platform_name: Option<String>,
    /// The user brings load balancers and DNS.
    pub user_managed_networking: bool,
    /// VIPs are taken from DHCP.
    pub vip_dhcp_allocation: bool,
    /// Networks of both families.
    pub dual_stack: bool,
    /// IPv6 comes first in them.
    pub ipv6_first: bool,
    /// Number of API VIPs.
    pub api_vips: usize,
    /// The user brings load balancers only.
    pub user_managed_load_balancer: bool,
    /// The cluster network, once chosen.
    pub network_type: Option<NetworkType>,
    /// Operators, with those that were added as dependencies.
    pub operators: BTreeSet<Operator>,
}

impl NetworkType {
    /// The network type of a cluster whose user did not choose one.
    pub fn default_for(version: &OpenshiftVersion, control_plane_count: u32) -> Self {
        if version.at_least(4, 12) || control_plane_count == 1 {
            Self::OvnKubernetes
        } else {
            Self::OpenshiftSdn
        }
    }

    /// The feature that stands for this network.
    pub const fn feature(self) -> Feature {
        match self {
            Self::OvnKubernetes => Feature::OvnNetworkType,
            Self::OpenshiftSdn => Feature::SdnNetworkType,
            Self::Calico => Feature::CalicoNetworkType,
            Self::Cilium => Feature::CiliumNetworkType,
            Self::CiscoAci => Feature::CiscoAciNetworkType,
            Self::None => Feature::NoneNetworkType,
        }
    }
}

impl ImageType {
    /// The feature that stands for this image, if there is one.
    pub const fn feature(self) -> Option<Feature> {
        match self {
            Self::FullIso => Some(Feature::FullIso),
            Self::MinimalIso => Some(Feature::MinimalIso),
            Self::DisconnectedIso => None,
        }
    }
}

impl Choices {
    /// The features these choices make use of.
    ///
    /// Image types belong to infra-envs: add [`ImageType::feature`] for each bound one.
    pub fn active_features(&self) -> BTreeSet<Feature> {
        let platform_networking =
            matches!(self.platform, Some(Platform::External | Platform::None));
        let rows = [
            (Feature::Sno, self.control_plane_count == 1),
            (Feature::Tna, self.arbiter),
            (Feature::Tnf, self.fencing),
            (
                Feature::NonStandardHaControlPlane,
                self.control_plane_count > 3,
            ),
            (Feature::UserManagedNetworking, self.user_managed_networking),
            (
                Feature::ClusterManagedNetworking,
                !self.user_managed_networking,
            ),
            (Feature::PlatformManagedNetworking, platform_networking),
            (Feature::VipAutoAlloc, self.vip_dhcp_allocation),
            (Feature::DualStack, self.dual_stack),
            (
                Feature::DualStackPrimaryIpv6,
                self.dual_stack && self.ipv6_first,
            ),
            (Feature::DualStackVips, self.api_vips > 1),
            (
                Feature::UserManagedLoadBalancer,
                self.user_managed_load_balancer,
            ),
        ];
        let mut active: BTreeSet<Feature> = rows
            .into_iter()
            .filter_map(|(feature, used)| used.then_some(feature))
            .collect();
        active.extend(self.network_type.map(NetworkType::feature));
        active.extend(self.platform_features());
        active.extend(self.operators.iter().map(|operator| operator.feature()));
        if !self.operators.contains(&Operator::Cnv) {
            // MTV counts together with CNV only.
            active.remove(&Feature::Mtv);
        }
        active
    }

    /// Oracle Cloud is an external platform too, so it brings two.
    fn platform_features(&self) -> impl Iterator<Item = Feature> {
        let named = self.external_platform_name.as_deref();
        let platform = self.platform;
        let features = platform.map(|platform| [platform.feature(None), platform.feature(named)]);
        features.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(choices: &Choices) -> Vec<&'static str> {
        choices
            .active_features()
            .into_iter()
            .map(Feature::as_str)
            .collect()
    }

    fn plain() -> Choices {
        Choices {
            control_plane_count: 3,
            ..Choices::default()
        }
    }

    #[test]
    fn each_choice_activates_its_feature() {
        assert_eq!(active(&plain()), ["CLUSTER_MANAGED_NETWORKING"]);
        let single_node = Choices {
            control_plane_count: 1,
            platform: Some(Platform::None),
            user_managed_networking: true,
            network_type: Some(NetworkType::OvnKubernetes),
            ..Choices::default()
        };
        assert_eq!(
            active(&single_node),
            [
                "NONE_PLATFORM",
                "OVN_NETWORK_TYPE",
                "PLATFORM_MANAGED_NETWORKING",
                "SNO",
                "USER_MANAGED_NETWORKING"
            ]
        );
        let large = Choices {
            control_plane_count: 5,
            ..plain()
        };
        assert!(active(&large).contains(&"NON_STANDARD_HA_CONTROL_PLANE"));
        let dual = Choices {
            dual_stack: true,
            ipv6_first: true,
            api_vips: 2,
            ..plain()
        };
        assert!(dual.active_features().is_superset(&BTreeSet::from([
            Feature::DualStack,
            Feature::DualStackPrimaryIpv6,
            Feature::DualStackVips
        ])));
    }

    #[test]
    fn oracle_cloud_is_also_an_external_platform() {
        let cloud = Choices {
            platform: Some(Platform::External),
            external_platform_name: Some("oci".into()),
            user_managed_networking: true,
            ..plain()
        };
        assert_eq!(
            active(&cloud),
            [
                "EXTERNAL_PLATFORM",
                "EXTERNAL_PLATFORM_OCI",
                "PLATFORM_MANAGED_NETWORKING",
                "USER_MANAGED_NETWORKING"
            ]
        );
    }

    #[test]
    fn mtv_counts_only_together_with_cnv() {
        let with = |operators: &[Operator]| {
            let operators = operators.iter().copied().collect();
            Choices {
                operators,
                ..plain()
            }
            .active_features()
        };
        assert!(!with(&[Operator::Mtv]).contains(&Feature::Mtv));
        assert!(with(&[Operator::Mtv, Operator::Cnv]).contains(&Feature::Mtv));
    }

    #[test]
    fn the_default_network_changed_with_4_12_and_for_single_nodes() {
        let default = |version: &str, count| {
            NetworkType::default_for(&version.parse().unwrap(), count).as_str()
        };
        assert_eq!(default("4.11.59", 3), "OpenShiftSDN");
        assert_eq!(default("4.11.59", 1), "OVNKubernetes");
        assert_eq!(default("4.12.0-rc.1", 3), "OVNKubernetes");
    }
}
