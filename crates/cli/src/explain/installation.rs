//! `muster explain installation`: the plan of the node installer for each kind of node.

use std::fmt::Write as _;

use muster_installer::plan::{Failure, Flow, Plan};
use serde_json::json;

use crate::output::Printed;

/// The plans, one after the other.
pub fn explain() -> Printed {
    let flows = Flow::ALL.iter().map(|flow| {
        let steps = Plan::full(*flow).steps;
        let steps = steps.iter().map(|step| {
            json!({
                "stage": step.stage().map(|stage| stage.as_str()),
                "step": step.summary(),
                "once": step.is_done_once(),
                "fatal": matches!(step.failure(), Failure::Fatal),
            })
        });
        json!({"node": flow.title(), "steps": steps.collect::<Vec<_>>()})
    });
    Printed {
        json: flows.collect(),
        text: text(),
    }
}

fn text() -> String {
    let mut text = String::from(
        "What the node installer does, by kind of node. The service shows the stage on the left while\n\
         the steps run. Steps marked (once) are not repeated when the installer starts again; a failure\n\
         of those marked (warning) does not end the installation.\n",
    );
    for flow in Flow::ALL {
        let _ = writeln!(text, "\n{}:", flow.title());
        for step in Plan::full(flow).steps {
            let stage = step.stage().map_or("", |stage| stage.as_str());
            let once = if step.is_done_once() { " (once)" } else { "" };
            let warning = match step.failure() {
                Failure::Warning => " (warning)",
                Failure::Fatal => "",
            };
            let _ = writeln!(text, "  {stage:<26} {}{once}{warning}", step.summary());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_ends_with_a_reboot() {
        let text = text();
        let reboots = text
            .lines()
            .filter(|line| line.trim_start().starts_with("Rebooting"));
        assert_eq!(reboots.count(), Flow::ALL.len(), "{text}");
        assert!(text.contains("write the operating system with coreos-installer (once)"));
    }
}
