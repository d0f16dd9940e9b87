//! Tests of the support rules, row by row.

use super::*;
use SupportLevel::Unavailable;

fn seen(feature: Feature, query: &FeatureQuery) -> (SupportLevel, Option<Reason>) {
    match level_of(feature, query) {
        Ok(level) => (level, None),
        Err(reason) => (Unavailable, Some(reason)),
    }
}

/// `U:v`, `U:a`, `U:p`, `U:o` stand for unavailable by version, architecture, platform, OCI.
fn code(feature: Feature, query: &FeatureQuery) -> &'static str {
    match seen(feature, query) {
        (_, Some(Reason::OpenshiftVersion)) => "U:v",
        (_, Some(Reason::CpuArchitecture)) => "U:a",
        (_, Some(Reason::Platform)) => "U:p",
        (_, Some(Reason::OciExternalIntegrationDisabled)) => "U:o",
        (level, None) => level.as_str(),
    }
}

#[test]
fn levels_follow_the_version() {
    for (feature, version, expected) in [
        (F::Sno, "4.9", "supported"),
        (F::Tna, "4.18", "U:v"),
        (F::Tna, "4.19.42", "tech-preview"),
        (F::Tna, "4.20", "supported"),
        (F::Tnf, "4.19", "U:v"),
        (F::Tnf, "4.20", "tech-preview"),
        (F::Tnf, "4.21", "tech-preview"),
        (F::Tnf, "4.22.0-ec.1", "supported"),
        (F::NonStandardHaControlPlane, "4.17", "U:v"),
        (F::NonStandardHaControlPlane, "4.18", "supported"),
        (F::SingleNodeExpansion, "4.10", "U:v"),
        (F::SingleNodeExpansion, "4.11", "supported"),
        (F::VipAutoAlloc, "4.14", "dev-preview"),
        (F::VipAutoAlloc, "4.15", "U:v"),
        (F::DualStackVips, "4.11", "U:v"),
        (F::DualStackVips, "4.12", "supported"),
        (F::DualStackPrimaryIpv6, "4.11", "U:v"),
        (F::DualStackPrimaryIpv6, "4.12", "tech-preview"),
        (F::UserManagedLoadBalancer, "4.15", "U:v"),
        (F::UserManagedLoadBalancer, "4.16", "supported"),
        (F::SdnNetworkType, "4.14", "supported"),
        (F::SdnNetworkType, "4.15", "U:v"),
        (F::NutanixIntegration, "4.10", "U:v"),
        (F::NutanixIntegration, "4.11", "dev-preview"),
        (F::NutanixIntegration, "4.12", "supported"),
        (F::ExternalPlatform, "4.13", "U:v"),
        (F::ExternalPlatform, "4.14", "supported"),
        (F::ExternalPlatformOci, "4.13", "U:v"),
        (F::ExternalPlatformOci, "4.14", "supported"),
        (F::Lvm, "4.10", "U:v"),
        (F::Lvm, "4.11", "dev-preview"),
        (F::Lvm, "4.12", "supported"),
        (F::Mce, "4.9", "U:v"),
        (F::Mce, "4.10", "supported"),
        (F::Mtv, "4.13", "U:v"),
        (F::Mtv, "4.14", "supported"),
        (F::Osc, "4.9", "U:v"),
        (F::Osc, "4.10", "supported"),
        (F::Nmstate, "4.11", "U:v"),
        (F::Nmstate, "4.12", "supported"),
        (F::NodeFeatureDiscovery, "4.5", "U:v"),
        (F::NodeFeatureDiscovery, "4.6", "dev-preview"),
        (F::OpenshiftAi, "4.11", "U:v"),
        (F::OpenshiftAi, "4.12", "dev-preview"),
        (F::Metallb, "4.10", "U:v"),
        (F::Metallb, "4.11", "supported"),
        (F::Loki, "4.16", "U:v"),
        (F::Loki, "4.17.0", "supported"),
        (F::OpenshiftLogging, "4.16.68", "U:v"),
        (F::OpenshiftLogging, "4.17", "supported"),
        (F::SelfNodeRemediation, "4.9", "tech-preview"),
        (F::NvidiaGpu, "4.9", "dev-preview"),
        (F::Pipelines, "4.9", "dev-preview"),
        (F::Oadp, "4.9", "supported"),
    ] {
        let query = FeatureQuery::new(version, Arch::X86_64);
        assert_eq!(code(feature, &query), expected, "{feature} {version}");
    }
}

#[test]
fn levels_follow_the_architecture() {
    use Arch::{Arm64, Multi, Ppc64le, S390x};
    for (feature, version, arch, expected) in [
        (F::Sno, "4.12", S390x, "U:a"),
        (F::Sno, "4.13", Ppc64le, "dev-preview"),
        (F::Sno, "4.14", S390x, "supported"),
        (F::SingleNodeExpansion, "4.12", Ppc64le, "U:a"),
        (F::SingleNodeExpansion, "4.13", S390x, "dev-preview"),
        (F::NonStandardHaControlPlane, "4.18", Arm64, "U:a"),
        (F::NonStandardHaControlPlane, "4.18", Multi, "U:a"),
        (F::MinimalIso, "4.16", S390x, "U:a"),
        (F::MinimalIso, "4.16", Ppc64le, "supported"),
        (F::ClusterManagedNetworking, "4.16", S390x, "U:a"),
        (F::ClusterManagedNetworking, "4.16", Ppc64le, "U:a"),
        (F::ClusterManagedNetworking, "4.10", Arm64, "U:a"),
        (F::ClusterManagedNetworking, "4.11", Arm64, "supported"),
        (F::NutanixIntegration, "4.16", Arm64, "U:a"),
        (F::VsphereIntegration, "4.16", Arm64, "supported"),
        (F::VsphereIntegration, "4.16", Ppc64le, "U:a"),
        (F::ExternalPlatformOci, "4.16", S390x, "U:a"),
        (F::ExternalPlatform, "4.16", S390x, "supported"),
        (F::Lvm, "4.16", Arm64, "supported"),
        (F::Lvm, "4.10", S390x, "U:a"),
        (F::Odf, "4.16", Arm64, "U:a"),
        (F::Odf, "4.16", S390x, "supported"),
        (F::Lso, "4.16", Arm64, "U:a"),
        (F::Cnv, "4.13", Arm64, "U:a"),
        (F::Cnv, "4.14", Arm64, "dev-preview"),
        (F::Cnv, "4.16", S390x, "U:a"),
        (F::Cnv, "4.16", Multi, "supported"),
        (F::Mtv, "4.16", Arm64, "U:a"),
        (F::Osc, "4.16", Ppc64le, "U:a"),
        (F::Nmstate, "4.16", S390x, "U:a"),
        (F::NodeFeatureDiscovery, "4.16", Arm64, "dev-preview"),
        (F::NodeFeatureDiscovery, "4.16", S390x, "U:a"),
        (F::AmdGpu, "4.16", Arm64, "U:a"),
        (F::OpenshiftAi, "4.16", Arm64, "U:a"),
        (F::Authorino, "4.16", Arm64, "U:a"),
        (F::Authorino, "4.16", S390x, "dev-preview"),
        (F::Kmm, "4.16", S390x, "dev-preview"),
        (F::Mce, "4.16", S390x, "supported"),
    ] {
        let query = FeatureQuery::new(version, arch);
        assert_eq!(
            code(feature, &query),
            expected,
            "{feature} {version} {arch}"
        );
    }
}

#[test]
fn levels_follow_the_platform() {
    let on = |version, platform| FeatureQuery::new(version, Arch::X86_64).on(platform, None);
    let none = Platform::None;
    for (feature, version, platform, expected) in [
        (F::Sno, "4.16", Nutanix, "U:p"),
        (F::Sno, "4.16", Vsphere, "U:p"),
        (F::Sno, "4.16", none, "supported"),
        (F::Tna, "4.21", none, "U:p"),
        (F::Tna, "4.22", none, "supported"),
        (F::Tna, "4.20", Baremetal, "supported"),
        (F::Tna, "4.10", Vsphere, "U:p"),
        (F::Tnf, "4.22", External, "U:p"),
        (F::NonStandardHaControlPlane, "4.17", Vsphere, "U:v"),
        (F::NonStandardHaControlPlane, "4.18", Vsphere, "U:p"),
        (F::NonStandardHaControlPlane, "4.18", External, "supported"),
        (F::VipAutoAlloc, "4.16", External, "U:p"),
        (F::ClusterManagedNetworking, "4.16", External, "U:p"),
        (F::UserManagedNetworking, "4.16", Nutanix, "U:p"),
        (F::PlatformManagedNetworking, "4.16", External, "supported"),
        (F::PlatformManagedNetworking, "4.16", none, "supported"),
        (F::PlatformManagedNetworking, "4.16", Vsphere, "unsupported"),
        (
            F::PlatformManagedNetworking,
            "4.16",
            Baremetal,
            "unsupported",
        ),
        (F::DualStackPrimaryIpv6, "4.11", Vsphere, "U:p"),
        (F::Lvm, "4.10", Vsphere, "U:v"),
        (F::Lvm, "4.16", Vsphere, "U:p"),
        (F::Mce, "4.16", Nutanix, "U:p"),
        (F::Mce, "4.16", Vsphere, "supported"),
        (F::Mtv, "4.13", Vsphere, "U:p"),
        (F::Osc, "4.9", Nutanix, "U:p"),
        (F::Nmstate, "4.11", External, "U:p"),
        (F::Cnv, "4.16", Vsphere, "U:p"),
        (F::Odf, "4.16", External, "supported"),
        (F::FullIso, "4.16", External, "supported"),
    ] {
        let query = on(version, platform);
        assert_eq!(
            code(feature, &query),
            expected,
            "{feature} {version} {platform}"
        );
    }
}

#[test]
fn oracle_cloud_has_rules_of_its_own() {
    let query = FeatureQuery::new("4.16", Arch::X86_64).on(External, Some("oci"));
    for (feature, expected) in [
        (F::FullIso, "U:o"),
        (F::MinimalIso, "supported"),
        (F::DualStackVips, "U:p"),
        (F::Odf, "U:p"),
        (F::OpenshiftAi, "U:p"),
    ] {
        assert_eq!(code(feature, &query), expected, "{feature}");
    }
    let elsewhere = FeatureQuery::new("4.16", Arch::X86_64).on(Baremetal, Some("oci"));
    assert_eq!(
        code(F::FullIso, &elsewhere),
        "supported",
        "the name counts on external only"
    );
}

#[test]
fn every_feature_has_words_for_messages() {
    for feature in Feature::ALL {
        assert!(!feature.title().is_empty(), "{feature}");
    }
    assert_eq!(F::Sno.title(), "single node");
    assert_eq!(F::Cnv.title(), "OpenShift Virtualization");
}
