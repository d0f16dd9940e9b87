//! What an agent is instructed to do next.
//!
//! The service keeps no memory of steps; while a status asks for a step, each poll gets it
//! again. A step that cannot be built yet (no VIPs, no inventory …) is left out. [`table`]
//! says which status gets which steps, `args` with which arguments.

mod announce;
mod args;
mod dhcp;
mod discovery_logs;
mod ignition;
mod install;
mod installer_args;
mod kinds;
mod look_around;
mod preparation;
mod table;

use std::{fmt, time::Duration};

use muster_model::Host;
use serde::Serialize;

pub use announce::handed_out;
pub use discovery_logs::{discovery_logs, discovery_logs_due};
pub use ignition::{Endpoint, endpoint};
pub use kinds::{StepType, UnknownStep};
pub use table::{StepRow, table};

use crate::{agent_json, settings::Settings, view::Environment};

/// One instruction; the shell adds a step id. Arguments may hold tokens, so `Debug` shows none.
#[derive(Clone, PartialEq, Eq)]
pub struct Step {
    /// Kind.
    pub step_type: StepType,
    /// Its arguments, most of them JSON texts.
    pub args: Vec<String>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.args.len();
        write!(f, "Step({}, {count} args)", self.step_type)
    }
}

/// The answer to a poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// What to do, in order.
    pub steps: Vec<Step>,
    /// When to ask again.
    pub interval: Duration,
    /// Stop asking after that: the agent must restart and register.
    pub exit: bool,
}

/// The next steps of the agent of `host`. [`handed_out`] returns what handing them out changes.
#[must_use]
pub fn next(host: &Host, around: &Environment<'_>, settings: &Settings) -> Steps {
    if let Some(image) = wanted_agent(host, settings) {
        let step_type = StepType::UpgradeAgent;
        let args = vec![json(&Upgrade { agent_image: image })];
        return Steps {
            steps: vec![Step { step_type, args }],
            interval: settings.polling.normal,
            exit: false,
        };
    }
    let row = table::row_of(host);
    let steps = row
        .steps()
        .filter(|step_type| !settings.disabled_steps.contains(step_type))
        .filter_map(|step_type| {
            let args = args::of(step_type, host, around, settings)?;
            Some(Step { step_type, args })
        })
        .collect();
    Steps {
        steps,
        interval: row.pace.interval(&settings.polling),
        exit: row.pace.exit(),
    }
}

#[derive(Serialize)]
struct Upgrade<'a> {
    agent_image: &'a str,
}

/// The image the agent must be exchanged for first, if so.
///
/// An agent that names no image cannot be exchanged for one. One that said it was upgraded is
/// not asked again: behind a proxy that drops the version header we would never see it, and
/// the reference asks for ever.
pub(crate) fn newer_agent<'s>(host: &Host, settings: &'s Settings) -> Option<&'s str> {
    let image = settings.upgrade_agent_to.as_deref()?;
    let present = host.discovery_agent_version.as_deref()?;
    let outdated = present != image && is_image(present) && !host.agent_upgrade.succeeded(image);
    outdated.then_some(image)
}

/// The same, where the host may be asked now.
fn wanted_agent<'s>(host: &Host, settings: &'s Settings) -> Option<&'s str> {
    let allowed = table::UPGRADABLE.contains(&host.status)
        && !settings.disabled_steps.contains(&StepType::UpgradeAgent);
    newer_agent(host, settings).filter(|_| allowed)
}

/// A container image as agents name theirs, not a program's name and version.
fn is_image(text: &str) -> bool {
    text.contains(['/', ':', '@']) && !text.contains(char::is_whitespace)
}

/// An argument: fields are written in the order of their struct, which is alphabetical as in
/// the reference.
fn json<T: Serialize>(value: &T) -> String {
    agent_json::text(value)
}

#[cfg(test)]
mod install_tests;
#[cfg(test)]
mod tests;
