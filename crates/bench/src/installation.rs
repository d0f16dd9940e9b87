//! How long an installation takes from the last disk written to `installed`, in simulation: once
//! with a controller that watches the new cluster, as ours does, and once with one that looks at
//! it at the reference's intervals. Nodes, operators and the service are the same in both, and take
//! the time of real ones.
//!
//! Beside it stands what follows from the reference's intervals alone: each change on the way is noticed
//! half an interval late on average, and a whole one at worst.

use std::{io::Write, path::Path, process::Stdio};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

/// How much faster than real time.
const SPEED: f64 = 60.0;
/// Random seeds: the phase in which a change meets a look is different for each.
const SEEDS: u64 = 3;
/// What the reference's controller polls on the way from the last reboot to the end, and how often,
/// in seconds. Not the operators from OLM: this cluster has none.
const INTERVALS: &[(&str, f64)] = &[
    ("certificate requests", 30.0),
    ("nodes", 30.0),
    ("state of the cluster", 30.0),
    ("cluster operators", 60.0),
    ("ingress CA", 10.0),
];

/// Measures both and prints them.
pub async fn measure(muster: &Path) -> anyhow::Result<()> {
    let (mut watching, mut polling) = (0.0, 0.0);
    for seed in 1..=SEEDS {
        let (a, b) = tokio::try_join!(
            simulated(muster, seed, &[]),
            simulated(muster, seed, &["--polling"])
        )?;
        watching += a / SEEDS as f64;
        polling += b / SEEDS as f64;
    }
    std::io::stdout().write_all(table(watching, polling).as_bytes())?;
    Ok(())
}

/// Seconds of both, and what the intervals alone say.
fn table(watching: f64, polling: f64) -> String {
    let at_worst: f64 = INTERVALS.iter().map(|(_, seconds)| seconds).sum();
    let row = |what: &str, seconds: f64| {
        let (ratio, later) = (seconds / watching, seconds - watching);
        format!("{what:<48} {seconds:>6.0} s {ratio:>6.2}x {later:>+6.0} s\n")
    };
    let mut table = format!(
        "\nlast disk written → installed: 3 + 1 hosts, simulated at {SPEED} times real speed, mean of {SEEDS}\n"
    );
    table += &row("watching (Muster)", watching);
    table += &row("polling at the reference's intervals", polling);
    table += &row(
        "computed from its intervals, on average",
        watching + at_worst / 2.0,
    );
    table += &row("computed from its intervals, at worst", watching + at_worst);
    let intervals: Vec<String> = INTERVALS
        .iter()
        .map(|(what, seconds)| format!("{what} {seconds} s"))
        .collect();
    table + &format!("intervals: {}\n", intervals.join(", "))
}

/// Simulated seconds from the moment the last host had written its disk to the end.
async fn simulated(muster: &Path, seed: u64, more: &[&str]) -> anyhow::Result<f64> {
    let output = Command::new(muster)
        .args(["simulate", "--json", "--topology", "ha", "--workers", "1"])
        .args(["--speed", &SPEED.to_string(), "--seed", &seed.to_string()])
        .args(more)
        .stderr(Stdio::null())
        .output()
        .await
        .with_context(|| format!("{} cannot be started", muster.display()))?;
    if !output.status.success() {
        bail!("muster simulate ended with {}", output.status);
    }
    let moments: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let seconds = since_last_disk(&moments).context("the simulation has no end")?;
    Ok(seconds * SPEED)
}

/// A host has written its disk when it leaves that stage.
fn since_last_disk(moments: &[Value]) -> Option<f64> {
    let at = |moment: &Value| moment["at_ms"].as_f64();
    let is_stage = |moment: &&Value| moment["kind"] == "stage" && moment["host"].is_string();
    let mut written = std::collections::BTreeMap::new();
    let mut writing = std::collections::BTreeSet::new();
    for moment in moments.iter().filter(is_stage) {
        let host = moment["host"].as_str()?;
        if moment["stage"] == "Writing image to disk" {
            writing.insert(host);
        } else if writing.contains(host) {
            written.entry(host).or_insert(at(moment)?);
        }
    }
    let last = written.into_values().reduce(f64::max)?;
    let is_end = |moment: &&Value| {
        moment["kind"] == "status" && moment["host"].is_null() && moment["status"] == "installed"
    };
    let end = at(moments.iter().find(is_end)?)?;
    Some((end - last) / 1000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_adds_half_of_each_interval_and_all_of_it() {
        let table = table(1000.0, 1070.0);
        let lines: Vec<&str> = table.trim().lines().collect();
        let ends = [
            "1000 s   1.00x     +0 s",
            "1070 s   1.07x    +70 s",
            "1080 s   1.08x    +80 s",
            "1160 s   1.16x   +160 s",
        ];
        for (line, end) in lines[1..].iter().zip(ends) {
            assert!(line.ends_with(end), "{line}");
        }
        assert!(lines[5].contains("cluster operators 60 s"), "{table}");
    }

    #[test]
    fn the_clock_starts_when_the_last_host_leaves_its_disk() {
        let stage = |at: u64, host: &str, stage: &str| json!({"at_ms": at, "kind": "stage", "host": host, "stage": stage});
        let moments = [
            stage(1000, "a", "Writing image to disk"),
            stage(2000, "b", "Writing image to disk"),
            stage(3000, "a", "Rebooting"),
            stage(5000, "b", "Waiting for control plane"),
            stage(9000, "b", "Rebooting"),
            json!({"at_ms": 9500, "kind": "status", "host": "a", "status": "installed"}),
            json!({"at_ms": 15_000, "kind": "status", "status": "installed"}),
        ];
        assert_eq!(since_last_disk(&moments), Some(10.0));
        assert_eq!(since_last_disk(&moments[..6]), None);
    }
}
