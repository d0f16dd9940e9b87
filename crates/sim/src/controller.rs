//! What is reported about a cluster from inside: by the bootstrap host while it lives, then by the
//! controller that runs in the new cluster, up to the end of the installation.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use muster_api::{
    client::ClientError,
    requests::{self, ListOfClusterOperatorsOptions},
    wire,
};
use muster_model::{FinalizingStage, HostStage};
use uuid::Uuid;

use crate::{
    line::{Line, insist},
    logs,
    nodes::{Node, NodeState, Nodes, Role},
    pace::Pace,
};

/// How the controller learns of changes in the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attention {
    /// It watches, as ours does: a change is reported at once.
    #[default]
    Watching,
    /// It looks now and then, at the intervals of the reference's.
    Polling,
}

/// Between two looks of a polling controller: at nodes, and at the state of the cluster.
const NODES: Duration = Duration::from_secs(30);
/// … at operators, and at whether all is over.
const SLOWER: Duration = Duration::from_secs(60);
/// … at the ingress CA.
const INGRESS: Duration = Duration::from_secs(10);
/// The part of an interval that one look takes.
const LOOK_LASTS: u128 = 20;
/// Pause between two looks at what does not wake us.
const LOOK: Duration = Duration::from_secs(20);
/// All operators together take this long.
const OPERATORS: Duration = Duration::from_secs(300);

/// The teller.
#[derive(Debug)]
pub struct Controller {
    /// The cluster.
    pub cluster: Uuid,
    /// How many hosts are expected.
    pub hosts: usize,
    /// Whether one node is all there is.
    pub single_node: bool,
    /// The way to the service, with the token of a machine.
    pub line: Line,
    /// What goes on inside.
    pub nodes: Arc<Nodes>,
    /// How fast.
    pub pace: Pace,
    /// How it learns of changes.
    pub attention: Attention,
}

impl Controller {
    /// Reports everything up to the end of the installation.
    ///
    /// # Errors
    /// The service refused a report for good.
    pub async fn run(self) -> Result<(), ClientError> {
        // The roll-out does not wait for the last worker, nor for one that never comes.
        futures::try_join!(self.follow_nodes(), self.roll_out_cluster()).map(|_| ())
    }

    async fn roll_out_cluster(&self) -> Result<(), ClientError> {
        let began = Instant::now();
        self.nodes.until(|_| self.controller_runs()).await;
        self.notice(began, NODES).await;
        self.finalize().await?;
        logs::send_controller(&self.line, self.cluster).await?;
        let body = wire::CompletionParams {
            is_success: Some(true),
            ..wire::CompletionParams::default()
        };
        let request = requests::complete_installation(self.cluster, &body);
        insist(|| self.line.send(&request)).await
    }

    /// Lets the time pass until a controller that looks at such intervals sees what has happened. All
    /// that happened between two looks is seen with the second one.
    async fn notice(&self, since: Instant, every: Duration) {
        if self.attention == Attention::Polling {
            let rest = until_next_look(since.elapsed(), self.pace.real(every));
            tokio::time::sleep(rest).await;
        }
    }

    /// Reports stages of nodes until all are done.
    async fn follow_nodes(&self) -> Result<(), ClientError> {
        let mut changes = self.nodes.changes();
        loop {
            changes.mark_unchanged();
            let nodes = self.nodes.all();
            for (host, node) in &nodes {
                for stage in self.due(node) {
                    self.report(*host, node, stage).await?;
                }
            }
            let done = |node: &Node| node.reported == Some(HostStage::Done);
            let nodes = self.nodes.all();
            if nodes.len() >= self.hosts && nodes.values().all(done) {
                return Ok(());
            }
            match self.attention {
                // The nodes live as long as we do, so this ends only with a change.
                Attention::Watching => drop(changes.changed().await),
                Attention::Polling => self.pace.sleep(NODES).await,
            }
        }
    }

    /// The stages a node went through since the last report, oldest first.
    fn due(&self, node: &Node) -> Vec<HostStage> {
        let reached: &[(NodeState, HostStage)] = &[
            (NodeState::AsksForIgnition, HostStage::WaitingForIgnition),
            (NodeState::Configuring, HostStage::Configuring),
            (NodeState::Joined, HostStage::Joined),
            (NodeState::Ready, HostStage::Done),
        ];
        let worker = node.role == Role::Worker;
        reached
            .iter()
            .filter(|(state, _)| node.state >= *state)
            .map(|(_, stage)| *stage)
            .filter(|stage| match stage {
                HostStage::WaitingForIgnition => worker,
                HostStage::Configuring => !self.single_node,
                // Only the controller can say this, and it needs a control plane to run on.
                HostStage::Done => self.controller_runs(),
                HostStage::Joined => true,
                HostStage::StartingInstallation
                | HostStage::WaitingForControlPlane
                | HostStage::WaitingForBootkube
                | HostStage::WaitingForController
                | HostStage::Installing
                | HostStage::WritingImageToDisk
                | HostStage::CopyingRegistryDataToDisk
                | HostStage::Rebooting
                | HostStage::Failed => false,
            })
            .filter(|stage| node.reported.is_none_or(|last| order(last) < order(*stage)))
            .collect()
    }

    fn controller_runs(&self) -> bool {
        self.nodes.control_plane_at(NodeState::Ready) >= self.nodes.quorum()
    }

    async fn report(&self, host: Uuid, node: &Node, stage: HostStage) -> Result<(), ClientError> {
        let answer = insist(|| {
            self.line
                .report_stage(node.infra_env, host, stage.as_str(), "")
        })
        .await;
        match answer {
            Ok(()) => {}
            // A host that failed meanwhile takes no more reports; the others still do.
            Err(error)
                if error
                    .status()
                    .is_some_and(|status| status.is_client_error()) => {}
            Err(error) => return Err(error),
        }
        self.nodes.reported(host, stage);
        Ok(())
    }

    async fn finalize(&self) -> Result<(), ClientError> {
        self.stage(FinalizingStage::WaitingForClusterOperators)
            .await?;
        self.roll_out("builtin").await?;
        self.stage(FinalizingStage::AddingRouterCa).await?;
        self.notice(Instant::now(), INGRESS).await;
        self.upload_ingress_ca().await?;
        if !self.operators("olm").await?.is_empty() {
            self.stage(FinalizingStage::WaitingForOlmOperatorsCsvInitialization)
                .await?;
            self.stage(FinalizingStage::ApplyingOlmManifests).await?;
            self.stage(FinalizingStage::WaitingForOlmOperatorsCsv)
                .await?;
            self.roll_out("olm").await?;
        }
        self.stage(FinalizingStage::Done).await
    }

    /// Reports a finalizing stage. After the last operator the cluster may be installed before
    /// we say so, and then the service takes no more stages: that is fine.
    async fn stage(&self, stage: FinalizingStage) -> Result<(), ClientError> {
        let body = wire::ClusterFinalizingProgress {
            finalizing_stage: Some(stage.as_str().to_owned()),
        };
        let request = requests::update_cluster_finalizing_progress(self.cluster, &body);
        match insist(|| self.line.send(&request)).await {
            Err(error)
                if stage == FinalizingStage::Done
                    && error
                        .status()
                        .is_some_and(|status| status.is_client_error()) =>
            {
                Ok(())
            }
            answer => answer,
        }
    }

    async fn operators(&self, kind: &str) -> Result<Vec<wire::MonitoredOperator>, ClientError> {
        let options = ListOfClusterOperatorsOptions::default();
        let request = requests::list_of_cluster_operators(self.cluster, &options);
        let all = insist(|| self.line.fetch(&request)).await?;
        let of_kind =
            |operator: &wire::MonitoredOperator| operator.operator_type.as_deref() == Some(kind);
        Ok(all.into_iter().filter(of_kind).collect())
    }

    /// Operators come up one after the other, each at its own time, polled or not.
    async fn roll_out(&self, kind: &str) -> Result<(), ClientError> {
        let began = Instant::now();
        let operators = self.operators(kind).await?;
        let count = u32::try_from(operators.len()).unwrap_or(1).max(1);
        for (index, operator) in (0..).zip(&operators) {
            let slot = OPERATORS / count;
            for (status, info, moment) in [
                ("progressing", "Rolling out", slot * index),
                (
                    "available",
                    "All replicas are available",
                    slot * (index + 1),
                ),
            ] {
                let rest = self.pace.real(moment).saturating_sub(began.elapsed());
                tokio::time::sleep(rest).await;
                let body = wire::OperatorMonitorReport {
                    name: operator.name.clone(),
                    status: Some(status.to_owned()),
                    status_info: Some(info.to_owned()),
                    version: operator.version.clone(),
                };
                let request = requests::report_monitored_operator_status(self.cluster, &body);
                self.notice(began, SLOWER).await;
                insist(|| self.line.send(&request)).await?;
            }
        }
        Ok(())
    }

    /// The certificate is taken once the service sees the cluster finalizing, not before.
    async fn upload_ingress_ca(&self) -> Result<(), ClientError> {
        let request = requests::upload_cluster_ingress_cert(self.cluster, &ingress_ca());
        for _ in 0..90 {
            match insist(|| self.line.send(&request)).await {
                Err(error) if error.status().is_some_and(|status| status.as_u16() == 400) => {
                    self.pace.sleep(LOOK).await;
                }
                answer => return answer,
            }
        }
        insist(|| self.line.send(&request)).await
    }
}

/// A fresh authority for the ingress of the new cluster; empty if the machine we run on has no
/// randomness, which the service will refuse with words of its own.
fn ingress_ca() -> String {
    let made = || {
        let key = rcgen::KeyPair::generate()?;
        let mut params = rcgen::CertificateParams::new(Vec::new())?;
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, "ingress-operator@simulated");
        Ok::<_, rcgen::Error>(params.self_signed(&key)?.pem())
    };
    made().unwrap_or_default()
}

/// Time until the next poll at such an interval. A poll lasts a moment: what
/// happens within it is still seen.
fn until_next_look(elapsed: Duration, every: Duration) -> Duration {
    let every = every.as_nanos().max(1);
    let late = elapsed.as_nanos() % every;
    if elapsed.as_nanos() >= every && late < every / LOOK_LASTS {
        return Duration::ZERO;
    }
    Duration::from_nanos(u64::try_from(every - late).unwrap_or(u64::MAX))
}

/// Place of a stage among those reported from inside.
const fn order(stage: HostStage) -> u8 {
    match stage {
        HostStage::WaitingForIgnition => 1,
        HostStage::Configuring => 2,
        HostStage::Joined => 3,
        HostStage::Done => 4,
        HostStage::StartingInstallation
        | HostStage::WaitingForControlPlane
        | HostStage::WaitingForBootkube
        | HostStage::WaitingForController
        | HostStage::Installing
        | HostStage::WritingImageToDisk
        | HostStage::CopyingRegistryDataToDisk
        | HostStage::Rebooting
        | HostStage::Failed => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_polls_sees_a_change_with_the_next_look() {
        let s = Duration::from_secs;
        for (elapsed, rest) in [
            (0, 60),
            (1, 59),
            (59, 1),
            (60, 0),
            (61, 0),
            (64, 56),
            (121, 0),
        ] {
            assert_eq!(until_next_look(s(elapsed), s(60)), s(rest), "{elapsed}");
        }
    }
}
