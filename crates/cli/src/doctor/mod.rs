//! `muster doctor`: is this machine, with this configuration, fit to run the service?
//!
//! Each check is a row of [`CHECKS`]: a name and a function that looks at one thing and returns a
//! [`Finding`] with a fix. Deciding what a figure means is in [`rules`], without I/O.

mod checks;
mod network;
mod rules;

use std::{process::ExitCode, time::Duration};

use clap::Args;
use futures::future::BoxFuture;
use muster_config::Config;
use serde_json::json;

use crate::{format, output, settings::OfService};

/// Longest time one check may take.
const LIMIT: Duration = Duration::from_secs(20);

/// Check this machine and the configuration of the service, and print what to fix.
///
/// Exit code 1 if the service would not work.
#[derive(Debug, Args)]
pub struct Doctor {
    #[command(flatten)]
    output: format::Output,
    /// Nothing that leaves this machine: no names, registries or time servers are asked
    #[arg(long)]
    offline: bool,
    #[command(flatten)]
    of: OfService,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Ok,
    /// Could not be found out, or does not apply.
    Skipped,
    /// Works, but hardly as intended.
    Warning,
    /// Does not work.
    Problem,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) level: Level,
    pub(crate) text: String,
    pub(crate) fix: Option<String>,
}

impl Finding {
    pub(crate) fn ok(text: impl Into<String>) -> Self {
        Self::new(Level::Ok, text, None)
    }

    pub(crate) fn skipped(text: impl Into<String>) -> Self {
        Self::new(Level::Skipped, text, None)
    }

    pub(crate) fn warning(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Level::Warning, text, Some(fix.into()))
    }

    pub(crate) fn problem(text: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::new(Level::Problem, text, Some(fix.into()))
    }

    fn new(level: Level, text: impl Into<String>, fix: Option<String>) -> Self {
        Self {
            level,
            text: text.into(),
            fix,
        }
    }
}

/// A thing to look at.
struct Check {
    name: &'static str,
    /// Whether it asks anything outside this machine.
    outside: bool,
    look: for<'a> fn(&'a Config) -> BoxFuture<'a, Finding>,
}

const CHECKS: &[Check] = &[
    Check {
        name: "address",
        outside: false,
        look: |config| Box::pin(network::address(config)),
    },
    Check {
        name: "name",
        outside: true,
        look: |config| Box::pin(network::name(config)),
    },
    Check {
        name: "port",
        outside: false,
        look: |config| Box::pin(network::port(config)),
    },
    Check {
        name: "http-port",
        outside: false,
        look: |config| Box::pin(network::http_port(config)),
    },
    Check {
        name: "certificate",
        outside: false,
        look: |config| Box::pin(checks::certificate(config)),
    },
    Check {
        name: "access",
        outside: false,
        look: |config| Box::pin(checks::access(config)),
    },
    Check {
        name: "data",
        outside: false,
        look: |config| Box::pin(checks::data(config)),
    },
    Check {
        name: "disk",
        outside: false,
        look: |config| Box::pin(checks::disk(config)),
    },
    Check {
        name: "database",
        outside: false,
        look: |config| Box::pin(checks::database(config)),
    },
    Check {
        name: "files",
        outside: false,
        look: |config| Box::pin(checks::files(config)),
    },
    Check {
        name: "agents",
        outside: false,
        look: |config| Box::pin(checks::agents(config)),
    },
    Check {
        name: "os-images",
        outside: false,
        look: |config| Box::pin(checks::os_images(config)),
    },
    Check {
        name: "os-servers",
        outside: true,
        look: |config| Box::pin(network::os_servers(config)),
    },
    Check {
        name: "mirrors",
        outside: false,
        look: |config| Box::pin(checks::mirrors(config)),
    },
    Check {
        name: "registry",
        outside: true,
        look: |config| Box::pin(network::registry(config)),
    },
    Check {
        name: "clock",
        outside: false,
        look: |config| Box::pin(checks::clock(config)),
    },
];

/// Runs all checks and prints what they found.
pub fn run(doctor: &Doctor) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    let found = match doctor.of.load() {
        Ok(loaded) => {
            let mut found = vec![("configuration", configuration(&loaded.warnings))];
            for check in CHECKS {
                let finding = if doctor.offline && check.outside {
                    Finding::skipped("not asked (--offline)")
                } else {
                    runtime.block_on(bounded((check.look)(&loaded.config)))
                };
                found.push((check.name, finding));
            }
            found
        }
        Err(error) => {
            let fix = "correct it; `muster settings` lists every setting";
            vec![("configuration", Finding::problem(format!("{error:#}"), fix))]
        }
    };
    let printed = if doctor.output.is_json() {
        as_json(&found)
    } else {
        as_text(&found)
    };
    let _ = output::text(&printed);
    let worst = found.iter().map(|(_, finding)| finding.level).max();
    if worst == Some(Level::Problem) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

async fn bounded(look: BoxFuture<'_, Finding>) -> Finding {
    let late = || {
        Finding::warning(
            "no answer within 20 seconds",
            "check the network and the disk",
        )
    };
    tokio::time::timeout(LIMIT, look)
        .await
        .unwrap_or_else(|_| late())
}

fn configuration(warnings: &[String]) -> Finding {
    match warnings {
        [] => Finding::ok("can be used"),
        _ => Finding::warning(
            warnings.join("; "),
            "`muster serve --print-config` shows where each value came from",
        ),
    }
}

fn as_text(found: &[(&str, Finding)]) -> String {
    let mut text = String::new();
    for (name, finding) in found {
        let mark = match finding.level {
            Level::Ok => "ok     ",
            Level::Skipped => "skipped",
            Level::Warning => "WARNING",
            Level::Problem => "PROBLEM",
        };
        text += &format!("{mark}  {name:<13} {}\n", finding.text);
        if let Some(fix) = &finding.fix {
            text += &format!("{:24}fix: {fix}\n", "");
        }
    }
    let count = |level| {
        found
            .iter()
            .filter(|(_, finding)| finding.level == level)
            .count()
    };
    let (problems, warnings) = (count(Level::Problem), count(Level::Warning));
    text + &format!("{problems} problems, {warnings} warnings\n")
}

fn as_json(found: &[(&str, Finding)]) -> String {
    let rows = found.iter().map(|(name, finding)| {
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Skipped => "skipped",
            Level::Warning => "warning",
            Level::Problem => "problem",
        };
        json!({"check": name, "level": level, "text": finding.text, "fix": finding.fix})
    });
    format!("{:#}", serde_json::Value::Array(rows.collect()))
}
