//! Other people's programs: run to the end, or kept running and ended with us.

use std::{
    ffi::OsStr,
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// A command that finds administrators' programs too.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command
}

/// Runs a command and returns what it printed; it must succeed.
///
/// # Errors
/// When it cannot be started or fails; with the end of what it complained about.
pub fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {name}; `scripts/prepare testbed` installs it"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name}: {}\n{}", output.status, last_lines(&said, 12));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The last lines of a text.
#[must_use]
pub fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// A program in the background; it ends when this goes away.
#[derive(Debug)]
pub struct Background {
    name: String,
    child: Child,
}

impl Background {
    /// Starts it with its output in a file.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(name: &str, command: &mut Command, log: &Path) -> Result<Self> {
        let file = File::options().create(true).append(true).open(log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| {
                format!("cannot start {name}; `scripts/prepare testbed` installs it")
            })?;
        Ok(Self {
            name: name.to_owned(),
            child,
        })
    }

    /// Fails if it has ended, with the end of its log.
    ///
    /// # Errors
    /// When it has.
    pub fn must_live(&mut self, log: &Path) -> Result<()> {
        if let Some(status) = self.child.try_wait()? {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            bail!("{} ended ({status}):\n{}", self.name, last_lines(&said, 12));
        }
        Ok(())
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When it has not after this time.
    pub fn wait(&mut self, limit: Duration) -> Result<()> {
        eventually(limit, &format!("{} to end", self.name), || {
            Ok(self.child.try_wait()?.map(|_| ()))
        })
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        // It may have ended by itself; then there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end and waits for it.
    ///
    /// # Errors
    /// When it does not end.
    pub fn terminate(&mut self, limit: Duration) -> Result<()> {
        run(command("kill").arg(self.child.id().to_string()))?;
        self.wait(limit)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Asks until there is an answer.
///
/// # Errors
/// The question's, or that there was no answer in time.
pub fn eventually<T>(
    limit: Duration,
    what: &str,
    mut question: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(answer) = question()? {
            return Ok(answer);
        }
        if start.elapsed() > limit {
            bail!("waited {} s for {what}", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
