//! Features that exclude each other.
//!
//! A incompatibility has two sides, so it is written once and read from both. (The reference keeps a
//! list per feature, and two of its lists forgot LVM; nothing is allowed or refused otherwise
//! here, the lists are just complete.)

use std::collections::BTreeSet;

use super::{Feature, query::FeatureQuery};

use Feature as F;

/// One feature against several, for good or before x.y.
struct Incompatibility {
    one: Feature,
    others: &'static [Feature],
    before: Option<(u64, u64)>,
}

const fn always(one: Feature, others: &'static [Feature]) -> Incompatibility {
    Incompatibility {
        one,
        others,
        before: None,
    }
}

const fn before(version: (u64, u64), one: Feature, others: &'static [Feature]) -> Incompatibility {
    Incompatibility {
        one,
        others,
        before: Some(version),
    }
}

/// A cluster has one network type.
const NETWORK_TYPES: [Feature; 6] = [
    F::CalicoNetworkType,
    F::CiliumNetworkType,
    F::CiscoAciNetworkType,
    F::NoneNetworkType,
    F::OvnNetworkType,
    F::SdnNetworkType,
];

#[rustfmt::skip] // one row per incompatibility
static INCOMPATIBILITIES: &[Incompatibility] = &[
    // Topology against storage, networking and the care for several nodes.
    always(F::Sno, &[F::Odf, F::NutanixIntegration, F::VsphereIntegration, F::ClusterManagedNetworking, F::VipAutoAlloc, F::UserManagedLoadBalancer]),
    always(F::Sno, &[F::NodeHealthcheck, F::SelfNodeRemediation, F::FenceAgentsRemediation, F::NodeMaintenance, F::KubeDescheduler]),
    before((4, 19), F::Sno, &[F::DualStackPrimaryIpv6]),
    always(F::Tna, &[F::NutanixIntegration, F::VsphereIntegration, F::ExternalPlatform, F::ExternalPlatformOci]),
    before((4, 22), F::Tna, &[F::NonePlatform]),
    always(F::Tnf, &[F::NutanixIntegration, F::VsphereIntegration, F::ExternalPlatform, F::ExternalPlatformOci]),
    always(F::NonStandardHaControlPlane, &[F::NutanixIntegration, F::VsphereIntegration]),

    // Who provides addresses, load balancing and DNS.
    always(F::ClusterManagedNetworking, &[F::UserManagedNetworking, F::NonePlatform, F::ExternalPlatform, F::ExternalPlatformOci]),
    always(F::UserManagedNetworking, &[F::NutanixIntegration, F::BaremetalPlatform, F::UserManagedLoadBalancer]),
    always(F::PlatformManagedNetworking, &[F::BaremetalPlatform, F::VsphereIntegration, F::NutanixIntegration]),
    always(F::UserManagedLoadBalancer, &[F::ExternalPlatform, F::ExternalPlatformOci, F::NonePlatform, F::NutanixIntegration]),
    always(F::UserManagedLoadBalancer, &[F::VipAutoAlloc, F::DualStack, F::DualStackVips, F::DualStackPrimaryIpv6]),
    always(F::VipAutoAlloc, &[F::ExternalPlatform, F::ExternalPlatformOci, F::NonePlatform]),
    before((4, 13), F::DualStack, &[F::VsphereIntegration]),
    always(F::DualStackVips, &[F::ExternalPlatformOci]),
    always(F::DualStackPrimaryIpv6, &[F::ExternalPlatform, F::ExternalPlatformOci, F::NutanixIntegration, F::VsphereIntegration]),

    // Images.
    always(F::FullIso, &[F::ExternalPlatformOci]),

    // Operators against platforms and each other.
    always(F::NutanixIntegration, &[F::Lvm, F::Mce, F::Cnv, F::Mtv, F::Osc, F::Nmstate]),
    always(F::VsphereIntegration, &[F::Lvm, F::Cnv, F::Mtv, F::Osc]),
    always(F::ExternalPlatform, &[F::Nmstate]),
    always(F::ExternalPlatformOci, &[F::Nmstate, F::Odf, F::OpenshiftAi]),
    always(F::Lvm, &[F::Odf]),
    before((4, 15), F::Lvm, &[F::VipAutoAlloc, F::ClusterManagedNetworking]),
];

/// The features that exclude this one at the version of the question, sorted.
///
/// Incompatibilities that ended with some version are left out when the version is not known.
pub fn incompatible_with(feature: Feature, query: &FeatureQuery) -> BTreeSet<Feature> {
    let mut foes = BTreeSet::new();
    for incompatibility in INCOMPATIBILITIES {
        let over = incompatibility
            .before
            .is_some_and(|(major, minor)| !query.before(major, minor));
        if over {
            continue;
        }
        if incompatibility.one == feature {
            foes.extend(incompatibility.others);
        } else if incompatibility.others.contains(&feature) {
            foes.insert(incompatibility.one);
        }
    }
    if NETWORK_TYPES.contains(&feature) {
        foes.extend(NETWORK_TYPES.into_iter().filter(|other| *other != feature));
    }
    foes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arch;

    fn foes(feature: Feature, version: &str) -> Vec<&'static str> {
        let query = FeatureQuery::new(version, Arch::X86_64);
        incompatible_with(feature, &query)
            .into_iter()
            .map(Feature::as_str)
            .collect()
    }

    #[test]
    fn incompatibility_is_symmetric_and_never_with_itself() {
        for version in [
            "4.9", "4.12", "4.14", "4.16", "4.18", "4.21", "4.22", "5.0", "", "x",
        ] {
            let query = FeatureQuery::new(version, Arch::X86_64);
            for one in Feature::ALL {
                let foes = incompatible_with(*one, &query);
                assert!(!foes.contains(one), "{one} excludes itself");
                for other in foes {
                    let back = incompatible_with(other, &query);
                    assert!(
                        back.contains(one),
                        "{version}: {one} excludes {other}, not back"
                    );
                }
            }
        }
    }

    #[test]
    fn the_lists_are_those_of_the_sheet() {
        #[rustfmt::skip]
        let rows: &[(Feature, &str, &str)] = &[
            (F::Sno, "4.18", "CLUSTER_MANAGED_NETWORKING DUAL_STACK_PRIMARY_IPV6 FENCE_AGENTS_REMEDIATION KUBE_DESCHEDULER NODE_HEALTHCHECK NODE_MAINTENANCE NUTANIX_INTEGRATION ODF SELF_NODE_REMEDIATION USER_MANAGED_LOAD_BALANCER VIP_AUTO_ALLOC VSPHERE_INTEGRATION"),
            (F::Tna, "4.21", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NONE_PLATFORM NUTANIX_INTEGRATION VSPHERE_INTEGRATION"),
            (F::Tna, "4.22", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NUTANIX_INTEGRATION VSPHERE_INTEGRATION"),
            (F::Tnf, "4.22", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NUTANIX_INTEGRATION VSPHERE_INTEGRATION"),
            (F::NonStandardHaControlPlane, "4.18", "NUTANIX_INTEGRATION VSPHERE_INTEGRATION"),
            (F::FullIso, "4.16", "EXTERNAL_PLATFORM_OCI"),
            (F::VipAutoAlloc, "4.16", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NONE_PLATFORM SNO USER_MANAGED_LOAD_BALANCER"),
            (F::ClusterManagedNetworking, "4.16", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NONE_PLATFORM SNO USER_MANAGED_NETWORKING"),
            (F::UserManagedNetworking, "4.16", "BAREMETAL_PLATFORM CLUSTER_MANAGED_NETWORKING NUTANIX_INTEGRATION USER_MANAGED_LOAD_BALANCER"),
            (F::PlatformManagedNetworking, "4.16", "BAREMETAL_PLATFORM NUTANIX_INTEGRATION VSPHERE_INTEGRATION"),
            (F::DualStack, "4.12", "USER_MANAGED_LOAD_BALANCER VSPHERE_INTEGRATION"),
            (F::DualStack, "4.13", "USER_MANAGED_LOAD_BALANCER"),
            (F::DualStackVips, "4.16", "EXTERNAL_PLATFORM_OCI USER_MANAGED_LOAD_BALANCER"),
            (F::DualStackPrimaryIpv6, "4.19", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NUTANIX_INTEGRATION USER_MANAGED_LOAD_BALANCER VSPHERE_INTEGRATION"),
            (F::UserManagedLoadBalancer, "4.16", "DUAL_STACK DUAL_STACK_PRIMARY_IPV6 DUAL_STACK_VIPS EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NONE_PLATFORM NUTANIX_INTEGRATION SNO USER_MANAGED_NETWORKING VIP_AUTO_ALLOC"),
            (F::OvnNetworkType, "4.16", "CALICO_NETWORK_TYPE CILIUM_NETWORK_TYPE CISCO_ACI_NETWORK_TYPE NONE_NETWORK_TYPE SDN_NETWORK_TYPE"),
            (F::BaremetalPlatform, "4.16", "PLATFORM_MANAGED_NETWORKING USER_MANAGED_NETWORKING"),
            (F::NonePlatform, "4.22", "CLUSTER_MANAGED_NETWORKING USER_MANAGED_LOAD_BALANCER VIP_AUTO_ALLOC"),
            (F::NonePlatform, "4.21", "CLUSTER_MANAGED_NETWORKING TNA USER_MANAGED_LOAD_BALANCER VIP_AUTO_ALLOC"),
            (F::NutanixIntegration, "4.16", "CNV DUAL_STACK_PRIMARY_IPV6 LVM MCE MTV NMSTATE NON_STANDARD_HA_CONTROL_PLANE OSC PLATFORM_MANAGED_NETWORKING SNO TNA TNF USER_MANAGED_LOAD_BALANCER USER_MANAGED_NETWORKING"),
            (F::VsphereIntegration, "4.16", "CNV DUAL_STACK_PRIMARY_IPV6 LVM MTV NON_STANDARD_HA_CONTROL_PLANE OSC PLATFORM_MANAGED_NETWORKING SNO TNA TNF"),
            (F::ExternalPlatform, "4.16", "CLUSTER_MANAGED_NETWORKING DUAL_STACK_PRIMARY_IPV6 NMSTATE TNA TNF USER_MANAGED_LOAD_BALANCER VIP_AUTO_ALLOC"),
            (F::ExternalPlatformOci, "4.16", "CLUSTER_MANAGED_NETWORKING DUAL_STACK_PRIMARY_IPV6 DUAL_STACK_VIPS FULL_ISO NMSTATE ODF OPENSHIFT_AI TNA TNF USER_MANAGED_LOAD_BALANCER VIP_AUTO_ALLOC"),
            (F::Lvm, "4.16", "NUTANIX_INTEGRATION ODF VSPHERE_INTEGRATION"),
            (F::Lvm, "4.14", "CLUSTER_MANAGED_NETWORKING NUTANIX_INTEGRATION ODF VIP_AUTO_ALLOC VSPHERE_INTEGRATION"),
            (F::Odf, "4.16", "EXTERNAL_PLATFORM_OCI LVM SNO"),
            (F::Cnv, "4.16", "NUTANIX_INTEGRATION VSPHERE_INTEGRATION"),
            (F::Mce, "4.16", "NUTANIX_INTEGRATION"),
            (F::Nmstate, "4.16", "EXTERNAL_PLATFORM EXTERNAL_PLATFORM_OCI NUTANIX_INTEGRATION"),
            (F::OpenshiftAi, "4.16", "EXTERNAL_PLATFORM_OCI"),
            (F::NodeHealthcheck, "4.16", "SNO"),
            (F::CustomManifest, "4.9", ""),
            (F::SingleNodeExpansion, "4.16", ""),
            (F::Lso, "4.16", ""),
        ];
        for (feature, version, expected) in rows {
            assert_eq!(
                foes(*feature, version).join(" "),
                *expected,
                "{feature} {version}"
            );
        }
    }
}
