//! The settings of a service, for commands that work on what it keeps.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use anyhow::{anyhow, bail};
use clap::Args;
use muster_backup::Installation;
use muster_config::{Config, Loaded, Overrides, Sources};
use serde_json::json;

use crate::{format, output::Printed};

/// Print every setting with its variables, default and meaning, as Markdown or JSON.
#[derive(Debug, Args)]
pub struct Settings {
    #[command(flatten)]
    pub output: format::Output,
}

/// The settings there are.
pub fn all() -> Printed {
    let defaults = Config::default();
    let rows = muster_config::settings().map(|setting| {
        let mut variables: Vec<String> = setting.env.iter().map(|name| (*name).into()).collect();
        variables.push(setting.own_env());
        let field = setting.of(&defaults);
        json!({
            "key": setting.key,
            "variables": variables,
            "value": field.kind(),
            "default": setting.rule.map_or_else(|| field.show(), str::to_owned),
            "meaning": setting.help,
        })
    });
    Printed {
        json: rows.collect(),
        text: muster_config::markdown(),
    }
}

/// Which service: the same files and variables as `muster serve` reads.
#[derive(Debug, Args)]
pub struct OfService {
    /// Data directory of the service [default: as `muster serve`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<String>,
    /// Configuration file of the service [default: as `muster serve`]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Any other setting, as key=value (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl OfService {
    /// Reads them for a command that writes into the data directory.
    pub fn load_to_write(&self) -> anyhow::Result<Config> {
        let config = self.load()?.config;
        require_owner(&config.data_dir)?;
        Ok(config)
    }

    /// Reads them.
    pub fn load(&self) -> anyhow::Result<Loaded> {
        let mut flags = Overrides::default();
        flags.config_file.clone_from(&self.config);
        if let Some(folder) = &self.data_dir {
            flags = flags.set("--data-dir", "data_dir", folder);
        }
        let flags = set_each(flags, &self.set).map_err(|problem| anyhow!(problem))?;
        load(flags).map_err(|problem| anyhow!(problem))
    }
}

/// Where the parts of this service are.
pub fn installation(config: &Config) -> Installation {
    Installation {
        data_dir: config.data_dir.clone(),
        database: config.database.url.reveal().to_owned(),
        storage: config.storage.address(),
        release: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// Refuses to work as root on the data of another user: what root writes there, be it a key or the
/// log of SQLite, the service could not read.
pub fn require_owner(data_dir: &Path) -> anyhow::Result<()> {
    let Ok(folder) = fs::metadata(data_dir) else {
        return Ok(());
    };
    if !rustix::process::geteuid().is_root() || folder.uid() == 0 {
        return Ok(());
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    bail!("{}", of_another(data_dir, folder.uid(), &users));
}

fn of_another(data_dir: &Path, owner: u32, users: &str) -> String {
    let folder = data_dir.display();
    match user_name(users, owner) {
        Some(name) => format!(
            "{folder} belongs to the user {name}, who could not read what root writes there; run it as \
             that user: runuser -u {name} -- muster …   (or: sudo -u {name} muster …)"
        ),
        None => format!(
            "{folder} belongs to the user with the number {owner}, who could not read what root writes \
             there; run it as that user: setpriv --reuid={owner} --clear-groups muster …"
        ),
    }
}

/// The name of a user in the text of /etc/passwd.
fn user_name(users: &str, number: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number.to_string()).then_some(name)
    })
}

/// Adds what `--set` says.
pub fn set_each(mut flags: Overrides, items: &[String]) -> Result<Overrides, String> {
    for item in items {
        let (key, value) = item.split_once('=').ok_or_else(|| {
            format!("muster: --set {item}: write key=value, such as --set log.level=debug")
        })?;
        let setting = muster_config::settings()
            .find(|setting| setting.key == key)
            .ok_or_else(|| {
                format!(
                    "muster: --set {key}: there is no such setting; `muster settings` lists them"
                )
            })?;
        flags = flags.set("--set", setting.key, value);
    }
    Ok(flags)
}

/// Puts files, environment and flags together.
pub fn load(flags: Overrides) -> Result<Loaded, String> {
    let sources = Sources::of_process(flags).map_err(|problem| problem.to_string())?;
    Config::load(&sources).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_sent_to_the_user_whose_data_it_is() {
        let users =
            "root:x:0:0::/root:/bin/sh\nmuster:x:998:997::/var/lib/muster:/usr/sbin/nologin\n";
        let folder = Path::new("/var/lib/muster");
        let named = of_another(folder, 998, users);
        assert!(named.contains("runuser -u muster -- muster"), "{named}");
        let number = of_another(folder, 997, users);
        assert!(number.contains("--reuid=997"), "{number}");
        // A folder that will be made, and one's own.
        let own = tempfile::tempdir().unwrap();
        require_owner(own.path()).unwrap();
        require_owner(&own.path().join("missing")).unwrap();
    }

    #[test]
    fn root_does_not_work_on_the_data_of_others() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(64_000), None).unwrap();
        let refused = require_owner(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("64000"), "{refused}");
    }
}
