//! Machines of a factory, as they report themselves to `progressURL`: a list for people, figures for
//! Prometheus.
//!
//! Reports come from unauthenticated machines, so they are bounded in size and number, and no
//! word of theirs becomes a label.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest report.
pub const LONGEST: usize = 64 * 1024;
/// Most machines; a factory with more has several servers.
const MOST: usize = 10_000;
/// Longest text that is kept of a report.
const KEPT: usize = 500;

/// What is known of all machines since the server was started.
#[derive(Debug, Default)]
pub struct Machines(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    machines: BTreeMap<String, Machine>,
    complete: u64,
    failed: u64,
    again: u64,
    refused: u64,
    images: u64,
    /// From the first report of a machine to its last one.
    seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Stand {
    Installing,
    Complete,
    Failed,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Machine {
    serial: String,
    uuid: String,
    state: Stand,
    step: String,
    message: String,
    #[serde(skip)]
    began: SystemTime,
    /// Unix time of its last report.
    reported: u64,
}

/// What the live system posts.
#[derive(Deserialize)]
struct Report {
    machine: Sender,
    event: Value,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct Sender {
    #[serde(default)]
    serial: Option<String>,
    #[serde(default)]
    uuid: Option<String>,
}

/// Why a report is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is not what live systems post.
    Unreadable,
    /// There are too many machines.
    TooMany,
}

impl Machines {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a report.
    ///
    /// # Errors
    /// It cannot be read, or there are too many machines.
    pub fn take(&self, report: &[u8], now: SystemTime) -> Result<(), Refused> {
        let mut state = self.state();
        let taken = state.take(report, now);
        state.refused += u64::from(taken.is_err());
        taken
    }

    /// Counts a report that was too long to be read.
    pub fn refuse(&self) {
        self.state().refused += 1;
    }

    /// Counts an image that is handed out.
    pub fn serve_image(&self) {
        self.state().images += 1;
    }

    /// All machines as JSON.
    #[must_use]
    pub fn list(&self) -> String {
        let state = self.state();
        let machines: Vec<&Machine> = state.machines.values().collect();
        serde_json::to_string(&machines).unwrap_or_default()
    }

    /// For Prometheus.
    #[must_use]
    pub fn metrics(&self) -> String {
        let state = self.state();
        let of = |stand| {
            let machines = state.machines.values();
            machines.filter(|machine| machine.state == stand).count()
        };
        let oldest = state
            .machines
            .values()
            .filter(|machine| machine.state == Stand::Installing)
            .map(|machine| machine.reported)
            .min();
        let mut page = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: &[(&str, String)]| {
            let name = format!("muster_image_based_{name}");
            page += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
            for (row, value) in rows {
                page += &format!("{name}{row} {value}\n");
            }
        };
        family(
            "machines",
            "gauge",
            "Machines that have reported, by their state.",
            &[
                ("{state=\"installing\"}", of(Stand::Installing).to_string()),
                ("{state=\"complete\"}", of(Stand::Complete).to_string()),
                ("{state=\"failed\"}", of(Stand::Failed).to_string()),
            ],
        );
        family(
            "installations_total",
            "counter",
            "Installations that ended, by how.",
            &[
                ("{result=\"complete\"}", state.complete.to_string()),
                ("{result=\"failed\"}", state.failed.to_string()),
            ],
        );
        family(
            "installation_seconds",
            "summary",
            "Time from the first report of a machine until it was ready.",
            &[
                ("_sum", format!("{:.3}", state.seconds)),
                ("_count", state.complete.to_string()),
            ],
        );
        family(
            "oldest_report_seconds",
            "gauge",
            "Unix time of the last report of the machine that has been silent for longest while it is being \
             installed; 0 if none is.",
            &[("", oldest.unwrap_or_default().to_string())],
        );
        for (name, help, value) in [
            (
                "retries_total",
                "Attempts of machines that failed and are repeated.",
                state.again,
            ),
            (
                "reports_refused_total",
                "Reports that were not taken.",
                state.refused,
            ),
            (
                "images_served_total",
                "Requests for images that were answered with one.",
                state.images,
            ),
        ] {
            family(name, "counter", help, &[("", value.to_string())]);
        }
        page
    }
}

impl State {
    fn take(&mut self, report: &[u8], now: SystemTime) -> Result<(), Refused> {
        let report: Report = serde_json::from_slice(report).map_err(|_| Refused::Unreadable)?;
        let serial = short(report.machine.serial.as_deref().unwrap_or_default());
        let uuid = short(report.machine.uuid.as_deref().unwrap_or_default());
        let said = report.event["state"].as_str().unwrap_or_default();
        let stand = match said {
            "started" | "finished" | "skipped" | "bytes" | "images" | "again" => Stand::Installing,
            "complete" => Stand::Complete,
            "failed" => Stand::Failed,
            _ => return Err(Refused::Unreadable),
        };
        if serial.is_empty() && uuid.is_empty() {
            return Err(Refused::Unreadable);
        }
        let key = format!("{uuid} {serial}");
        if self.machines.len() >= MOST && !self.machines.contains_key(&key) {
            return Err(Refused::TooMany);
        }
        let machine = self.machines.entry(key).or_insert_with(|| Machine {
            serial,
            uuid,
            state: Stand::Installing,
            step: String::new(),
            message: String::new(),
            began: now,
            reported: 0,
        });
        // A machine that was ready is prepared again; one that failed goes on.
        if machine.state == Stand::Complete && stand == Stand::Installing {
            machine.began = now;
        }
        let is_new = machine.state != stand;
        machine.state = stand;
        machine.message = short(&report.message);
        if let Some(step) = report.event["step"].as_str() {
            machine.step = short(step);
        }
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        machine.reported = since_epoch.as_secs();
        self.again += u64::from(said == "again");
        if is_new && stand == Stand::Complete {
            self.complete += 1;
            let took = now.duration_since(machine.began);
            self.seconds += took.unwrap_or(Duration::ZERO).as_secs_f64();
        }
        self.failed += u64::from(is_new && stand == Stand::Failed);
        Ok(())
    }
}

fn short(text: &str) -> String {
    text.chars().take(KEPT).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(serial: &str, event: Value) -> Vec<u8> {
        let machine = json!({"serial": serial, "uuid": null});
        let report = json!({"machine": machine, "event": event, "message": "words"});
        report.to_string().into_bytes()
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn machines_are_counted_by_state_and_by_how_they_ended() {
        let machines = Machines::default();
        let take = |serial: &str, event: Value, seconds: u64| {
            machines.take(&report(serial, event), at(seconds)).unwrap();
        };
        take("a", json!({"state": "started", "step": "write-os"}), 100);
        take("b", json!({"state": "started", "step": "write-os"}), 110);
        take("c", json!({"state": "started", "step": "write-os"}), 120);
        take("b", json!({"state": "again", "step": "fetch-seed"}), 200);
        take("a", json!({"state": "complete"}), 700);
        take("a", json!({"state": "complete"}), 701);
        take("b", json!({"state": "failed", "message": "no disk"}), 800);
        let page = machines.metrics();
        for line in [
            "machines{state=\"installing\"} 1",
            "machines{state=\"complete\"} 1",
            "machines{state=\"failed\"} 1",
            "installations_total{result=\"complete\"} 1",
            "installations_total{result=\"failed\"} 1",
            "installation_seconds_sum 600.000",
            "installation_seconds_count 1",
            "retries_total 1",
            "oldest_report_seconds 120",
        ] {
            let line = format!("\nmuster_image_based_{line}\n");
            assert!(page.contains(&line), "{line} is not in\n{page}");
        }
        let list: Value = serde_json::from_str(&machines.list()).unwrap();
        assert_eq!(list[1]["serial"], "b");
        assert_eq!(list[1]["state"], "failed");
        assert_eq!(list[1]["step"], "fetch-seed");
        assert_eq!(list[1]["reported"], 800);
    }

    #[test]
    fn a_failed_machine_that_goes_on_is_installing_again_and_its_time_counts_from_the_start() {
        let machines = Machines::default();
        for (event, seconds) in [
            (json!({"state": "started", "step": "write-os"}), 0),
            (json!({"state": "failed"}), 50),
            (json!({"state": "skipped", "step": "write-os"}), 60),
            (json!({"state": "complete"}), 90),
        ] {
            machines.take(&report("a", event), at(seconds)).unwrap();
        }
        let page = machines.metrics();
        assert!(page.contains("installation_seconds_sum 90.000\n"), "{page}");
        assert!(page.contains("machines{state=\"failed\"} 0\n"), "{page}");
        assert!(page.contains("oldest_report_seconds 0\n"), "{page}");
    }

    #[test]
    fn what_is_no_report_is_refused_and_counted() {
        let machines = Machines::default();
        let nameless = report("", json!({"state": "started"}));
        let unknown = report("a", json!({"state": "drop tables"}));
        for bad in [b"".to_vec(), b"[]".to_vec(), nameless, unknown] {
            assert_eq!(machines.take(&bad, at(1)), Err(Refused::Unreadable));
        }
        assert_eq!(machines.list(), "[]");
        assert!(machines.metrics().contains("reports_refused_total 4\n"));
    }

    #[test]
    fn so_many_machines_are_remembered_and_no_more() {
        let machines = Machines::default();
        let event = || json!({"state": "started", "step": "write-os"});
        for number in 0..MOST {
            machines
                .take(&report(&number.to_string(), event()), at(1))
                .unwrap();
        }
        assert_eq!(
            machines.take(&report("more", event()), at(2)),
            Err(Refused::TooMany)
        );
        machines.take(&report("7", event()), at(2)).unwrap();
    }
}
