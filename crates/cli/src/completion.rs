//! `muster completion` and `muster man`: made from the definitions of the commands themselves.

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;

/// Print the completion script of a shell.
///
/// For example: source <(muster completion bash)
#[derive(Debug, Args)]
pub struct Completion {
    /// The shell
    shell: Shell,
}

/// Write a manual page for every command.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder for the pages, made if it is missing
    folder: PathBuf,
}

/// The script of a shell.
pub fn script(completion: &Completion, mut command: Command) -> anyhow::Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(completion.shell, &mut command, "muster", &mut script);
    Ok(String::from_utf8(script)?)
}

/// Writes the pages.
pub fn pages(man: &Man, command: Command) -> anyhow::Result<String> {
    let named = || man.folder.display().to_string();
    fs::create_dir_all(&man.folder).with_context(named)?;
    clap_mangen::generate_to(command, &man.folder).with_context(named)?;
    Ok(format!("manual pages written to {}", named()))
}
