//! The conversation with the service: hello, then "what shall I do?" until told to stop.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use muster_api::{
    client::{Client, ClientError},
    wire,
};
use tracing::{info, warn};
use uuid::Uuid;

use crate::patience::Patience;

/// When the service names no interval.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);

/// One machine talking to one service.
#[derive(Debug)]
pub struct Talk {
    /// The service.
    pub client: Client,
    /// Where we belong.
    pub infra_env: Uuid,
    /// Who we are.
    pub host: Uuid,
}

enum Next {
    Wait(Duration),
    Stop,
}

impl Talk {
    /// Registers and polls once; for rehearsals and tests.
    pub async fn once(&self) -> anyhow::Result<()> {
        self.client.register_host(self.infra_env, self.host).await?;
        info!("registered");
        self.round().await?;
        Ok(())
    }

    /// Registers and polls until told to stop. No answer is final: whatever the service says
    /// or does not say, we come back, with longer waits.
    pub async fn forever(&self) -> anyhow::Result<()> {
        let mut patience = Patience::default();
        loop {
            if let Err(error) = self.client.register_host(self.infra_env, self.host).await {
                let wait = patience.next();
                warn!(%error, wait = wait.as_secs(), "not registered; trying again");
                tokio::time::sleep(wait).await;
                continue;
            }
            info!("registered");
            patience.restored();
            if self.poll().await {
                return Ok(());
            }
        }
    }

    /// Polls; true means we were told to stop, false that we have to register again.
    async fn poll(&self) -> bool {
        let mut patience = Patience::default();
        loop {
            match self.round().await {
                Ok(Next::Stop) => {
                    info!("told to stop");
                    return true;
                }
                Ok(Next::Wait(interval)) => {
                    patience.restored();
                    tokio::time::sleep(interval).await;
                }
                // Unknown to the service: deleted, or it lost its memory. Say hello again.
                Err(error) if error.status().is_some_and(|status| status.as_u16() == 404) => {
                    warn!("the service does not know this host any more; registering again");
                    tokio::time::sleep(patience.next()).await;
                    return false;
                }
                Err(error) => {
                    let wait = patience.next();
                    warn!(%error, wait = wait.as_secs(), "no answer; trying again");
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    async fn round(&self) -> Result<Next, ClientError> {
        let clock = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let steps = self
            .client
            .next_steps(self.infra_env, self.host, i64::try_from(clock).unwrap_or(0))
            .await?;
        for step in steps.instructions.iter().flatten() {
            let reply = cannot_do(step);
            if let Err(error) = self.client.reply(self.infra_env, self.host, &reply).await {
                warn!(%error, step = ?step.step_id, "the result of a step was not taken");
            }
        }
        if steps.post_step_action.as_deref() == Some("exit") {
            return Ok(Next::Stop);
        }
        let seconds = steps
            .next_instruction_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        Ok(Next::Wait(
            seconds.map_or(DEFAULT_INTERVAL, Duration::from_secs),
        ))
    }
}

/// The honest answer of a skeleton.
fn cannot_do(step: &wire::Step) -> wire::StepReply {
    let kind = step.step_type.as_deref().unwrap_or("unnamed");
    info!(step = kind, "cannot do this step yet");
    wire::StepReply {
        step_id: step.step_id.clone(),
        step_type: step.step_type.clone(),
        exit_code: Some(1),
        output: Some(String::new()),
        error: Some(format!("this agent cannot do {kind} yet")),
    }
}
