//! The support rules: one row per feature, one small function per kind of rule.
//!
//! A row has the title, the rule, and the architectures the feature does not exist on (always,
//! or before some version). Architecture is checked first, and the rule's own checks run from
//! top to bottom, which decides the reason that is reported.

use super::{
    Feature, Reason, SupportLevel,
    query::{FeatureQuery, Level},
};
use crate::{Arch, Platform};

use Feature as F;
use Platform::{Baremetal, External, Nutanix, Vsphere};
use SupportLevel::{DevPreview, Supported, TechPreview, Unsupported};

struct Rule {
    feature: Feature,
    title: &'static str,
    level: fn(&FeatureQuery) -> Level,
    absent_on: &'static [Absent],
}

/// An architecture without the feature, for good or until x.y.
enum Absent {
    On(Arch),
    Until(Arch, u64, u64),
}

const ARM: Absent = Absent::On(Arch::Arm64);
const PPC: Absent = Absent::On(Arch::Ppc64le);
const Z: Absent = Absent::On(Arch::S390x);

const ANYWHERE: &[Absent] = &[];
const NOT_ARM: &[Absent] = &[ARM];
const NOT_IBM: &[Absent] = &[PPC, Z];
const X86_ONLY: &[Absent] = &[ARM, PPC, Z];
const SINGLE_NODE_ARCHS: &[Absent] = &[
    Absent::Until(Arch::Ppc64le, 4, 13),
    Absent::Until(Arch::S390x, 4, 13),
];

const fn rule(
    feature: Feature,
    title: &'static str,
    level: fn(&FeatureQuery) -> Level,
    absent_on: &'static [Absent],
) -> Rule {
    Rule {
        feature,
        title,
        level,
        absent_on,
    }
}

/// Operators bring their own title.
const OPERATOR: &str = "";

#[rustfmt::skip] // one row per feature, readable as a table
static RULES: [Rule; F::ALL.len()] = [
    rule(F::AmdGpu, OPERATOR, dev_preview, X86_ONLY),
    rule(F::Authorino, OPERATOR, dev_preview, NOT_ARM),
    rule(F::BaremetalPlatform, "platform baremetal", supported, ANYWHERE),
    rule(F::CalicoNetworkType, "network type Calico", supported, ANYWHERE),
    rule(F::CiliumNetworkType, "network type Cilium", supported, ANYWHERE),
    rule(F::CiscoAciNetworkType, "network type CiscoACI", supported, ANYWHERE),
    rule(F::ClusterManagedNetworking, "cluster-managed networking", not_external, &[PPC, Z, Absent::Until(Arch::Arm64, 4, 11)]),
    rule(F::ClusterObservability, OPERATOR, supported, ANYWHERE),
    rule(F::Cnv, OPERATOR, cnv, &[PPC, Z, Absent::Until(Arch::Arm64, 4, 14)]),
    rule(F::CustomManifest, "custom manifests", supported, ANYWHERE),
    rule(F::DualStack, "dual-stack networking", supported, ANYWHERE),
    rule(F::DualStackPrimaryIpv6, "dual-stack networking with IPv6 first", dual_stack_ipv6, ANYWHERE),
    rule(F::DualStackVips, "dual-stack VIPs", dual_stack_vips, ANYWHERE),
    rule(F::ExternalPlatform, "platform external", since_4_14, ANYWHERE),
    rule(F::ExternalPlatformOci, "platform external on Oracle Cloud", oci, NOT_IBM),
    rule(F::FenceAgentsRemediation, OPERATOR, supported, ANYWHERE),
    rule(F::FullIso, "full discovery image", full_iso, ANYWHERE),
    rule(F::Kmm, OPERATOR, dev_preview, ANYWHERE),
    rule(F::KubeDescheduler, OPERATOR, supported, ANYWHERE),
    rule(F::Loki, OPERATOR, since_4_17, ANYWHERE),
    rule(F::Lso, OPERATOR, supported, NOT_ARM),
    rule(F::Lvm, OPERATOR, lvm, NOT_IBM),
    rule(F::Mce, OPERATOR, mce, ANYWHERE),
    rule(F::Metallb, OPERATOR, since_4_11, ANYWHERE),
    rule(F::MinimalIso, "minimal discovery image", supported, &[Z]),
    rule(F::Mtv, OPERATOR, mtv, X86_ONLY),
    rule(F::Nmstate, OPERATOR, nmstate, X86_ONLY),
    rule(F::NodeFeatureDiscovery, OPERATOR, node_feature_discovery, NOT_IBM),
    rule(F::NodeHealthcheck, OPERATOR, supported, ANYWHERE),
    rule(F::NodeMaintenance, OPERATOR, supported, ANYWHERE),
    rule(F::NoneNetworkType, "network type None", supported, ANYWHERE),
    rule(F::NonePlatform, "platform none", supported, ANYWHERE),
    rule(F::NonStandardHaControlPlane, "control plane of more than three nodes", large_control_plane, &[ARM, PPC, Z, Absent::On(Arch::Multi)]),
    rule(F::NumaResources, OPERATOR, supported, ANYWHERE),
    rule(F::NutanixIntegration, "platform nutanix", nutanix, X86_ONLY),
    rule(F::NvidiaGpu, OPERATOR, dev_preview, X86_ONLY),
    rule(F::Oadp, OPERATOR, supported, ANYWHERE),
    rule(F::Odf, OPERATOR, odf, NOT_ARM),
    rule(F::OpenshiftAi, OPERATOR, openshift_ai, X86_ONLY),
    rule(F::OpenshiftLogging, OPERATOR, since_4_17, ANYWHERE),
    rule(F::Osc, OPERATOR, osc, X86_ONLY),
    rule(F::OvnNetworkType, "network type OVNKubernetes", supported, ANYWHERE),
    rule(F::Pipelines, OPERATOR, dev_preview, ANYWHERE),
    rule(F::PlatformManagedNetworking, "platform-managed networking", platform_networking, ANYWHERE),
    rule(F::SdnNetworkType, "network type OpenShiftSDN", sdn, ANYWHERE),
    rule(F::SelfNodeRemediation, OPERATOR, tech_preview, ANYWHERE),
    rule(F::Serverless, OPERATOR, dev_preview, ANYWHERE),
    rule(F::Servicemesh, OPERATOR, dev_preview, ANYWHERE),
    rule(F::SingleNodeExpansion, "adding workers to a single node", single_node_expansion, SINGLE_NODE_ARCHS),
    rule(F::Sno, "single node", single_node, SINGLE_NODE_ARCHS),
    rule(F::Tna, "two nodes with arbiter", two_nodes_arbiter, ANYWHERE),
    rule(F::Tnf, "two nodes with fencing", two_nodes_fencing, ANYWHERE),
    rule(F::UserManagedLoadBalancer, "user-managed load balancer", since_4_16, ANYWHERE),
    rule(F::UserManagedNetworking, "user-managed networking", not_nutanix, ANYWHERE),
    rule(F::VipAutoAlloc, "VIPs from DHCP", vip_auto_alloc, ANYWHERE),
    rule(F::VsphereIntegration, "platform vsphere", supported, NOT_IBM),
];

// The table is indexed by the enum: a row out of place must not compile.
const _: () = {
    let mut row = 0;
    while row < F::ALL.len() {
        assert!(
            RULES[row].feature as usize == row,
            "RULES must follow the order of Feature"
        );
        row += 1;
    }
};

/// How well a feature is supported, on an architecture that the version has.
pub(super) fn level_of(feature: Feature, query: &FeatureQuery) -> Level {
    if !exists_on_arch(feature, query) {
        return Err(Reason::CpuArchitecture);
    }
    (RULES[feature as usize].level)(query)
}

/// Whether the feature exists on the architecture at that version.
pub(super) fn exists_on_arch(feature: Feature, query: &FeatureQuery) -> bool {
    !RULES[feature as usize]
        .absent_on
        .iter()
        .any(|absent| match *absent {
            Absent::On(arch) => arch == query.arch(),
            Absent::Until(arch, major, minor) => arch == query.arch() && query.before(major, minor),
        })
}

/// The words for a feature that is not an operator.
pub(super) fn title(feature: Feature) -> &'static str {
    RULES[feature as usize].title
}

fn supported(_: &FeatureQuery) -> Level {
    Ok(Supported)
}

fn tech_preview(_: &FeatureQuery) -> Level {
    Ok(TechPreview)
}

fn dev_preview(_: &FeatureQuery) -> Level {
    Ok(DevPreview)
}

fn since_4_11(query: &FeatureQuery) -> Level {
    query.since(4, 11).map(|()| Supported)
}

fn since_4_14(query: &FeatureQuery) -> Level {
    query.since(4, 14).map(|()| Supported)
}

fn since_4_16(query: &FeatureQuery) -> Level {
    query.since(4, 16).map(|()| Supported)
}

fn since_4_17(query: &FeatureQuery) -> Level {
    query.since(4, 17).map(|()| Supported)
}

fn not_external(query: &FeatureQuery) -> Level {
    query.not_on(&[External]).map(|()| Supported)
}

fn not_nutanix(query: &FeatureQuery) -> Level {
    query.not_on(&[Nutanix]).map(|()| Supported)
}

fn single_node(query: &FeatureQuery) -> Level {
    query.not_on(&[Nutanix, Vsphere])?;
    let young = query.is(4, 13) && matches!(query.arch(), Arch::S390x | Arch::Ppc64le);
    Ok(if young { DevPreview } else { Supported })
}

fn single_node_expansion(query: &FeatureQuery) -> Level {
    query.since(4, 11)?;
    single_node(query)
}

fn two_nodes_arbiter(query: &FeatureQuery) -> Level {
    query.only_on(&[Baremetal, Platform::None])?;
    if query.platform() == Some(Platform::None) {
        query.since(4, 22).map_err(|_| Reason::Platform)?;
    }
    query.since(4, 19)?;
    Ok(if query.is(4, 19) {
        TechPreview
    } else {
        Supported
    })
}

fn two_nodes_fencing(query: &FeatureQuery) -> Level {
    query.only_on(&[Baremetal, Platform::None])?;
    query.since(4, 20)?;
    Ok(if query.before(4, 22) {
        TechPreview
    } else {
        Supported
    })
}

fn large_control_plane(query: &FeatureQuery) -> Level {
    query.since(4, 18)?;
    query.only_on(&[Baremetal, Platform::None, External])?;
    Ok(Supported)
}

fn full_iso(query: &FeatureQuery) -> Level {
    if query.on_oci() {
        Err(Reason::OciExternalIntegrationDisabled)
    } else {
        Ok(Supported)
    }
}

fn vip_auto_alloc(query: &FeatureQuery) -> Level {
    query.not_on(&[External])?;
    let still_there = query.no_version() || query.before(4, 15);
    if still_there {
        Ok(DevPreview)
    } else {
        Err(Reason::OpenshiftVersion)
    }
}

fn sdn(query: &FeatureQuery) -> Level {
    let still_there = query.no_version() || query.before(4, 15);
    if still_there {
        Ok(Supported)
    } else {
        Err(Reason::OpenshiftVersion)
    }
}

/// Without a platform this feature is not listed; the level is what enforcement then sees.
fn platform_networking(query: &FeatureQuery) -> Level {
    Ok(match query.platform() {
        Some(External | Platform::None) | None => Supported,
        Some(Baremetal | Nutanix | Vsphere) => Unsupported,
    })
}

fn dual_stack_vips(query: &FeatureQuery) -> Level {
    query.since(4, 12)?;
    query.not_on_oci()?;
    Ok(Supported)
}

fn dual_stack_ipv6(query: &FeatureQuery) -> Level {
    query.not_on(&[Nutanix, Vsphere, External])?;
    query.since(4, 12)?;
    Ok(TechPreview)
}

fn nutanix(query: &FeatureQuery) -> Level {
    query.since(4, 11)?;
    Ok(if query.is(4, 11) {
        DevPreview
    } else {
        Supported
    })
}

/// Nonsense for a version passes here, unlike elsewhere: the reference does so too.
fn oci(query: &FeatureQuery) -> Level {
    if query.no_version() || query.before(4, 14) {
        return Err(Reason::OpenshiftVersion);
    }
    Ok(Supported)
}

fn lvm(query: &FeatureQuery) -> Level {
    query.since(4, 11)?;
    query.not_on(&[Vsphere, Nutanix])?;
    Ok(if query.is(4, 11) {
        DevPreview
    } else {
        Supported
    })
}

fn odf(query: &FeatureQuery) -> Level {
    query.not_on_oci()?;
    Ok(Supported)
}

fn cnv(query: &FeatureQuery) -> Level {
    query.not_on(&[Nutanix, Vsphere])?;
    Ok(if query.arch() == Arch::Arm64 {
        DevPreview
    } else {
        Supported
    })
}

fn mce(query: &FeatureQuery) -> Level {
    query.since(4, 10)?;
    query.not_on(&[Nutanix])?;
    Ok(Supported)
}

fn mtv(query: &FeatureQuery) -> Level {
    query.not_on(&[Vsphere, Nutanix])?;
    query.since(4, 14)?;
    Ok(Supported)
}

fn osc(query: &FeatureQuery) -> Level {
    query.not_on(&[Vsphere, Nutanix])?;
    query.since(4, 10)?;
    Ok(Supported)
}

fn nmstate(query: &FeatureQuery) -> Level {
    query.not_on(&[Nutanix, External])?;
    query.since(4, 12)?;
    Ok(Supported)
}

fn node_feature_discovery(query: &FeatureQuery) -> Level {
    query.since(4, 6)?;
    Ok(DevPreview)
}

fn openshift_ai(query: &FeatureQuery) -> Level {
    query.since(4, 12)?;
    query.not_on_oci()?;
    Ok(DevPreview)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
