//! `muster version`: of this program, and of a service if one is asked.

use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use muster_model::Arch;
use serde_json::json;

use crate::{
    connection::{Connection, explained},
    create::{assets::chosen_release, native::variable, recipe::Product},
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
    /// Print it as openshift-install does: version and image of the release that is installed by
    /// default.
    #[arg(long, hide = true, conflicts_with = "service")]
    as_installer: bool,
    #[command(flatten)]
    output: format::Output,
    #[command(flatten)]
    connection: Connection,
}

/// Prints it.
pub fn run(version: &Version) -> ExitCode {
    let own = env!("CARGO_PKG_VERSION");
    if version.as_installer {
        return output::report(of_installer(own));
    }
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

/// The lines that scripts look for.
fn of_installer(own: &str) -> anyhow::Result<String> {
    let named = variable("OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE");
    // An image whose name does not contain its version is asked for it when it is installed.
    let version = named.as_deref().map(|_| "unknown");
    let known = chosen_release(
        named.as_deref(),
        None,
        false,
        Product::Openshift,
        Arch::X86_64,
    );
    let release = match known {
        Ok(release) => release,
        Err(_) => chosen_release(
            named.as_deref(),
            version,
            false,
            Product::Openshift,
            Arch::X86_64,
        )?,
    };
    let release = release.context("the catalogue recommends no release")?;
    Ok(format!(
        "openshift-install {}\nbuilt from muster {own}\nrelease image {}\nrelease architecture {}\n",
        release.version,
        release.image,
        Arch::X86_64.go()
    ))
}

fn components(connection: &Connection) -> anyhow::Result<serde_json::Value> {
    let target = connection.target()?;
    let answer = runtime()?.block_on(target.client()?.get("component-versions"));
    let mut answer = answer.map_err(|error| explained(error, &target.url))?;
    Ok(answer["versions"].take())
}
