//! Running a program whose failure is an error with its own words.

use std::time::Duration;

use muster_machine::{Finished, Machine, Task};

use crate::error::ProgramError;

/// How long a program may take that waits until the kernel has written what it holds for a disk. Gigabytes
/// may wait in memory after an image was written, and a slow disk needs many minutes for them.
pub const FLUSH_LIMIT: Duration = Duration::from_secs(3600);

/// As much of a program's complaint as a person reads in a status line.
const LONGEST: usize = 400;

/// How long one attempt to pull an image may take. What was pulled is kept, so the next one goes on from there.
pub const PULL_LIMIT: Duration = Duration::from_secs(25 * 60);

/// A program that may wait until a disk is written: it changes a partition table, a mapped device or a
/// mount.
pub fn flushing(program: &str, reason: &str) -> Task {
    Task::new(program, reason).deadline(FLUSH_LIMIT)
}

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
pub(crate) mod tests {
    use muster_machine::Simulated;

    use super::*;

    /// Programs that wait for a disk, with the word that makes them do it, if not all uses do.
    const FLUSHING: &[(&str, &str)] = &[
        ("dd", ""),
        ("dmsetup", "remove"),
        ("fsfreeze", ""),
        ("growpart", ""),
        ("kpartx", ""),
        ("mdadm", "--stop"),
        ("mount", ""),
        ("ostree", ""),
        ("rpm-ostree", ""),
        ("umount", ""),
        ("wipefs", ""),
        ("xfs_growfs", ""),
    ];

    /// Checks that no program was run which a slow disk would let time out.
    pub(crate) fn assert_slow_disks_have_time(machine: &Simulated) {
        for task in machine.tasks() {
            let (command, deadline) = (task.command(), task.deadline);
            let is_flushing = FLUSHING.iter().any(|(program, word)| {
                command[0] == *program && (word.is_empty() || command.iter().any(|w| w == word))
            });
            let is_short = deadline < Duration::from_secs(20 * 60);
            assert!(!(is_flushing && is_short), "{command:?}: {deadline:?}");
        }
    }

    #[test]
    fn a_line_that_was_written_over_is_its_last_version() {
        let output = "> Read disk (40%)\r> Read disk (90%)\r\nError: no\r\n";
        assert_eq!(as_shown(output), "> Read disk (90%)\nError: no");
    }
}
