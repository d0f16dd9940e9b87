//! Messages of a command: on standard error as far as they were asked for, all of them in the log file
//! of the directory.

use std::{
    io::{self, Write},
    path::Path,
};

use muster_documents::findings::Report;
use muster_image_based::seed::Findings;

use crate::{
    agent::log::{Level, Log},
    diagnostics,
};

/// Messages of one command.
pub struct Messages {
    log: Log,
    shown: Level,
}

impl Messages {
    /// Opens the log file of a directory.
    pub fn open(directory: &Path, shown: Level) -> Self {
        Self {
            log: Log::open(directory, shown),
            shown,
        }
    }

    /// What happens, and what was left out.
    pub fn info(&self, text: &str) {
        self.show(Level::Info, text);
    }

    /// What should be known.
    pub fn warn(&self, text: &str) {
        self.show(Level::Warn, text);
    }

    /// What was found in a file.
    pub fn report(&self, report: &Report) {
        let level = weight(report.has_errors());
        self.log.record(level.word(), &report.to_string());
        if level <= self.shown {
            diagnostics::show(report);
        }
    }

    /// What was found about a seed.
    pub fn findings(&self, findings: &Findings) {
        self.show(weight(findings.has_errors()), &findings.to_string());
    }

    /// How the command ended, which is printed elsewhere.
    pub fn ended(&self, level: Level, text: &str) {
        self.log.record(level.word(), text);
    }

    fn show(&self, level: Level, text: &str) {
        self.log.record(level.word(), text);
        if level <= self.shown {
            // A closed standard error cannot be reported anywhere.
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

fn weight(has_errors: bool) -> Level {
    match has_errors {
        true => Level::Error,
        false => Level::Warn,
    }
}
