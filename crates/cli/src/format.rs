//! `-o json` of commands that print results.

use clap::{Args, ValueEnum};

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// The option.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Output {
    /// How the result is printed
    #[arg(
        short = 'o',
        long = "output",
        value_enum,
        value_name = "FORMAT",
        default_value = "text"
    )]
    format: Format,
    /// The older spelling of `-o json`.
    #[arg(long, hide = true)]
    json: bool,
}

impl From<Format> for Output {
    fn from(format: Format) -> Self {
        Self {
            format,
            json: false,
        }
    }
}

impl Output {
    /// Whether a program reads the result.
    pub fn is_json(self) -> bool {
        self.json || self.format == Format::Json
    }
}
