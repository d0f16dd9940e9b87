//! The table of downloads.

use std::{io::Write, time::Duration};

use super::{Held, Run};

const AIM: f64 = 0.95;
const MEMORY_AIM_KIB: u64 = 2000;
const FIRST_BYTE_AIM: Duration = Duration::from_millis(20);

/// Collects lines and prints them at the end.
#[derive(Debug, Default)]
pub struct Figures(Vec<String>);

impl Figures {
    pub fn head(&mut self, scheme: &str) {
        self.0.push(format!(
            "\n{:<24} {:>11} {:>11} {:>7} {:>12} {:>12} {:>7}",
            format!("boot images over {scheme}"),
            "muster",
            "nginx",
            "ratio",
            "muster CPU",
            "nginx CPU",
            "ratio"
        ));
    }

    pub fn row(&mut self, downloads: usize, ours: Run, theirs: Run) {
        let ratio = ours.rate / theirs.rate;
        let (cpu, peer) = (ours.cpu.unwrap_or_default(), theirs.cpu.unwrap_or_default());
        self.0.push(format!(
            "{:<24} {:>6.2} GB/s {:>6.2} GB/s {ratio:>6.2}x {cpu:>7.3} s/GB {peer:>7.3} s/GB {:>6.2}x  {}",
            format!("{downloads} at once"),
            ours.rate / 1e9,
            theirs.rate / 1e9,
            cpu / peer,
            aim_text(ratio >= AIM, "aim of 0.95 of nginx met", "below the aim of 0.95 of nginx"),
        ));
        let _ = writeln!(std::io::stderr(), "measured {downloads} downloads");
    }

    pub fn memory(&mut self, ours: Held, theirs: Held) {
        let mut row = |what, ours: u64, theirs: u64, remark: &str| {
            self.0.push(format!(
                "{what:<24} {ours:>7} KiB {theirs:>7} KiB {:>39}  {remark}",
                ""
            ));
        };
        row(
            "memory per 100 waiting",
            ours.downloads,
            theirs.downloads,
            aim_text(
                ours.downloads <= MEMORY_AIM_KIB,
                "aim of 2 MB met",
                "above the aim of 2 MB",
            ),
        );
        row(
            "  before they ask",
            ours.idle,
            theirs.idle,
            "what the connections cost by themselves",
        );
    }

    pub fn first_byte(&mut self, times: Vec<Duration>) {
        let (Some(median), Some(worst)) = (times.get(times.len() / 2), times.last()) else {
            return;
        };
        self.0.push(format!(
            "\nfrom POST infra-envs to the first byte of its image: median {:.1} ms, worst {:.1} ms, {}",
            median.as_secs_f64() * 1e3,
            worst.as_secs_f64() * 1e3,
            aim_text(*median < FIRST_BYTE_AIM, "aim of 20 ms met", "above the aim of 20 ms"),
        ));
    }

    pub fn print(&self) {
        let mut out = std::io::stdout().lock();
        for line in &self.0 {
            let _ = writeln!(out, "{line}");
        }
    }
}

fn aim_text(met: bool, yes: &'static str, no: &'static str) -> &'static str {
    if met { yes } else { no }
}
