//! Hashes for the configuration, so that no password is written into it.

use std::io::{self, IsTerminal, Read, Write};

use anyhow::{Context, bail};

/// Reads a password and prints its hash.
pub fn hash() -> anyhow::Result<String> {
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        let _ = write!(
            io::stderr(),
            "password (shown as you type; pipe it in to avoid that): "
        );
    }
    let mut password = String::new();
    if input.is_terminal() {
        io::stdin()
            .read_line(&mut password)
            .context("reading the password")?;
    } else {
        input
            .read_to_string(&mut password)
            .context("reading the password")?;
    }
    let password = password.trim_end_matches(['\n', '\r']);
    if password.len() < 8 {
        bail!("a password needs at least 8 characters");
    }
    muster_auth::hash_password(password).context("hashing the password")
}
