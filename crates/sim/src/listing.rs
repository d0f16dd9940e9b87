//! The list of topologies, features and faults, as Markdown that is readable unrendered.

use crate::{fault::Fault, feature::Feature, topology::Topology};

/// What `muster simulate --list` prints and the manual shows.
#[must_use]
pub fn list() -> String {
    let mut text = String::from("| topology | what |\n|---|---|\n");
    for (name, _, about) in Topology::all() {
        text += &format!("| `{name}` | {about} |\n");
    }
    text += "\n| feature | what |\n|---|---|\n";
    for (name, _, about) in Feature::all() {
        text += &format!("| `{name}` | {about} |\n");
    }
    text += "\n| fault | the host … | how a service shows it |\n|---|---|---|\n";
    for fault in Fault::all() {
        let sign = fault.sign().words();
        text += &format!("| `{fault}` | {} | {sign} |\n", fault.about());
    }
    text
}
