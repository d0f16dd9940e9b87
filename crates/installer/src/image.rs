//! Writing the operating system to the disk with `coreos-installer`.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use muster_machine::Task;

use crate::disk::Claim;

/// A slow disk and a slow link together; the service's own limit for the stage is shorter.
const LIMIT: Duration = Duration::from_secs(2 * 3600);
/// Reports come at steps of so many percent.
const STEP: u8 = 5;

/// The program that writes an image and an Ignition config to a claimed disk. `percent` is called
/// with what it has reached.
pub fn write(
    disk: &Claim,
    ignition: &Path,
    arguments: &[String],
    percent: impl Fn(u8) + Send + Sync + 'static,
) -> Task {
    let meter = Arc::new(Mutex::new(Meter::default()));
    Task::new("coreos-installer", "write the operating system to the disk")
        .args(["install", "--insecure", "-i"])
        .arg(ignition.display().to_string())
        .args(arguments.iter().cloned())
        .arg(disk.path().display().to_string())
        .deadline(LIMIT)
        .observed_by(move |piece| {
            let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(reached) = meter.read(piece) {
                percent(reached);
            }
        })
}

/// Reads percentages out of what `coreos-installer` prints: `> Read disk 1.2 GiB/2.4 GiB (50%)`
/// and a carriage return, again and again.
#[derive(Debug, Default)]
struct Meter {
    line: Vec<u8>,
    reported: Option<u8>,
}

impl Meter {
    /// The percentage to report after another piece of output, if it is time to.
    fn read(&mut self, piece: &[u8]) -> Option<u8> {
        let mut due = None;
        for &byte in piece {
            if matches!(byte, b'\r' | b'\n') {
                due = self.line_ended().or(due);
            } else if self.line.len() < 4096 {
                self.line.push(byte);
            }
        }
        due
    }

    fn line_ended(&mut self) -> Option<u8> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let (before, _) = text.rsplit_once("%)")?;
        let (_, digits) = before.rsplit_once('(')?;
        let percent: u8 = digits.parse().ok().filter(|percent| *percent <= 100)?;
        let is_due = match self.reported {
            None => true,
            Some(last) => percent >= last.saturating_add(STEP) || percent == 100 && last != 100,
        };
        is_due.then(|| {
            self.reported = Some(percent);
            percent
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_in_steps_and_at_the_end_wherever_the_output_is_cut() {
        let output = b"Installing\n> Read disk 1/9 (1%)\r> Read disk (3%)\r> (6%)\r> (7%)\r> (99%)\r> (100%)\r> (100%)\nInstall complete.\n";
        let expected = [1, 6, 99, 100];
        for size in [1, 2, 3, 7, 1000] {
            let mut meter = Meter::default();
            let mut seen: Vec<u8> = Vec::new();
            for piece in output.chunks(size) {
                // A large piece reports only the newest of what is in it.
                seen.extend(meter.read(piece));
            }
            if size == 1 {
                assert_eq!(seen, expected);
            }
            assert_eq!(seen.last(), Some(&100), "{size}");
        }
    }

    #[test]
    fn garbage_is_no_percentage() {
        let mut meter = Meter::default();
        for line in ["(%)", "(300%)", "50%", "(x5%)", "%) ("] {
            assert_eq!(meter.read(format!("{line}\r").as_bytes()), None, "{line}");
        }
    }
}
