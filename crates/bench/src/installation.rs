//! How long an installation takes from the last disk written to `installed`, in simulation: once
//! with a controller that watches the new cluster, as ours does, and once with one that looks at
//! it at the reference's intervals. Nodes, operators and the service are the same in both.

use std::{io::Write, path::Path, process::Stdio};

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

/// How much faster than real time.
const SPEED: f64 = 60.0;
/// Random seeds: the phase in which a change meets a look is different for each.
const SEEDS: u64 = 3;

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
    writeln!(
        std::io::stdout(),
        "\nlast disk written → installed, simulated, mean of {SEEDS}\n\
         watching   {watching:6.0} s\n\
         polling    {polling:6.0} s (intervals of the reference's controller; {:.0} s later)",
        polling - watching
    )?;
    Ok(())
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
