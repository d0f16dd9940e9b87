//! Parity with the reference, name by name. Names come from the contract (enums of the OpenAPI
//! document) and the event catalogue; what is not the same is in `parity.tsv`. A name that
//! neither the tables nor the file know shows as MISSING, which a test forbids.

use std::{collections::BTreeMap, fmt::Write};

use muster_engine::{
    StepType,
    events::{EVENTS, Owner},
    tables::{self, Machine},
};
use muster_model::{FinalizingStage, HostStage};
use serde_json::{Value, json};

use super::table;
use crate::output::Printed;

const HEAD: &str = "# Parity with the reference\n\nMade by `make bless` from the contract, the rule tables and `crates/cli/src/explain/parity.tsv`;\n\
do not edit. Every status, stage, validation, step and event that clients of the reference know:\n\
**same** (same name, same meaning), **better** (same name; the difference is described), **left out** (with\n\
the reason). Words of messages are our own everywhere.\n";

/// Every name with its difference.
pub fn explain() -> Printed {
    let rows = sections().into_iter().flat_map(|(title, rows)| {
        rows.into_iter().map(move |row| {
            json!({"kind": title, "name": row.name, "here": row.rating, "why": row.note})
        })
    });
    Printed {
        json: rows.collect(),
        text: page(),
    }
}

struct Row {
    name: String,
    rating: String,
    note: String,
}

/// Titles with their names.
fn sections() -> Vec<(&'static str, Vec<Row>)> {
    let notes = Notes::read();
    let document = muster_api::openapi3();
    let mut sections = Vec::new();
    for topic in topics() {
        let names = topic.names(&document).into_iter();
        let rows = names.map(|name| {
            let (rating, note) = notes.rating(topic.kind, &name, &topic.ours);
            Row { name, rating, note }
        });
        sections.push((topic.title, rows.collect()));
    }
    let events = EVENTS.iter().map(|kind| {
        let ours = match kind.owner {
            Owner::Unused => Vec::new(),
            Owner::Engine | Owner::Service | Owner::Client => vec![kind.name.to_owned()],
        };
        let (rating, note) = match notes.rating("event", kind.name, &ours) {
            (rating, _) if rating == MISSING => ("left out".to_owned(), kind.when.to_owned()),
            noted => noted,
        };
        Row {
            name: kind.name.to_owned(),
            rating,
            note,
        }
    });
    sections.push(("Events", events.collect()));
    sections
}

/// The page in docs.
fn page() -> String {
    let mut text = HEAD.to_owned();
    for (title, rows) in sections() {
        let rows = rows
            .into_iter()
            .map(|row| vec![format!("`{}`", row.name), row.rating, row.note]);
        let _ = write!(
            text,
            "\n## {title}\n\n{}",
            table(&["name", "here", "how or why"], rows)
        );
    }
    let notes = Notes::read();
    let choices = notes.of("choice");
    let rows = choices.map(|(name, note)| vec![name.to_owned(), note.to_owned()]);
    let _ = write!(
        text,
        "\n## Defects of the reference that are not reproduced\n\n{}",
        table(&["what", "here"], rows)
    );
    text
}

const MISSING: &str = "MISSING";

struct Topic {
    kind: &'static str,
    title: &'static str,
    /// JSON pointers to enums in the document.
    pointers: &'static [&'static str],
    /// What the tables know.
    ours: Vec<String>,
}

impl Topic {
    fn names(&self, document: &Value) -> Vec<String> {
        let mut names: Vec<String> = self
            .pointers
            .iter()
            .filter_map(|pointer| document.pointer(pointer)?.as_array())
            .flatten()
            .filter_map(|name| Some(name.as_str()?.to_owned()))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

fn topics() -> Vec<Topic> {
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let validations = |subject: &str| {
        let all = tables::validations().into_iter();
        all.filter(|check| check.subject == subject)
            .map(|check| check.id)
            .collect()
    };
    vec![
        Topic {
            kind: "cluster status",
            title: "Cluster statuses",
            pointers: &["/components/schemas/cluster/properties/status/enum"],
            ours: owned(tables::statuses(Machine::Cluster)),
        },
        Topic {
            kind: "host status",
            title: "Host statuses",
            pointers: &["/components/schemas/host/properties/status/enum"],
            ours: owned(tables::statuses(Machine::Host)),
        },
        Topic {
            kind: "stage",
            title: "Host stages",
            pointers: &["/components/schemas/host-stage/enum"],
            ours: owned(HostStage::ALL.iter().map(|stage| stage.as_str()).collect()),
        },
        Topic {
            kind: "finalizing stage",
            title: "Finalizing stages",
            pointers: &["/components/schemas/finalizing-stage/enum"],
            ours: owned(
                FinalizingStage::ALL
                    .iter()
                    .map(|stage| stage.as_str())
                    .collect(),
            ),
        },
        Topic {
            kind: "host validation",
            title: "Host validations",
            pointers: &["/components/schemas/host-validation-id/enum"],
            ours: validations("host"),
        },
        Topic {
            kind: "cluster validation",
            title: "Cluster validations",
            pointers: &["/components/schemas/cluster-validation-id/enum"],
            ours: validations("cluster"),
        },
        Topic {
            kind: "step",
            title: "Steps",
            pointers: &["/components/schemas/step-type/enum"],
            ours: owned(StepType::ALL.iter().map(|step| step.as_str()).collect()),
        },
    ]
}

/// What differs: kind and name to rating and words.
struct Notes(BTreeMap<(String, String), (String, String)>);

impl Notes {
    fn read() -> Self {
        let rows = include_str!("parity.tsv")
            .lines()
            .filter(|line| !line.starts_with('#'));
        let cells = rows.filter_map(|line| {
            let mut cells = line.splitn(4, '\t').map(str::to_owned);
            Some((
                (cells.next()?, cells.next()?),
                (cells.next()?, cells.next()?),
            ))
        });
        Self(cells.collect())
    }

    fn rating(&self, kind: &str, name: &str, ours: &[String]) -> (String, String) {
        match self.0.get(&(kind.to_owned(), name.to_owned())) {
            Some(noted) => noted.clone(),
            None if ours.iter().any(|known| known == name) => ("same".to_owned(), String::new()),
            None => (MISSING.to_owned(), String::new()),
        }
    }

    fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let of_kind = self.0.iter().filter(move |((k, _), _)| k == kind);
        of_kind.map(|((_, name), (_, note))| (name.as_str(), note.as_str()))
    }
}
