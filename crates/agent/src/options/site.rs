//! Settings that an image brings along: a file of `NAME=value` lines, and the environment.
//!
//! Flags win over the environment, and the environment over the file.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use muster_machine::Machine;

use super::SessionOptions;

/// Where the file is.
pub const FILE: &str = "/etc/assisted/agent.conf";

/// Where podman looks for logins by itself.
const REGISTRY_AUTH: &str = "/root/.docker/config.json";

const NAMES: [&str; 4] = [
    "SERVICE_URL",
    "INFRA_ENV_ID",
    "AGENT_AUTH_TOKEN",
    "PULL_SECRET_FILE",
];

/// What the image says.
#[derive(Default)]
pub struct Site(BTreeMap<&'static str, String>);

/// Shows what is set, never to what: one of the values is a token.
impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Site {
    /// The settings of this machine and process.
    #[must_use]
    pub fn of(machine: &dyn Machine) -> Self {
        let file = machine.read(Path::new(FILE)).unwrap_or_default();
        let mut site = Self::parse(&String::from_utf8_lossy(&file));
        for name in NAMES {
            let value = std::env::var(name).ok();
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                site.0.insert(name, value);
            }
        }
        site
    }

    /// Reads the file. Comments, unknown names and lines of another form mean nothing.
    fn parse(text: &str) -> Self {
        let settings = text.lines().filter_map(|line| {
            let line = line.trim();
            let (name, value) = line
                .strip_prefix("export ")
                .unwrap_or(line)
                .split_once('=')?;
            let name = NAMES.into_iter().find(|known| *known == name.trim())?;
            let value = value.trim();
            let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            (!value.is_empty()).then(|| (name, value.to_owned()))
        });
        Self(settings.collect())
    }

    /// Fills in what the command line leaves open.
    ///
    /// # Errors
    /// `INFRA_ENV_ID` is needed and is no id.
    pub fn fill(&self, options: &mut SessionOptions) -> anyhow::Result<()> {
        if options.url.as_deref().is_none_or(str::is_empty) {
            options.url = self.0.get("SERVICE_URL").cloned();
        }
        if let (None, Some(id)) = (options.infra_env_id, self.0.get("INFRA_ENV_ID")) {
            let id = id
                .parse()
                .with_context(|| format!("INFRA_ENV_ID {id:?} is not a UUID"))?;
            options.infra_env_id = Some(id);
        }
        options.site_token.given = self.0.get("AGENT_AUTH_TOKEN").cloned();
        Ok(())
    }

    /// Puts the pull secret where podman looks for it, unless something is there already.
    pub fn place_pull_secret(&self, machine: &dyn Machine) {
        let Some(from) = self.0.get("PULL_SECRET_FILE").map(PathBuf::from) else {
            return;
        };
        let to = Path::new(REGISTRY_AUTH);
        if machine.read(to).is_ok() {
            return;
        }
        let placed = machine
            .read(&from)
            .and_then(|secret| machine.write(to, &secret, 0o600));
        if let Err(cause) = placed {
            tracing::warn!(file = %from.display(), %cause, "PULL_SECRET_FILE cannot be used");
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::options::Cli;

    const ID: &str = "4d5b53bf-e799-b31f-f374-432d47187920";

    fn site() -> Site {
        Site::parse(&format!(
            "# ours\nSERVICE_URL=\"https://a:8443\"\nexport INFRA_ENV_ID = {ID}\n\
             AGENT_AUTH_TOKEN='abc=='\nCOLOR=red\nnonsense\nPULL_SECRET_FILE=\n"
        ))
    }

    #[test]
    fn the_file_fills_in_what_the_command_line_leaves_open() {
        let mut bare = Cli::parse_from(["agent"]).session;
        site().fill(&mut bare).unwrap();
        assert_eq!(bare.url.as_deref(), Some("https://a:8443"));
        assert_eq!(bare.infra_env_id, Some(ID.parse().unwrap()));
        assert_eq!(bare.site_token.given.as_deref(), Some("abc=="));
        assert!(
            !site().0.contains_key("PULL_SECRET_FILE"),
            "an empty value is none"
        );
        let other = ID.replace('4', "5");
        let mut given =
            Cli::parse_from(["agent", "--url", "http://b", "--infra-env-id", &other]).session;
        site().fill(&mut given).unwrap();
        assert_eq!(given.url.as_deref(), Some("http://b"));
        assert_eq!(given.infra_env_id, Some(other.parse().unwrap()));
    }

    #[test]
    fn an_id_that_is_none_is_a_fault_only_where_it_is_needed() {
        let site = Site::parse("INFRA_ENV_ID=here\n");
        assert!(site.fill(&mut Cli::parse_from(["agent"]).session).is_err());
        let mut given = Cli::parse_from(["agent", "--infra-env-id", ID]).session;
        assert!(site.fill(&mut given).is_ok());
    }
}
