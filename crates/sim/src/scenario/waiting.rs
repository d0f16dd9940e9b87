//! Waits for statuses of the service, and detects the faults it has noticed.

use std::{collections::HashSet, sync::Arc};

use muster_api::{requests::ListEventsOptions, wire};
use tokio::time::Instant;
use uuid::Uuid;

use super::{Flow, Scenario};
use crate::{
    fault::{Ending, Fault},
    observer::Snapshot,
    plan::{Stuck, explain},
    report::Change,
    trap::Trap,
};

/// Where a cluster is before its installation, and again after one that could not be prepared.
const BEFORE: &[&str] = &["ready", "insufficient", "pending-for-input"];

impl Scenario {
    /// Waits until something holds, the planned faults were noticed, or timeout ends.
    pub(super) async fn wait_for(
        &mut self,
        what: &str,
        holds: impl Fn(&Snapshot) -> bool,
    ) -> Result<Flow, Stuck> {
        let deadline = Instant::now() + self.plan.timeout;
        // What is on show may have been seen before the last act.
        let fresh = self.snapshot.borrow().looks + 2;
        loop {
            let snapshot = Arc::clone(&self.snapshot.borrow_and_update());
            if snapshot.looks >= fresh {
                self.notice(&snapshot);
                if let Some(faults) = self.fresh_notice() {
                    if !self.plan.heal || faults.iter().any(|f| f.sign().ending == Ending::Fails) {
                        return Ok(Flow::Enough(faults));
                    }
                    self.repair();
                }
                let waiting = self.traps.iter().any(Trap::is_open);
                if holds(&snapshot) {
                    return Ok(Flow::GoOn);
                }
                if !waiting && snapshot.cluster.status == "error" {
                    return Err(Stuck::Failed(explain(&snapshot)));
                }
                // The service took the order, prepared, and went back to where it was.
                if !waiting && self.ordered && BEFORE.contains(&snapshot.cluster.status.as_str()) {
                    return Err(Stuck::Failed(self.last_complaint().await));
                }
            }
            if let Some(trouble) = snapshot.trouble.as_ref().filter(|_| snapshot.lost) {
                return Err(Stuck::Lost(trouble.clone()));
            }
            if let Some(complaint) = self.complaints.borrow().clone()
                && !self.traps.iter().any(Trap::is_open)
            {
                return Err(Stuck::Controller(complaint));
            }
            let changed = tokio::time::timeout_at(deadline, self.snapshot.changed()).await;
            if !matches!(changed, Ok(Ok(()))) {
                return Err(Stuck::Waited {
                    seconds: self.plan.timeout.as_secs(),
                    what: what.to_owned(),
                    why: explain(&snapshot),
                });
            }
        }
    }

    /// The last thing of the cluster that the service itself found worth a warning.
    async fn last_complaint(&self) -> String {
        let events = match self.clusters.last() {
            Some(id) => {
                let of_cluster = ListEventsOptions {
                    cluster_id: Some(*id),
                    ..ListEventsOptions::default()
                };
                self.user.events(of_cluster).await.unwrap_or_default()
            }
            None => Vec::new(),
        };
        let bad = |event: &&wire::Event| {
            event.host_id.is_none() && event.severity.as_deref().is_some_and(|how| how != "info")
        };
        let last = events
            .iter()
            .filter(bad)
            .max_by_key(|event| &event.event_time);
        let words = last.and_then(|event| event.message.clone());
        words.unwrap_or_else(|| "the cluster fell back and no event says why".to_owned())
    }

    /// Marks the faults the service shows.
    fn notice(&mut self, snapshot: &Snapshot) {
        for trap in &mut self.traps {
            trap.follow(&self.network);
            if let Some(words) = trap.look(snapshot, self.plan.pace) {
                let what = format!("the service noticed {}: {words}", trap.fault);
                let host = Some(trap.machine.name());
                self.report
                    .note(&self.plan.name, host, Change::Act { what });
            }
        }
    }

    /// The faults that hold the installation up, once all of them were noticed.
    fn fresh_notice(&self) -> Option<Vec<Fault>> {
        let holding: Vec<&Trap> = self.traps.iter().filter(|trap| trap.holds_up()).collect();
        let all = !holding.is_empty() && holding.iter().all(|trap| trap.noticed);
        all.then(|| holding.iter().map(|trap| trap.fault).collect())
    }

    fn repair(&mut self) {
        for trap in self.traps.iter().filter(|trap| trap.holds_up()) {
            self.network.lift(&trap.machine, trap.fault);
            let what = format!("{} was repaired", trap.fault);
            let host = Some(trap.machine.name());
            self.report
                .note(&self.plan.name, host, Change::Act { what });
        }
    }

    /// At the end nothing may have gone unnoticed; what shows only as an event is looked up.
    pub(super) fn expect_everything_noticed(&self) -> Result<(), Stuck> {
        for trap in self.traps.iter().filter(|trap| !trap.noticed) {
            let sign = trap.fault.sign();
            let reported = sign.event.is_some_and(|name| {
                let events = self.report.events(Some(trap.machine.name()));
                events.iter().any(|event| event == name)
            });
            if !reported && !sign.is_silent() {
                return Err(Stuck::Unnoticed(trap.fault, sign.words()));
            }
        }
        Ok(())
    }

    /// Adds the event log of the service to the report; it saw what fell between two looks.
    pub(super) async fn remember_events(&self) {
        let (mut all, mut known) = (Vec::new(), HashSet::new());
        let of_clusters = self.clusters.iter().map(|id| ListEventsOptions {
            cluster_id: Some(*id),
            ..ListEventsOptions::default()
        });
        let of_infra_envs = self.infra_envs.iter().map(|id| ListEventsOptions {
            infra_env_id: Some(*id),
            ..ListEventsOptions::default()
        });
        for options in of_clusters.chain(of_infra_envs) {
            for event in self.user.events(options).await.unwrap_or_default() {
                // Hosts of the cluster are also hosts of the infra-env: once is enough.
                if known.insert((event.event_time.clone(), event.message.clone())) {
                    all.push(event);
                }
            }
        }
        all.sort_by(|a, b| a.event_time.cmp(&b.event_time));
        for event in all {
            let id: Option<Uuid> = event.host_id.and_then(|id| id.parse().ok());
            let machine = self
                .network
                .machines()
                .iter()
                .find(|machine| Some(machine.id) == id);
            let what = Change::Event {
                name: event.name.unwrap_or_default(),
                severity: event.severity.unwrap_or_default(),
                message: event.message.unwrap_or_default(),
            };
            let host = machine.map(|machine| machine.name());
            self.report.note(&self.plan.name, host, what);
        }
    }
}
