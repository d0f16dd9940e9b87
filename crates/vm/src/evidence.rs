//! Where machines leave logs, and what is printed when one fails.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::program::last_lines;

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct Evidence {
    folder: PathBuf,
}

impl Evidence {
    /// A folder, made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn at(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        Ok(Self { folder })
    }

    /// A part of it, for one machine.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn part(&self, name: &str) -> Result<Self> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file's text without what only terminals understand.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let bytes = fs::read(self.file(name)).unwrap_or_default();
        plain(&String::from_utf8_lossy(&bytes))
    }

    /// What a person should read first when this machine did not do what it should.
    #[must_use]
    pub fn summary(&self) -> String {
        let console = self.text("console.log");
        let journal = self.text("journal.log");
        let mut summary = format!("the end of its console:\n{}\n", last_lines(&console, 15));
        let mut seen = HashSet::new();
        let relevant = journal
            .lines()
            .filter(|line| names_a_cause(line) && seen.insert(gist(line)));
        // What comes first is the cause, the rest its consequences.
        let relevant: Vec<&str> = relevant.take(15).collect();
        if !relevant.is_empty() {
            let complaints = relevant.join("\n");
            summary += &format!("what its journal complained about first:\n{complaints}\n");
        }
        summary + &format!("more in {}", self.folder.display())
    }
}

/// A line without what differs each time it is said again: times and numbers.
fn gist(line: &str) -> String {
    line.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Lines that tend to name the cause, without those that only repeat that there was one, and
/// without those that every machine of ours says.
fn names_a_cause(line: &str) -> bool {
    const RELEVANT: [&str; 12] = [
        "error",
        "Error",
        "ERROR",
        "failed",
        "Failed",
        "WARN",
        "cannot",
        "not found",
        "refused",
        "denied",
        "no medium",
        "no root file system",
    ];
    const ECHO: [&str; 10] = [
        "selinux.service",
        "/run/network/ifstate",
        "libnm-device-plugin",
        "OnFailure=",
        "Dependency failed",
        "failed with result",
        "Failed with result",
        "status=1/FAILURE",
        "command line",
        "kernel: ",
    ];
    RELEVANT.iter().any(|word| line.contains(word)) && !ECHO.iter().any(|word| line.contains(word))
}

/// Text without escape sequences and carriage returns.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => {
                if characters.next_if_eq(&'[').is_some() {
                    while characters.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                }
                characters.next();
            }
            '\r' => {}
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use super::*;

    #[test]
    fn colours_and_cursor_moves_do_not_hide_words() {
        let said =
            "\u{1b}[0;32m  OK  \u{1b}[0m] Started \u{1b}[0;1;39magent\u{1b}[0m.\r\n\u{1b}cnext";
        assert_eq!(plain(said), "  OK  ] Started agent.\nnext");
    }

    #[test]
    fn repeated_messages_are_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let evidence = Evidence::at(folder.path()).unwrap();
        let journal =
            "[ 1.5] agent[7]: WARN refused wait=1\n[ 12.25] agent[7]: WARN refused wait=29\n";
        fs::write(evidence.file("journal.log"), journal).unwrap();
        let summary = evidence.summary();
        assert_eq!(summary.matches("WARN refused").count(), 1, "{summary}");
    }

    #[test]
    fn a_summary_names_the_line_with_the_cause_and_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let evidence = Evidence::at(folder.path()).unwrap();
        fs::write(evidence.file("console.log"), "one\ntwo\n").unwrap();
        let journal = "all is well\nlive-sysroot: no medium with the volume id x, which coreos.liveiso asks for\n";
        fs::write(evidence.file("journal.log"), journal).unwrap();
        let summary = evidence.summary();
        assert!(
            summary.contains("no medium with the volume id x"),
            "{summary}"
        );
        assert!(!summary.contains("all is well"), "{summary}");
        assert!(
            summary.ends_with(&*folder.path().to_string_lossy()),
            "{summary}"
        );
    }
}
