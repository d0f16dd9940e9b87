//! Results on standard output, failures as one line with their causes.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::format::Output;

/// Prints a result. A reader that has gone away (`| head`) is not an error.
pub fn text(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out
        .write_all(text.as_bytes())
        .and_then(|()| {
            if text.ends_with('\n') {
                Ok(())
            } else {
                out.write_all(b"\n")
            }
        })
        .and_then(|()| out.flush())
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failure(&error.into()),
    }
}

/// Prints a result as JSON.
pub fn json(value: &serde_json::Value) -> ExitCode {
    text(&format!("{value:#}"))
}

/// A result for people and for programs.
#[derive(Debug)]
pub struct Printed {
    /// For people.
    pub text: String,
    /// For programs.
    pub json: serde_json::Value,
}

/// Prints a result as it was asked for, or the reason why there is none. One without text was
/// written elsewhere.
pub fn print(result: anyhow::Result<Printed>, format: Output) -> ExitCode {
    match result {
        Ok(printed) if printed.text.is_empty() => ExitCode::SUCCESS,
        Ok(printed) if format.is_json() => json(&printed.json),
        Ok(printed) => text(&printed.text),
        Err(error) => failure(&error),
    }
}

/// Prints a result or the reason why there is none.
pub fn report(result: anyhow::Result<String>) -> ExitCode {
    match result {
        Ok(result) => text(&result),
        Err(error) => failure(&error),
    }
}

/// Lines of the terminal that results go to, if it is one.
pub fn height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// One line: what failed and because of what.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "muster: {error:#}");
    ExitCode::FAILURE
}
