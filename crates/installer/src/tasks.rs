//! Running a program whose failure is an error with its own words.

use muster_machine::{Finished, Machine, Task};

/// As much of a program's complaint as a person reads in a status line.
const LONGEST: usize = 400;

/// Runs a program; anything but success is an error that says what it was for and the end of
/// what it printed.
///
/// # Errors
/// It could not be started, did not end in time or failed.
pub fn run(machine: &dyn Machine, task: &Task) -> Result<Finished, String> {
    let finished = machine.run(task).map_err(|cause| cause.to_string())?;
    if finished.succeeded() {
        return Ok(finished);
    }
    let code = match finished.code {
        Some(code) => format!("exit status {code}"),
        None => "a signal".to_owned(),
    };
    let words = [finished.err(), finished.out()]
        .into_iter()
        .find(|words| !words.trim().is_empty())
        .unwrap_or_default();
    let skipped = words.trim().chars().count().saturating_sub(LONGEST);
    let end: String = words.trim().chars().skip(skipped).collect();
    Err(format!(
        "{} ({}) ended with {code}: {end}",
        task.program, task.reason
    ))
}
