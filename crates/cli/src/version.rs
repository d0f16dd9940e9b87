//! `muster version`: of this program, and of a service if one is asked.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::{
    connection::{Connection, explained},
    format,
    login::runtime,
    output,
};

/// Print the version of this program and, with --service, of the service.
#[derive(Debug, Args)]
pub struct Version {
    /// Ask the service, too
    #[arg(long)]
    service: bool,
    #[command(flatten)]
    output: format::Output,
    #[command(flatten)]
    connection: Connection,
}

/// Prints it.
pub fn run(version: &Version) -> ExitCode {
    let own = env!("CARGO_PKG_VERSION");
    let mut text = format!("muster {own}\n");
    let mut json = json!({ "muster": own });
    if version.service || version.connection.url.is_some() {
        match components(&version.connection) {
            Ok(components) => {
                for (name, value) in components.as_object().into_iter().flatten() {
                    let value = value.as_str().unwrap_or_default();
                    text += &format!("{name} {value}\n");
                }
                json["service"] = components;
            }
            Err(error) => return output::failure(&error),
        }
    }
    match version.output.is_json() {
        true => output::json(&json),
        false => output::text(&text),
    }
}

fn components(connection: &Connection) -> anyhow::Result<serde_json::Value> {
    let target = connection.target()?;
    let answer = runtime()?.block_on(target.client()?.get("component-versions"));
    let mut answer = answer.map_err(|error| explained(error, &target.url))?;
    Ok(answer["versions"].take())
}
