//! What must hold in an install-config: one table of small named rules.
//!
//! A rule reads the config with defaults filled in and reports problems at the path where the
//! user would fix them. Rules that read fields of the wrong type are skipped, so that one mistake
//! gives one finding. Every rule runs, whatever the others report.

mod agent;
mod baremetal;
mod bgp;
mod capabilities;
mod features;
mod fencing;
mod image_based;
mod joining;
pub(crate) mod mirrors;
mod networks;
mod nutanix;
mod nutanix_pools;
mod pools;
mod provisioning;
pub(crate) mod proxy;
pub(crate) mod ssh;
pub(crate) mod top;
mod topologies;
pub(crate) mod trust;
mod vips;
mod vsphere;
mod vsphere_hosts;
mod vsphere_pools;

use std::sync::LazyLock;

use super::{Given, InstallConfig};
pub(super) use crate::validation::Diagnostics;
use crate::validation::{RuleSummary, Sheet, checks};

/// One thing that must hold.
#[derive(Clone, Copy)]
pub struct Rule {
    /// A short stable name; findings carry it.
    pub name: &'static str,
    /// The field it is about, without numbers of list entries.
    pub path: &'static str,
    /// Other fields it reads.
    pub reads: &'static [&'static str],
    /// What must hold, in a sentence.
    pub text: &'static str,
    check: fn(&Facts<'_>, &mut Diagnostics),
}

/// Every rule, in the order of the file.
pub static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    [
        top::RULES,
        ssh::RULES,
        trust::RULES,
        networks::RULES,
        joining::RULES,
        pools::RULES,
        fencing::RULES,
        proxy::RULES,
        mirrors::RULES,
        capabilities::RULES,
        features::RULES,
        vips::RULES,
        baremetal::RULES,
        provisioning::RULES,
        bgp::RULES,
        vsphere::RULES,
        vsphere_hosts::RULES,
        vsphere_pools::RULES,
        nutanix::RULES,
        nutanix_pools::RULES,
        agent::RULES,
        topologies::RULES,
        image_based::RULES,
    ]
    .concat()
});

/// What rules look at.
pub(super) struct Facts<'a> {
    pub config: &'a InstallConfig,
    pub around: Given,
    sheet: &'a Sheet,
}

/// The config on its way through conversion, defaults and rules.
pub(super) struct Validator {
    pub config: InstallConfig,
    pub diagnostics: Diagnostics,
    pub sheet: Sheet,
}

impl Rule {
    /// It in words.
    #[must_use]
    pub fn summary(&self) -> RuleSummary {
        RuleSummary {
            name: self.name,
            path: self.path,
            text: self.text,
        }
    }
}

impl Facts<'_> {
    /// The user wrote something there, even if it was nothing.
    pub fn was_written(&self, path: &str) -> bool {
        self.sheet.was_written(path)
    }
}

impl Validator {
    pub fn new(config: InstallConfig, sheet: Sheet) -> Self {
        Self {
            config,
            diagnostics: Diagnostics::of("conversion"),
            sheet,
        }
    }

    /// A value was taken over from its old spelling.
    pub fn moved(&mut self, new: &str, old: &str) {
        self.sheet.moved(new, old);
    }

    /// Something was written there, whatever it was.
    pub fn was_written(&self, path: &str) -> bool {
        self.sheet.was_written(path)
    }
}

/// Asks every rule whose fields have the right form.
pub(super) fn run(validator: &mut Validator, around: Given) {
    let facts = Facts {
        config: &validator.config,
        around,
        sheet: &validator.sheet,
    };
    for rule in RULES
        .iter()
        .filter(|rule| validator.sheet.is_sound(rule.reads))
    {
        validator.diagnostics.under(rule.name);
        (rule.check)(&facts, &mut validator.diagnostics);
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({} at {})", self.name, self.path)
    }
}
