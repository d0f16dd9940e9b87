//! Hashes for the configuration, so that no password is written into it.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, bail};

use crate::create::ask;

/// Shorter ones are refused.
const SHORTEST: usize = 8;

/// Reads a password and prints its hash. A person types it twice, unseen; a program pipes it in.
pub fn hash() -> anyhow::Result<String> {
    let password = if io::stdin().is_terminal() {
        let first = ask::secret("Password", acceptable)?;
        ask::secret("The same again", |again| match again == first {
            true => Ok(()),
            false => Err("that is another password".to_owned()),
        })?
    } else {
        let mut password = String::new();
        io::stdin()
            .read_to_string(&mut password)
            .context("reading the password from standard input")?;
        let password = password.trim_end_matches(['\n', '\r']).to_owned();
        if let Err(reason) = acceptable(&password) {
            bail!(reason);
        }
        password
    };
    muster_auth::hash_password(&password).context("hashing the password")
}

fn acceptable(password: &str) -> Result<(), String> {
    if password.len() < SHORTEST {
        return Err(format!("a password needs at least {SHORTEST} characters"));
    }
    Ok(())
}
