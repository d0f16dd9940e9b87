//! `muster`: all that a person runs.
//!
//! Nothing but a map from commands to functions. Results go to standard output, notes and
//! progress to standard error. Exit code 0 is success, 1 a failure, 2 wrong usage or a bad
//! configuration.

mod agent;
mod agent_config;
mod backup;
mod completion;
mod connection;
mod container;
mod coreos;
mod create;
mod deploy;
mod diagnostics;
mod doctor;
mod explain;
mod first_screen;
mod format;
mod get;
mod image_based;
mod iso;
mod keys;
mod live_iso;
mod logging;
mod login;
mod migrate;
mod node0;
mod openshift_install;
mod os_images;
mod output;
mod own_service;
mod password;
mod progress;
mod reach;
mod rehearse;
mod release;
mod reload;
mod serve;
mod settings;
mod simulate;
mod stop;
mod terminal;
mod version;
mod wait;
mod wait_for;
mod watch;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

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
    /// Simulate a fleet of hosts: discovery, installation and faults, without any machine.
    Simulate(Box<simulate::Simulate>),
    /// Boot the cluster of an install-config in virtual machines, before any hardware is touched.
    Rehearse(rehearse::Rehearse),
    /// Log in to a service; later commands use this login.
    Login(login::LogIn),
    /// End the login.
    Logout(login::LogOut),
    /// Show clusters, infra-envs, hosts, events or versions of a service.
    Get(get::Get),
    /// Wait until a cluster or a host has a status.
    Wait(wait::Wait),
    /// Show live what happens to clusters and hosts.
    Watch(watch::Watch),
    /// Follow a user-provisioned installation to its end.
    WaitFor(wait_for::WaitFor),
    /// Explain the rules: states, validations, events, steps, fields of files.
    Explain(explain::Explain),
    /// Create files a cluster is installed from: install-config, manifests, Ignition, credentials.
    Create(create::Create),
    /// The agent-based installer: one image for all machines of a cluster, no service to run.
    Agent(Box<agent::Agent>),
    /// Print which of these files follows from which, for Graphviz.
    Graph(agent::Graph),
    /// Print the OS stream metadata of a release.
    #[command(name = "coreos")]
    CoreOs(coreos::CoreOs),
    /// Validate an install-config: every problem, its line and a fix.
    Check(create::Check),
    /// Prepare machines from a seed image, and configure them at their site.
    ImageBased(Box<image_based::ImageBased>),
    /// Inspect or change a CoreOS live image.
    Iso(iso::Iso),
    /// Make an image that boots the service.
    LiveIso(live_iso::LiveIso),
    /// List, add, fetch, verify or remove the OS images from which boot images are made.
    OsImages(os_images::OsImages),
    /// Inspect a release payload, or extract files, tools and the base ISO.
    Release(Box<release::Release>),
    /// Check this machine and the configuration of the service, and print what to fix.
    Doctor(doctor::Doctor),
    /// Print or write files that run the service under podman or Kubernetes.
    Deploy(deploy::Deploy),
    /// Write everything a service keeps into one file, while it runs.
    Backup(backup::Backup),
    /// Restore a service from such a file.
    Restore(backup::Restore),
    /// Copy the database, or the stored files, to another place: SQLite to PostgreSQL and back.
    Migrate(migrate::Migrate),
    /// Replace keys of the service.
    Keys(keys::Keys),
    /// Run the service of an agent-based installation on its rendezvous host.
    #[command(hide = true)]
    Node0(node0::Command),
    /// Hash a password for a user of `auth.users`: asked for on a terminal, else read from standard input.
    HashPassword,
    /// Run as one of the containers of the reference's pod.
    #[command(hide = true)]
    Container(container::Container),
    /// Print the version of this program, and of a service.
    Version(version::Version),
    /// Print the OpenAPI document of the REST API.
    Openapi,
    /// Print the completion script of a shell.
    Completion(completion::Completion),
    /// Write a manual page for every command.
    #[command(hide = true)]
    Man(completion::Man),
    /// Print every setting with its variables, default and meaning, as Markdown.
    Settings(settings::Settings),
}

fn main() -> ExitCode {
    let words = match openshift_install::respelled(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(error) => return output::failure(&error),
    };
    let program = words.first().cloned();
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return match error.use_stderr() {
                true => openshift_install::usage_error(program.as_ref(), error.kind()),
                false => ExitCode::SUCCESS,
            };
        }
    };
    match cli.command {
        Command::Serve(serve) => serve::run(serve),
        Command::Simulate(simulate) => simulate::run(*simulate),
        Command::Rehearse(rehearse) => rehearse::run(&rehearse),
        Command::Login(login) => output::report(login.run()),
        Command::Logout(logout) => output::report(logout.run()),
        Command::Get(get) => get::run(&get),
        Command::Wait(wait) => output::print(wait.run(), wait.output),
        Command::Watch(watch) => watch::run(watch),
        Command::WaitFor(wait) => wait_for::run(wait, wait_for::Kind::UserProvisioned),
        Command::Explain(explain) => explain::run(&explain),
        Command::Create(create) => create::run(create),
        Command::Agent(command) => agent::run(*command),
        Command::Graph(graph) => graph.write(&muster_assets::graph::dot()),
        Command::CoreOs(command) => output::report(coreos::run(&command)),
        Command::Check(check) => output::report(create::check(&check)),
        Command::ImageBased(command) => image_based::run(*command),
        Command::Iso(iso) => iso::run(iso),
        Command::LiveIso(live_iso) => live_iso::run(live_iso),
        Command::OsImages(command) => os_images::run(command),
        Command::Release(command) => release::run(*command),
        Command::Doctor(doctor) => doctor::run(&doctor),
        Command::Deploy(deploy) => output::report(deploy::run(&deploy)),
        Command::Backup(backup) => output::print(backup::run(&backup), backup.printed),
        Command::Restore(restore) => output::print(backup::restore(&restore), restore.printed),
        Command::Migrate(migrate) => output::print(migrate::run(&migrate), migrate.output),
        Command::Keys(keys) => keys::run(&keys),
        Command::Node0(command) => node0::run(command),
        Command::HashPassword => output::report(password::hash()),
        Command::Container(container) => container::run(&container),
        Command::Version(version) => version::run(&version),
        Command::Openapi => output::json(&muster_api::openapi3()),
        Command::Completion(shell) => output::report(completion::script(&shell, Cli::command())),
        Command::Man(man) => output::report(completion::pages(&man, Cli::command())),
        Command::Settings(settings) => output::print(Ok(settings::all()), settings.output),
    }
}
