//! `muster login` and `muster logout`.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, bail};
use clap::Args;
use muster_api::client::Client;

use crate::{
    connection::{Connection, Login, Target, explained},
    create::ask,
    own_service::log_in,
};

/// Log in to a service; later commands use this login.
///
/// Address, CA and token are kept in ~/.config/muster/login.json, readable by you only. On a
/// terminal the password is asked for; programs pass it as MUSTER_PASSWORD or on standard input.
#[derive(Args)]
pub struct LogIn {
    #[command(flatten)]
    connection: Connection,
    /// Name to log in with [default: admin]
    #[arg(long)]
    user: Option<String>,
    /// Password to log in with; better as MUSTER_PASSWORD, as every user can read a command line
    #[arg(long, env = "MUSTER_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// Print the token of this login, or of the last one if it still holds, for other clients
    #[arg(long)]
    print_token: bool,
}

/// Leaves out the password.
impl std::fmt::Debug for LogIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogIn")
            .field("connection", &self.connection)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// End the login: the token becomes invalid everywhere.
#[derive(Debug, Args)]
pub struct LogOut {
    #[command(flatten)]
    connection: Connection,
}

impl LogIn {
    /// Logs in and remembers it.
    pub fn run(self) -> anyhow::Result<String> {
        let runtime = runtime()?;
        let known = self.connection.target()?;
        if self.print_token
            && let Some(token) = &known.token
            && runtime.block_on(known.client()?.get("clusters")).is_ok()
        {
            return Ok(token.clone());
        }
        let target = Target {
            token: None,
            ..known
        };
        let client = target.client()?;
        let mut login = Login {
            url: target.url.clone(),
            ca_pem: target.ca_pem.clone(),
            ..Login::default()
        };
        // Asked first: a service without users needs no password.
        if runtime.block_on(is_open(&client, &target))? {
            let path = login.write()?;
            return Ok(format!(
                "{} lets everyone in (auth.mode none): no login is needed; later commands use it \
                 ({})",
                target.url,
                path.display()
            ));
        }
        let (user, password) = self.credentials()?;
        let token = runtime
            .block_on(log_in(&client, &user, &password))
            .with_context(|| format!("logging in at {}", target.url))?;
        login.token = Some(token.clone());
        login.user = Some(user.clone());
        let path = login.write()?;
        if self.print_token {
            return Ok(token);
        }
        Ok(format!(
            "logged in at {} as {user}; later commands use this login ({})",
            target.url,
            path.display()
        ))
    }

    fn credentials(&self) -> anyhow::Result<(String, String)> {
        let person = io::stdin().is_terminal();
        let user = match (&self.user, person && self.password.is_none()) {
            (Some(user), _) => user.clone(),
            (None, true) => ask::line("User", "admin", |_| Ok(()))?,
            (None, false) => "admin".to_owned(),
        };
        let password = match (&self.password, person) {
            (Some(password), _) => password.clone(),
            (None, true) => ask::secret("Password", |_| Ok(()))?,
            (None, false) => {
                let mut text = String::new();
                io::stdin()
                    .read_to_string(&mut text)
                    .context("reading the password from standard input")?;
                text.trim_end_matches(['\n', '\r']).to_owned()
            }
        };
        if password.is_empty() {
            bail!("there is no password: type it, pipe it in or set MUSTER_PASSWORD");
        }
        Ok((user, password))
    }
}

impl LogOut {
    /// Ends the login.
    pub fn run(&self) -> anyhow::Result<String> {
        let target = self.connection.target()?;
        if target.token.is_none() {
            Login::forget()?;
            return Ok("there was no login".to_owned());
        }
        let ended = runtime()?.block_on(target.client()?.log_out());
        Login::forget()?;
        match ended {
            Ok(()) => Ok(format!("logged out of {}", target.url)),
            Err(error) => Err(explained(error, &target.url))
                .context("the token was forgotten here, but the service did not end it"),
        }
    }
}

/// Whether the service answers without a login.
async fn is_open(client: &Client, target: &Target) -> anyhow::Result<bool> {
    match client.get("clusters").await {
        Ok(_) => Ok(true),
        Err(error) if error.status().is_some_and(|status| status.as_u16() == 401) => Ok(false),
        Err(error) => Err(explained(error, &target.url)),
    }
}

/// Enough for one call after the other.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}
