//! What the installer on a host does: the steps of the real installer's plan, each with the stage
//! it reports, a time it takes and, for some, others it waits for. Ends with the reboot.

use std::{sync::Arc, time::Duration};

use muster_api::{
    client::ClientError,
    requests::{self, DownloadClusterFilesFileName},
};
use muster_installer::{
    options,
    plan::{Choices, Flow, Plan, Step},
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

/// Simulated seconds that a step takes once nothing is waited for any more.
const fn takes(step: Step, flow: Flow) -> u64 {
    match step {
        Step::CheckDisk | Step::CheckRoot => 5,
        Step::ApplyBootstrap => 10,
        Step::StartBootstrap | Step::CleanDisk | Step::WaitForControlPlane => 10,
        Step::FetchIgnition => 20,
        Step::EraseBootSectors | Step::MergeInPlace | Step::SetBootOrder => 2,
        Step::WaitForBootkube => match flow {
            Flow::SingleNode => 180,
            Flow::Bootstrap | Flow::ControlPlane | Flow::Worker => 40,
        },
        Step::WriteImage | Step::DeployIntoRoot => 150,
        Step::WriteFinalImage => 60,
        Step::WaitForNodes | Step::WaitForEtcd => 20,
        Step::WaitForController => 30,
        Step::WaitForWorkers | Step::WaitForMachineConfigs => 5,
        Step::CopyRegistryData => 120,
        // A log takes as long as its upload, and a reboot is the end.
        Step::SendLogs | Step::Reboot => 0,
    }
}

/// What a step waits for in the cluster, if anything.
fn waits(step: Step, day2: bool) -> Option<fn(&Nodes) -> bool> {
    if step == Step::WaitForNodes {
        Some(|nodes| nodes.control_plane_at(NodeState::Joined) >= nodes.quorum())
    } else if step == Step::WaitForController {
        Some(|nodes| nodes.control_plane_at(NodeState::Ready) >= nodes.quorum())
    } else if step == Step::WaitForControlPlane && !day2 {
        Some(|nodes| nodes.control_plane_done() >= nodes.quorum())
    } else {
        None
    }
}

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
    /// Present if the host keeps the disk it runs from.
    #[serde(default)]
    pub coreos_image: Option<String>,
    /// Disks that lose their boot sectors.
    #[serde(default)]
    pub disks_to_format: Vec<String>,
    /// What is on the installation disk stays there.
    #[serde(default)]
    pub skip_installation_disk_cleanup: bool,
    /// The operating system of the cluster is written ahead.
    #[serde(default)]
    pub enable_skip_mco_reboot: bool,
}

impl Command {
    /// The plan that the real installer would follow.
    fn plan(&self) -> Plan {
        let role = match Role::named(&self.role) {
            Role::Bootstrap => options::Role::Bootstrap,
            Role::Master => options::Role::Master,
            Role::Arbiter => options::Role::Arbiter,
            Role::Worker => options::Role::Worker,
        };
        let count = self.control_plane_count.unwrap_or(0);
        let choices = Choices {
            existing_root: self.coreos_image.is_some(),
            cleans_disk: !self.skip_installation_disk_cleanup,
            erases_boot_sectors: !self.disks_to_format.is_empty(),
            writes_final_image: self.enable_skip_mco_reboot,
            copies_registry: false,
        };
        Plan::with(Flow::of(role, u32::try_from(count).unwrap_or(0)), choices)
    }

    fn is_day2(&self) -> bool {
        self.openshift_version.is_none()
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
        match self.follow(&command).await {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Refused(error),
        }
    }

    async fn follow(&self, command: &Command) -> Result<Outcome, ClientError> {
        let plan = command.plan();
        for step in plan.steps {
            // The control plane of a cluster that runs is there already.
            if step == Step::WaitForControlPlane && command.is_day2() {
                continue;
            }
            if step == Step::Reboot {
                self.nodes.advance(self.machine.id, NodeState::Rebooting);
            }
            if let Some(stage) = step.stage() {
                self.report(stage, &detail(step, command)).await?;
            }
            if let Some(end) = self.take(step, plan.flow, command).await? {
                return Ok(end);
            }
        }
        Ok(Outcome::Reboots)
    }

    /// Takes one step; some machines do not come further.
    async fn take(
        &self,
        step: Step,
        flow: Flow,
        command: &Command,
    ) -> Result<Option<Outcome>, ClientError> {
        if let Some(waits) = waits(step, command.is_day2()) {
            self.nodes.until(waits).await;
        }
        let seconds = takes(step, flow);
        if matches!(step, Step::WriteImage | Step::DeployIntoRoot) {
            return self.write_image(seconds).await;
        }
        if step == Step::ApplyBootstrap {
            self.fetch_bootstrap_config(command).await?;
        } else if step == Step::FetchIgnition {
            self.fetch_ignition().await?;
        } else if step == Step::SendLogs {
            let (infra_env, machine) = (self.infra_env, &self.machine);
            // An installation does not fail for want of logs.
            let _ = logs::send_host(&self.line, command.cluster_id, infra_env, machine).await;
        }
        self.pace.sleep(Duration::from_secs(seconds)).await;
        Ok(None)
    }

    /// Fetches what the temporary control plane is made of, as the real installer does.
    async fn fetch_bootstrap_config(&self, command: &Command) -> Result<(), ClientError> {
        let request = requests::download_cluster_files(
            command.cluster_id,
            DownloadClusterFilesFileName::BootstrapIgn,
        );
        insist(|| self.line.text(&request)).await.map(|_| ())
    }

    /// Fetches what the disk is written with, as the real installer does.
    async fn fetch_ignition(&self) -> Result<(), ClientError> {
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
                self.report(HostStage::Failed, reason).await?;
                return Ok(Some(Outcome::GaveUp));
            }
            self.report(HostStage::WritingImageToDisk, &format!("{percent}%"))
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

/// What people see beside a stage when it begins.
fn detail(step: Step, command: &Command) -> String {
    if matches!(
        step,
        Step::CheckDisk | Step::CheckRoot | Step::FetchIgnition
    ) {
        command.role.clone()
    } else if matches!(step, Step::WaitForControlPlane | Step::WaitForNodes) {
        "waiting for control plane nodes".into()
    } else {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use muster_model::HostRole;
    use serde_json::json;

    use super::*;

    fn command(role: &str, count: u32, day2: bool) -> Command {
        let mut text = json!({
            "cluster_id": Uuid::nil(), "role": role, "boot_device": "/dev/sda",
            "control_plane_count": count, "enable_skip_mco_reboot": true,
        });
        if !day2 {
            text["openshift_version"] = json!("4.20.1");
        }
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn every_step_reports_a_stage_its_role_is_expected_to_go_through() {
        for (name, count, role, bootstrap, day2) in [
            ("bootstrap", 3, HostRole::Master, true, false),
            ("master", 3, HostRole::Master, false, false),
            ("arbiter", 3, HostRole::Arbiter, false, false),
            ("worker", 3, HostRole::Worker, false, false),
            ("bootstrap", 1, HostRole::Master, true, false),
            ("worker", 3, HostRole::Worker, false, true),
            ("master", 1, HostRole::Master, false, true),
        ] {
            let expected = HostStage::expected(role, bootstrap, count == 1 && bootstrap, day2);
            let plan = command(name, count, day2).plan();
            let stages = plan.steps.iter().filter_map(|step| step.stage());
            let places: Vec<_> = stages
                .map(|stage| expected.iter().position(|other| *other == stage))
                .collect();
            assert!(places.iter().all(Option::is_some), "{name}: {places:?}");
            assert!(places.is_sorted(), "{name}: {places:?}");
            assert_eq!(plan.steps.last(), Some(&Step::Reboot), "{name}");
        }
    }

    #[test]
    fn what_a_step_asks_for_is_in_the_plan_and_day_two_waits_for_no_other_host() {
        let mut asked = command("worker", 3, false);
        assert!(!asked.plan().steps.contains(&Step::EraseBootSectors));
        asked.disks_to_format.push("/dev/sdb".to_owned());
        assert!(asked.plan().steps.contains(&Step::EraseBootSectors));
        assert!(waits(Step::WaitForControlPlane, false).is_some());
        assert!(waits(Step::WaitForControlPlane, true).is_none());
    }
}
