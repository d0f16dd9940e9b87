//! Rules about optional components.

use super::{Diagnostics, Facts, Rule};
use crate::{
    findings::nearest,
    install_config::{
        schema::wording::shown,
        types::{CloudControllerManager, InstallConfig, PlatformName},
    },
};

#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { name: "capability-set", path: "capabilities.baselineCapabilitySet", reads: &["capabilities"], text: "`None`, `v4.11` to `v4.18` or `vCurrent`; needed as soon as `capabilities` is there.", check: capability_set },
    Rule { name: "capability-names", path: "capabilities.additionalEnabledCapabilities", reads: &["capabilities"], text: "Names of components that are part of some set.", check: capability_names },
    Rule { name: "capability-needs", path: "capabilities", reads: &["capabilities", "platform"], text: "marketplace needs OperatorLifecycleManager; Ingress is always needed; baremetal needs `baremetal`; CloudCredential may be missing on none and baremetal, CloudControllerManager also on external.", check: capability_needs },
];

/// Sets from the smallest to the largest.
const SETS: &[&str] = &[
    "None", "v4.11", "v4.12", "v4.13", "v4.14", "v4.15", "v4.16", "v4.17", "v4.18", "vCurrent",
];

/// Components and the first set they are in.
const CAPABILITIES: &[(&str, &str)] = &[
    ("baremetal", "v4.11"),
    ("marketplace", "v4.11"),
    ("openshift-samples", "v4.11"),
    ("MachineAPI", "v4.11"),
    ("Console", "v4.12"),
    ("Insights", "v4.12"),
    ("Storage", "v4.12"),
    ("CSISnapshot", "v4.12"),
    ("NodeTuning", "v4.13"),
    ("Build", "v4.14"),
    ("DeploymentConfig", "v4.14"),
    ("ImageRegistry", "v4.14"),
    ("OperatorLifecycleManager", "v4.15"),
    ("CloudCredential", "v4.15"),
    ("Ingress", "v4.16"),
    ("CloudControllerManager", "v4.16"),
    ("OperatorLifecycleManagerV1", "v4.18"),
    ("CompatibilityRequirements", "vCurrent"),
    ("ClusterAPI", "vCurrent"),
];

fn rank(set: &str) -> Option<usize> {
    SETS.iter().position(|known| *known == set)
}

impl InstallConfig {
    /// The component is installed.
    #[must_use]
    pub fn has_capability(&self, name: &str) -> bool {
        let Some(capabilities) = &self.capabilities else {
            return true;
        };
        let first = CAPABILITIES.iter().find(|(known, _)| *known == name);
        let first = first.and_then(|(_, set)| rank(set));
        let in_set = match (first, rank(&capabilities.baseline_capability_set)) {
            (Some(first), Some(set)) => first <= set,
            (_, None) | (None, _) => false,
        };
        in_set
            || capabilities
                .additional_enabled_capabilities
                .iter()
                .any(|own| own == name)
    }
}

fn capability_set(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(capabilities) = &facts.config.capabilities else {
        return;
    };
    let set = &*capabilities.baseline_capability_set;
    let path = "capabilities.baselineCapabilitySet";
    if set.is_empty() {
        diagnostics.fault(
            path,
            "this is missing",
            "write `vCurrent` for everything, `None` for as little as possible",
        );
    } else if rank(set).is_none() {
        let help = match nearest(set, SETS.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it can be {}", crate::schema::wording::one_of(SETS)),
        };
        diagnostics.fault(
            path,
            format!("{} is no set of capabilities", shown(set)),
            help,
        );
    }
}

fn capability_names(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let Some(capabilities) = &facts.config.capabilities else {
        return;
    };
    let names = || CAPABILITIES.iter().map(|(name, _)| *name);
    for (index, name) in capabilities
        .additional_enabled_capabilities
        .iter()
        .enumerate()
    {
        if !names().any(|known| known == name) {
            let help = match nearest(name, names()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("it can be {}", names().collect::<Vec<_>>().join(", ")),
            };
            diagnostics.fault(
                format!("capabilities.additionalEnabledCapabilities[{index}]"),
                format!("{} is no capability", shown(name)),
                help,
            );
        }
    }
}

fn capability_needs(facts: &Facts<'_>, diagnostics: &mut Diagnostics) {
    let config = facts.config;
    let Some(capabilities) = &config.capabilities else {
        return;
    };
    // An unknown set has its own rule.
    if rank(&capabilities.baseline_capability_set).is_none() {
        return;
    }
    let platform = config.platform.name();
    let bare = matches!(
        platform,
        None | Some(PlatformName::None | PlatformName::BareMetal)
    );
    let external = config.platform.external.as_ref();
    let brings_ccm = external
        .is_some_and(|e| e.cloud_controller_manager == Some(CloudControllerManager::External));
    let none_on_baremetal =
        capabilities.baseline_capability_set == "None" && platform == Some(PlatformName::BareMetal);
    let needs = [
        (
            "OperatorLifecycleManager",
            config.has_capability("marketplace"),
            "marketplace is installed",
        ),
        ("baremetal", none_on_baremetal, "the platform is baremetal"),
        (
            "CloudCredential",
            !bare,
            "the platform is neither none nor baremetal",
        ),
        (
            "CloudControllerManager",
            !bare && (external.is_none() || brings_ccm),
            "the platform has a cloud controller manager",
        ),
        ("Ingress", true, "no cluster works without it"),
    ];
    for (name, needed, because) in needs {
        if needed && !config.has_capability(name) {
            diagnostics.fault(
                "capabilities",
                format!("`{name}` is needed: {because}"),
                format!("add `{name}` to additionalEnabledCapabilities, or choose a larger baselineCapabilitySet"),
            );
        }
    }
}
