//! What is logged, and how.

use super::section;
use crate::choice::choice;

choice! {
    /// Log level.
    pub enum LogLevel {
        /// Everything.
        Trace = "trace",
        /// Reasons too.
        Debug = "debug",
        /// Changes that an operator cares about.
        Info = "info",
        /// What someone should look at.
        Warn = "warn" | "warning",
        /// What failed.
        Error = "error" | "fatal" | "panic",
    }
}

choice! {
    /// How a log line looks.
    pub enum LogFormat {
        /// Text on a terminal, JSON elsewhere.
        Auto = "auto",
        /// For people.
        Text = "text",
        /// One JSON object per line.
        Json = "json",
    }
}

section! {
    /// What is logged, and how.
    pub struct Log at log {
        /// Log level.
        level: LogLevel = LogLevel::Info, env ["LOG_LEVEL"];
        /// Log format; `auto` is text on a terminal and JSON elsewhere.
        format: LogFormat = LogFormat::Auto, env ["LOG_FORMAT"];
        /// Filter per module, such as `info,muster_store=debug`; overrides log.level.
        filter: String = String::new(), env [];
    }
}
