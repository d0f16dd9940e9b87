//! `muster`: all that a person runs.
//!
//! Nothing but a map from commands to functions. Results go to standard output, notes and
//! progress to standard error. Exit code 0 is success, 1 a failure, 2 wrong usage or a bad
//! configuration.

mod agent_config;
mod create;
mod diagnostics;
mod explain;
mod iso;
mod logging;
mod os_images;
mod output;
mod own_service;
mod password;
mod rehearse;
mod release;
mod reload;
mod serve;
mod simulate;
mod stop;
mod watch;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Gathers bare machines into an OpenShift or OKD cluster.
#[derive(Debug, Parser)]
#[command(
    name = "muster",
    version,
    about,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service: REST API v2, embedded database, no configuration needed.
    Serve(serve::Serve),
    /// Simulate a fleet of hosts: discovery, installation and faults, without a single machine.
    Simulate(Box<simulate::Simulate>),
    /// Boot the cluster of an install-config in virtual machines, before any hardware is touched.
    Rehearse(rehearse::Rehearse),
    /// Show live what happens to clusters and hosts.
    Watch(watch::Watch),
    /// Explain the rules: states, validations, events, steps, fields of files.
    Explain(explain::Explain),
    /// Create files a cluster is installed from: install-config, manifests, Ignition, log-ins.
    Create(create::Create),
    /// Print which of these files follows from which, for Graphviz.
    Graph,
    /// Validate an install-config: every problem, its line and a fix.
    Check(create::Check),
    /// Look into a CoreOS live image, or change it.
    Iso(iso::Iso),
    /// List, add, fetch or verify the OS images from which boot images are made.
    OsImages(os_images::OsImages),
    /// Look into a release payload, or take files, tools and the base ISO out of it.
    Release(Box<release::Release>),
    /// Hash a password for a user of `auth.users` (read from standard input).
    HashPassword,
    /// Print the OpenAPI document of the REST API.
    Openapi,
    /// Print every setting with its variables, default and meaning, as Markdown.
    Settings,
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Serve(serve) => serve::run(serve),
        Command::Simulate(simulate) => simulate::run(*simulate),
        Command::Rehearse(rehearse) => rehearse::run(&rehearse),
        Command::Watch(watch) => watch::run(watch),
        Command::Explain(explain) => explain::run(&explain),
        Command::Create(create) => create::run(create),
        Command::Graph => output::text(&muster_assets::graph::dot()),
        Command::Check(check) => output::report(create::check(&check)),
        Command::Iso(iso) => iso::run(iso),
        Command::OsImages(command) => os_images::run(command),
        Command::Release(command) => release::run(*command),
        Command::HashPassword => output::report(password::hash()),
        Command::Openapi => output::json(&muster_api::openapi3()),
        Command::Settings => output::text(&muster_config::markdown()),
    }
}
