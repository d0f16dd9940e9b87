//! The state machines for people: lists, one status, diagrams.

use std::{collections::BTreeSet, fmt::Write};

use anyhow::bail;
use muster_engine::tables::{self, Effect, Machine, Transition};
use muster_service::http::status_of_refusal;
use serde_json::{Value, json};

use super::{similar, table};
use crate::output::Printed;

const HEAD: &str = "# States\n\nMade by `make bless` from the rule tables of `crates/engine/src/rules`; do not edit.\n\n\
Each machine has triggers: requests, reports of agents, and `Refresh`, which is time passing and\n\
facts changing. Of the rules of a trigger that fit the status and whose condition holds, the first\n\
wins. `muster explain states <status>` prints what can happen in one status.\n";

/// What can happen, in general or in one status.
pub fn explain(status: Option<&str>) -> anyhow::Result<Printed> {
    let all = tables::transitions();
    let Some(wanted) = status else {
        return Ok(Printed {
            text: all.iter().map(line).collect(),
            json: all.iter().map(row).collect(),
        });
    };
    let known = |machine| tables::statuses(machine).contains(&wanted);
    if !known(Machine::Host) && !known(Machine::Cluster) {
        let names = tables::statuses(Machine::Host)
            .into_iter()
            .chain(tables::statuses(Machine::Cluster));
        bail!("{wanted:?} is not a status{}", similar(wanted, names));
    }
    let mut text = String::new();
    for machine in [Machine::Cluster, Machine::Host, Machine::Pool] {
        let of = |leads_here: bool| {
            let rows = all.iter().filter(move |row| {
                let list = if leads_here { &row.to } else { &row.from };
                row.machine == machine && list.contains(&wanted)
            });
            rows.map(|row| format!("  {}", line(row)))
                .collect::<String>()
        };
        let (into, out) = (of(true), of(false));
        if !into.is_empty() {
            let _ = write!(
                text,
                "{}: rules that lead to {wanted}\n{into}\n",
                machine.as_str()
            );
        }
        if !out.is_empty() {
            let _ = write!(
                text,
                "{}: rules tried in {wanted}, in this order\n{out}\n",
                machine.as_str()
            );
        }
    }
    if text.is_empty() {
        text = format!("{wanted}: known to clients, but no rule leads there or away\n");
    }
    let of_it = |row: &&Transition| row.from.contains(&wanted) || row.to.contains(&wanted);
    let json = all.iter().filter(of_it).map(row).collect();
    Ok(Printed { text, json })
}

fn row(row: &Transition) -> Value {
    let (effect, code) = match row.effect {
        Effect::Moves => ("moves", None),
        Effect::Stays => ("stays", None),
        Effect::Refuses(kind) => ("refuses", Some(status_of_refusal(kind).as_u16())),
    };
    json!({
        "machine": row.machine.as_str(),
        "trigger": row.trigger,
        "order": row.order + 1,
        "rule": row.rule,
        "from": row.from,
        "to": row.to,
        "effect": effect,
        "code": code,
    })
}

fn line(row: &Transition) -> String {
    format!(
        "{:<8} {:<28} {}: {} -> {}\n",
        row.machine.as_str(),
        row.trigger,
        row.rule,
        if row.from.is_empty() {
            "(new)".to_owned()
        } else {
            row.from.join(", ")
        },
        end(row),
    )
}

fn end(row: &Transition) -> String {
    match row.effect {
        Effect::Moves => row.to.join(" or "),
        Effect::Stays => "stays".to_owned(),
        Effect::Refuses(kind) => format!("refused, {}", status_of_refusal(kind).as_u16()),
    }
}

/// The page in docs.
pub fn page() -> String {
    let all = tables::transitions();
    let mut text = HEAD.to_owned();
    let machines = [
        (Machine::Cluster, "Cluster"),
        (Machine::Host, "Host"),
        (Machine::Pool, "Host without a cluster"),
    ];
    for (machine, title) in machines {
        let rows: Vec<&Transition> = all.iter().filter(|row| row.machine == machine).collect();
        let _ = write!(text, "\n## {title}\n\n{}\n", diagram(&rows));
        let mut triggers: Vec<&str> = Vec::new();
        for row in &rows {
            if !triggers.contains(&row.trigger) {
                triggers.push(row.trigger);
            }
        }
        for trigger in triggers {
            let rows = rows.iter().filter(|row| row.trigger == trigger);
            let cells = rows.map(|row| {
                vec![
                    (row.order + 1).to_string(),
                    row.rule.to_owned(),
                    if row.from.is_empty() {
                        "(new)".to_owned()
                    } else {
                        row.from.join(", ")
                    },
                    end(row),
                ]
            });
            let _ = write!(
                text,
                "\n### {title}: {trigger}\n\n{}",
                table(&["#", "rule", "in", "leads to"], cells)
            );
        }
    }
    text
}

/// Mermaid, one arrow per pair of statuses.
fn diagram(rows: &[&Transition]) -> String {
    let mut arrows = BTreeSet::new();
    for row in rows {
        for to in &row.to {
            if row.from.is_empty() {
                arrows.insert(("[*]".to_owned(), name(to)));
            }
            for from in row.from.iter().filter(|from| *from != to) {
                arrows.insert((name(from), name(to)));
            }
        }
    }
    let mut text = "```mermaid\nstateDiagram-v2\n".to_owned();
    for (from, to) in arrows {
        let _ = writeln!(text, "  {from} --> {to}");
    }
    text.push_str("```\n");
    text
}

/// Mermaid takes no dashes in names.
fn name(status: &str) -> String {
    status.replace('-', "_")
}
