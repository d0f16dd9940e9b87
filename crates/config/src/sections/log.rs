//! What is logged, and how.

use super::section;
use crate::choice::choice;

choice! {
    /// How much is logged.
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
        /// How much is logged.
        level: LogLevel = LogLevel::Info, env ["LOG_LEVEL"];
        /// How a log line looks; `auto` is text on a terminal and JSON elsewhere.
        format: LogFormat = LogFormat::Auto, env ["LOG_FORMAT"];
        /// Finer filter per module, such as `info,muster_store=debug`; stronger than log.level.
        filter: String = String::new(), env [];
    }
}
