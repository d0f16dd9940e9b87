//! What a process has used so far: time of the processor and memory, from the kernel's books.

use std::{fmt, fs, io, time::Duration};

use serde_json::{Value, json};

/// The kernel counts processor time for programs in hundredths of a second, on every machine.
const TICK: Duration = Duration::from_millis(10);

/// A reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time.
    pub cpu: Duration,
    /// Memory now, KiB.
    pub memory: u64,
    /// The most memory it ever had, KiB.
    pub peak: u64,
}

impl Usage {
    /// Of a process, or of this one.
    pub fn of(pid: Option<u32>) -> io::Result<Self> {
        let folder = pid.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
        let stat = fs::read_to_string(format!("/proc/{folder}/stat"))?;
        let status = fs::read_to_string(format!("/proc/{folder}/status"))?;
        Self::read(&stat, &status).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("/proc/{folder} has an unexpected format"),
            )
        })
    }

    fn read(stat: &str, status: &str) -> Option<Self> {
        // The name of the program comes second, in brackets, and may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<u32>().ok();
        let (user, system) = (ticks()?, ticks()?);
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some(Self {
            cpu: TICK * user + TICK * system,
            memory: kib("VmRSS:")?,
            peak: kib("VmHWM:")?,
        })
    }

    /// What was used after `before`; memory is what it is.
    pub fn since(self, before: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(before.cpu),
            ..self
        }
    }

    /// For programs.
    pub fn json(self) -> Value {
        json!({
            "cpu_seconds": self.cpu.as_secs_f64(),
            "rss_kib": self.memory,
            "peak_rss_kib": self.peak,
        })
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} s of CPU, {} MiB of memory, {} MiB at its peak",
            self.cpu.as_secs_f64(),
            self.memory / 1024,
            self.peak / 1024
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_even_if_the_program_has_a_strange_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 100 1 2";
        let status = "Name:\ta) b (c\nVmHWM:\t    4096 kB\nVmRSS:\t    2048 kB\n";
        let usage = Usage::read(stat, status).unwrap();
        assert_eq!(usage.cpu, Duration::from_secs(3));
        assert_eq!((usage.memory, usage.peak), (2048, 4096));
        assert_eq!(Usage::read("", ""), None);
        let later = Usage {
            cpu: Duration::from_secs(5),
            ..usage
        };
        assert_eq!(later.since(usage).cpu, Duration::from_secs(2));
    }

    #[test]
    fn this_process_has_used_something_and_pid_zero_does_not_exist() {
        assert!(Usage::of(None).unwrap().peak > 0);
        assert!(Usage::of(Some(0)).is_err());
    }
}
