//! Running a program whose failure is an error with its own words.

use muster_machine::{Finished, Machine, Task};

use crate::error::ProgramError;

/// As much of a program's complaint as a person reads in a status line.
const LONGEST: usize = 400;

/// Runs a program; anything but success is an error that says what it was for and the end of
/// what it printed.
///
/// # Errors
/// It could not be started, did not end in time or failed.
pub fn run(machine: &dyn Machine, task: &Task) -> Result<Finished, ProgramError> {
    let finished = machine.run(task)?;
    if finished.succeeded() {
        return Ok(finished);
    }
    let words = [finished.err(), finished.out()]
        .iter()
        .map(|words| as_shown(words))
        .find(|words| !words.trim().is_empty())
        .unwrap_or_default();
    let skipped = words.trim().chars().count().saturating_sub(LONGEST);
    Err(ProgramError::Failed {
        program: task.program.clone(),
        reason: task.reason.clone(),
        code: finished.code,
        end: words.trim().chars().skip(skipped).collect(),
    })
}

/// What is left of an output on a screen: a line that was written over again and again is its last
/// version.
fn as_shown(output: &str) -> String {
    let lines = output.lines().map(|line| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').next().unwrap_or_default()
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_written_over_is_its_last_version() {
        let output = "> Read disk (40%)\r> Read disk (90%)\r\nError: no\r\n";
        assert_eq!(as_shown(output), "> Read disk (90%)\nError: no");
    }
}
