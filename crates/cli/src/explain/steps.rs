//! Steps for people.

use std::fmt::Write;

use anyhow::bail;
use muster_engine::{StepType, steps};

use serde_json::{Value, json};

use super::{similar, table};
use crate::output::Printed;

const HEAD: &str = "# Steps\n\nMade by `make bless` from `crates/engine/src/steps`; do not edit.\n\n\
What an agent is asked to do when it polls. The service does not remember steps: while a status\n\
requires a step, each poll returns it again. A step that cannot be built yet is left out.\n";

/// All kinds, or one with the statuses it is given in.
pub fn explain(step: Option<&str>) -> anyhow::Result<Printed> {
    let Some(wanted) = step else {
        let line = |kind: &StepType| format!("{:<32} {}\n", kind.as_str(), kind.about());
        return Ok(Printed {
            text: StepType::ALL.iter().map(line).collect(),
            json: StepType::ALL.iter().map(|kind| described(*kind)).collect(),
        });
    };
    let Ok(kind) = wanted.parse::<StepType>() else {
        let names = StepType::ALL.iter().map(|kind| kind.as_str());
        bail!("{wanted:?} is not a step type{}", similar(wanted, names));
    };
    let mut text = format!("{kind}: {}\n", kind.about());
    for row in steps::table()
        .iter()
        .filter(|row| row.steps.contains(&kind))
    {
        let _ = writeln!(
            text,
            "  {} host in {}: {}",
            row.kind,
            names(&row.statuses),
            row.why
        );
    }
    Ok(Printed {
        text,
        json: described(kind),
    })
}

fn described(kind: StepType) -> Value {
    let table = steps::table();
    let rows = table.iter().filter(|row| row.steps.contains(&kind));
    let rows = rows.map(|row| {
        let statuses: Vec<&str> = row.statuses.iter().map(|status| status.as_str()).collect();
        json!({"host": row.kind, "statuses": statuses, "why": row.why})
    });
    json!({"step": kind.as_str(), "about": kind.about(), "given": rows.collect::<Vec<_>>()})
}

fn names(statuses: &[muster_model::HostStatus]) -> String {
    let names: Vec<&str> = statuses.iter().map(|status| status.as_str()).collect();
    names.join(", ")
}

/// The page in docs.
pub fn page() -> String {
    let mut text = HEAD.to_owned();
    let kinds = StepType::ALL
        .iter()
        .map(|kind| vec![format!("`{kind}`"), kind.about().to_owned()]);
    let _ = write!(
        text,
        "\n## Kinds\n\n{}",
        table(&["step", "asks the agent to"], kinds)
    );
    let rows = steps::table().into_iter().map(|row| {
        let steps: Vec<&str> = row.steps.iter().map(|step| step.as_str()).collect();
        vec![
            row.kind.to_owned(),
            names(&row.statuses),
            if steps.is_empty() {
                "nothing".to_owned()
            } else {
                steps.join(", ")
            },
            row.interval.to_owned(),
            row.why.to_owned(),
        ]
    });
    let _ = write!(
        text,
        "\n## By status\n\n{}",
        table(&["host", "status", "steps", "next poll", "why"], rows)
    );
    text
}
