//! What a user of the service sees: cluster and hosts as its API shows them, looked at again
//! and again. Differences between two looks go into the report.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use muster_api::{
    client::ClientError,
    requests::{self, GetClusterOptions},
    wire,
};
use serde::Deserialize;
use tokio::{sync::watch, time::Instant};
use uuid::Uuid;

use crate::{
    line::Line,
    report::{Change, Report},
};

/// With more hosts than this, at most one part in ten of the time is spent looking.
const LARGE: usize = 100;

/// One thing as seen: a cluster or a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Its name.
    pub name: String,
    /// Its status.
    pub status: String,
    /// Why.
    pub info: String,
    /// Role of a host.
    pub role: String,
    /// Stage, if it has one.
    pub stage: String,
    /// How far it is.
    pub percent: i64,
    /// Failing validations with their messages.
    pub failing: BTreeMap<String, String>,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The cluster.
    pub cluster: Observed,
    /// The hosts.
    pub hosts: BTreeMap<Uuid, Observed>,
    /// How many looks it took.
    pub looks: u64,
    /// Why the last look brought nothing.
    pub trouble: Option<String>,
    /// And no later one will.
    pub lost: bool,
}

impl Snapshot {
    /// Whether every one of `hosts` is there and in one of the statuses.
    #[must_use]
    pub fn all_in(&self, hosts: &[Uuid], statuses: &[&str]) -> bool {
        hosts.iter().all(|host| {
            self.hosts
                .get(host)
                .is_some_and(|seen| statuses.contains(&seen.status.as_str()))
        })
    }

    /// Whether one of `hosts` is in one of the statuses.
    #[must_use]
    pub fn any_in(&self, hosts: &[Uuid], statuses: &[&str]) -> bool {
        let mut seen = hosts.iter().filter_map(|host| self.hosts.get(host));
        seen.any(|host| statuses.contains(&host.status.as_str()))
    }
}

/// Where to look.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The cluster, once there is one.
    pub cluster: Option<Uuid>,
    /// Infra-envs with hosts.
    pub infra_envs: Vec<Uuid>,
    /// Observation is paused.
    pub resting: bool,
}

/// Looks until asked to stop.
#[derive(Debug)]
pub struct Observer {
    /// As a user.
    pub line: Line,
    /// Where.
    pub places: watch::Receiver<Places>,
    /// What was seen.
    pub snapshot: watch::Sender<Arc<Snapshot>>,
    /// What changed.
    pub report: Arc<Report>,
    /// Names of the hosts by id, as the simulation calls them.
    pub names: Arc<BTreeMap<Uuid, String>>,
    /// Name of the cluster, as the simulation calls it.
    pub cluster_name: String,
    /// Pause between two looks, at least.
    pub every: Duration,
}

impl Observer {
    /// Looks, and looks again.
    pub async fn run(mut self) {
        // Ends with the sender of the places.
        while self.places.wait_for(|places| !places.resting).await.is_ok() {
            let begin = Instant::now();
            // A look that fails is only a look that fails: the next one may succeed. But what is gone
            // does not come back, and who is not let in will not be let in later.
            if let Err(error) = self.look().await {
                let status = error.status().map_or(0, |status| status.as_u16());
                self.snapshot.send_modify(|snapshot| {
                    let snapshot = Arc::make_mut(snapshot);
                    snapshot.trouble = Some(error.to_string());
                    snapshot.lost = matches!(status, 401 | 403 | 404);
                });
            }
            // The hosts of a large cluster are a large answer; looking must not become the load.
            let large = self.snapshot.borrow().hosts.len() > LARGE;
            let rest = if large {
                begin.elapsed() * 10
            } else {
                self.every
            };
            tokio::time::sleep(rest.max(self.every)).await;
        }
    }

    /// One look.
    ///
    /// # Errors
    /// The service did not answer.
    pub async fn look(&self) -> Result<(), ClientError> {
        let places = self.places.borrow().clone();
        let mut snapshot = Snapshot {
            looks: self.snapshot.borrow().looks + 1,
            ..Snapshot::default()
        };
        if let Some(cluster) = places.cluster {
            let options = GetClusterOptions {
                exclude_hosts: Some(true),
                ..GetClusterOptions::default()
            };
            let request = requests::get_cluster(cluster, &options);
            let cluster = self.line.fetch(&request).await?;
            snapshot.cluster = of_cluster(&cluster);
        }
        for infra_env in places.infra_envs {
            let hosts = self.line.fetch(&requests::list_hosts(infra_env)).await?;
            for host in &hosts {
                let id = host.id.as_deref().and_then(|id| id.parse().ok());
                if let Some(id) = id {
                    snapshot.hosts.insert(id, self.of_host(id, host));
                }
            }
        }
        let before = Arc::clone(&self.snapshot.borrow());
        self.report(None, &before.cluster, &snapshot.cluster);
        let unseen = Observed::default();
        for (id, seen) in &snapshot.hosts {
            let before = before.hosts.get(id).unwrap_or(&unseen);
            self.report(Some(&seen.name), before, seen);
        }
        self.snapshot.send_replace(Arc::new(snapshot));
        Ok(())
    }

    fn of_host(&self, id: Uuid, host: &wire::Host) -> Observed {
        let progress = host.progress.clone().unwrap_or_default();
        let name = self.names.get(&id).cloned();
        let mut role = host.role.clone().unwrap_or_default();
        if host.bootstrap == Some(true) && role == "master" {
            role = "bootstrap".to_owned();
        }
        Observed {
            name: name.unwrap_or_else(|| id.to_string()),
            status: host.status.clone().unwrap_or_default(),
            info: host.status_info.clone().unwrap_or_default(),
            role,
            stage: progress.current_stage.unwrap_or_default(),
            percent: progress.installation_percentage.unwrap_or_default(),
            failing: failing(host.validations_info.as_deref()),
        }
    }

    fn report(&self, host: Option<&str>, before: &Observed, now: &Observed) {
        let note = |what| self.report.note(&self.cluster_name, host, what);
        for id in before.failing.keys() {
            if !now.failing.contains_key(id) {
                note(Change::Passing { id: id.clone() });
            }
        }
        for (id, message) in &now.failing {
            if !before.failing.contains_key(id) {
                note(Change::Failing {
                    id: id.clone(),
                    message: message.clone(),
                });
            }
        }
        if before.status != now.status {
            note(Change::Status {
                status: now.status.clone(),
                info: now.info.clone(),
            });
        }
        if before.stage != now.stage && !now.stage.is_empty() {
            note(Change::Stage {
                stage: now.stage.clone(),
                percent: now.percent,
            });
        }
    }
}

fn of_cluster(cluster: &wire::Cluster) -> Observed {
    let progress = cluster.progress.clone().unwrap_or_default();
    Observed {
        name: cluster.name.clone().unwrap_or_default(),
        status: cluster.status.clone().unwrap_or_default(),
        info: cluster.status_info.clone().unwrap_or_default(),
        role: String::new(),
        stage: progress.finalizing_stage.unwrap_or_default(),
        percent: progress.total_percentage.unwrap_or_default(),
        failing: failing(cluster.validations_info.as_deref()),
    }
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    status: String,
    #[serde(default)]
    message: String,
}

/// The validations that fail, out of the text the API shows.
fn failing(text: Option<&str>) -> BTreeMap<String, String> {
    let all: BTreeMap<String, Vec<Finding>> = text
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    all.into_values()
        .flatten()
        .filter(|finding| finding.status == "failure")
        .map(|finding| (finding.id, finding.message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_count_as_failing() {
        let text = r#"{"hardware": [
            {"id": "has-min-memory", "status": "failure", "message": "4 GiB"},
            {"id": "hostname-valid", "status": "pending", "message": ""}]}"#;
        let found = failing(Some(text));
        assert_eq!(found.len(), 1);
        assert_eq!(found["has-min-memory"], "4 GiB");
        assert!(failing(Some("not JSON")).is_empty() && failing(None).is_empty());
    }
}
