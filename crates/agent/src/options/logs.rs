//! The command line of `logs_sender`, by which installers ask for the logs of their machine.

use std::{convert::Infallible, fmt, net::IpAddr, path::PathBuf, str::FromStr};

use clap::{ArgAction, Args};
use uuid::Uuid;

use super::token;
use crate::link::Directions;

/// What the reference's `logs_sender` takes; installers start it by that name.
#[derive(Debug, Args)]
pub struct LogsOptions {
    /// URL of the service
    #[arg(long, value_name = "URL")]
    url: String,
    /// Cluster this machine belongs to
    #[arg(long, value_name = "ID")]
    cluster_id: Uuid,
    /// Id of this machine
    #[arg(long, value_name = "ID")]
    host_id: Uuid,
    /// Infra-env this machine belongs to
    #[arg(long, value_name = "ID", default_value_t = Uuid::nil())]
    infra_env_id: Uuid,
    /// The token; better in the environment variable PULL_SECRET_TOKEN, where fewer can see it
    #[arg(long, value_name = "TOKEN")]
    pull_secret_token: Option<Token>,
    /// From where on journals are read
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// This machine leads the installation
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    bootstrap: bool,
    /// Collect kernel log and journal, too, and on the leading machine what others have
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    with_installer_gather_logging: bool,
    /// Addresses of the other machines of the control plane, separated by commas
    #[arg(long, value_name = "ADDRESSES", value_delimiter = ',')]
    masters_ips: Vec<IpAddr>,
    /// PEM file with the CA of the service, trusted beside those of the system
    #[arg(long, value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Do not check the certificate of the service
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    insecure: bool,
    /// Without meaning here: nothing is written that would have to be cleaned up
    #[arg(long, hide = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true")]
    dont_clean: bool,
}

/// A token; never printed.
#[derive(Clone)]
struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl FromStr for Token {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl LogsOptions {
    /// The way to the service.
    #[must_use]
    pub fn directions(&self) -> Directions {
        let mut source = token(None);
        if let Some(Token(given)) = &self.pull_secret_token {
            source.given = Some(given.clone());
        }
        Directions {
            url: self.url.clone(),
            cacert: self.cacert.clone(),
            insecure: self.insecure,
            token: source,
        }
    }

    /// The same as the argument of a step.
    #[must_use]
    pub fn request(&self) -> String {
        serde_json::json!({
            "cluster_id": self.cluster_id, "host_id": self.host_id,
            "infra_env_id": self.infra_env_id, "bootstrap": self.bootstrap,
            "installer_gather": self.with_installer_gather_logging,
            "master_ips": self.masters_ips, "since": self.since,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser;

    use super::super::{Cli, Command, understood};

    const ENV: &str = "4d5b53bf-e799-b31f-f374-432d47187920";

    fn parse(words: &[&str]) -> Result<Cli, clap::Error> {
        let (_, args) = understood(words.iter().map(OsString::from));
        Cli::try_parse_from(args)
    }

    #[test]
    fn the_installer_may_call_for_logs_as_it_always_did() {
        let cli = parse(&[
            "logs_sender",
            "-url",
            "https://a:8090",
            "-cluster-id",
            ENV,
            "-host-id",
            ENV,
            "-infra-env-id",
            ENV,
            "--insecure=false",
            "-bootstrap=true",
            "-with-installer-gather-logging=true",
            "-masters-ips=192.0.2.1,192.0.2.2",
            "-pull-secret-token",
            "very-secret",
        ]);
        let Some(Command::SendLogs(options)) = cli.unwrap().command else {
            panic!("no logs");
        };
        let request: serde_json::Value = serde_json::from_str(&options.request()).unwrap();
        assert_eq!(request["master_ips"][1], "192.0.2.2");
        assert_eq!(request["bootstrap"], true);
        assert!(!format!("{options:?}").contains("very-secret"));
        assert_eq!(
            options.directions().token.token().as_deref(),
            Some("very-secret")
        );
        assert!(parse(&["logs_sender", "-url=https://a"]).is_err());
    }
}
