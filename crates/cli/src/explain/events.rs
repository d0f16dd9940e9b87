//! Events for people.

use anyhow::bail;
use muster_engine::events::{EVENTS, EventKind, Owner};

use serde_json::json;

use super::{similar, table};
use crate::output::Printed;

const HEAD: &str = "# Events\n\nMade by `make bless` from `crates/engine/src/events.rs`; do not edit.\n\n\
Names and severities are stable: filter by them. Messages are for people.\n\n";

/// The catalogue, or the events whose name contains a text.
pub fn explain(name: Option<&str>) -> anyhow::Result<Printed> {
    let wanted = name.unwrap_or_default();
    let found: Vec<&EventKind> = EVENTS
        .iter()
        .filter(|kind| kind.name.contains(wanted))
        .collect();
    if found.is_empty() {
        bail!(
            "no event is called {wanted:?}{}",
            similar(wanted, EVENTS.iter().map(|kind| kind.name))
        );
    }
    let line = |kind: &&EventKind| {
        format!(
            "{:<46} {:<8} {}\n",
            kind.name,
            kind.severity.as_str(),
            kind.when
        )
    };
    let row = |kind: &&EventKind| {
        json!({
            "name": kind.name,
            "severity": kind.severity.as_str(),
            "when": kind.when,
            "names": kind.names,
            "sent_by": owner(kind.owner),
        })
    };
    Ok(Printed {
        text: found.iter().map(line).collect(),
        json: found.iter().map(row).collect(),
    })
}

/// The page in docs.
pub fn page() -> String {
    let rows = EVENTS.iter().map(|kind| {
        vec![
            format!("`{}`", kind.name),
            kind.severity.as_str().to_owned(),
            kind.when.to_owned(),
            kind.names.join(", "),
            owner(kind.owner).to_owned(),
        ]
    });
    format!(
        "{HEAD}{}",
        table(
            &["event", "severity", "sent when", "names", "sent by"],
            rows
        )
    )
}

const fn owner(owner: Owner) -> &'static str {
    match owner {
        Owner::Engine => "rules",
        Owner::Service => "service",
        Owner::Client => "agents and controllers",
        Owner::Unused => "none: the case does not arise",
    }
}
