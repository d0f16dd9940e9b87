//! `muster backup` and `muster restore`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufReader, BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use clap::Args;
use muster_backup::Contents;
use serde_json::json;

use crate::{
    format,
    output::Printed,
    settings::{self, OfService},
};

/// Write everything a service keeps into one file, while it runs.
///
/// The file holds the database, stored files, keys and certificates; all that was answered before
/// the command started is in it. It opens everything the service has: keep it safe.
#[derive(Debug, Args)]
pub struct Backup {
    /// The file to write, which must not exist; - for standard output
    #[arg(value_name = "FILE")]
    output: PathBuf,
    /// Add the OS images in the data directory (large; they are fetched again otherwise)
    #[arg(long)]
    with_os_images: bool,
    #[command(flatten)]
    pub printed: format::Output,
    #[command(flatten)]
    of: OfService,
}

/// Restore a service from a file of `muster backup`.
///
/// The service must not run, and its data directory, database and file store must be empty. The
/// database may be of another kind than the one that was backed up.
#[derive(Debug, Args)]
pub struct Restore {
    /// The file; - for standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    pub printed: format::Output,
    #[command(flatten)]
    of: OfService,
}

/// Makes a backup.
pub fn run(backup: &Backup) -> anyhow::Result<Printed> {
    let config = backup.of.load_to_write()?;
    let installation = settings::installation(&config);
    let runtime = tokio::runtime::Runtime::new()?;
    let with = backup.with_os_images;
    if backup.output == Path::new("-") {
        let out = BufWriter::new(io::stdout().lock());
        let scratch = std::env::temp_dir();
        let contents =
            runtime.block_on(muster_backup::write(&installation, &scratch, with, out))?;
        let mut printed = summary("backup", &contents);
        let _ = writeln!(io::stderr(), "{}", printed.text);
        // The backup itself is what standard output has.
        printed.text.clear();
        return Ok(printed);
    }
    let output = std::path::absolute(&backup.output)?;
    let named = || format!("{}", output.display());
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&output)
        .with_context(named)?;
    let scratch = output.parent().unwrap_or(Path::new("/"));
    let out = BufWriter::new(file.try_clone().with_context(named)?);
    let written = runtime.block_on(muster_backup::write(&installation, scratch, with, out));
    let contents = match written {
        Ok(contents) => contents,
        Err(error) => {
            // Half a backup is worse than none.
            let _ = fs::remove_file(&output);
            return Err(error).context("no backup was made");
        }
    };
    file.sync_all().with_context(named)?;
    Ok(summary(&named(), &contents))
}

/// Restores one.
pub fn restore(restore: &Restore) -> anyhow::Result<Printed> {
    let config = restore.of.load_to_write()?;
    let installation = settings::installation(&config);
    let runtime = tokio::runtime::Runtime::new()?;
    let contents = if restore.input == Path::new("-") {
        let input = BufReader::new(io::stdin().lock());
        runtime.block_on(muster_backup::restore(&installation, input))?
    } else {
        let named = || format!("{}", restore.input.display());
        if restore.input.is_dir() {
            bail!(
                "{} is a folder; name the file that `muster backup` wrote",
                named()
            );
        }
        let file = File::open(&restore.input).with_context(named)?;
        runtime.block_on(muster_backup::restore(&installation, BufReader::new(file)))?
    };
    let folder = config.data_dir.display().to_string();
    let mut printed = summary(&folder, &contents);
    printed.text += &format!("\nstart the service on it: muster serve --data-dir {folder}");
    Ok(printed)
}

fn summary(name: &str, contents: &Contents) -> Printed {
    Printed {
        text: format!(
            "{name}: {} files, {:.1} MB, of {} (muster {}, schema version {})",
            contents.members.len(),
            contents.bytes() as f64 / 1e6,
            contents.created_at,
            contents.release,
            contents.schema
        ),
        json: json!({
            "path": name,
            "files": contents.members.len(),
            "bytes": contents.bytes(),
            "created_at": contents.created_at,
            "release": contents.release,
            "schema": contents.schema,
        }),
    }
}
