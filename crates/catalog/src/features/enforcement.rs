//! Refusing combinations that cannot be installed.
//!
//! Run when a cluster or infra-env is created, changed or bound. All violations are returned
//! at once, so that a user can fix them together.

use std::collections::BTreeSet;

use super::{
    Feature, FeatureQuery, Reason, SupportLevel, architecture_level, incompatible_with,
    rules::{exists_on_arch, level_of},
};
use crate::{Arch, OpenshiftVersion};

/// One thing that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The version does not exist for the architecture.
    #[error(
        "OpenShift {version} cannot be installed on {arch}; \
         choose another architecture or a later version"
    )]
    Architecture {
        /// The version.
        version: String,
        /// The architecture.
        arch: Arch,
    },
    /// A feature in use does not exist there.
    #[error(
        "{} is not available for OpenShift {version} on {arch} ({feature}); \
         drop it or change the {}",
        feature.title(),
        subject(*reason)
    )]
    Unavailable {
        /// The feature.
        feature: Feature,
        /// The version.
        version: String,
        /// The architecture.
        arch: Arch,
        /// What stands in the way.
        reason: Reason,
    },
    /// Two features in use exclude each other.
    #[error(
        "{} and {} cannot be combined ({one}, {other}); drop one of them",
        one.title(),
        other.title()
    )]
    Incompatible {
        /// The one that sorts first.
        one: Feature,
        /// The other.
        other: Feature,
    },
}

/// Everything that forbids these features together on that version and architecture.
///
/// Parts that are not known yet are not checked. Architecture and version are checked without
/// the platform, as platforms are features with their own incompatibilities.
pub fn violations(
    active: &BTreeSet<Feature>,
    version: Option<&OpenshiftVersion>,
    arch: Option<Arch>,
) -> Vec<Violation> {
    let mut found = Vec::new();
    if let (Some(version), Some(arch)) = (version, arch) {
        if architecture_level(arch, Some(version)) == SupportLevel::Unavailable {
            return vec![Violation::Architecture {
                version: version.to_string(),
                arch,
            }];
        }
        let query = FeatureQuery::new(version.as_str(), arch);
        for feature in active.iter().copied() {
            if let Some(reason) = obstacle(feature, &query) {
                let version = version.to_string();
                found.push(Violation::Unavailable {
                    feature,
                    version,
                    arch,
                    reason,
                });
            }
        }
    }
    found.extend(check_incompatible(active, version));
    found
}

/// The pairs of these features that exclude each other.
pub fn check_incompatible(
    active: &BTreeSet<Feature>,
    version: Option<&OpenshiftVersion>,
) -> Vec<Violation> {
    // Incompatibilities do not depend on the architecture.
    let query = FeatureQuery::new(version.map_or("", OpenshiftVersion::as_str), Arch::X86_64);
    let mut found = Vec::new();
    for one in active.iter().copied() {
        let foes = incompatible_with(one, &query);
        for other in foes
            .intersection(active)
            .copied()
            .filter(|other| one < *other)
        {
            found.push(Violation::Incompatible { one, other });
        }
    }
    found
}

fn obstacle(feature: Feature, query: &FeatureQuery) -> Option<Reason> {
    if feature == Feature::UserManagedLoadBalancer {
        // Listed from 4.16 on, but the reference accepts it on older versions and clusters
        // that use it exist; only the architecture could stand in the way.
        return (!exists_on_arch(feature, query)).then_some(Reason::CpuArchitecture);
    }
    level_of(feature, query).err()
}

fn subject(reason: Reason) -> &'static str {
    match reason {
        Reason::CpuArchitecture => "CPU architecture",
        Reason::Platform | Reason::OciExternalIntegrationDisabled => "platform",
        Reason::OpenshiftVersion => "OpenShift version",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(features: &[Feature], version: &str, arch: Arch) -> Vec<String> {
        let active = features.iter().copied().collect();
        let version = version.parse().unwrap();
        let found = violations(&active, Some(&version), Some(arch));
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sound_choice_has_no_violations() {
        let sound = [
            Feature::ClusterManagedNetworking,
            Feature::OvnNetworkType,
            Feature::Odf,
        ];
        assert!(check(&sound, "4.16", Arch::X86_64).is_empty());
    }

    #[test]
    fn every_violation_is_reported_once_in_plain_words() {
        let found = check(
            &[
                Feature::Sno,
                Feature::Odf,
                Feature::VipAutoAlloc,
                Feature::SdnNetworkType,
            ],
            "4.16",
            Arch::Arm64,
        );
        assert_eq!(
            found,
            [
                "OpenShift Data Foundation is not available for OpenShift 4.16 on arm64 (ODF); \
                 drop it or change the CPU architecture",
                "network type OpenShiftSDN is not available for OpenShift 4.16 on arm64 \
                 (SDN_NETWORK_TYPE); drop it or change the OpenShift version",
                "VIPs from DHCP is not available for OpenShift 4.16 on arm64 (VIP_AUTO_ALLOC); \
                 drop it or change the OpenShift version",
                "OpenShift Data Foundation and single node cannot be combined (ODF, SNO); \
                 drop one of them",
                "single node and VIPs from DHCP cannot be combined (SNO, VIP_AUTO_ALLOC); \
                 drop one of them",
            ]
        );
    }

    #[test]
    fn an_architecture_that_the_version_lacks_is_the_only_complaint() {
        let found = check(&[Feature::Sno, Feature::Odf], "4.11", Arch::S390x);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("OpenShift 4.11 cannot be installed on s390x"),
            "{found:?}"
        );
    }

    #[test]
    fn a_user_managed_load_balancer_is_accepted_on_versions_that_do_not_list_it() {
        let active = [Feature::UserManagedLoadBalancer];
        assert!(check(&active, "4.13.69", Arch::X86_64).is_empty());
        let with_none = [Feature::UserManagedLoadBalancer, Feature::NonePlatform];
        assert_eq!(check(&with_none, "4.13.69", Arch::X86_64).len(), 1);
    }

    #[test]
    fn incompatibilities_are_found_even_where_version_and_architecture_are_unknown() {
        let active = BTreeSet::from([
            Feature::Lvm,
            Feature::Odf,
            Feature::ClusterManagedNetworking,
        ]);
        let found = violations(&active, None, None);
        assert_eq!(
            found,
            [Violation::Incompatible {
                one: Feature::Lvm,
                other: Feature::Odf
            }]
        );
    }

    #[test]
    fn resolved_conflicts_are_forgotten() {
        let active = BTreeSet::from([Feature::Lvm, Feature::ClusterManagedNetworking]);
        let at = |text: &str| check_incompatible(&active, Some(&text.parse().unwrap())).len();
        assert_eq!((at("4.14.71"), at("4.15.0-rc.1")), (1, 0));
    }
}
