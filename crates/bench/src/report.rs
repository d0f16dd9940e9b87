//! Figures in a table, each next to the reference's where that is known.

use std::{io::Write, path::Path, time::Duration};

use anyhow::Context;

use crate::Rate;

/// The reference's memory on the same load, MiB.
const REFERENCE_MEMORY: &str = "150 to 195 MiB";
/// What we aim for in rates.
const AIM: f64 = 20.0;

/// Collects lines and prints them at the end.
#[derive(Debug, Default)]
pub struct Report {
    head: Vec<String>,
    rows: Vec<String>,
}

impl Report {
    /// Time from process start to the first answer.
    pub fn startup(&mut self, took: Duration) {
        self.head.push(format!(
            "start to first answer   {:.0} ms (aim: under 100 ms)",
            took.as_secs_f64() * 1000.0
        ));
    }

    /// Size of the executable.
    pub fn binary(&mut self, path: &Path) -> anyhow::Result<()> {
        let bytes = std::fs::metadata(path)
            .with_context(|| path.display().to_string())?
            .len();
        self.head
            .push(format!("executable              {} MiB", bytes / (1 << 20)));
        Ok(())
    }

    /// Memory at the end.
    pub fn memory(&mut self, mib: u64) {
        self.head.push(format!(
            "resident memory         {mib} MiB (reference: {REFERENCE_MEMORY})"
        ));
    }

    /// What no service could beat here: the round trip itself.
    pub fn limit(&mut self, what: &str, rate: Rate) {
        self.head.push(format!(
            "limit of one client     {:.0} {what} per second",
            rate.per_second
        ));
    }

    /// … and the disk.
    pub fn fsync(&mut self, per_second: f64) {
        self.head.push(format!(
            "limit of the disk       {per_second:.0} synced writes of 16 KiB per second, one after the other"
        ));
    }

    /// One measured rate, with the reference's if there is one.
    pub fn row(&mut self, what: &str, reference: Option<f64>, rate: Rate) {
        let compared = match reference {
            Some(reference) => {
                let ratio = rate.per_second / reference;
                format!(
                    "{reference:>9.0}/s {ratio:>7.1}x  {}",
                    if ratio >= AIM {
                        "aim met"
                    } else {
                        "below the aim of 20x"
                    }
                )
            }
            None => "        -           -".to_owned(),
        };
        self.rows.push(format!(
            "{what:<32} {:>9.0}/s {:>8} B {compared}",
            rate.per_second, rate.bytes_each
        ));
        let _ = writeln!(std::io::stderr(), "measured {what}");
    }

    /// Prints it all.
    pub fn print(&self) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(
            out,
            "\n{:<32} {:>11} {:>10} {:>11} {:>8}",
            "100 hosts in one cluster, fsync on", "muster", "each", "reference", "ratio"
        );
        for row in &self.rows {
            let _ = writeln!(out, "{row}");
        }
        let _ = writeln!(out);
        for line in &self.head {
            let _ = writeln!(out, "{line}");
        }
    }
}
