//! External programs: run to the end, or kept running and stopped with this process.

use std::{
    ffi::OsStr,
    fs::File,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// Folders of programs that are not in every search path.
const ADMINISTRATORS: &str = "/usr/sbin:/sbin";

/// A command that finds administrators' programs too.
#[must_use]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:{ADMINISTRATORS}"));
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
        .with_context(|| format!("cannot run {name}; {}", fix(&name)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{name}: {}\n{}", output.status, last_lines(&said, 12));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Programs of others and the packages they are in, on Debian and on Fedora or RHEL.
const PACKAGES: [(&str, &str, &str); 9] = [
    ("qemu-system-x86_64", "qemu-system-x86", "qemu-kvm"),
    ("dnsmasq", "dnsmasq-base", "dnsmasq"),
    ("chronyd", "chrony", "chrony"),
    ("ip", "iproute2", "iproute"),
    ("setpriv", "util-linux", "util-linux"),
    ("unshare", "util-linux", "util-linux"),
    ("swtpm", "swtpm", "swtpm"),
    ("tinyproxy", "tinyproxy", "tinyproxy"),
    ("curl", "curl", "curl"),
];

/// Where a program that is missing comes from.
fn fix(program: &str) -> String {
    match PACKAGES.iter().find(|(name, ..)| *name == program) {
        Some((_, debian, fedora)) if debian == fedora => format!("install the package {debian}"),
        Some((_, debian, fedora)) => {
            format!("install the package {debian} (Debian, Ubuntu) or {fedora} (Fedora, RHEL)")
        }
        None => "install it".to_owned(),
    }
}

/// Fails if one of these programs is not there, with where it comes from.
///
/// # Errors
/// When one is missing.
pub fn must_have(programs: &[&str]) -> Result<()> {
    for program in programs {
        let path = std::env::var("PATH").unwrap_or_default();
        let found = std::env::split_paths(&format!("{path}:{ADMINISTRATORS}"))
            .any(|folder| folder.join(program).is_file());
        if !found {
            bail!("{program} is missing; {}", fix(program));
        }
    }
    Ok(())
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
            // Ctrl-C is for us; what we started ends in good order, or with us.
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
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

    /// Whether it has ended by itself, and then whether it succeeded.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn ended(&mut self) -> Result<Option<bool>> {
        Ok(self.child.try_wait()?.map(|status| status.success()))
    }

    /// Ends it at once, as `kill -9` does.
    pub fn kill(&mut self) {
        // It may have ended by itself; then there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
