//! The figures of a run with many hosts: what went over the line and what it cost, over the
//! whole run or over a window of steady polling at its end.

use std::{io, time::Instant};

use muster_sim::{Line, Traffic};
use serde_json::{Value, json};

use super::usage::Usage;

/// A measurement that has begun.
pub struct Meter {
    line: Line,
    before: Traffic,
    began: Instant,
    /// The processes that are measured, by what they are called.
    processes: Vec<(&'static str, Option<u32>, Usage)>,
}

/// What came out.
pub struct Figures {
    traffic: Traffic,
    processes: Vec<(&'static str, Usage)>,
    /// Hosts still in touch after a window, and all of them.
    in_touch: Option<(usize, usize)>,
}

impl Meter {
    /// Begins to measure this process, and the service if that is another one.
    pub fn begin(line: &Line, service: Option<u32>, own: bool) -> io::Result<Self> {
        let here = if own { "fleet and service" } else { "fleet" };
        let mut processes = vec![(here, None, Usage::of(None)?)];
        if let Some(pid) = service {
            processes.push(("service", Some(pid), Usage::of(Some(pid))?));
        }
        Ok(Self {
            before: line.begin_window(),
            line: line.clone(),
            began: Instant::now(),
            processes,
        })
    }

    /// How it stands. A process that is gone has no figures.
    pub fn read(&self) -> Figures {
        let mut traffic = self.line.traffic().since(&self.before);
        traffic.lasted = self.began.elapsed();
        let processes = self.processes.iter().filter_map(|(name, pid, before)| {
            let now = Usage::of(*pid).ok()?;
            Some((*name, now.since(*before)))
        });
        Figures {
            traffic,
            processes: processes.collect(),
            in_touch: None,
        }
    }
}

impl Figures {
    /// With what a look after the window showed.
    pub fn with_hosts(self, in_touch: (usize, usize)) -> Self {
        Self {
            in_touch: Some(in_touch),
            ..self
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = self.traffic.to_string();
        for (name, usage) in &self.processes {
            text += &format!("\n{name}: {usage}");
        }
        if let Some((still, all)) = self.in_touch {
            text += &format!("\n{still} of {all} hosts were still connected at the end");
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let mut figures = self.traffic.json();
        let processes = self.processes.iter();
        let processes: serde_json::Map<String, Value> = processes
            .map(|(name, usage)| ((*name).to_owned(), usage.json()))
            .collect();
        figures["processes"] = Value::Object(processes);
        if let Some((still, all)) = self.in_touch {
            figures["hosts"] = json!({ "in_touch": still, "all": all });
        }
        figures
    }
}
