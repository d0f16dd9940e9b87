//! `muster keys`: changing the keys of a service, which may run.
//!
//! A running service looks at its key files every few seconds ([`crate::reload`]), so these commands
//! change files and, for the sealing key, wait until the service is done.

use std::{
    fs, io,
    path::Path,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_auth::{Former, SigningKeys};
use muster_config::Config;
use muster_service::sealing::KeyFiles;
use muster_store::StoreError;
use serde_json::json;

use crate::{
    connection, format,
    output::{self, Printed},
    settings::OfService,
};

/// A service needs a moment to notice, and some time for many secrets.
const TIMEOUT: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(200);

/// Replace keys of the service, which may run.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Keys {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a new sealing key and seal all secrets in the database under it.
    #[command(name = "rotate-sealing")]
    Sealing {
        #[command(flatten)]
        output: format::Output,
        #[command(flatten)]
        of: OfService,
    },
    /// Make a new signing key. Tokens and links signed with the old key stay valid.
    #[command(name = "rotate-signing")]
    Signing {
        /// End all logins, links and tokens of agents that were given out: booted hosts need new images
        #[arg(long)]
        end_tokens: bool,
        #[command(flatten)]
        output: format::Output,
        #[command(flatten)]
        of: OfService,
    },
    /// Make a new key and certificate of the server, signed by the same CA.
    #[command(name = "rotate-tls")]
    Tls {
        #[command(flatten)]
        output: format::Output,
        #[command(flatten)]
        of: OfService,
    },
}

/// Does what was asked for.
pub fn run(keys: &Keys) -> ExitCode {
    match &keys.command {
        Command::Sealing { of, output } => output::print(rotate_sealing(of), *output),
        Command::Signing {
            end_tokens,
            of,
            output,
        } => output::print(rotate_signing(of, *end_tokens), *output),
        Command::Tls { of, output } => output::print(rotate_tls(of), *output),
    }
}

fn rotate_sealing(of: &OfService) -> anyhow::Result<Printed> {
    let config = of.load_to_write()?;
    if !config.database.sealing_key.is_empty() {
        bail!(
            "the sealing key comes from the setting database.sealing_key, of which other replicas have \
             copies; only a key in keys/sealing.key can be replaced"
        );
    }
    let files = KeyFiles::of(&config.data_dir);
    files.read_current()?;
    files.make_next()?;
    if is_running(&config) {
        return wait_for_service(&files);
    }
    let (old, new) = (files.read_current()?, files.read_next()?);
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
    let kept = files.exchange()?;
    Ok(Printed {
        text: format!(
            "{outcome}; the old key is in {}: earlier backups need it",
            kept.display()
        ),
        json: json!({"secrets": sealed_now, "old_key": kept}),
    })
}

/// The service changes the key by itself, and then exchanges the files.
fn wait_for_service(files: &KeyFiles) -> anyhow::Result<Printed> {
    let limit = Instant::now() + TIMEOUT;
    while files.is_change_requested() {
        if Instant::now() > limit {
            bail!(
                "the service has not changed to the key in {} yet; its log says why, and it goes on trying",
                files.next.display()
            );
        }
        thread::sleep(LOOK);
    }
    Ok(Printed {
        text: "the running service has sealed all secrets under a new key; the old one is kept beside \
               it as sealing.key.until-…: earlier backups need it"
            .to_owned(),
        json: json!({"by": "service"}),
    })
}

fn rotate_signing(of: &OfService, end_tokens: bool) -> anyhow::Result<Printed> {
    let config = of.load_to_write()?;
    if !config.auth.ec_private_key.is_empty() || !config.auth.ec_public_key.is_empty() {
        bail!(
            "the signing key comes from the settings (EC_PRIVATE_KEY_PEM, EC_PUBLIC_KEY_PEM); only a key in \
             keys/token.key can be replaced"
        );
    }
    let former = match end_tokens {
        true => Former::GivenUp,
        false => Former::Kept,
    };
    let file = SigningKeys::rotate(&config.data_dir.join("keys"), former)?;
    let tokens = match former {
        Former::Kept => "what was signed before stays valid",
        Former::GivenUp => {
            "logins, links and tokens of agents have ended: log in again, boot new images"
        }
    };
    Ok(Printed {
        text: format!(
            "{} holds a new key; a running service uses it within seconds; {tokens}",
            file.display()
        ),
        json: json!({"key": file, "former_tokens_end": end_tokens}),
    })
}

fn rotate_tls(of: &OfService) -> anyhow::Result<Printed> {
    let config = of.load_to_write()?;
    if config.server.tls_cert.is_some() {
        bail!(
            "the certificate comes from server.tls_cert; replace the files of it and of server.tls_key, \
             they are reloaded automatically"
        );
    }
    let folder = config.data_dir.join("tls");
    // The certificate last: a service that looks in between makes another one for its new key.
    for name in ["server.key", "server.crt"] {
        remove(&folder.join(name))?;
    }
    Ok(Printed {
        text:
            "a running service makes a new key and certificate within seconds, another one at its \
               start; the CA stays, so hosts and clients need nothing new"
                .to_owned(),
        json: json!({"folder": folder}),
    })
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| path.display().to_string())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether a service uses the data directory now.
fn is_running(config: &Config) -> bool {
    muster_store::in_use(config.database.url.reveal()) || connection::answers(&config.data_dir)
}
