//! What must hold in an install-config: one table of small named rules.
//!
//! A rule looks at the filled-in config and reports what it does not like, at the path where
//! the user would mend it. Rules that read fields of the wrong form are left out, so that one
//! slip gives one finding. Every rule runs, whatever the others say.

mod agent;
mod baremetal;
mod bgp;
mod capabilities;
mod checks;
mod features;
mod fencing;
mod joining;
mod mirrors;
mod networks;
mod pools;
mod provisioning;
mod proxy;
mod ssh;
mod top;
mod trust;
mod vips;
mod vsphere;
mod vsphere_hosts;
mod vsphere_pools;

use std::{collections::HashMap, sync::LazyLock};

use super::{Given, InstallConfig, schema::wording::plain_path};
use crate::{
    findings::{Finding, Severity},
    spanned_yaml::Span,
};

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
    check: fn(&Facts<'_>, &mut Verdicts),
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
        agent::RULES,
    ]
    .concat()
});

/// What rules look at.
pub(super) struct Facts<'a> {
    pub config: &'a InstallConfig,
    pub around: Given,
    places: &'a HashMap<String, (Span, Span)>,
}

/// What rules say.
pub(super) struct Verdicts {
    rule: &'static str,
    told: Vec<Verdict>,
}

struct Verdict {
    severity: Severity,
    rule: &'static str,
    path: String,
    message: String,
    help: String,
}

/// The config on its way through conversion, defaults and rules.
pub(super) struct Judge {
    pub config: InstallConfig,
    pub verdicts: Verdicts,
    places: HashMap<String, (Span, Span)>,
    broken: Vec<String>,
    /// Where a value came from that was written in an old spelling: new path, old path.
    moved: Vec<(String, String)>,
}

impl Facts<'_> {
    /// The user wrote something there, even if it was nothing.
    pub fn was_written(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }
}

impl Verdicts {
    /// The file cannot be used.
    pub fn fault(
        &mut self,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.tell(Severity::Error, path.into(), message.into(), help.into());
    }

    /// Somebody should know.
    pub fn warn(
        &mut self,
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.tell(Severity::Warning, path.into(), message.into(), help.into());
    }

    fn tell(&mut self, severity: Severity, path: String, message: String, help: String) {
        self.told.push(Verdict {
            severity,
            rule: self.rule,
            path,
            message,
            help,
        });
    }
}

impl Judge {
    pub fn new(
        config: InstallConfig,
        places: HashMap<String, (Span, Span)>,
        broken: Vec<String>,
    ) -> Self {
        Self {
            config,
            verdicts: Verdicts {
                rule: "conversion",
                told: Vec::new(),
            },
            places,
            broken,
            moved: Vec::new(),
        }
    }

    /// A value was taken over from its old spelling.
    pub fn moved(&mut self, new: &str, old: &str) {
        self.moved.push((new.to_owned(), old.to_owned()));
    }

    /// Something was written there, whatever it was.
    pub fn was_written(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    /// The config and all findings, each at its place.
    pub fn into_parts(self) -> (InstallConfig, Vec<Finding>) {
        let place = |path: &str| place_of(&self.places, &self.moved, path);
        let findings = self.verdicts.told.into_iter().filter(|verdict| {
            let related = |broken: &String| {
                is_within(&verdict.path, broken) || is_within(broken, &verdict.path)
            };
            !self.broken.iter().any(related)
        });
        let findings = findings.map(|verdict| Finding {
            severity: verdict.severity,
            rule: verdict.rule,
            span: place(&verdict.path),
            path: verdict.path,
            message: verdict.message,
            help: verdict.help,
        });
        let findings = findings.collect();
        (self.config, findings)
    }
}

/// Asks every rule whose fields have the right form.
pub(super) fn run(judge: &mut Judge, around: Given) {
    let broken: Vec<String> = judge.broken.iter().map(|path| plain_path(path)).collect();
    let facts = Facts {
        config: &judge.config,
        around,
        places: &judge.places,
    };
    for rule in RULES.iter() {
        let touches = |path: &&str| {
            broken
                .iter()
                .any(|broken| is_within(path, broken) || is_within(broken, path))
        };
        if !rule.reads.iter().any(touches) {
            judge.verdicts.rule = rule.name;
            (rule.check)(&facts, &mut judge.verdicts);
        }
    }
}

/// `inner` is `outer` or lies below it.
fn is_within(inner: &str, outer: &str) -> bool {
    match inner.strip_prefix(outer) {
        Some(rest) => rest.is_empty() || outer.is_empty() || rest.starts_with(['.', '[']),
        None => false,
    }
}

/// Where a field stands: its value, else the key of the nearest field around it.
fn place_of(
    places: &HashMap<String, (Span, Span)>,
    moved: &[(String, String)],
    path: &str,
) -> Span {
    let mut path = path.to_owned();
    let mut exact = true;
    loop {
        if let Some((key, value)) = places.get(&path) {
            let shown = exact && value.end > value.start;
            return if shown { *value } else { *key };
        }
        if let Some((_, old)) = moved.iter().find(|(new, _)| is_within(&path, new)) {
            path.clone_from(old);
            if places.contains_key(&path) {
                continue;
            }
        }
        exact = false;
        match path.rfind(['.', '[']) {
            Some(cut) => path.truncate(cut),
            None => return Span::default(),
        }
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rule({} at {})", self.name, self.path)
    }
}
