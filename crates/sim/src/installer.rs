//! What the installer on a host does: a list of legs per role, each a stage it reports, a time
//! it takes and, for some, others it waits for. Ends with the reboot.

use std::{sync::Arc, time::Duration};

use muster_api::{
    client::ClientError,
    requests::{self, DownloadClusterFilesFileName},
};
use muster_model::HostStage;
use serde::Deserialize;
use uuid::Uuid;

use crate::{
    fault::Fault,
    line::{Line, insist},
    logs,
    machine::Machine,
    network::Network,
    nodes::{NodeState, Nodes, Role},
    pace::Pace,
};

/// Part of an installation.
struct Leg {
    stage: HostStage,
    /// Detail for people.
    info: &'static str,
    /// Seconds it takes once nothing is waited for any more.
    takes: u64,
    waits: Option<fn(&Nodes) -> bool>,
}

const fn leg(stage: HostStage, info: &'static str, takes: u64) -> Leg {
    Leg {
        stage,
        info,
        takes,
        waits: None,
    }
}

const fn after(stage: HostStage, info: &'static str, takes: u64, waits: fn(&Nodes) -> bool) -> Leg {
    Leg {
        stage,
        info,
        takes,
        waits: Some(waits),
    }
}

use HostStage as S;

static BOOTSTRAP: &[Leg] = &[
    leg(S::StartingInstallation, "bootstrap", 15),
    leg(S::Installing, "bootstrap", 45),
    leg(S::WritingImageToDisk, "", 150),
    after(
        S::WaitingForControlPlane,
        "waiting for control plane nodes",
        20,
        |nodes| nodes.control_plane_at(NodeState::Joined) >= nodes.quorum(),
    ),
    leg(S::WaitingForBootkube, "waiting for etcd", 60),
    after(S::WaitingForController, "", 30, |nodes| {
        nodes.control_plane_at(NodeState::Ready) >= nodes.quorum()
    }),
];
static MASTER: &[Leg] = &[
    leg(S::StartingInstallation, "master", 15),
    leg(S::Installing, "master", 30),
    leg(S::WritingImageToDisk, "", 150),
];
static WORKER: &[Leg] = &[
    leg(S::StartingInstallation, "worker", 15),
    leg(S::Installing, "worker", 30),
    leg(S::WritingImageToDisk, "", 150),
    after(
        S::WaitingForControlPlane,
        "waiting for control plane nodes",
        10,
        |nodes| nodes.control_plane_done() >= nodes.quorum(),
    ),
];
static SINGLE_NODE: &[Leg] = &[
    leg(S::StartingInstallation, "bootstrap", 15),
    leg(S::Installing, "bootstrap", 45),
    leg(S::WaitingForBootkube, "", 180),
    leg(S::WritingImageToDisk, "", 150),
];
static DAY2: &[Leg] = &[
    leg(S::StartingInstallation, "worker", 15),
    leg(S::Installing, "worker", 30),
    leg(S::WritingImageToDisk, "", 150),
];

/// The install command, as far as it matters here.
#[derive(Clone, Debug, Deserialize)]
pub struct Command {
    /// The cluster.
    pub cluster_id: Uuid,
    /// bootstrap, master, arbiter or worker.
    pub role: String,
    /// Where the image goes.
    pub boot_device: String,
    /// How many control plane nodes; absent for an imported cluster.
    #[serde(default)]
    pub control_plane_count: Option<i64>,
    /// Absent on day 2.
    #[serde(default)]
    pub openshift_version: Option<String>,
}

impl Command {
    fn legs(&self) -> &'static [Leg] {
        let day2 = self.openshift_version.is_none();
        match (Role::named(&self.role), self.control_plane_count) {
            _ if day2 => DAY2,
            (Role::Bootstrap, Some(1)) => SINGLE_NODE,
            (Role::Bootstrap, _) => BOOTSTRAP,
            (Role::Master | Role::Arbiter, _) => MASTER,
            (Role::Worker, _) => WORKER,
        }
    }
}

/// How an installation ended on a host.
#[derive(Debug)]
pub enum Outcome {
    /// The host reboots into its new system.
    Reboots,
    /// The installer gave up and said so.
    GaveUp,
    /// The host is gone: it must not say another word.
    Lost,
    /// The service did not let it go on.
    Refused(ClientError),
}

/// One run of the installer.
#[derive(Debug)]
pub struct Installer {
    /// Who it runs on.
    pub machine: Arc<Machine>,
    /// Where that stands.
    pub network: Arc<Network>,
    /// Where the host came from.
    pub infra_env: Uuid,
    /// The way to the service.
    pub line: Line,
    /// The cluster it helps to build.
    pub nodes: Arc<Nodes>,
    /// How fast.
    pub pace: Pace,
}

impl Installer {
    /// Installs.
    pub async fn run(self, command: Command) -> Outcome {
        let role = Role::named(&command.role);
        if role == Role::Bootstrap {
            self.network.spare(&self.machine);
        }
        self.nodes.begin(self.machine.id, self.infra_env, role);
        match self.legs(&command).await {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Refused(error),
        }
    }

    async fn legs(&self, command: &Command) -> Result<Outcome, ClientError> {
        for leg in command.legs() {
            self.report(leg.stage, leg.info).await?;
            if leg.stage == S::Installing {
                self.fetch_ignition(command).await?;
            }
            if let Some(waits) = leg.waits {
                self.nodes.until(waits).await;
            }
            if leg.stage == S::WritingImageToDisk {
                if let Some(end) = self.write_image(leg.takes).await? {
                    return Ok(end);
                }
            } else {
                self.pace.sleep(Duration::from_secs(leg.takes)).await;
            }
        }
        // Logs cannot be requested after the reboot, so they are sent before.
        if let Err(error) = logs::send_host(
            &self.line,
            command.cluster_id,
            self.infra_env,
            &self.machine,
        )
        .await
        {
            // An installation does not fail for want of logs.
            let _ = error;
        }
        self.nodes.advance(self.machine.id, NodeState::Rebooting);
        self.report(S::Rebooting, "").await?;
        Ok(Outcome::Reboots)
    }

    /// Fetches what the disk is written with, as the real installer does.
    async fn fetch_ignition(&self, command: &Command) -> Result<(), ClientError> {
        if command.role == "bootstrap" {
            let request = requests::download_cluster_files(
                command.cluster_id,
                DownloadClusterFilesFileName::BootstrapIgn,
            );
            insist(|| self.line.text(&request)).await?;
        }
        let request = requests::download_host_ignition(self.infra_env, self.machine.id);
        insist(|| self.line.text(&request)).await.map(|_| ())
    }

    /// Writes the disk and reports how far it is; some machines do not reach the end.
    async fn write_image(&self, takes: u64) -> Result<Option<Outcome>, ClientError> {
        for percent in [0, 20, 40, 60, 80, 100] {
            if percent == 40 && self.machine.faults.has(Fault::HostLost) {
                return Ok(Some(Outcome::Lost));
            }
            if percent == 40 && self.machine.faults.has(Fault::StageFailure) {
                let reason = "failed to write image to disk: input/output error";
                self.report(S::Failed, reason).await?;
                return Ok(Some(Outcome::GaveUp));
            }
            self.report(S::WritingImageToDisk, &format!("{percent}%"))
                .await?;
            self.pace.sleep(Duration::from_secs(takes / 6)).await;
        }
        Ok(None)
    }

    async fn report(&self, stage: HostStage, info: &str) -> Result<(), ClientError> {
        insist(|| {
            self.line
                .report_stage(self.infra_env, self.machine.id, stage.as_str(), info)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use muster_model::HostRole;

    use super::*;

    #[test]
    fn every_leg_is_a_stage_its_role_is_expected_to_go_through() {
        for (legs, role, bootstrap, single, day2) in [
            (BOOTSTRAP, HostRole::Master, true, false, false),
            (MASTER, HostRole::Master, false, false, false),
            (MASTER, HostRole::Arbiter, false, false, false),
            (WORKER, HostRole::Worker, false, false, false),
            (SINGLE_NODE, HostRole::Master, true, true, false),
            (DAY2, HostRole::Worker, false, false, true),
        ] {
            let expected = HostStage::expected(role, bootstrap, single, day2);
            let mut places = legs.iter().map(|leg| {
                let place = expected.iter().position(|stage| *stage == leg.stage);
                place.unwrap_or_else(|| panic!("{} is not a stage of {role}", leg.stage))
            });
            assert!(places.by_ref().is_sorted(), "{role}");
            assert!(expected.contains(&S::Rebooting));
        }
    }
}
