//! The line to the service: one client for all hosts, with a bound on calls at the same time
//! and a count of what went over it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use muster_api::{
    client::{Client, ClientError, ClientOptions},
    requests::{self, File, GetNextStepsOptions, Request, Upload},
    wire,
};
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::tally::{Kind, Tally, Traffic};

/// Calls under way at the same time; more would only mean more open connections.
const MOST_CALLS: usize = 128;

/// A caller of the service.
#[derive(Clone, Debug)]
pub struct Line {
    client: Client,
    turns: Arc<Semaphore>,
    tally: Arc<Tally>,
}

impl Line {
    /// A line for the caller that `client` speaks for.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            turns: Arc::new(Semaphore::new(MOST_CALLS)),
            tally: Arc::default(),
        }
    }

    /// The same line, for another caller.
    #[must_use]
    pub fn on_behalf_of(&self, options: ClientOptions) -> Self {
        Self {
            client: self.client.on_behalf_of(options),
            turns: Arc::clone(&self.turns),
            tally: Arc::clone(&self.tally),
        }
    }

    /// How much was said by all callers.
    #[must_use]
    pub fn traffic(&self) -> Traffic {
        self.tally.read()
    }

    /// Begins a window to measure: what [`Line::traffic`] reads later, [`Traffic::since`] this.
    #[must_use]
    pub fn begin_window(&self) -> Traffic {
        self.tally.begin_window()
    }

    /// Waits for a turn, calls, counts.
    async fn call<T>(
        &self,
        kind: Kind,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let came = Instant::now();
        // The semaphore is never closed; should it be, the call is made without a bound.
        let _turn = self.turns.acquire().await.ok();
        let began = Instant::now();
        self.tally.turn(began - came);
        let result = call.await;
        self.tally.call(kind, began.elapsed(), &result);
        result
    }

    /// Says hello for a host.
    ///
    /// # Errors
    /// As [`Client::fetch`].
    pub async fn register(
        &self,
        infra_env: Uuid,
        host: Uuid,
    ) -> Result<wire::HostRegistrationResponse, ClientError> {
        let body = wire::HostCreateParams {
            host_id: Some(host.to_string()),
            discovery_agent_version: self.client.agent_version().map(str::to_owned),
        };
        let request = requests::register_host(infra_env, &body);
        self.call(Kind::Register, self.client.fetch(&request)).await
    }

    /// Asks for work.
    ///
    /// # Errors
    /// As [`Client::fetch`].
    pub async fn poll(
        &self,
        infra_env: Uuid,
        host: Uuid,
        clock: i64,
    ) -> Result<wire::Steps, ClientError> {
        let options = GetNextStepsOptions {
            timestamp: Some(clock),
        };
        let request = requests::get_next_steps(infra_env, host, &options);
        self.call(Kind::Poll, self.client.fetch(&request)).await
    }

    /// Hands in the result of a step.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn reply(
        &self,
        infra_env: Uuid,
        host: Uuid,
        reply: &wire::StepReply,
    ) -> Result<(), ClientError> {
        let request = requests::post_step_reply(infra_env, host, reply);
        self.call(Kind::Reply, self.client.send(&request)).await
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// As [`Client::fetch`].
    pub async fn fetch<A: DeserializeOwned>(&self, request: &Request<A>) -> Result<A, ClientError> {
        self.call(Kind::Other, self.client.fetch(request)).await
    }

    /// Sends a request whose answer does not matter.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send<A>(&self, request: &Request<A>) -> Result<(), ClientError> {
        self.call(Kind::Other, self.client.send(request)).await
    }

    /// Downloads a file.
    ///
    /// # Errors
    /// As [`Client::fetch_text`].
    pub async fn text(&self, request: &Request<File>) -> Result<String, ClientError> {
        self.call(Kind::Other, self.client.fetch_text(request))
            .await
    }

    /// Uploads logs.
    ///
    /// # Errors
    /// As [`Client::upload_file`].
    pub async fn upload_logs(&self, upload: &Upload, archive: &[u8]) -> Result<(), ClientError> {
        let sent = self.client.upload_file(upload, "logs.tar.gz", archive);
        self.call(Kind::Other, sent).await
    }

    /// Reports an installation stage of a host.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn report_stage(
        &self,
        infra_env: Uuid,
        host: Uuid,
        stage: &str,
        info: &str,
    ) -> Result<(), ClientError> {
        let body = wire::HostProgress {
            current_stage: Some(stage.to_owned()),
            progress_info: Some(info.to_owned()),
        };
        let request = requests::update_host_install_progress(infra_env, host, &body);
        self.send(&request).await
    }
}

/// Calls again while there is no answer or the service is in trouble, with longer waits; a
/// refusal is an answer.
///
/// # Errors
/// The last error, after some ten tries.
pub async fn insist<T, F>(mut call: impl FnMut() -> F) -> Result<T, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut wait = Duration::from_millis(50);
    for _ in 0..9 {
        match call().await {
            Err(error) if error.status().is_none_or(|status| status.is_server_error()) => {
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(5));
            }
            answer => return answer,
        }
    }
    call().await
}
