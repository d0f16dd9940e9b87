//! The command line: ours, and the reference's under its own names.
//!
//! Boot images, units and daemon sets made for the reference start its program with flags in
//! the way of Go: one dash or two, `--flag value` or `--flag=value`, booleans with or without
//! a value. All of that is understood, so `muster-agent` can stand where `agent` or
//! `next_step_runner` stood.

mod logs;
mod site;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand};
use uuid::Uuid;

pub use logs::LogsOptions;
use muster_installer::options::InstallOptions;
pub use site::Site;

use crate::{
    link::{Directions, TokenSource},
    session::Mode,
};

/// What runs on a machine being installed: registers it with a service, looks around and does
/// what the service asks.
#[derive(Debug, Parser)]
#[command(name = "muster-agent", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    /// What to do instead of talking to a service.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to reach the service.
    #[command(flatten)]
    pub session: SessionOptions,
    /// Where messages go.
    #[command(flatten)]
    pub logging: Logging,
}

/// Other commands than the session with the service.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Do one step by hand and print its result
    Step {
        /// The kind of step, for example domain-resolution
        kind: String,
        /// Its arguments, as a service would send them
        #[arg(allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Install this machine, as the service's `install` step asks for: its disk is overwritten
    Install(Box<InstallOptions>),
    /// Prepare this machine from a seed image, in the live system of a factory: its disk is
    /// overwritten
    ImageBasedInstall(crate::image_based::ImageBasedOptions),
    /// Check this machine against the requirements of a service, without registering it
    Check(CheckOptions),
    /// Print the id this machine registers with
    HostId,
    /// Bring the installation of the cluster this runs in to the end, as
    /// `assisted-installer-controller` does
    #[command(hide = true)]
    Controller(Box<muster_controller::ControllerOptions>),
    /// Collect the logs of this machine and send them to the service, as `logs_sender` does
    #[command(hide = true)]
    SendLogs(LogsOptions),
    /// Find out whether this host is the rendezvous host of an agent-based installation
    NodeZero(crate::node_zero::NodeZero),
    /// Collect what shows why this host does not get on, without secrets, as `agent-gather` does
    Gather(crate::gather::Gather),
    #[command(flatten)]
    Look(crate::commands::Command),
}

/// What `check` needs to know.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// URL of the service
    #[arg(long, value_name = "URL")]
    pub service: String,
    /// Cluster whose requirements count [default: those of a usual cluster]
    #[arg(long, value_name = "ID")]
    pub cluster_id: Option<Uuid>,
    /// PEM file with the CA of the service, trusted beside those of the system
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long)]
    pub insecure: bool,
    /// File with the token, alone or as a line PULL_SECRET_TOKEN=…
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl CheckOptions {
    /// The way to the service.
    #[must_use]
    pub fn directions(&self) -> Directions {
        Directions {
            url: self.service.clone(),
            cacert: self.cacert.clone(),
            insecure: self.insecure,
            token: token(self.token_file.clone()),
        }
    }
}

/// How to reach the service.
#[derive(Debug, Args)]
pub struct SessionOptions {
    /// URL of the service
    #[arg(long, env = "MUSTER_URL", value_name = "URL")]
    pub url: Option<String>,
    /// Infra-env this machine belongs to
    #[arg(long, value_name = "ID")]
    pub infra_env_id: Option<Uuid>,
    /// Id of this machine [default: from its board, firmware or network cards]
    #[arg(long, env = "DRY_HOST_ID", alias = "force-id", value_name = "ID")]
    pub host_id: Option<Uuid>,
    /// What this agent calls itself; the service may decide otherwise
    #[arg(long, value_name = "NAME")]
    pub agent_version: Option<String>,
    /// Longest wait between attempts to register, in seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS")]
    pub interval: u64,
    /// PEM file with certificates to trust beside those of the system; read again when it changes
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    pub insecure: bool,
    /// File with the token, alone or as a line PULL_SECRET_TOKEN=…; read again when it changes
    /// [default: the environment variable PULL_SECRET_TOKEN]
    #[arg(long, env = "PULL_SECRET_TOKEN_FILE", value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The token that the image brought along, for want of another.
    #[arg(skip)]
    pub site_token: TokenSource,
    /// Register, do one round of polling, deliver its results, and end
    #[arg(long)]
    pub once: bool,
    /// Not offered: `muster simulate` does what the reference's dry run did
    #[arg(long, env = "DRY_ENABLE", hide = true, action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_value_t = false, default_missing_value = "true")]
    pub dry_run: bool,
}

/// Where messages go.
#[derive(Clone, Copy, Debug, Args)]
pub struct Logging {
    /// To the journal, under TAG=agent, where there is one
    #[arg(long, global = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = true, default_missing_value = "true")]
    pub with_journal_logging: bool,
    /// To /var/log/<name>.log
    #[arg(long, global = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    pub with_text_logging: bool,
    /// To standard output (standard error is used where there is no journal)
    #[arg(long, global = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    pub with_stdout_logging: bool,
}

impl SessionOptions {
    /// The way to the service.
    ///
    /// # Errors
    /// There is no URL.
    pub fn directions(&self) -> anyhow::Result<Directions> {
        let url = self.url.clone().filter(|url| !url.is_empty());
        let url = url.ok_or_else(|| anyhow::anyhow!("where is the service? Give --url"))?;
        let mut token = token(self.token_file.clone());
        token.given = token.given.or_else(|| self.site_token.given.clone());
        Ok(Directions {
            url,
            cacert: self.cacert.clone(),
            insecure: self.insecure,
            token,
        })
    }

    /// The infra-env.
    ///
    /// # Errors
    /// None was given.
    pub fn infra_env(&self) -> anyhow::Result<Uuid> {
        self.infra_env_id.ok_or_else(|| {
            anyhow::anyhow!("which infra-env does this machine belong to? Give --infra-env-id")
        })
    }

    /// Longest wait between attempts to register.
    #[must_use]
    pub fn interval(&self) -> Duration {
        Duration::from_secs(self.interval.clamp(1, 3600))
    }
}

/// The token travels in the environment or a file, so that it shows up in no process list.
fn token(file: Option<PathBuf>) -> TokenSource {
    let given = std::env::var("PULL_SECRET_TOKEN").ok();
    TokenSource {
        file,
        given: given
            .map(|token| token.trim().to_owned())
            .filter(|token| !token.is_empty()),
    }
}

/// Names under which the reference's program is started, and what they mean here.
const OTHER_NAMES: &[(&str, &[&str])] = &[
    ("inventory", &["inventory"]),
    ("free_addresses", &["step", "free-network-addresses"]),
    (
        "disk_speed_check",
        &["step", "installation-disk-speed-check"],
    ),
    ("logs_sender", &["send-logs"]),
    ("agent-gather", &["gather"]),
    ("assisted-installer", &["install"]),
    ("assisted-installer-controller", &["controller"]),
];

/// What this process was started as, and its arguments in our own form.
#[must_use]
pub fn understood(given: impl IntoIterator<Item = OsString>) -> (Mode, Vec<OsString>) {
    let mut given = given.into_iter();
    let program = given.next().unwrap_or_else(|| "muster-agent".into());
    let name = PathBuf::from(&program);
    let name = name
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let mode = if name == "next_step_runner" {
        Mode::Runner
    } else {
        Mode::Agent
    };
    let mut args = vec![program.clone()];
    if let Some((_, words)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        args.extend(words.iter().map(OsString::from));
        args.extend(given.map(with_two_dashes));
        return (mode, args);
    }
    args.extend(given.map(with_two_dashes));
    (mode, args)
}

/// `-url` means `--url`; `-h` and `-V` stay.
fn with_two_dashes(arg: OsString) -> OsString {
    match arg.to_str() {
        Some(text) if text.starts_with('-') && !text.starts_with("--") && text.len() > 2 => {
            format!("-{text}").into()
        }
        _ => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> (Mode, Result<Cli, clap::Error>) {
        let (mode, args) = understood(words.iter().map(OsString::from));
        (mode, Cli::try_parse_from(args))
    }

    const ENV: &str = "4d5b53bf-e799-b31f-f374-432d47187920";

    #[test]
    fn the_reference_s_unit_and_daemon_set_are_understood() {
        let (mode, cli) = parse(&[
            "/usr/local/bin/agent",
            "--url",
            "https://a:8090/",
            "--infra-env-id",
            ENV,
            "--agent-version",
            "quay.io/x:1",
            "--insecure=false",
            "--cacert",
            "/etc/ca.crt",
        ]);
        let cli = cli.unwrap();
        assert_eq!(mode, Mode::Agent);
        assert!(!cli.session.insecure && cli.session.cacert.is_some());
        let url = format!("-infra-env-id={ENV}");
        let (mode, cli) = parse(&[
            "/usr/bin/next_step_runner",
            "-url=https://a",
            &url,
            "-host-id",
            ENV,
            "-agent-version=x",
            "-insecure=true",
            "-with-journal-logging=false",
            "-with-stdout-logging=true",
        ]);
        let cli = cli.unwrap();
        assert_eq!(mode, Mode::Runner);
        assert!(cli.session.insecure && !cli.logging.with_journal_logging);
        assert!(cli.logging.with_stdout_logging);
        assert_eq!(cli.session.host_id, Some(ENV.parse().unwrap()));
    }

    #[test]
    fn a_bare_boolean_is_true_and_does_not_eat_what_follows() {
        let (_, cli) = parse(&["agent", "--insecure", "--url", "http://a"]);
        let cli = cli.unwrap();
        assert!(cli.session.insecure && cli.session.url.is_some());
        assert!(parse(&["agent", "--insecure=perhaps"]).1.is_err());
        assert!(parse(&["agent", "--infra-env-id", "x"]).1.is_err());
    }

    #[test]
    fn the_small_programs_of_the_reference_are_steps_here() {
        let (_, cli) = parse(&["/usr/bin/free_addresses", r#"["10.0.0.0/24"]"#]);
        let Some(Command::Step { kind, args }) = cli.unwrap().command else {
            panic!("no step");
        };
        assert_eq!((kind.as_str(), args.len()), ("free-network-addresses", 1));
    }

    #[test]
    fn the_controller_is_known_by_the_reference_s_name() {
        let (_, cli) = parse(&[
            "/usr/bin/assisted-installer-controller",
            "--cluster-id",
            ENV,
            "--inventory-url=http://a",
            "--openshift-version=4.20.1",
        ]);
        let Some(Command::Controller(options)) = cli.unwrap().command else {
            panic!("no controller");
        };
        assert_eq!(options.namespace, "assisted-installer");
    }

    #[test]
    fn arguments_of_a_step_may_begin_with_a_dash() {
        let (_, cli) = parse(&[
            "muster-agent",
            "step",
            "inventory",
            "x",
            "--output-max-size=5",
        ]);
        let Some(Command::Step { args, .. }) = cli.unwrap().command else {
            panic!("no step");
        };
        assert_eq!(args, ["x", "--output-max-size=5"]);
    }
}
