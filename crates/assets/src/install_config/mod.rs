//! `install-config.yaml`: read, converted, filled in, judged, written back.
//!
//! ```text
//! bytes ── spanned_yaml ── schema::walk ── InstallConfig ── convert ── defaults ── rules
//!          where it is     right form      typed           old spelling  what is    what must
//!                                                                        left out   hold
//! ```
//!
//! [`load`] does all of it. It gives a [`Loaded`] with the typed [`InstallConfig`] (fields are
//! named as in the file, see [`types`]) and warnings, or a [`Report`] with everything that is
//! wrong at once, each with line, column, rule and remedy. [`InstallConfig`] has what consumers
//! ask for: [`InstallConfig::cluster_domain`], [`InstallConfig::control_plane_replicas`],
//! [`Platform::name`](types::Platform::name) and so on; after loading `networking`,
//! `control_plane`, the platform and every default are there. [`to_yaml`] writes the effective
//! config in the key order of the reference; [`InstallConfig::redacted`] is what goes into the
//! cluster.
//!
//! Nothing here looks around: what depends on the machine, the release or chance comes in as
//! [`Surroundings`].

mod convert;
mod defaults;
mod draft;
mod explain;
mod render;
mod rules;
pub mod schema;
mod surroundings;
pub mod types;

use crate::{
    findings::{Finding, Report, Severity},
    spanned_yaml::{Span, decode, mask, parse},
};

pub use draft::Draft;
pub use explain::{explain, page};
pub use render::to_yaml;
pub use rules::{RULES, Rule};
pub use schema::{Release, walk::UnknownKeys};
pub use surroundings::{FipsHost, Given, Method, Surroundings};
pub use types::InstallConfig;

/// A good install-config.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Converted and with every default filled in.
    pub config: InstallConfig,
    /// Warnings, if any.
    pub report: Report,
}

/// Reads a file called `name`.
///
/// # Errors
/// Everything that is wrong with it, warnings included.
pub fn load(name: &str, bytes: &[u8], around: &mut Surroundings<'_>) -> Result<Loaded, Report> {
    let text = decode(bytes).map_err(|problem| {
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(1 << 16)]).into_owned();
        let shown = mask(&start, &[]);
        Report::new(
            name,
            shown,
            vec![Finding::of_text(problem, Severity::Error)],
        )
    })?;
    let parsed = parse(text);
    let mut findings: Vec<Finding> = Vec::new();
    let of_text = |severity| move |problem| Finding::of_text(problem, severity);
    findings.extend(parsed.problems.into_iter().map(of_text(Severity::Error)));
    findings.extend(parsed.oddities.into_iter().map(of_text(Severity::Warning)));
    let Some(root) = parsed.root else {
        if findings.iter().all(|f| f.severity != Severity::Error) {
            findings.push(empty());
        }
        return Err(Report::new(name, mask(text, &[]), findings));
    };

    let mut walked = schema::walk::walk(&root, around.given.unknown_keys, around.given.release);
    findings.append(&mut walked.findings);
    let shown = mask(text, &walked.secrets);
    let config = match serde_json::from_value::<InstallConfig>(walked.value) {
        Ok(config) => config,
        // The schema and the types disagree; a test keeps that from happening.
        Err(cause) => {
            findings.push(Finding {
                message: format!("this file cannot be read: {cause}"),
                help: "please report this: the schema allows what the types do not".to_owned(),
                ..empty()
            });
            return Err(Report::new(name, shown, findings));
        }
    };

    let mut judge = rules::Judge::new(config, walked.places, walked.broken);
    convert::convert(&mut judge);
    defaults::fill_in(&mut judge, around);
    rules::run(&mut judge, around.given);
    let (mut config, mut judged) = judge.into_parts();
    defaults::arrange(&mut config);
    findings.append(&mut judged);
    let report = Report::new(name, shown, findings);
    if report.has_errors() {
        Err(report)
    } else {
        Ok(Loaded { config, report })
    }
}

fn empty() -> Finding {
    Finding {
        severity: Severity::Error,
        rule: "required",
        path: String::new(),
        message: "there is nothing in the file".to_owned(),
        help: "`muster create install-config` writes one; `muster explain install-config` tells what goes in".to_owned(),
        span: Span::default(),
    }
}

#[cfg(test)]
mod tests;
