//! The temporary control plane: started on the bootstrap host, watched until the cluster stands
//! on its own.

mod cluster;
mod controller_logs;
mod node_config;
mod others;
mod start;

use std::time::Duration;

use muster_machine::Task;
use muster_model::HostStage;
use serde_json::Value;
use tracing::info;

use crate::{error::InstallError, node::Node, proxies};

const KUBECONFIG: &str = "/opt/openshift/auth/kubeconfig";
const POLL: Duration = Duration::from_secs(5);
/// A reason to wait is shown for so long at least.
const SHOWN: Duration = Duration::from_secs(30);
/// A cluster that did not come up by then will not. The service waits as long as it sees signs of life.
const LONGEST_WAIT: Duration = Duration::from_secs(4 * 3600);

/// What a look at a condition found.
enum Look {
    Done,
    /// Not yet; what is waited for.
    Waiting(String),
}

/// The reason to wait that the service shows. Services keep each as an event, and some reasons
/// change with every look.
#[derive(Debug, Default)]
struct Shown {
    last: Option<(String, Duration)>,
}

impl Shown {
    fn is_due(&mut self, reason: &str, now: Duration) -> bool {
        let is_shown = |(last, at): &(String, Duration)| last == reason || now < *at + SHOWN;
        if self.last.as_ref().is_some_and(is_shown) {
            return false;
        }
        self.last = Some((reason.to_owned(), now));
        true
    }
}

impl Node {
    /// Looks again and again; the service shows the reason to wait.
    async fn wait(
        &self,
        stage: HostStage,
        look: impl AsyncFnMut() -> Result<Look, InstallError>,
    ) -> Result<(), InstallError> {
        self.wait_at_most(LONGEST_WAIT, stage, look).await
    }

    async fn wait_at_most(
        &self,
        limit: Duration,
        stage: HostStage,
        mut look: impl AsyncFnMut() -> Result<Look, InstallError>,
    ) -> Result<(), InstallError> {
        let began = tokio::time::Instant::now();
        let mut shown = Shown::default();
        loop {
            let reason = match look().await? {
                Look::Done => return Ok(()),
                Look::Waiting(reason) => reason,
            };
            if began.elapsed() > limit {
                return Err(InstallError::TimedOut {
                    what: "gave up",
                    limit,
                    missing: reason,
                });
            }
            if shown.is_due(&reason, began.elapsed()) {
                info!(%stage, reason, "waiting");
                self.progress.report(stage, reason);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    async fn oc(&self, words: &[&str]) -> Result<Value, InstallError> {
        let task = Task::new("oc", "look at the new cluster")
            .args(words.iter().copied())
            .args(["--output=json", "--request-timeout=20s"])
            .arg(format!("--kubeconfig={KUBECONFIG}"))
            .keep(32 << 20)
            .deadline(Duration::from_secs(60));
        let finished = self.program(proxies::past(task)).await?;
        serde_json::from_str(&finished.out())
            .map_err(|cause| InstallError::Unusable(format!("oc did not answer in JSON: {cause}")))
    }

    /// The state of a unit, as systemd names it. A systemd that is too busy to answer has not said that
    /// anything is over.
    async fn unit_state(&self, unit: &str) -> String {
        let ask = Task::new("systemctl", "look at a unit").args([
            "show",
            "--property=ActiveState",
            "--value",
            unit,
        ]);
        match self.program(ask).await {
            Ok(finished) => finished.out().trim().to_owned(),
            Err(cause) => format!("in a state that is not known: {cause}"),
        }
    }

    async fn last_line(&self, unit: &str) -> String {
        let ask = Task::new("journalctl", "see what a unit said last").args([
            "--unit",
            unit,
            "--lines=40",
            "--output=cat",
            "--no-pager",
        ]);
        let said = self.program(ask).await;
        let said = said.map(|finished| finished.out()).unwrap_or_default();
        last_telling(&said)
            .unwrap_or("it has said nothing yet")
            .to_owned()
    }
}

/// The last line that is neither one of podman's own records of what containers do nor one of systemd's
/// accounts of a unit that has ended.
fn last_telling(said: &str) -> Option<&str> {
    let is_record = |line: &str| {
        line.contains(" m=+") && line.contains(" UTC ")
            || line.contains(".service: Consumed ")
            || line.ends_with(".service: Deactivated successfully.")
    };
    said.lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty() && !is_record(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_change_with_every_look_are_shown_now_and_then() {
        let mut shown = Shown::default();
        let at = Duration::from_secs;
        assert!(shown.is_due("one image", at(0)));
        assert!(!shown.is_due("two images", at(5)));
        assert!(!shown.is_due("three images", at(25)));
        assert!(shown.is_due("four images", at(30)));
        assert!(!shown.is_due("four images", at(90)));
        assert!(shown.is_due("five images", at(95)));
    }

    #[test]
    fn what_a_script_said_last_is_not_hidden_behind_records_of_podman() {
        let said = "== etcd-bootstrap\n2026-11-17 01:37:47.6 +0000 UTC m=+3.8 container died 53c\n\
             progress.service: Deactivated successfully.\n\
             progress.service: Consumed 23.584s CPU time.\n\n";
        assert_eq!(last_telling(said), Some("== etcd-bootstrap"));
        assert_eq!(last_telling("\n"), None);
    }
}
