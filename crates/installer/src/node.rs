//! Takes the steps of a plan on this machine.
//!
//! One function per step, called in the order of the plan. A step either succeeds, adds a warning
//! that the service shows with the next stages, or ends the installation with a reason.

use std::{
    fmt,
    path::{Path, PathBuf},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use muster_api::{
    client::{Client, ClientError},
    requests::{self, GetClusterOptions, ListClusterHostsOptions, ListClusterHostsRole},
};
use muster_ignition::Config;
use muster_machine::{Finished, Machine, Task};
use muster_model::HostStage;
use serde_json::Value;
use tokio::task::JoinSet;
use tracing::{error, info, warn};

use crate::{
    boot_order,
    disk::{Claim, Devices, cleanup},
    error::InstallError,
    existing_root,
    final_image::{FinalImage, PoolConfig},
    image,
    journal::{self, Journal},
    leftovers,
    options::{InstallOptions, Role},
    plan::{Failure, Flow, Plan, Step},
    progress::Progress,
    proxies, registry_data,
    tasks::{flushing, run},
};

const FOLDER: &str = "/opt/install-dir";
/// How long the service may be away before an installation that needs it gives up.
const SERVICE_LIMIT: Duration = Duration::from_secs(30 * 60);
/// A control plane that is not there by then will not come.
const CONTROL_PLANE_LIMIT: Duration = Duration::from_secs(4 * 3600);
const POLL: Duration = Duration::from_secs(5);
/// Between two looks whether work that goes on has to be shown.
const BETWEEN_SIGNS: Duration = Duration::from_secs(60);
/// Control-plane nodes and arbiters that must be done before a worker leaves its live system.
const NEEDED: usize = 2;
const ATTEMPTS: u32 = 3;
/// The bootstrap serves the configs of pools by then, or the node does without.
const POOL_CONFIG_LIMIT: Duration = Duration::from_secs(20 * 60);
/// A service that is silent for so long may be gone for good.
const SILENT_SERVICE: Duration = Duration::from_secs(10 * 60);
/// Time for the last reports before the machine is gone.
const LAST_REPORTS: Duration = Duration::from_secs(120);

/// One installation of this machine.
#[derive(Clone)]
pub struct Node {
    /// The computer.
    pub machine: Arc<dyn Machine>,
    /// The service.
    pub client: Client,
    /// Where reports go.
    pub progress: Progress,
    /// What was asked.
    pub options: InstallOptions,
    /// The token for the service, which the controller will need too.
    pub token: String,
    /// This program, which also sends the logs.
    pub program: Option<PathBuf>,
}

/// Leaves out the token.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What the steps find out on their way.
#[derive(Debug, Default)]
struct Found {
    disk: Option<Claim>,
    ignition: Option<PathBuf>,
    stage: Option<HostStage>,
    warnings: Vec<String>,
    /// What goes on beside the steps; it ends with them.
    beside: JoinSet<()>,
}

impl Node {
    /// Installs. A failure is reported to the service with its reason and the stage it happened in.
    ///
    /// # Errors
    /// Why this machine is not installed.
    pub async fn install(&self) -> Result<(), InstallError> {
        let machine: &dyn Machine = &*self.machine;
        let plan = Plan::of(&self.options, machine.exists(registry_data::MARK));
        let outcome = self.take(&plan).await;
        if let Err(reason) = &outcome {
            error!(%reason, "the installation failed");
            self.progress.report(HostStage::Failed, reason.to_string());
        }
        if !self.progress.flush(LAST_REPORTS).await {
            warn!("the service did not take the last reports");
        }
        outcome
    }

    async fn take(&self, plan: &Plan) -> Result<(), InstallError> {
        let machine = Arc::clone(&self.machine);
        let mut journal = Journal::open(&*machine, journal::PATH.as_ref(), &self.options);
        let mut found = Found::default();
        for &step in &plan.steps {
            if step.is_done_once() && journal.has(step) {
                info!(?step, "was finished before; not repeated");
                if let Some(stage) = step.stage() {
                    // What comes next is reported as a part of it.
                    found.stage = Some(stage);
                    self.progress.report(stage, "finished before");
                }
                continue;
            }
            if let Some(stage) = step.stage() {
                found.stage = Some(stage);
                self.progress.report(stage, self.detail(step, &found));
            }
            info!(?step, "step begins");
            let performed = self.alive(self.perform(step, plan.flow, &mut found)).await;
            match (performed, step.failure()) {
                (Ok(()), _) => {}
                (Err(reason), Failure::Fatal) => return Err(reason),
                (Err(reason), Failure::Warning) => {
                    warn!(?step, %reason, "going on without it");
                    if let Some(stage) = found.stage {
                        self.progress.report(stage, format!("warning: {reason}"));
                    }
                    found.warnings.push(reason.to_string());
                }
            }
            if step.is_done_once() {
                journal.finish(step);
            }
        }
        Ok(())
    }

    /// Shows the service that work goes on, as long as it does.
    pub(crate) async fn alive<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            match tokio::time::timeout(BETWEEN_SIGNS, &mut work).await {
                Ok(done) => return done,
                Err(_) => self.progress.still_at_work(),
            }
        }
    }

    /// What the service shows beside a stage when it begins.
    fn detail(&self, step: Step, found: &Found) -> String {
        match step {
            Step::CheckDisk | Step::CheckRoot => self.options.role.name().to_owned(),
            Step::Reboot if !found.warnings.is_empty() => {
                format!("warnings: {}", found.warnings.join("; "))
            }
            Step::ApplyBootstrap
            | Step::StartBootstrap
            | Step::FetchIgnition
            | Step::EraseBootSectors
            | Step::CleanDisk
            | Step::WaitForBootkube
            | Step::MergeInPlace
            | Step::WriteImage
            | Step::DeployIntoRoot
            | Step::WriteFinalImage
            | Step::WaitForControlPlane
            | Step::WaitForNodes
            | Step::WaitForEtcd
            | Step::WaitForController
            | Step::WaitForWorkers
            | Step::WaitForMachineConfigs
            | Step::SetBootOrder
            | Step::CopyRegistryData
            | Step::SendLogs
            | Step::Reboot => String::new(),
        }
    }

    async fn perform(&self, step: Step, flow: Flow, found: &mut Found) -> Result<(), InstallError> {
        match step {
            Step::CheckDisk => self.check_disk(found).await,
            Step::CheckRoot => {
                let named = self.options.boot_device.clone();
                self.blocking(move |machine| existing_root::check(machine, &named))
                    .await
            }
            Step::ApplyBootstrap => self.apply_bootstrap().await,
            Step::StartBootstrap => {
                self.start_bootstrap(flow == Flow::SingleNode).await?;
                if flow == Flow::Bootstrap {
                    found.beside.spawn(self.clone().report_for_others());
                }
                Ok(())
            }
            Step::FetchIgnition => self.fetch_ignition(found).await,
            Step::EraseBootSectors => self.erase_boot_sectors().await,
            Step::CleanDisk => self.clean_disk(found).await,
            Step::WaitForBootkube => self.wait_for_bootkube().await,
            Step::MergeInPlace => {
                let own = found.ignition()?;
                found.ignition = Some(self.merge_in_place(&own).await?);
                Ok(())
            }
            Step::WriteImage => self.write_image(found).await,
            Step::DeployIntoRoot => self.deploy_into_root(found).await,
            Step::WriteFinalImage => self.write_final_image(found).await,
            Step::WaitForControlPlane => self.wait_for_control_plane(found).await,
            Step::WaitForNodes => self.wait_for_nodes().await,
            Step::WaitForEtcd => self.wait_for_etcd().await,
            Step::WaitForController => self.wait_for_controller().await,
            Step::WaitForWorkers => self.wait_for_workers().await,
            Step::WaitForMachineConfigs => self.wait_for_machine_configs().await,
            Step::CopyRegistryData => self.copy_registry_data(found).await,
            Step::SetBootOrder => {
                let disk = found.disk()?;
                self.blocking(move |machine| boot_order::set(machine, &disk))
                    .await
            }
            Step::SendLogs => self.send_logs(flow).await,
            Step::Reboot => self.reboot(flow).await,
        }
    }

    async fn check_disk(&self, found: &mut Found) -> Result<(), InstallError> {
        let what = "unmounting what an earlier attempt left mounted";
        // A killed program may still be ending. If it is another disk, it is not in the way.
        let left = self.attempts(HostStage::StartingInstallation, what, || {
            self.blocking(leftovers::unmount)
        });
        if let Err(cause) = left.await {
            warn!(%cause, "going on without it");
        }
        let devices = Devices::read(&*self.machine);
        let claim = Claim::of(&*self.machine, &devices, &self.options.boot_device);
        found.disk = Some(claim?);
        Ok(())
    }

    /// Asks the service for something it must have, however long it is away, within a limit.
    pub(crate) async fn fetch<T>(
        &self,
        what: &str,
        stage: HostStage,
        ask: impl AsyncFn() -> Result<T, ClientError>,
    ) -> Result<T, InstallError> {
        let began = tokio::time::Instant::now();
        loop {
            match ask().await {
                Ok(answer) => return Ok(answer),
                Err(cause) if began.elapsed() > SERVICE_LIMIT || is_refusal(&cause) => {
                    return Err(InstallError::Service {
                        what: what.to_owned(),
                        cause: Box::new(cause),
                    });
                }
                Err(cause) => {
                    warn!(%cause, what, "cannot be fetched yet");
                    self.progress.report(
                        stage,
                        format!("waiting for the service to serve {what}: {cause}"),
                    );
                    tokio::time::sleep(POLL).await;
                }
            }
        }
    }

    async fn fetch_ignition(&self, found: &mut Found) -> Result<(), InstallError> {
        let request =
            requests::download_host_ignition(self.options.infra_env(), self.options.host_id);
        let what = "the Ignition config of this host";
        let text = self
            .fetch(what, HostStage::Installing, async || {
                self.client.fetch_text(&request).await
            })
            .await?;
        let config: Value = serde_json::from_str(&text).map_err(|cause| {
            InstallError::Unusable(format!(
                "the Ignition config of this host is not JSON: {cause}"
            ))
        })?;
        if config
            .pointer("/ignition/version")
            .and_then(Value::as_str)
            .is_none()
        {
            return Err(InstallError::unusable(
                "the Ignition config of this host names no version",
            ));
        }
        let text = self.with_program(text)?;
        // The bootstrap host has become a control-plane node by the time its disk is written.
        let role = match self.options.role {
            Role::Bootstrap => Role::Master,
            other => other,
        };
        self.machine
            .make_directory(Path::new(FOLDER), 0o755)
            .map_err(InstallError::file(format!("{FOLDER} cannot be created")))?;
        let file = PathBuf::from(format!(
            "{FOLDER}/{}-{}.ign",
            role.name(),
            self.options.host_id
        ));
        self.machine
            .write(&file, text.as_bytes(), 0o600)
            .map_err(InstallError::file(format!(
                "{} cannot be written",
                file.display()
            )))?;
        found.ignition = Some(file);
        Ok(())
    }

    /// Disks the user chose lose their boot sector, so that no firmware starts them; each only if
    /// nothing uses it.
    async fn erase_boot_sectors(&self) -> Result<(), InstallError> {
        let mut problems = Vec::new();
        for named in &self.options.format_disks {
            let devices = Devices::read(&*self.machine);
            let erased = match Claim::of(&*self.machine, &devices, named) {
                Err(refused) => Err(refused.into()),
                Ok(disk) => {
                    let erase = flushing("dd", "erase a boot sector").args([
                        "if=/dev/zero".to_owned(),
                        format!("of={}", disk.path().display()),
                        "bs=512".to_owned(),
                        "count=1".to_owned(),
                        "conv=fsync".to_owned(),
                    ]);
                    self.task(erase).await
                }
            };
            problems.extend(erased.err());
        }
        InstallError::several(problems)
    }

    async fn clean_disk(&self, found: &Found) -> Result<(), InstallError> {
        let disk = found.disk()?;
        let devices = Devices::read(&*self.machine);
        let mut problems = Vec::new();
        for action in cleanup(&devices, &disk) {
            info!(?action, "cleaning the installation disk");
            problems.extend(self.task(action.task()).await.err());
        }
        InstallError::several(problems)
    }

    async fn write_image(&self, found: &Found) -> Result<(), InstallError> {
        let disk = found.disk()?;
        let ignition = found.ignition()?;
        let what = format!("writing {}", disk.named().display());
        self.attempts(HostStage::WritingImageToDisk, &what, || {
            let progress = self.progress.clone();
            let task = image::write(
                &disk,
                &ignition,
                &self.options.installer_args.0,
                move |reached| progress.report_reached(HostStage::WritingImageToDisk, &reached),
            );
            self.task(proxies::through(&self.options.proxies(), task))
        })
        .await
    }

    async fn deploy_into_root(&self, found: &Found) -> Result<(), InstallError> {
        let ignition = found.ignition()?;
        let stage = HostStage::WritingImageToDisk;
        self.attempts(stage, "deploying the operating system", || {
            let (options, ignition) = (self.options.clone(), ignition.clone());
            self.blocking(move |machine| existing_root::deploy(machine, &options, &ignition))
        })
        .await
    }

    async fn copy_registry_data(&self, found: &Found) -> Result<(), InstallError> {
        let (disk, stage) = (found.disk()?, HostStage::CopyingRegistryDataToDisk);
        self.attempts(stage, "copying the registry of the boot medium", || {
            let (progress, disk) = (self.progress.clone(), disk.clone());
            self.blocking(move |machine| {
                registry_data::copy(machine, &disk, move |reached| {
                    progress.report_reached(stage, &reached);
                })
            })
        })
        .await
    }

    /// Tries something a few times; each failure is shown by the service.
    pub(crate) async fn attempts<F>(
        &self,
        stage: HostStage,
        what: &str,
        attempt: impl Fn() -> F,
    ) -> Result<(), InstallError>
    where
        F: Future<Output = Result<(), InstallError>>,
    {
        let mut number = 1;
        loop {
            let Err(cause) = attempt().await else {
                return Ok(());
            };
            warn!(number, %cause, what, "attempt failed");
            self.progress.report(
                stage,
                format!("attempt {number} of {ATTEMPTS} failed: {cause}"),
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
            if number == ATTEMPTS {
                return Err(InstallError::part(format!("{what} failed"))(cause));
            }
            number += 1;
        }
    }

    /// The config of the pool is there as soon as a control plane serves it, so this may wait for
    /// the bootstrap.
    async fn write_final_image(&self, found: &Found) -> Result<(), InstallError> {
        if self.machine.kernel().architecture == "s390x" {
            return Ok(());
        }
        let disk = found.disk()?;
        let source = self.pool_config(found)?;
        let began = tokio::time::Instant::now();
        let pool_config = loop {
            let fetched = source.clone();
            match self.blocking(move |machine| fetched.fetch(machine)).await {
                Ok(config) => break config,
                Err(cause) if began.elapsed() > POOL_CONFIG_LIMIT => {
                    return Err(InstallError::part("no config of this node's pool")(cause));
                }
                Err(cause) => {
                    info!(%cause, "waiting for the config of this node's pool");
                    let detail = format!("waiting for the machine-config server: {cause}");
                    if let Some(stage) = found.stage {
                        self.progress.report(stage, detail);
                    }
                    tokio::time::sleep(POLL).await;
                }
            }
        };
        let Some(image) = FinalImage::of(&pool_config)? else {
            info!("the pool of this node names no operating system; nothing to write ahead");
            return Ok(());
        };
        let options = self.options.clone();
        self.blocking(move |machine| image.deploy(machine, &options, &disk))
            .await
            .map_err(InstallError::part("the node will need one more reboot"))
    }

    /// Where the config of this node's pool comes from.
    fn pool_config(&self, found: &Found) -> Result<PoolConfig, InstallError> {
        let host_config = self
            .machine
            .read(&found.ignition()?)
            .map_err(InstallError::file("the config of this host cannot be read"))?;
        let host_config =
            Config::read(&String::from_utf8_lossy(&host_config)).map_err(|faults| {
                InstallError::Unusable(format!("the config of this host is unusable: {faults}"))
            })?;
        PoolConfig::of(&host_config)
    }

    /// Day 2 goes on at once; on day 1 a worker that came too early would find no config server. A
    /// service that went away with the node it ran on (agent-based) says nothing any more: then a
    /// config server that has a config for this node is what counts.
    async fn wait_for_control_plane(&self, found: &Found) -> Result<(), InstallError> {
        let began = tokio::time::Instant::now();
        let mut answered = began;
        loop {
            let detail = match self.control_plane().await {
                Ok(done) if done >= NEEDED => return Ok(()),
                Ok(done) => {
                    answered = tokio::time::Instant::now();
                    format!("{done} of {NEEDED} control-plane nodes are done")
                }
                Err(cause) => {
                    if answered.elapsed() > SILENT_SERVICE && self.is_config_served(found).await {
                        warn!(%cause, "the service is gone, and the cluster serves the config of this node; going on");
                        return Ok(());
                    }
                    format!("the service does not report the state of the control plane: {cause}")
                }
            };
            if began.elapsed() > CONTROL_PLANE_LIMIT {
                return Err(InstallError::TimedOut {
                    what: "the control plane was not ready",
                    limit: CONTROL_PLANE_LIMIT,
                    missing: detail,
                });
            }
            self.progress
                .report(HostStage::WaitingForControlPlane, detail);
            tokio::time::sleep(POLL).await;
        }
    }

    async fn is_config_served(&self, found: &Found) -> bool {
        let Ok(source) = self.pool_config(found) else {
            return false;
        };
        let fetched = self.blocking(move |machine| source.fetch(machine)).await;
        fetched.is_ok_and(|config| Config::read(&config).is_ok())
    }

    /// How many control-plane nodes and arbiters are done; enough if the cluster runs already.
    async fn control_plane(&self) -> Result<usize, ClientError> {
        let cluster = self.options.cluster_id;
        let options = GetClusterOptions {
            exclude_hosts: Some(true),
            ..GetClusterOptions::default()
        };
        let request = requests::get_cluster(cluster, &options).answered_as::<Value>();
        if self.client.fetch(&request).await?["kind"] == "AddHostsCluster" {
            return Ok(NEEDED);
        }
        let mut done = 0;
        for role in [ListClusterHostsRole::Master, ListClusterHostsRole::Arbiter] {
            let options = ListClusterHostsOptions {
                role: Some(role),
                ..ListClusterHostsOptions::default()
            };
            let request = requests::list_cluster_hosts(cluster, &options).answered_as::<Value>();
            let hosts = self.client.fetch(&request).await?;
            done += hosts
                .as_array()
                .into_iter()
                .flatten()
                .filter(|host| host["progress"]["current_stage"] == HostStage::Done.as_str())
                .count();
        }
        Ok(done)
    }

    async fn send_logs(&self, flow: Flow) -> Result<(), InstallError> {
        let Some(program) = &self.program else {
            return Ok(());
        };
        let bootstrap = matches!(flow, Flow::Bootstrap | Flow::SingleNode);
        let options = &self.options;
        let mut send = Task::new(
            program.display().to_string(),
            "send the logs of this host to the service",
        )
        .args([
            "send-logs".to_owned(),
            format!("--url={}", options.url),
            format!("--cluster-id={}", options.cluster_id),
            format!("--host-id={}", options.host_id),
            format!("--infra-env-id={}", options.infra_env()),
            format!("--insecure={}", options.insecure),
            format!("--bootstrap={bootstrap}"),
        ])
        .deadline(Duration::from_secs(600));
        if let Some(ca) = &options.cacert {
            send = send.arg(format!("--cacert={}", ca.display()));
        }
        self.task(send).await
    }

    /// Ironic reboots machines itself and only waits for the agent to end.
    async fn reboot(&self, flow: Flow) -> Result<(), InstallError> {
        let asked = Task::new("systemctl", "see whether Ironic drives this machine").args([
            "list-units",
            "--no-legend",
            "ironic-agent.service",
        ]);
        let ironic = self
            .program(asked)
            .await
            .is_ok_and(|finished| !finished.out().trim().is_empty());
        if ironic {
            self.progress
                .report(HostStage::Rebooting, "Ironic will reboot this host");
            self.progress.flush(LAST_REPORTS).await;
            let stop = Task::new("systemctl", "hand this machine back to Ironic")
                .args(["stop", "agent.service"]);
            return self.task(stop).await;
        }
        self.progress.flush(LAST_REPORTS).await;
        // A control-plane node that leaves at once races with the bootstrap's etcd; a minute is
        // what the reference found to be enough.
        let when = match flow {
            Flow::SingleNode | Flow::Worker => "now",
            Flow::Bootstrap | Flow::ControlPlane => "+1",
        };
        let reboot = Task::new("shutdown", "reboot into the installed system").args([
            "-r",
            when,
            "The installer reboots this machine into the installed system",
        ]);
        self.task(reboot).await
    }

    pub(crate) async fn task(&self, task: Task) -> Result<(), InstallError> {
        self.program(task).await.map(drop)
    }

    /// Runs a program that must succeed.
    pub(crate) async fn program(&self, task: Task) -> Result<Finished, InstallError> {
        self.blocking(move |machine| Ok(run(machine, &task)?)).await
    }

    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Machine) -> Result<T, InstallError> + Send + 'static,
    ) -> Result<T, InstallError> {
        let machine = Arc::clone(&self.machine);
        let ended = tokio::task::spawn_blocking(move || work(&*machine)).await;
        ended.unwrap_or_else(|cause| Err(InstallError::Interrupted(cause)))
    }
}

impl Found {
    fn disk(&self) -> Result<Claim, InstallError> {
        let missing = || InstallError::unusable("the installation disk was not checked");
        self.disk.clone().ok_or_else(missing)
    }

    fn ignition(&self) -> Result<PathBuf, InstallError> {
        let missing = || InstallError::unusable("the Ignition config of this host was not fetched");
        self.ignition.clone().ok_or_else(missing)
    }
}

/// Whether the service will answer the same next time. 404 and 409 may pass: a replica may be
/// behind, and a file may still be made.
fn is_refusal(cause: &ClientError) -> bool {
    matches!(
        cause.status(),
        Some(
            http::StatusCode::UNAUTHORIZED
                | http::StatusCode::FORBIDDEN
                | http::StatusCode::BAD_REQUEST
        )
    )
}

#[cfg(test)]
mod tests;
