//! Resource usage of processes, as counted by the kernel.

use std::{fs, time::Duration};

use anyhow::Context;

/// The kernel counts processor time in hundredths of a second on every Linux of today.
const TICK: Duration = Duration::from_millis(10);

/// Processor time and memory of some processes together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Processor time so far.
    pub cpu: Duration,
    /// Memory of their own, KiB.
    pub memory_kib: u64,
}

impl Usage {
    pub fn of(pids: &[u32]) -> anyhow::Result<Self> {
        let mut sum = Self::default();
        for pid in pids {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
            // The name of the command may hold anything; numbers begin behind it.
            let fields = stat.rsplit_once(") ").context("no end of the name")?.1;
            let ticks = |index: usize| -> anyhow::Result<u32> {
                let field = fields.split(' ').nth(index).context("no such field")?;
                Ok(field.parse()?)
            };
            sum.cpu += TICK * (ticks(11)? + ticks(12)?);
            let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("RssAnon:"));
            let figure = line.and_then(|line| line.split_whitespace().next());
            sum.memory_kib += figure.context("no RssAnon")?.parse::<u64>()?;
        }
        Ok(sum)
    }
}
