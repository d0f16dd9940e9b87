//! Validations for people.

use std::fmt::Write;

use anyhow::bail;
use muster_engine::tables::{self, Validation};

use serde_json::{Value, json};

use super::{similar, table};
use crate::output::Printed;

const HEAD: &str = "# Validations\n\nMade by `make bless` from the tables in `crates/engine/src/checks`; do not edit.\n\n\
A validation ends as `success`, `failure`, `pending` (not enough is known yet), `error` (what is\n\
known cannot be read) or `disabled` (switched off by the service's configuration). While one that\n\
blocks something does not succeed, the host or cluster does not get past that point. Ignored\n\
validations still run and are shown, but block nothing.\n\n\
`muster explain validations <id>` prints one of them.\n";

/// All in short, or one in full.
pub fn explain(id: Option<&str>) -> anyhow::Result<Printed> {
    let all = tables::validations();
    let Some(wanted) = id else {
        let line = |check: &Validation| {
            format!(
                "{:<8} {:<12} {:<56} {}\n",
                check.subject, check.category, check.id, check.gate
            )
        };
        return Ok(Printed {
            text: all.iter().map(line).collect(),
            json: all.iter().map(row).collect(),
        });
    };
    let found: Vec<&Validation> = all.iter().filter(|check| check.id == wanted).collect();
    if found.is_empty() {
        let names = all.iter().map(|check| check.id.as_str());
        bail!("{wanted:?} is not a validation{}", similar(wanted, names));
    }
    let json = found.iter().copied().map(row).collect();
    let mut text = String::new();
    for check in found {
        let _ = write!(
            text,
            "{} ({} validation, category {})\n  checks:     {}\n  blocks:     {}\n  ignorable:  {}\n\n",
            check.id,
            check.subject,
            check.category,
            check.asks,
            check.gate,
            if check.ignorable { "yes" } else { "no" },
        );
    }
    Ok(Printed { text, json })
}

fn row(check: &Validation) -> Value {
    json!({
        "id": check.id,
        "subject": check.subject,
        "category": check.category,
        "checks": check.asks,
        "blocks": check.gate,
        "ignorable": check.ignorable,
    })
}

/// The page in docs.
pub fn page() -> String {
    let all = tables::validations();
    let mut text = HEAD.to_owned();
    for subject in ["host", "cluster"] {
        let mut categories: Vec<&str> = Vec::new();
        for check in all.iter().filter(|check| check.subject == subject) {
            if !categories.contains(&check.category) {
                categories.push(check.category);
            }
        }
        for category in categories {
            let rows = all
                .iter()
                .filter(|check| check.subject == subject && check.category == category)
                .map(|check| {
                    vec![
                        format!("`{}`", check.id),
                        check.asks.clone(),
                        check.gate.to_owned(),
                        if check.ignorable { "yes" } else { "no" }.to_owned(),
                    ]
                });
            let _ = write!(
                text,
                "\n## {}: {category}\n\n{}",
                if subject == "host" { "Host" } else { "Cluster" },
                table(&["id", "checks", "blocks", "ignorable"], rows)
            );
        }
    }
    text
}
