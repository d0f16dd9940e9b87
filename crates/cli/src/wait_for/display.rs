//! How the account is shown: lines with a live status on a terminal, log lines otherwise, JSON on
//! request; and everything in the log file of the directory.

use std::{
    fs::{File, OpenOptions},
    io::{self, IsTerminal as _, Write},
    path::Path,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use muster_tracking::{Level, Line, Outcome, Sink, Status};
use serde_json::json;

use super::closing::Closing;

/// The log file of the directory.
pub const LOG: &str = ".openshift_install.log";
/// Without a terminal no longer silence than this.
const SILENCE: Duration = Duration::from_secs(60);

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The display.
pub struct Display {
    format: Format,
    least: Level,
    log: Option<File>,
    is_live: bool,
    status_shown: bool,
    last: Instant,
}

impl Display {
    /// Lines of at least this level; the log file gets all of them.
    pub fn new(format: Format, least: Level, dir: &Path) -> Self {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.join(LOG));
        Self {
            format,
            least,
            log: log.ok(),
            is_live: format == Format::Text && io::stderr().is_terminal(),
            status_shown: false,
            last: Instant::now(),
        }
    }

    /// The end.
    pub fn finish(&mut self, outcome: &Outcome, closing: &Closing) {
        self.clear_status();
        let lines = match self.is_live {
            true => &closing.lines,
            false => &closing.log,
        };
        match (self.format, outcome) {
            (Format::Json, Outcome::Reached) => {
                self.json(&json!({"outcome": "reached", "details": closing.lines}));
            }
            (Format::Json, Outcome::Failed { code, reason }) => {
                self.json(
                    &json!({"outcome": "failed", "exit_code": code, "reason": reason,
                                  "details": closing.lines}),
                );
            }
            (Format::Text, Outcome::Reached) => {
                for line in lines {
                    self.print("info", line);
                }
            }
            (Format::Text, Outcome::Failed { reason, .. }) => {
                for line in lines {
                    self.print("warning", line);
                }
                self.print("error", reason);
            }
        }
    }

    fn print(&mut self, level: &str, text: &str) {
        self.keep(level, text);
        self.clear_status();
        let text = match (self.is_live, level) {
            (true, "info" | "debug") => format!("{}  {text}\n", clock()),
            (true, _) => format!("{}  \u{1b}[1m{level}\u{1b}[0m: {text}\n", clock()),
            // As `agent create` writes it.
            (false, _) => format!("level={level} msg={text:?}\n"),
        };
        let _ = io::stderr().lock().write_all(text.as_bytes());
        self.last = Instant::now();
    }

    /// JSON is a result, so it goes to standard output.
    fn json(&mut self, value: &serde_json::Value) {
        let mut out = io::stdout().lock();
        let _ = writeln!(out, "{value}").and_then(|()| out.flush());
        self.last = Instant::now();
    }

    fn keep(&mut self, level: &str, text: &str) {
        if let Some(log) = &mut self.log {
            let now = Timestamp::now();
            // A log that cannot be written must not end the account.
            let _ = writeln!(log, "time=\"{now}\" level={level} msg={text:?}");
        }
    }

    fn clear_status(&mut self) {
        if std::mem::take(&mut self.status_shown) {
            let _ = io::stderr().lock().write_all(b"\r\x1b[K");
        }
    }
}

impl Sink for Display {
    fn line(&mut self, line: &Line, status: &Status) {
        let level = match line.level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        if line.level < self.least {
            self.keep(level, &line.text);
            return;
        }
        match self.format {
            Format::Text => self.print(level, &line.text),
            Format::Json => {
                self.keep(level, &line.text);
                self.json(
                    &json!({"time": Timestamp::now().to_string(), "level": level,
                                  "phase": status.phase, "message": line.text}),
                );
            }
        }
    }

    fn status(&mut self, status: &Status) {
        if self.is_live {
            let width = 110;
            let text = present(status);
            let text: String = text.chars().take(width).collect();
            let _ = io::stderr()
                .lock()
                .write_all(format!("\r\x1b[K{text}").as_bytes());
            self.status_shown = true;
            return;
        }
        if self.last.elapsed() < SILENCE {
            return;
        }
        match self.format {
            Format::Text => self.print("info", &present(status)),
            Format::Json => self.json(&json!({"time": Timestamp::now().to_string(),
                "level": "info", "phase": status.phase, "waiting_for": status.waiting_for,
                "phase_seconds": status.since.as_secs()})),
        }
    }
}

/// What happens now, in one line.
fn present(status: &Status) -> String {
    let seconds = status.since.as_secs();
    format!(
        "… {} for {} min {:02} s; waiting for {}",
        status.phase.name(),
        seconds / 60,
        seconds % 60,
        status.waiting_for
    )
}

fn clock() -> String {
    Timestamp::now().strftime("%H:%M:%S").to_string()
}
