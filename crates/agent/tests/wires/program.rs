//! Other people's programs, and ours: run to the end, or kept running and ended with the story.

use std::{
    ffi::OsStr,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// A command that finds administrators' programs and knows no proxy.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"] {
        command.env_remove(name).env_remove(name.to_lowercase());
    }
    command
}

/// Runs a command that must succeed; what it printed.
pub fn run(command: &mut Command) -> String {
    let line = format!("{command:?}");
    let done = command.stdin(Stdio::null()).output();
    let done = done.unwrap_or_else(|cause| {
        panic!("{line}: {cause}; `scripts/prepare test` installs what is missing")
    });
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{line}: {said}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Runs `ip` with these words where the story is.
pub fn ip(words: &str) {
    run(command("ip").args(words.split(' ')));
}

/// A program in the background; it ends when this goes away, or the story in whatever way.
#[derive(Debug)]
pub struct Background {
    child: Child,
    log: PathBuf,
}

impl Background {
    /// Starts it with its output in a file; `before` are words that lead to where it runs.
    pub fn start(before: &[String], program: &Path, args: &[&str], log: PathBuf) -> Self {
        let file = File::options().create(true).append(true).open(&log);
        let file = file.expect("a log can be written");
        let mut words = before.iter().map(String::as_str);
        let mut started = command(words.next().unwrap_or("setpriv"));
        started.args(words);
        if !before.is_empty() {
            started.arg("setpriv");
        }
        // Killing the tests kills this as well.
        started.args(["--pdeathsig", "KILL"]).arg(program);
        started.args(args).stdin(Stdio::null());
        started.stdout(file.try_clone().expect("a log can be shared"));
        let child = started.stderr(file).spawn();
        let child = child.expect("these stories need util-linux (`scripts/prepare test`)");
        Self { child, log }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All that it said.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The end of what it said.
    pub fn last_words(&self) -> String {
        let said = self.said();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }

    /// Fails the story if it has ended by itself.
    pub fn must_live(&mut self) {
        let ended = self.child.try_wait().expect("a child can be asked for");
        assert!(ended.is_none(), "{ended:?}: {}", self.last_words());
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
