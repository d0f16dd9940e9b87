//! Runs the installer: files in, files out, its output passed through.

use std::{
    collections::{BTreeMap, VecDeque},
    fs, io,
    path::Path,
    process::Stdio,
    time::Duration,
};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::{Installer, InstallerError, sandbox};

/// Files of a directory, by their paths below it.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Lines that a message quotes.
const QUOTED: usize = 20;
/// More than any set of assets has.
const LARGEST: u64 = 512 << 20;

/// What the installer is to do.
pub struct Run<'a> {
    /// What to create, as its command line calls it: `manifests`, `ignition-configs` …
    pub target: &'a str,
    /// What lies in its directory before.
    pub files: Files,
    /// All the environment it sees, besides where its home is.
    pub environment: Vec<(String, String)>,
    /// Whether it may use the network.
    pub network: bool,
    /// After this long it is stopped.
    pub timeout: Duration,
}

impl std::fmt::Debug for Run<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Files and environment may hold secrets.
        out.debug_struct("Run")
            .field("target", &self.target)
            .field("network", &self.network)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Installer {
    /// Runs it in a directory of its own and returns the files it leaves there. What it writes to
    /// its terminal is printed line by line.
    ///
    /// # Errors
    /// When it cannot be run, fails, is killed or does not end; nothing is left behind then.
    pub async fn run(
        &self,
        run: &Run<'_>,
        mut print: impl FnMut(&str),
    ) -> Result<Files, InstallerError> {
        let sandbox = tempfile::Builder::new()
            .prefix("muster-installer-")
            .tempdir()
            .map_err(system("making a directory for the installer"))?;
        let assets = sandbox.path().join("assets");
        let home = sandbox.path().join("home");
        for folder in [&assets, &home] {
            fs::create_dir(folder).map_err(system(format!("making {}", folder.display())))?;
        }
        put(&assets, &run.files)?;

        let mut process = sandbox::command(&self.program, run.network).await?;
        process
            .args(["create", run.target, "--dir"])
            .arg(&assets)
            .current_dir(&assets)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &home)
            .env("TMPDIR", &home)
            .envs(run.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let command = format!("{} create {}", self.name, run.target);
        let mut child = process
            .spawn()
            .map_err(system(format!("starting {command}")))?;

        let mut last = VecDeque::new();
        let mut out = child.stdout.take().map(BufReader::new);
        let mut err = child.stderr.take().map(BufReader::new);
        let finished = async {
            while out.is_some() || err.is_some() {
                let line = tokio::select! {
                    line = next_line(&mut out), if out.is_some() => line,
                    line = next_line(&mut err), if err.is_some() => line,
                };
                if let Some(line) = line {
                    print(&line);
                    last.push_back(line);
                    if last.len() > QUOTED {
                        last.pop_front();
                    }
                }
            }
            child.wait().await
        };
        let status = tokio::time::timeout(run.timeout, finished).await;
        let output = Vec::from(last);
        match status {
            Ok(Ok(status)) if status.success() => taken(&assets),
            Ok(Ok(status)) => Err(InstallerError::Failed {
                command,
                status,
                output,
            }),
            Ok(Err(cause)) => Err(system(format!("waiting for {command}"))(cause)),
            Err(_) => Err(InstallerError::TimedOut {
                command,
                timeout: run.timeout,
                output,
            }),
        }
    }
}

/// The next line of a stream; at its end there is no stream any more.
async fn next_line(stream: &mut Option<BufReader<impl AsyncRead + Unpin>>) -> Option<String> {
    let mut line = Vec::new();
    let read = match stream {
        Some(reader) => reader.read_until(b'\n', &mut line).await,
        None => Ok(0),
    };
    if !matches!(read, Ok(length) if length > 0) {
        *stream = None;
        return None;
    }
    Some(String::from_utf8_lossy(&line).trim_end().to_owned())
}

fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> InstallerError {
    let what = what.into();
    move |source| InstallerError::System { what, source }
}

fn put(folder: &Path, files: &Files) -> Result<(), InstallerError> {
    for (name, content) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .map_err(system(format!("writing {name} for the installer")))?;
    }
    Ok(())
}

/// Everything in a directory; only plain files are trusted.
fn taken(folder: &Path) -> Result<Files, InstallerError> {
    let mut files = Files::new();
    let mut size = 0;
    let mut folders = vec![String::new()];
    while let Some(below) = folders.pop() {
        let reading = || format!("reading what the installer left in {below:?}");
        for entry in fs::read_dir(folder.join(&below)).map_err(system(reading()))? {
            let entry = entry.map_err(system(reading()))?;
            let odd = |path: String, why| InstallerError::Odd { path, why };
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    let shown = name.to_string_lossy().into_owned();
                    return Err(odd(shown, "not a name in UTF-8"));
                }
            };
            let path = match below.is_empty() {
                true => name,
                false => format!("{below}/{name}"),
            };
            // Of the link, not of what it points to.
            let facts = entry.metadata().map_err(system(reading()))?;
            if facts.is_dir() {
                folders.push(path);
                continue;
            }
            if !facts.is_file() {
                return Err(odd(path, "neither a file nor a directory"));
            }
            size += facts.len();
            if size > LARGEST {
                return Err(odd(path, "too large together with the rest"));
            }
            let content = fs::read(entry.path()).map_err(system(reading()))?;
            files.insert(path, content);
        }
    }
    Ok(files)
}
