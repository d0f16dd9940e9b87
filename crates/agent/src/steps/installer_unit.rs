//! The systemd unit of the installer: starting it, and how it is and ended, as systemd says of it.

use std::{path::Path, time::Duration};

use muster_installer::journal;
use muster_machine::Task;
use tokio::time::Instant;
use tracing::debug;

use super::{Context, OUT_OF_TIME, Outcome, REFUSED};

/// The unit of the installer. The reference's container has the same name.
pub(super) const UNIT: &str = "assisted-installer.service";
/// The longest installation that is waited for. Each wait of the installer has a limit of its own, and an
/// answer that comes too early would end an installation that works.
const LONGEST: Duration = Duration::from_secs(72 * 3600);
/// Between two looks at the unit.
const LOOK: Duration = Duration::from_secs(5);
/// How often systemd is asked for a state that is needed now.
const LOOKS: u32 = 6;
/// A machine that is busy takes its time to start a unit.
const START_LIMIT: Duration = Duration::from_secs(300);

/// Starts the unit, which stays until it has ended, or until the next start if it fails.
pub(super) async fn start(
    context: &Context,
    program: &Path,
    environment: &str,
    words: Vec<String>,
) -> Result<(), String> {
    let start = Task::new("systemd-run", "install this machine")
        .args([
            "--quiet",
            "--service-type=exec",
            "--unit",
            UNIT,
            "--description",
            "Installs this machine",
            // Killed or crashed, it continues where it was; a failure is final.
            "--property=Restart=on-abnormal",
            "--property=RestartSec=5",
        ])
        .arg(format!("--property=EnvironmentFile={environment}"))
        .arg("--")
        .arg(program.display().to_string())
        .args(words)
        .deadline(START_LIMIT);
    let problem = match context.task(start).await {
        Ok(finished) if finished.succeeded() => return Ok(()),
        Ok(finished) => format!("the installer cannot be started: {}", finished.err().trim()),
        Err(cause) => cause.to_string(),
    };
    // A busy systemd may have done what it was asked without an answer in time.
    match state_now(context).await {
        Ok(State::Runs) => Ok(()),
        Ok(State::Failed { .. } | State::Ended) | Err(_) => Err(problem),
    }
}

/// What is left of an earlier installation would be taken for that of this one.
pub(super) async fn forget_last(context: &Context) {
    if let Err(cause) = context.machine.remove(Path::new(journal::FAILURE)) {
        debug!(%cause, "no reason of an earlier failure");
    }
    let reset = Task::new("systemctl", "forget how the last installation ended");
    if let Err(cause) = context.task(reset.args(["reset-failed", UNIT])).await {
        debug!(%cause, "nothing to forget");
    }
}

/// Waits until the unit has ended.
pub(super) async fn wait(context: &Context) -> Outcome {
    let began = Instant::now();
    loop {
        match state(context).await {
            Ok(State::Runs) => {}
            Ok(State::Failed { status }) => return failed(context, status),
            // Failed too, if another program made systemd forget it.
            Ok(State::Ended) if context.machine.kind(Path::new(journal::FAILURE)).is_ok() => {
                return failed(context, None);
            }
            Ok(State::Ended) => return Outcome::default(),
            Err(cause) => debug!(cause, "the state of the installer is not known"),
        }
        if began.elapsed() > LONGEST {
            return Outcome::failed(
                OUT_OF_TIME,
                format!("{UNIT} still runs after {} hours", LONGEST.as_secs() / 3600),
            );
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn failed(context: &Context, status: Option<i64>) -> Outcome {
    let reason = context.machine.read(Path::new(journal::FAILURE));
    let reason = reason.map(|text| String::from_utf8_lossy(&text).trim().to_owned());
    let reason =
        reason.unwrap_or_else(|_| format!("see `journalctl --unit {UNIT}` on this machine"));
    Outcome::failed(
        status.filter(|code| *code != 0).unwrap_or(REFUSED),
        format!("the installation failed: {reason}"),
    )
}

/// How the unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It runs, or is about to, also again after a crash.
    Runs,
    /// It failed, with this exit status.
    Failed {
        /// None if a signal ended it.
        status: Option<i64>,
    },
    /// It ended, or never began.
    Ended,
}

impl State {
    /// Reads the properties that systemd prints.
    fn parse(shown: &str) -> Option<Self> {
        let value = |key: &str| {
            let mut lines = shown.lines();
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        match value("ActiveState")?.trim() {
            "failed" => Some(Self::Failed {
                status: value("ExecMainStatus").and_then(|status| status.trim().parse().ok()),
            }),
            "inactive" => Some(Self::Ended),
            "active" | "activating" | "deactivating" | "reloading" | "refreshing"
            | "maintenance" => Some(Self::Runs),
            _ => None,
        }
    }
}

/// Asks systemd; it may be too busy to answer.
async fn state(context: &Context) -> Result<State, String> {
    let ask = Task::new("systemctl", "see how the installation is").args([
        "show",
        "--property=ActiveState",
        "--property=ExecMainStatus",
        UNIT,
    ]);
    match context.task(ask).await {
        Ok(finished) if finished.succeeded() => {
            let shown = finished.out();
            State::parse(&shown)
                .ok_or_else(|| format!("systemd names no state of {UNIT}: {shown:?}"))
        }
        Ok(finished) => Err(finished.err()),
        Err(cause) => Err(cause.to_string()),
    }
}

/// The same, with some patience.
pub(super) async fn state_now(context: &Context) -> Result<State, String> {
    for _ in 1..LOOKS {
        if let Ok(state) = state(context).await {
            return Ok(state);
        }
        tokio::time::sleep(LOOK).await;
    }
    state(context).await
}
