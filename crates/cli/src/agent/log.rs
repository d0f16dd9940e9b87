//! Messages of a command: on standard error, and all of them in the log file of the directory.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use clap::ValueEnum;

/// Name of the log file, as the reference has it.
const LOG_FILE: &str = ".openshift_install.log";
/// Flags whose values are not recorded.
const SECRET_FLAGS: &[&str] = &["--key", "--master", "--insecure-seed", "--token"];

/// Which messages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Level {
    /// Only what ends the command.
    #[value(alias = "panic", alias = "fatal")]
    Error,
    /// And what should be known.
    #[value(alias = "warning")]
    Warn,
    /// And what happens.
    Info,
    /// And details.
    #[value(alias = "trace")]
    Debug,
}

/// Messages of one command.
#[derive(Clone)]
pub struct Log {
    shown: Level,
    file: Option<Arc<Mutex<File>>>,
}

impl Log {
    /// Opens the log file of a directory. A directory that cannot be written is reported by those
    /// who write more important things.
    pub fn open(directory: &Path, shown: Level) -> Self {
        let file = fs::create_dir_all(directory).and_then(|()| {
            OpenOptions::new()
                .create(true)
                .append(true)
                .open(directory.join(LOG_FILE))
        });
        let log = Self {
            shown,
            file: file.ok().map(|file| Arc::new(Mutex::new(file))),
        };
        log.record("debug", &command_line());
        log.record("debug", concat!("muster ", env!("CARGO_PKG_VERSION")));
        log
    }

    pub fn error(&self, message: &str) {
        self.write(Level::Error, message);
    }

    pub fn warn(&self, message: &str) {
        self.write(Level::Warn, message);
    }

    pub fn info(&self, message: &str) {
        self.write(Level::Info, message);
    }

    pub fn debug(&self, message: &str) {
        self.write(Level::Debug, message);
    }

    fn write(&self, level: Level, message: &str) {
        self.record(level.word(), message);
        if level > self.shown {
            return;
        }
        let mut err = io::stderr().lock();
        for line in message.lines() {
            // A closed standard error cannot be reported anywhere.
            let _ = if err.is_terminal() {
                writeln!(err, "{:<5} {line}", level.word().to_uppercase())
            } else {
                writeln!(err, "level={} msg={line:?}", level.word())
            };
        }
    }

    /// Writes to the log file only.
    pub fn record(&self, level: &str, message: &str) {
        let Some(file) = &self.file else {
            return;
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let now = jiff::Timestamp::now();
        for line in message.lines() {
            let _ = writeln!(file, "time=\"{now:.0}\" level={level} msg={line:?}");
        }
    }
}

impl Level {
    /// As the log file has it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// The command line without values of secret flags.
fn command_line() -> String {
    let mut words = Vec::new();
    let mut hide_next = false;
    for word in std::env::args() {
        if hide_next {
            words.push("***".to_owned());
            hide_next = false;
            continue;
        }
        match word.split_once('=') {
            Some((flag, _)) if SECRET_FLAGS.contains(&flag) => words.push(format!("{flag}=***")),
            _ => {
                hide_next = SECRET_FLAGS.contains(&word.as_str());
                words.push(word);
            }
        }
    }
    words.join(" ")
}
