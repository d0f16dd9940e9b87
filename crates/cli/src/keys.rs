//! `muster keys`: changing the keys of a service.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_auth::files::{self, Readers};
use muster_model::Secret;
use muster_store::{SealingKey, StoreError};
use serde_json::json;

use crate::{
    format,
    output::{self, Printed},
    settings::OfService,
};

/// Replace keys of the service.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a new sealing key and seal all secrets in the database under it. Stop the service first.
    RotateSealing {
        #[command(flatten)]
        output: format::Output,
        #[command(flatten)]
        of: OfService,
    },
}

/// Does what was asked for.
pub fn run(keys: &Keys) -> ExitCode {
    match &keys.command {
        Command::RotateSealing { of, output } => output::print(rotate_sealing(of), *output),
    }
}

/// The new key is on disk before the first row is written under it, and the old one is kept: at no
/// moment can a power cut leave a database without its key.
fn rotate_sealing(of: &OfService) -> anyhow::Result<Printed> {
    let config = of.load()?.config;
    if !config.database.sealing_key.is_empty() {
        bail!(
            "the sealing key comes from the setting database.sealing_key, of which other replicas have \
             copies; only a key in keys/sealing.key can be replaced"
        );
    }
    let current = config.data_dir.join("keys/sealing.key");
    let next = current.with_extension("key.new");
    let old = read(&current)?;
    let text = match fs::read_to_string(&next) {
        // An earlier run ended before its work was done.
        Ok(text) => Secret::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = SealingKey::generate()?;
            let content = format!("{}\n", text.reveal());
            files::create(&next, content.as_bytes(), Readers::OwnerOnly)
                .with_context(|| next.display().to_string())?;
            text
        }
        Err(error) => return Err(error).with_context(|| next.display().to_string()),
    };
    let new = SealingKey::parse(&text, next.display().to_string())?;
    let runtime = tokio::runtime::Runtime::new()?;
    let url = config.database.url.reveal();
    let sealed = runtime.block_on(muster_store::reseal(url, old, new.clone()));
    let mut sealed_now = None;
    let outcome = match sealed {
        Ok(count) => {
            sealed_now = Some(count);
            format!("{count} secrets are sealed under a new key")
        }
        // The database is under the new key already: only the files were left to exchange.
        Err(StoreError::WrongKey { .. }) => {
            runtime.block_on(muster_store::reseal(url, new.clone(), new))?;
            "an interrupted rotation was completed".to_owned()
        }
        Err(error) => return Err(error).context("the key was not replaced"),
    };
    let kept = kept(&current);
    fs::rename(&current, &kept).with_context(|| kept.display().to_string())?;
    fs::rename(&next, &current).with_context(|| current.display().to_string())?;
    fs::File::open(config.data_dir.join("keys"))?.sync_all()?;
    Ok(Printed {
        text: format!(
            "{outcome}; the old key is in {}: backups of before need it",
            kept.display()
        ),
        json: json!({"secrets": sealed_now, "old_key": kept}),
    })
}

fn read(path: &Path) -> anyhow::Result<SealingKey> {
    let named = || path.display().to_string();
    let text = fs::read_to_string(path).with_context(named)?;
    Ok(SealingKey::parse(&Secret::new(text), named())?)
}

/// A name for the old key that is not taken.
fn kept(current: &Path) -> PathBuf {
    let day = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
    current.with_extension(format!("key.until-{day}"))
}
