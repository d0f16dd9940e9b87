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
        .into_iter()
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
