//! The settings of a service, for commands that work on what it keeps.

use std::path::PathBuf;

use anyhow::anyhow;
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
