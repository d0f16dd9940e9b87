//! All clusters of a run, side by side: started, watched, ended and summed up together.

use std::{sync::Arc, time::Duration};

use muster_sim::{End, Line, Plan, Report, Scenario, Snapshot, Stuck, Until};
use tokio::{sync::watch, task::JoinSet};

/// The plays under way.
pub struct Stage {
    tasks: JoinSet<Played>,
    ended: Vec<Played>,
    stop: watch::Sender<bool>,
    snapshot: Vec<watch::Receiver<Arc<Snapshot>>>,
}

/// A play and how it ended; `None` if it was interrupted.
type Played = (Scenario, Option<Result<End, Stuck>>);

impl Stage {
    /// Builds all machines and lets the plays begin.
    pub fn build(plans: Vec<Plan>, line: &Line, report: &Arc<Report>) -> anyhow::Result<Self> {
        let mut stage = Self {
            tasks: JoinSet::new(),
            ended: Vec::new(),
            stop: watch::Sender::new(false),
            snapshot: Vec::new(),
        };
        let mut scenarios = Vec::new();
        for plan in plans {
            let mut scenario = Scenario::new(plan, line, Arc::clone(report))?;
            stage.snapshot.push(scenario.watch());
            scenarios.push(scenario);
        }
        for mut scenario in scenarios {
            let mut stop = stage.stop.subscribe();
            stage.tasks.spawn(async move {
                let end = tokio::select! {
                    end = scenario.run() => Some(end),
                    _ = stop.wait_for(|stop| *stop) => None,
                };
                (scenario, end)
            });
        }
        Ok(stage)
    }

    /// What can be seen of each.
    pub fn snapshot(&self) -> Vec<watch::Receiver<Arc<Snapshot>>> {
        self.snapshot.clone()
    }

    /// Takes in one that has ended; false if there is none left.
    pub async fn join_next(&mut self) -> bool {
        match self.tasks.join_next().await {
            Some(Ok(ended)) => {
                self.ended.push(ended);
                true
            }
            // Only a panic ends a play otherwise; it has been printed on standard error.
            Some(Err(_)) => true,
            None => false,
        }
    }

    /// Stops observing the machines.
    pub fn look_away(&self) {
        for (scenario, _) in &self.ended {
            scenario.look_away();
        }
    }

    /// Looks again; counts the hosts that are still in touch, and all.
    pub async fn look_again(&mut self) -> (usize, usize) {
        let looks = self.ended.iter_mut();
        let counts = futures::future::join_all(looks.map(|(play, _)| play.look_again())).await;
        counts
            .into_iter()
            .fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }

    /// Whether all plays got to their end.
    pub fn all_reached(&self) -> bool {
        let reached = |(_, end): &Played| matches!(end, Some(Ok(End::Reached)));
        self.ended.len() == self.snapshot.len() && self.ended.iter().all(reached)
    }

    /// Ends all plays where they are. They come back with what they made.
    pub async fn interrupt(&mut self) {
        self.stop.send_replace(true);
        while self.join_next().await {}
    }

    /// How it all went, in words.
    pub fn outcome(&self, stopped: bool, until: Until, took: Duration) -> Result<String, String> {
        let all = self.snapshot.len();
        if stopped {
            return Err("interrupted before the end".to_owned());
        }
        let failed: Vec<String> = self
            .ended
            .iter()
            .filter_map(|(_, end)| end.as_ref()?.as_ref().err().map(chain))
            .collect();
        if let Some(first) = failed.first() {
            let others = match failed.len() {
                1 => String::new(),
                count => format!("; {} more failed", count - 1),
            };
            return Err(format!("{first}{others}"));
        }
        if self.ended.len() < all {
            return Err(format!(
                "{} of {all} runs were aborted",
                all - self.ended.len()
            ));
        }
        let noticed: Vec<String> = self
            .ended
            .iter()
            .filter_map(|(_, end)| match end {
                Some(Ok(End::Noticed(faults))) => Some(faults),
                Some(Ok(End::Reached) | Err(_)) | None => None,
            })
            .flatten()
            .map(ToString::to_string)
            .collect();
        Ok(match (noticed.is_empty(), all) {
            (true, 1) => format!("Cluster {until} in {} s", took.as_secs()),
            (true, all) => format!("All {all} clusters {until} in {} s", took.as_secs()),
            (false, _) => format!("the service noticed: {}", noticed.join(", ")),
        })
    }

    /// Removes what was made; returns what could not be removed.
    pub async fn clean_up(self) -> Vec<String> {
        let mut left = Vec::new();
        for (scenario, _) in self.ended {
            left.extend(scenario.clean_up().await);
        }
        left
    }
}

/// An error and its causes in one line.
fn chain(stuck: &Stuck) -> String {
    let mut text = stuck.to_string();
    let mut cause = std::error::Error::source(stuck);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}
