//! Rules about features beyond the default ones.

use super::{Diagnostics, Facts, Rule};
use crate::install_config::{
    schema::wording::shown,
    types::{DnsRecordsType, FeatureSet, OsImageStream},
};
use muster_model::MinorVersion;

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "feature-set", path: "featureSet", reads: &[], text: "`OKD` only for releases of OKD.", check: feature_set },
    Rule { name: "feature-gates", path: "featureGates", reads: &["featureSet"], text: "Only with `featureSet: CustomNoUpgrade`; each is `Name=true` or `Name=false`.", check: feature_gates },
    Rule { name: "gated-fields", path: "featureSet", reads: &["featureSet", "featureGates", "platform", "pki", "osImageStream", "controlPlane", "arbiter", "compute"], text: "Fields that are still previews need a feature set that has them; `CustomNoUpgrade` has nothing but the gates that are named.", check: gated_fields },
];

fn feature_set(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    if facts.config.feature_set == Some(FeatureSet::Okd) && !facts.around.okd {
        diagnostics.fault("featureSet", "`OKD` is for releases of OKD", "remove it");
    }
}

fn feature_gates(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    if !config.feature_gates.is_empty() && config.feature_set != Some(FeatureSet::CustomNoUpgrade) {
        diagnostics.fault(
            "featureGates",
            "single features need the feature set for them",
            "add `featureSet: CustomNoUpgrade`, or remove featureGates",
        );
    }
    for (index, gate) in config.feature_gates.iter().enumerate() {
        if read_gate(gate).is_none() {
            diagnostics.fault(
                format!("featureGates[{index}]"),
                format!("{} is not `Name=true` or `Name=false`", shown(gate)),
                "write for example `SomeFeature=true`",
            );
        }
    }
}

/// Name and switch, in all the ways Go spells a switch.
fn read_gate(gate: &str) -> Option<(&str, bool)> {
    let (name, switch) = gate.split_once('=')?;
    let on = match switch {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => true,
        "0" | "f" | "F" | "FALSE" | "false" | "False" => false,
        _ => return None,
    };
    (!name.is_empty()).then_some((name, on))
}

/// Where a feature is without being asked for.
#[derive(Clone, Copy)]
enum From {
    /// In every cluster from this release on, and a tech preview before.
    Default(MinorVersion),
    /// A tech preview.
    TechPreview,
    /// Under development.
    DevPreview,
}

/// A field that needs a feature: the feature, where it is, the field, and whether it is used.
struct Gated {
    gate: &'static str,
    from: From,
    path: fn(&Facts<'_>) -> Option<String>,
}

#[rustfmt::skip]
static GATED: &[Gated] = &[
    Gated { gate: "HighlyAvailableArbiter", from: From::Default(MinorVersion::new(4, 20)), path: arbiter },
    Gated { gate: "DualReplica", from: From::Default(MinorVersion::new(4, 22)), path: fencing },
    Gated { gate: "OSStreams", from: From::Default(MinorVersion::new(4, 22)), path: stream },
    Gated { gate: "MultiDiskSetup", from: From::TechPreview, path: disk_setup },
    Gated { gate: "ConfigurablePKI", from: From::TechPreview, path: pki },
    Gated { gate: "OnPremDNSRecords", from: From::TechPreview, path: external_dns },
    Gated { gate: "BGPBasedVIPManagement", from: From::DevPreview, path: bgp },
];

fn gated_fields(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    for Gated { gate, from, path } in GATED {
        let Some(path) = path(facts) else { continue };
        let (by_default, preview) = match from {
            From::Default(since) => (facts.around.at_least(since.major, since.minor), true),
            From::TechPreview => (false, true),
            From::DevPreview => (false, false),
        };
        let on = match config.feature_set {
            None | Some(FeatureSet::Okd) => by_default,
            Some(FeatureSet::TechPreviewNoUpgrade) => by_default || preview,
            Some(FeatureSet::DevPreviewNoUpgrade) => true,
            Some(FeatureSet::CustomNoUpgrade) => {
                let named = config.feature_gates.iter().rev();
                let mut named = named.filter_map(|gate| read_gate(gate));
                named.find(|(name, _)| name == gate) == Some((*gate, true))
            }
        };
        if !on {
            let set = if preview {
                "TechPreviewNoUpgrade"
            } else {
                "DevPreviewNoUpgrade"
            };
            let help = match config.feature_set {
                Some(FeatureSet::CustomNoUpgrade) => {
                    format!("add `{gate}=true` to featureGates, or remove it")
                }
                None
                | Some(
                    FeatureSet::Okd
                    | FeatureSet::TechPreviewNoUpgrade
                    | FeatureSet::DevPreviewNoUpgrade,
                ) => format!("add `featureSet: {set}` (no upgrades then), or remove it"),
            };
            let message = format!("this needs the feature {gate}, which is not switched on");
            diagnostics.fault(path, message, help);
        }
    }
}

/// From 5.0 on a part of every cluster, whatever its feature set.
fn arbiter(facts: &Facts<'_>) -> Option<String> {
    let gated = facts.config.arbiter.is_some() && !facts.around.at_least(5, 0);
    gated.then(|| "arbiter".to_owned())
}

fn fencing(facts: &Facts<'_>) -> Option<String> {
    let pool = facts.config.control_plane.as_ref()?;
    pool.fencing
        .as_ref()
        .map(|_| "controlPlane.fencing".to_owned())
}

/// Naming the stream that is taken anyway needs nothing.
fn stream(facts: &Facts<'_>) -> Option<String> {
    let newer = facts.around.at_least(5, 0);
    let usual = match facts.config.os_image_stream? {
        OsImageStream::Rhel9 => !newer,
        OsImageStream::Rhel10 => newer,
        OsImageStream::Centos10 => true,
    };
    (!usual).then(|| "osImageStream".to_owned())
}

fn disk_setup(facts: &Facts<'_>) -> Option<String> {
    let config = facts.config;
    let pools = config
        .control_plane
        .iter()
        .map(|pool| ("controlPlane".to_owned(), pool));
    let compute = config.compute.iter().enumerate();
    let compute = compute.map(|(index, pool)| (format!("compute[{index}]"), pool));
    let (path, _) = pools
        .chain(compute)
        .find(|(_, pool)| !pool.disk_setup.is_empty())?;
    Some(format!("{path}.diskSetup"))
}

fn pki(facts: &Facts<'_>) -> Option<String> {
    facts.config.pki.as_ref().map(|_| "pki".to_owned())
}

fn external_dns(facts: &Facts<'_>) -> Option<String> {
    let platform = &facts.config.platform;
    let (name, kind) = (platform.name()?, platform.dns_records_type()?);
    (kind == DnsRecordsType::External).then(|| format!("platform.{name}.dnsRecordsType"))
}

fn bgp(facts: &Facts<'_>) -> Option<String> {
    let platform = facts.config.platform.baremetal.as_ref()?;
    let path = "platform.baremetal.bgpVIPConfig";
    platform.bgp_vip_config.as_ref().map(|_| path.to_owned())
}
