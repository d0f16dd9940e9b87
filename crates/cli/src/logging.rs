//! Log lines: text on a terminal, JSON otherwise, always on standard error.

use std::io::IsTerminal;

use muster_config::sections::{Log, LogFormat};
use tracing_subscriber::EnvFilter;

/// Installs the subscriber.
pub fn start(log: &Log) {
    let filter = if log.filter.is_empty() {
        // It logs every interface it reads, and what it refuses goes to the user anyway.
        format!("{},nmstate=error", log.level)
    } else {
        log.filter.clone()
    };
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let on_terminal = std::io::stderr().is_terminal();
    let colours = crate::terminal::stderr().has_colours();
    let json = match log.format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !on_terminal,
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours);
    // A second subscriber can only come from a test harness; the first one stays.
    let _ = if json {
        lines.json().flatten_event(true).try_init()
    } else {
        lines.with_target(false).try_init()
    };
}
