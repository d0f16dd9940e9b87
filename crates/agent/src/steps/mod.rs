//! Everything a service may ask a machine to do, one file per kind of step.
//!
//! [`KINDS`] is the whole list: a name that is not in it is answered with a refusal. Arguments
//! are data: each step reads them into its own types and checks them before anything happens;
//! nothing of them ever reaches a shell.

mod api_vip;
mod args;
mod connectivity;
mod dhcp;
mod disk_speed;
mod domains;
mod free_addresses;
mod images;
mod install;
mod installer_unit;
mod inventory;
pub(crate) mod logs;
mod media;
mod network_by_hand;
mod ntp;
mod reclaim;
mod runner;
mod stop;
mod tang;
mod upgrade;
mod vips;
mod web;

use std::{future::Future, path::PathBuf, pin::Pin, sync::Arc, time::Duration};

use muster_machine::{Cancel, Finished, Machine, Task, TaskError};
pub use runner::Runner;
use serde::Serialize;
use uuid::Uuid;
pub use web::error_chain;

use crate::link::Link;

/// Could not be done at all: unknown, bad arguments, nothing to do it with.
const REFUSED: i64 = -1;
/// Out of time, as the `timeout` command says it.
const OUT_OF_TIME: i64 = 124;

/// What the steps know about the machine and its service.
#[derive(Debug)]
pub struct Context {
    /// The computer.
    pub machine: Arc<dyn Machine>,
    /// The way to the service.
    pub link: Arc<Link>,
    /// Where this machine belongs.
    pub infra_env: Uuid,
    /// Which one it is.
    pub host: Uuid,
    /// The file of this program, to be replaced by an upgrade; none if it must not be.
    pub program: Option<PathBuf>,
}

impl Context {
    /// Runs a program without holding up anything else. It is stopped when the step is given up.
    async fn task(&self, task: Task) -> Result<Finished, TaskError> {
        struct Stop(Cancel);
        impl Drop for Stop {
            fn drop(&mut self) {
                self.0.cancel();
            }
        }
        let stop = Stop(Cancel::default());
        let task = task.cancelled_by(&stop.0);
        let machine = Arc::clone(&self.machine);
        let (program, reason) = (task.program.clone(), task.reason.clone());
        let ended = tokio::task::spawn_blocking(move || machine.run(&task)).await;
        ended.unwrap_or_else(|cause| {
            let source = std::io::Error::other(cause);
            Err(TaskError::NotStarted {
                program,
                reason,
                source,
            })
        })
    }
}

/// What came of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// 0 is success.
    pub exit_code: i64,
    /// The result, mostly JSON.
    pub output: String,
    /// What went wrong.
    pub error: String,
}

impl Outcome {
    /// Success with a JSON result.
    fn json(result: &impl Serialize) -> Self {
        match serde_json::to_string(result) {
            Ok(output) => Self {
                output,
                ..Self::default()
            },
            Err(cause) => Self::refused(format!("the result cannot be written: {cause}")),
        }
    }

    /// Not done, and why.
    fn refused(reason: impl Into<String>) -> Self {
        Self::failed(REFUSED, reason)
    }

    /// Tried and failed.
    fn failed(exit_code: i64, reason: impl Into<String>) -> Self {
        Self {
            exit_code,
            output: String::new(),
            error: reason.into(),
        }
    }

    /// Failed, with a result that contains more.
    fn and_output(mut self, result: &impl Serialize) -> Self {
        self.output = serde_json::to_string(result).unwrap_or_default();
        self
    }
}

/// Bad arguments end a step before it begins.
impl From<args::Unusable> for Outcome {
    fn from(problem: args::Unusable) -> Self {
        Self::refused(problem.to_string())
    }
}

type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One kind of step.
pub struct Kind {
    /// Its name on the wire.
    pub name: &'static str,
    /// How long it may take before it is given up.
    pub deadline: Duration,
    /// Its results are asked for because the service lacks them, so they are sent even if they
    /// are the same as last time.
    pub always_sent: bool,
    run: fn(Arc<Context>, Vec<String>) -> Running,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kind")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

macro_rules! kinds {
    ($($name:literal $seconds:literal $sent:ident $run:path;)+) => {
        /// Every kind of step this agent does.
        pub const KINDS: &[Kind] = &[$(Kind {
            name: $name,
            deadline: Duration::from_secs($seconds),
            always_sent: kinds!(@ $sent),
            run: |context, args| Box::pin(async move {
                $run(&context, args).await.unwrap_or_else(|problem| problem.into())
            }),
        },)+];
    };
    (@ once) => { false };
    (@ always) => { true };
}

// name, deadline in seconds, whether an unchanged result is sent once an hour or always
kinds! {
    "api-vip-connectivity-check" 120 once api_vip::run;
    "connectivity-check" 120 once connectivity::run;
    "container-image-availability" 7200 always images::run;
    "dhcp-lease-allocate" 90 once dhcp::run;
    "domain-resolution" 120 once domains::run;
    "download-boot-artifacts" 3600 always reclaim::download;
    "free-network-addresses" 300 once free_addresses::run;
    "install" 262800 always install::run;
    "installation-disk-speed-check" 3600 always disk_speed::run;
    "inventory" 300 once inventory::run;
    "logs-gather" 3600 always logs::run;
    "ntp-synchronizer" 120 once ntp::run;
    "reboot-for-reclaim" 120 always reclaim::reboot;
    "stop-installation" 60 always stop::run;
    "tang-connectivity-check" 120 once tang::run;
    "upgrade-agent" 3600 always upgrade::run;
    "verify-vips" 120 once vips::run;
}

/// The kind of that name.
#[must_use]
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Does one step now, within its deadline; for the runner and for people who try a step by hand.
pub async fn perform(context: Arc<Context>, name: &str, args: Vec<String>) -> Outcome {
    let Some(kind) = kind(name) else {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        return Outcome::refused(format!(
            "this agent knows no step {shown:?}; nothing was done"
        ));
    };
    let machine = Arc::clone(&context.machine);
    if let Some(lost) = media::lost(&machine).await {
        return lost;
    }
    let outcome = match tokio::time::timeout(kind.deadline, (kind.run)(context, args)).await {
        Ok(outcome) => outcome,
        Err(_) => Outcome::failed(
            OUT_OF_TIME,
            format!("given up after {} s", kind.deadline.as_secs()),
        ),
    };
    match media::lost(&machine).await {
        Some(lost) if outcome.exit_code != 0 => Outcome {
            exit_code: lost.exit_code,
            ..outcome
        },
        _ => outcome,
    }
}

#[cfg(test)]
mod tests;
