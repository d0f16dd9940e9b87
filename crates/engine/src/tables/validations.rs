//! Every validation of hosts and clusters, operators' included.

use crate::checks::{
    cluster::{self, CLUSTER_CHECKS},
    host::{self, HOST_CHECKS},
    operators::{AI_GPUS, explained},
};

/// One validation, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// `host` or `cluster`.
    pub subject: &'static str,
    /// Its id in `validations_info`.
    pub id: String,
    /// Its category there.
    pub category: &'static str,
    /// What is asked and why.
    pub asks: String,
    /// What happens while it is not true.
    pub gate: &'static str,
    /// A user may decide to live with its failure.
    pub ignorable: bool,
}

/// All of them, in the order of their tables.
#[must_use]
pub fn validations() -> Vec<Validation> {
    let hosts = HOST_CHECKS.iter().map(|check| Validation {
        subject: "host",
        id: check.id.to_owned(),
        category: check.category,
        asks: check.asks.to_owned(),
        gate: check.gate.about(),
        ignorable: !check.never_ignored(),
    });
    let clusters = CLUSTER_CHECKS.iter().map(|check| Validation {
        subject: "cluster",
        id: check.id.to_owned(),
        category: check.category,
        asks: check.asks.to_owned(),
        gate: check.gate.about(),
        ignorable: !check.never_ignored(),
    });
    let gpus = Validation {
        subject: "cluster",
        id: AI_GPUS.to_owned(),
        category: "operators",
        asks: "Does a host have a GPU that OpenShift AI could use?".to_owned(),
        gate: cluster::Gate::Nothing.about(),
        ignorable: true,
    };
    hosts
        .chain(of_operators("host", host::Gate::Install.about()))
        .chain(clusters)
        .chain(of_operators("cluster", cluster::Gate::Install.about()))
        .chain([gpus])
        .collect()
}

fn of_operators(subject: &'static str, gate: &'static str) -> impl Iterator<Item = Validation> {
    explained().into_iter().map(move |operator| {
        let mut asks = operator.asks.to_owned();
        if !operator.dependencies.is_empty() {
            asks.push_str(&format!(
                " Comes with {}.",
                operator.dependencies.join(", ")
            ));
        }
        if !operator.limits.is_empty() {
            asks.push_str(&format!(" Limits: {}.", operator.limits.join("; ")));
        }
        Validation {
            subject,
            id: operator.id.to_owned(),
            category: "operators",
            asks,
            gate,
            ignorable: true,
        }
    })
}
