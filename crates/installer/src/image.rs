//! Writing the operating system to the disk with `coreos-installer`.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_machine::Task;

use crate::{
    disk::Claim,
    progress::{Reached, SIGN_OF_LIFE},
};

/// A slow disk and a slow link together; the service's own limit for the stage is shorter.
const LIMIT: Duration = Duration::from_secs(2 * 3600);
/// Percent between two reports.
const STEP: u8 = 5;
const MIB: f64 = 1_048_576.0;

/// The program that writes an image and an Ignition config to a claimed disk. `report` is called
/// with how far it is: `50% (1.2 of 2.4 GiB, 85 MiB/s)`.
pub fn write(
    disk: &Claim,
    ignition: &Path,
    arguments: &[String],
    report: impl Fn(Reached) + Send + Sync + 'static,
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
            if let Some(reached) = meter.read(piece, Instant::now()) {
                report(reached);
            }
        })
}

/// Reads how far a program is out of what it prints again and again with a carriage return:
/// `> Read disk 1.2 GiB/2.4 GiB (50%)` of `coreos-installer`, `1.20G  50%  85.00MB/s  0:00:14` of
/// `rsync`.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    line: Vec<u8>,
    reported: Option<Mark>,
    /// Bytes at an earlier moment, from which the rate follows.
    measured: Option<(f64, Instant)>,
}

/// What was reported last.
#[derive(Debug)]
struct Mark {
    percent: u8,
    line: Vec<u8>,
    at: Instant,
}

impl Mark {
    /// Whether it is time for the next report. A disk may need long for a few percent.
    fn is_passed(&self, percent: u8, line: &[u8], now: Instant) -> bool {
        percent >= self.percent.saturating_add(STEP)
            || percent == 100 && self.percent != 100
            || line != self.line && now.saturating_duration_since(self.at) >= SIGN_OF_LIFE
    }
}

impl Meter {
    /// What to report after another piece of output, if it is time to.
    pub(crate) fn read(&mut self, piece: &[u8], now: Instant) -> Option<Reached> {
        let mut due = None;
        for &byte in piece {
            if matches!(byte, b'\r' | b'\n') {
                due = self.line_ended(now).or(due);
            } else if self.line.len() < 4096 {
                self.line.push(byte);
            }
        }
        due
    }

    fn line_ended(&mut self, now: Instant) -> Option<Reached> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        let (percent, amount) = parse(&text)?;
        let last = self.reported.as_ref();
        if last.is_some_and(|last| !last.is_passed(percent, &line, now)) {
            return None;
        }
        let at = now;
        self.reported = Some(Mark { percent, line, at });
        let detail = match amount {
            Amount::Unknown => format!("{percent}%"),
            Amount::Rate(rate) => format!("{percent}% ({rate})"),
            Amount::Of { text, bytes } => {
                let rate = self.rate(bytes, now);
                let rate = rate.map(|rate| format!(", {rate:.0} MiB/s"));
                format!("{percent}% ({text}{})", rate.unwrap_or_default())
            }
        };
        Some(Reached { percent, detail })
    }

    /// MiB per second since the last report.
    fn rate(&mut self, bytes: f64, now: Instant) -> Option<f64> {
        let (before, at) = self.measured.replace((bytes, now))?;
        let seconds = now.saturating_duration_since(at).as_secs_f64();
        (seconds > 0.0 && bytes >= before).then(|| (bytes - before) / seconds / MIB)
    }
}

/// What a line says beside the percentage.
enum Amount {
    Unknown,
    /// The program computes its rate itself.
    Rate(String),
    /// So much of so much.
    Of {
        text: String,
        bytes: f64,
    },
}

fn parse(line: &str) -> Option<(u8, Amount)> {
    let percentage = |digits: &str| digits.parse::<u8>().ok().filter(|percent| *percent <= 100);
    if let Some((before, _)) = line.rsplit_once("%)") {
        let (before, digits) = before.rsplit_once('(')?;
        return Some((
            percentage(digits)?,
            amount(before).unwrap_or(Amount::Unknown),
        ));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.ends_with('%'))?;
    let percent = percentage(words[at].strip_suffix('%')?)?;
    let rate = words.get(at + 1).filter(|word| word.ends_with("/s"))?;
    Some((percent, Amount::Rate((*rate).to_owned())))
}

/// `… 1.2 GiB/2.4 GiB`.
fn amount(text: &str) -> Option<Amount> {
    let (done, all) = text.trim_end().rsplit_once('/')?;
    let mut words = done.split_whitespace().rev();
    let (unit, number) = (words.next()?, words.next()?);
    let scale = match unit {
        "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => MIB,
        "GiB" => MIB * 1024.0,
        "TiB" => MIB * MIB,
        _ => return None,
    };
    let bytes = number.parse::<f64>().ok()? * scale;
    let text = match all.strip_suffix(unit) {
        Some(all) => format!("{number} of {} {unit}", all.trim()),
        None => format!("{number} {unit} of {all}"),
    };
    Some(Amount::Of { text, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_reported_in_steps_and_at_the_end_wherever_the_output_is_cut() {
        let now = Instant::now();
        let output = b"Installing\n> Read disk 1/9 (1%)\r> Read disk (3%)\r> (6%)\r> (7%)\r> (99%)\r> (100%)\r> (100%)\nInstall complete.\n";
        let expected = ["1%", "6%", "99%", "100%"];
        for size in [1, 2, 3, 7, 1000] {
            let mut meter = Meter::default();
            let mut seen: Vec<String> = Vec::new();
            for piece in output.chunks(size) {
                // A large piece reports only the newest of what is in it.
                seen.extend(meter.read(piece, now).map(|reached| reached.detail));
            }
            if size == 1 {
                assert_eq!(seen, expected);
            }
            assert_eq!(seen.last().map(String::as_str), Some("100%"), "{size}");
        }
    }

    #[test]
    fn garbage_is_no_percentage() {
        let mut meter = Meter::default();
        for line in ["(%)", "(300%)", "50%", "(x5%)", "%) ("] {
            let read = meter.read(format!("{line}\r").as_bytes(), Instant::now());
            assert_eq!(read, None, "{line}");
        }
    }

    #[test]
    fn bytes_and_rate_are_reported_with_the_percentage() {
        let (mut meter, began) = (Meter::default(), Instant::now());
        let mut after = |seconds, line: &str| {
            let now = began + Duration::from_secs(seconds);
            let reached = meter.read(format!("{line}\r").as_bytes(), now);
            reached.map(|reached| reached.detail).unwrap_or_default()
        };
        let first = after(0, "> Read disk 512.0 MiB/2.0 GiB (25%)");
        assert_eq!(first, "25% (512.0 MiB of 2.0 GiB)");
        let second = after(8, "> Read disk 1.0 GiB/2.0 GiB (50%)");
        assert_eq!(second, "50% (1.0 of 2.0 GiB, 64 MiB/s)");
        let mut rsync = Meter::default();
        let line = b"          1.20G  50%   85.00MB/s    0:00:14\r";
        let said = rsync.read(line, began).map(|reached| reached.detail);
        assert_eq!(said.as_deref(), Some("50% (85.00MB/s)"));
    }

    #[test]
    fn a_slow_disk_is_reported_within_minutes_and_one_that_stands_still_is_not() {
        let (mut meter, began) = (Meter::default(), Instant::now());
        let mut reported = Vec::new();
        for minute in 0..30 {
            let now = began + Duration::from_secs(60 * minute);
            // Ten mebibytes a minute, until nothing comes any more.
            let done = 100 + 10 * minute.min(10);
            let line = format!("> Read disk {done}.0 MiB/10.0 GiB ({}%)\r", done / 102);
            reported.extend(meter.read(line.as_bytes(), now).map(|_| minute));
        }
        assert_eq!(reported, [0, 4, 8, 12]);
    }
}
