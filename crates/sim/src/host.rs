//! One machine with its agent: says hello, asks for work, answers, installs, reboots and, if all
//! went well, becomes a node.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use muster_api::{client::ClientError, wire};
use serde_json::Value;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::{
    fault::Fault,
    image::BootImage,
    installer::{Command, Installer, Outcome},
    line::Line,
    logs,
    machine::Machine,
    network::Network,
    nodes::{NodeState, Nodes},
    pace::Pace,
    replies::{self, Answer, Asked, Now},
    seed::{mix, text},
};

/// When the service names no interval, and between tries to register.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);
/// A flood is this many registrations.
const FLOOD: usize = 25;
/// From the end of an agent to its next start.
const RESTART: Duration = Duration::from_secs(5);
/// Longest a service may send an agent to sleep.
const LONGEST_INTERVAL: u64 = 3600;
/// From the firmware to the first question for configuration.
const BOOT: Duration = Duration::from_secs(150);
/// From there to a node, and from a node to one that does work.
const CONFIGURE: Duration = Duration::from_secs(150);
const SETTLE: Duration = Duration::from_secs(90);

/// How a host behaves.
#[derive(Clone, Copy, Debug)]
pub struct HostOptions {
    /// How fast.
    pub pace: Pace,
    /// Sends what a real agent sends, new inventories and connectivity reports with every poll;
    /// otherwise only what has changed.
    pub faithful: bool,
}

/// A machine that is switched on.
#[derive(Debug)]
pub struct Host {
    machine: Arc<Machine>,
    network: Arc<Network>,
    nodes: Arc<Nodes>,
    image: BootImage,
    line: Line,
    pace: Pace,
    faithful: bool,
    /// How often it asked for work.
    polls: u64,
    /// What was last answered to each kind of step, by question and state of the network.
    answered: HashMap<String, u64>,
    installing: Option<JoinHandle<Outcome>>,
}

/// Why an agent stopped asking.
enum Stopped {
    /// It has to say hello again.
    Restart,
    /// The host reboots into its new system.
    Reboot,
    /// It is gone for good, or the service does not want to hear of it any more.
    Gone,
}

impl Host {
    /// Switches a machine on.
    #[must_use]
    pub fn new(
        machine: Arc<Machine>,
        network: Arc<Network>,
        nodes: Arc<Nodes>,
        image: BootImage,
        line: &Line,
        options: HostOptions,
    ) -> Self {
        let line = line.on_behalf_of(image.agent(image.agent_version.clone()));
        Self {
            machine,
            network,
            nodes,
            image,
            line,
            pace: options.pace,
            faithful: options.faithful,
            polls: 0,
            answered: HashMap::new(),
            installing: None,
        }
    }

    /// Lives until it is a node, or gone.
    pub async fn run(mut self) {
        // Not all machines of a rack come up at the same moment.
        self.pace
            .sleep(DEFAULT_INTERVAL.mul_f64(self.machine.phase * 0.5))
            .await;
        loop {
            if !self.register().await {
                return;
            }
            match self.poll().await {
                // As long as a system takes to start a service again: a service that sends its
                // agents away again and again is not flooded by them.
                Stopped::Restart => self.pace.sleep(RESTART).await,
                Stopped::Gone => return,
                Stopped::Reboot => {
                    self.pace.sleep(BOOT).await;
                    if !self.machine.faults.has(Fault::WrongBootOrder) {
                        return self.become_a_node().await;
                    }
                }
            }
        }
    }

    /// Says hello until it is heard; false if there is no use in going on.
    async fn register(&mut self) -> bool {
        let flood = if self.machine.faults.lift(Fault::RegisterFlood) {
            FLOOD
        } else {
            0
        };
        for _ in 0..flood {
            // Whatever the answer, the next hello follows at once: that is the fault.
            let _ = self
                .line
                .register(self.image.infra_env, self.machine.id)
                .await;
        }
        loop {
            match self
                .line
                .register(self.image.infra_env, self.machine.id)
                .await
            {
                Ok(answer) => {
                    if let Some(version) = runner_version(&answer) {
                        self.line = self.line.on_behalf_of(self.image.agent(version));
                    }
                    self.answered.clear();
                    return true;
                }
                Err(error) => {
                    let status = error.status().map_or(0, |status| status.as_u16());
                    if matches!(status, 401 | 403 | 404 | 409) {
                        return false;
                    }
                    if self.boots_right_again() {
                        self.become_a_node().await;
                        return false;
                    }
                    self.wait(DEFAULT_INTERVAL, Instant::now()).await;
                }
            }
        }
    }

    /// Asks and answers until something else is to be done.
    async fn poll(&mut self) -> Stopped {
        let mut pause = Duration::from_millis(500);
        loop {
            self.polls += 1;
            let clock = self.clock();
            let line = self.line.clone();
            let steps = line
                .poll(self.image.infra_env, self.machine.id, clock)
                .await;
            let heard = Instant::now();
            let interval = match steps {
                Ok(steps) => {
                    pause = Duration::from_millis(500);
                    for step in steps.instructions.iter().flatten() {
                        if self.take_up(step).await {
                            return Stopped::Restart;
                        }
                    }
                    if steps.post_step_action.as_deref() == Some("exit") {
                        return Stopped::Restart;
                    }
                    let seconds = steps.next_instruction_seconds.unwrap_or(0);
                    match u64::try_from(seconds) {
                        Ok(0) | Err(_) => DEFAULT_INTERVAL,
                        Ok(seconds) => Duration::from_secs(seconds.min(LONGEST_INTERVAL)),
                    }
                }
                Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => {
                    return Stopped::Gone;
                }
                Err(_) => {
                    self.answered.clear();
                    pause = (pause * 3 / 2).min(Duration::from_secs(60));
                    pause
                }
            };
            if self.boots_right_again() {
                self.become_a_node().await;
                return Stopped::Gone;
            }
            if let Some(outcome) = self.wait(interval, heard).await {
                match outcome {
                    Outcome::Reboots => return Stopped::Reboot,
                    Outcome::Lost => return Stopped::Gone,
                    Outcome::GaveUp => {}
                    Outcome::Refused(error) => self.installer_ended(&error).await,
                }
            }
        }
    }

    /// Lets an interval pass, or comes back early because the installer has ended. It began when
    /// the work was heard of: a real agent does not wait for its own answers.
    async fn wait(&mut self, interval: Duration, since: Instant) -> Option<Outcome> {
        // A few percent sooner or later, always the same for the same machine.
        let pause = self
            .pace
            .real(interval)
            .mul_f64(0.97 + 0.06 * self.machine.phase)
            .saturating_sub(since.elapsed());
        let Some(installer) = &mut self.installing else {
            tokio::time::sleep(pause).await;
            return None;
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => None,
            ended = installer => {
                self.installing = None;
                // An installer that was stopped, or that failed, does not change the machine.
                ended.ok()
            }
        }
    }

    /// A repaired boot order: it booted discovery after its installation, and next time will not.
    fn boots_right_again(&self) -> bool {
        self.installing.is_none()
            && !self.machine.faults.has(Fault::WrongBootOrder)
            && self.nodes.state_of(self.machine.id) == Some(NodeState::Rebooting)
    }

    /// What the clock of the machine says.
    fn clock(&self) -> i64 {
        now() + self.machine.clock_offset()
    }

    async fn become_a_node(&self) {
        let id = self.machine.id;
        self.nodes.advance(id, NodeState::AsksForIgnition);
        self.pace.sleep(BOOT / 3).await;
        self.nodes.advance(id, NodeState::Configuring);
        self.pace.sleep(CONFIGURE).await;
        self.nodes.advance(id, NodeState::Joined);
        self.pace.sleep(SETTLE).await;
        self.nodes.advance(id, NodeState::Ready);
    }

    /// Does a step; true if the agent has to restart after it.
    async fn take_up(&mut self, step: &wire::Step) -> bool {
        let kind = step.step_type.as_deref().unwrap_or_default();
        let args = step.args.as_deref().unwrap_or_default();
        match kind {
            "install" => {
                self.install(step, args).await;
                return false;
            }
            "stop-installation" => {
                if let Some(installer) = self.installing.take() {
                    installer.abort();
                }
            }
            "logs-gather" => {
                if let Some(cluster) = member(args, "cluster_id") {
                    let _ =
                        logs::send_host(&self.line, cluster, self.image.infra_env, &self.machine)
                            .await;
                }
            }
            "reboot-for-reclaim" => return true,
            _ => {}
        }
        let question = args
            .iter()
            .fold(mix(self.network.revision(), text(kind)), |sum, arg| {
                mix(sum, text(arg))
            });
        let repeats = !(self.faithful && replies::never_repeats(kind));
        if repeats && self.answered.get(kind) == Some(&question) {
            return false;
        }
        let asked = Asked {
            machine: &self.machine,
            network: &self.network,
            now: self.faithful.then(|| Now {
                clock: self.clock(),
                poll: self.polls,
            }),
        };
        let answer = replies::answer(kind, args, &asked);
        let success = answer.exit_code == 0;
        if self.reply(step, answer).await && success {
            self.answered.insert(kind.to_owned(), question);
        }
        kind == "upgrade-agent"
    }

    async fn install(&mut self, step: &wire::Step, args: &[String]) {
        if self.installing.is_some() {
            return;
        }
        let command = args.first().map_or("", String::as_str);
        match serde_json::from_str::<Command>(command) {
            Ok(command) => {
                let installer = Installer {
                    machine: Arc::clone(&self.machine),
                    network: Arc::clone(&self.network),
                    infra_env: self.image.infra_env,
                    line: self.line.clone(),
                    nodes: Arc::clone(&self.nodes),
                    pace: self.pace,
                };
                self.installing = Some(tokio::spawn(installer.run(command)));
            }
            Err(cause) => {
                let answer =
                    Answer::refused(format!("the install command cannot be read: {cause}"));
                self.reply(step, answer).await;
            }
        }
    }

    /// The installer could not go on: the agent reports it, as it would of a process that failed.
    async fn installer_ended(&self, error: &ClientError) {
        let reply = wire::StepReply {
            step_type: Some("install".to_owned()),
            exit_code: Some(1),
            error: Some(format!("the installer ended: {error}")),
            ..wire::StepReply::default()
        };
        // Nothing is left to do if this fails too; the service will miss the progress.
        let _ = self
            .line
            .reply(self.image.infra_env, self.machine.id, &reply)
            .await;
    }

    async fn reply(&self, step: &wire::Step, answer: Answer) -> bool {
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        let reply = wire::StepReply {
            step_id: step.step_id.clone(),
            step_type: step.step_type.clone(),
            exit_code: Some(answer.exit_code).filter(|code| *code != 0),
            output: given(answer.output),
            error: given(answer.error),
        };
        self.line
            .reply(self.image.infra_env, self.machine.id, &reply)
            .await
            .is_ok()
    }
}

/// An installer must not outlive its machine.
impl Drop for Host {
    fn drop(&mut self) {
        if let Some(installer) = &self.installing {
            installer.abort();
        }
    }
}

/// The version of the agent the service wants to talk to.
fn runner_version(answer: &wire::HostRegistrationResponse) -> Option<String> {
    let args = answer.next_step_runner_command.as_ref()?.args.as_ref()?;
    let command: Value = serde_json::from_str(args.first()?).ok()?;
    Some(command["agent_version"].as_str()?.to_owned())
}

fn member(args: &[String], key: &str) -> Option<Uuid> {
    let request: Value = serde_json::from_str(args.first()?).ok()?;
    request[key].as_str()?.parse().ok()
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(0))
}
