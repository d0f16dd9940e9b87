//! The session with the service: registration, then polling for steps until asked to stop.
//!
//! No answer is final. The reference waits for ever after some refusals and an hour after
//! others; here whatever the service says or does not say, we come back, with longer waits, and
//! never more often than once a second.

use std::{
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};

use muster_api::{
    client::{Client, ClientError},
    requests::{self, GetNextStepsOptions},
    wire,
};
use muster_machine::Machine;
use serde::Deserialize;
use tracing::{info, warn};
use uuid::Uuid;

use crate::{
    backoff::Backoff,
    identity,
    link::Link,
    outbox::{Outbox, Sender},
    steps::{Context, Runner},
};

/// When the service names no interval, or none that makes sense.
const USUAL_INTERVAL: Duration = Duration::from_secs(60);
const LONGEST_INTERVAL: Duration = Duration::from_secs(600);
/// Between two failed polls at most.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// After a refusal a person has to act, which takes a while.
const LONGEST_REFUSED: Duration = Duration::from_secs(300);
/// How long finished results are still delivered before we register again.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Said hello again sooner than this, we were sent in circles.
const CIRCLE: Duration = Duration::from_secs(10);

/// What this process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Registers, then polls; asked to stop, it registers again.
    Agent,
    /// Polls for a machine that is registered already; asked to stop, it ends.
    Runner,
}

/// One machine talking to one service.
#[derive(Debug)]
pub struct Session {
    /// The service.
    pub link: Arc<Link>,
    /// The machine.
    pub machine: Arc<dyn Machine>,
    /// What this process does.
    pub mode: Mode,
    /// Where we belong.
    pub infra_env: Uuid,
    /// Who we are, if given; else derived from the machine.
    pub host: Option<Uuid>,
    /// What we call ourselves.
    pub version: String,
    /// Longest wait between attempts to register.
    pub interval: Duration,
    /// The file of this program, to be replaced by an upgrade.
    pub program: Option<std::path::PathBuf>,
}

/// Who we are to the service.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Registered {
    infra_env: Uuid,
    host: Uuid,
    version: String,
}

/// The part of the answer that matters; the rest describes the host.
#[derive(Debug, Default, Deserialize)]
struct Hello {
    next_step_runner_command: Option<RunnerCommand>,
}

#[derive(Debug, Default, Deserialize)]
struct RunnerCommand {
    #[serde(default)]
    args: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct RunnerRequest {
    agent_version: String,
    host_id: Uuid,
    infra_env_id: Uuid,
}

/// Why polling ended.
#[derive(Debug, PartialEq, Eq)]
enum End {
    /// The service said so, or the agent was upgraded.
    Stopped,
    /// The service does not know us.
    Unknown,
}

impl Session {
    /// Registers and polls once, and waits until its results are delivered; for rehearsals.
    ///
    /// # Errors
    /// The service did not answer as it should.
    pub async fn once(&self) -> anyhow::Result<()> {
        let us = self.register().await?;
        let (mut runner, outbox, delivery) = self.begin(&us);
        let client = self.link.client(Some(&us.version))?;
        let steps = self.ask(&client, &us).await?;
        runner.begin(steps.instructions.unwrap_or_default());
        runner.finished().await;
        outbox.emptied().await;
        delivery.abort();
        Ok(())
    }

    /// Talks until there is nothing more to say, which for an agent is never.
    pub async fn forever(&self) {
        let mut circles = Backoff::up_to(LONGEST_WAIT);
        loop {
            let begun = Instant::now();
            let us = match self.mode {
                Mode::Agent => self.registered().await,
                Mode::Runner => self.as_given(),
            };
            let end = self.poll(&us).await;
            match (self.mode, end) {
                (Mode::Runner, End::Stopped) => return,
                (Mode::Runner, End::Unknown) => {
                    // Another process registers; the record may come back.
                    tokio::time::sleep(circles.wait_up_to(LONGEST_REFUSED)).await;
                }
                (Mode::Agent, _) if begun.elapsed() < CIRCLE => {
                    tokio::time::sleep(circles.wait()).await;
                }
                (Mode::Agent, _) => circles.reset(),
            }
        }
    }

    fn as_given(&self) -> Registered {
        Registered {
            infra_env: self.infra_env,
            host: self.host_id(),
            version: self.version.clone(),
        }
    }

    /// Determined each time: a network card that appeared late may change the answer.
    fn host_id(&self) -> Uuid {
        self.host
            .unwrap_or_else(|| identity::host_id(&*self.machine))
    }

    /// Registers, however long it takes.
    async fn registered(&self) -> Registered {
        let mut backoff = Backoff::up_to(self.interval);
        loop {
            match self.register().await {
                Ok(us) => {
                    info!(host = %us.host, "registered");
                    return us;
                }
                Err(error) => {
                    let wait = if is_refusal(&error) {
                        backoff.wait_up_to(LONGEST_REFUSED)
                    } else {
                        backoff.wait()
                    };
                    warn!(
                        error = error_chain(&error),
                        wait = wait.as_secs(),
                        "not registered; trying again"
                    );
                    tokio::time::sleep(wait).await;
                }
            }
        }
    }

    /// Registers with the token of this machine, if it has one: only that proves to be the same
    /// machine as before. The token of the image is for those without, or whose token has ended.
    async fn register(&self) -> Result<Registered, ClientError> {
        match self.register_once().await {
            Err(error)
                if self.link.has_own_token()
                    && error.status().is_some_and(|status| status.as_u16() == 401) =>
            {
                self.link.adopt_token(None);
                self.register_once().await
            }
            answer => answer,
        }
    }

    async fn register_once(&self) -> Result<Registered, ClientError> {
        let us = self.as_given();
        let client = self.link.client(Some(&us.version))?;
        let body = wire::HostCreateParams {
            host_id: Some(us.host.to_string()),
            discovery_agent_version: Some(us.version.clone()),
        };
        let request = requests::register_host(us.infra_env, &body).answered_as::<Hello>();
        let (hello, token) = client.fetch_with_header(&request, "x-host-token").await?;
        self.link.adopt_token(token);
        Ok(adopted(us, hello))
    }

    fn begin(&self, us: &Registered) -> (Runner, Arc<Outbox>, Delivery) {
        let outbox = Arc::new(Outbox::default());
        let context = Arc::new(Context {
            machine: Arc::clone(&self.machine),
            link: Arc::clone(&self.link),
            infra_env: us.infra_env,
            host: us.host,
            program: self.program.clone(),
        });
        let sender = Sender {
            infra_env: us.infra_env,
            host: us.host,
            version: Some(us.version.clone()),
        };
        let delivery = Arc::clone(&outbox).deliver(Arc::clone(&self.link), sender);
        let runner = Runner::new(context, Arc::clone(&outbox));
        (runner, outbox, Delivery(tokio::spawn(delivery)))
    }

    /// Polls until the end. Steps that still run then are ended with it.
    async fn poll(&self, us: &Registered) -> End {
        let (mut runner, outbox, _delivery) = self.begin(us);
        let renewed = runner.renewed();
        let mut backoff = Backoff::up_to(LONGEST_WAIT);
        loop {
            let answer = match self.link.client(Some(&us.version)) {
                Ok(client) => self.ask(&client, us).await,
                Err(error) => Err(error),
            };
            let wait = match answer {
                Ok(steps) => {
                    backoff.reset();
                    let last = steps.post_step_action.as_deref() == Some("exit");
                    let wait = interval(steps.next_instruction_seconds, last);
                    runner.begin(steps.instructions.unwrap_or_default());
                    if last {
                        info!("asked to register again");
                        tokio::time::sleep(wait).await;
                        // What is done already should still arrive; a service away ends that.
                        let _ = tokio::time::timeout(LAST_WORDS, outbox.emptied()).await;
                        return End::Stopped;
                    }
                    wait
                }
                Err(error) => {
                    outbox.forget();
                    let wait = backoff.wait();
                    warn!(
                        error = error_chain(&error),
                        wait = wait.as_secs(),
                        "no steps; asking again"
                    );
                    let status = error.status().map(|status| status.as_u16());
                    if status == Some(404) || status == Some(401) && self.link.has_own_token() {
                        // Deleted, registered by another process, or the service lost its memory:
                        // register again.
                        tokio::time::sleep(wait).await;
                        return End::Unknown;
                    }
                    wait
                }
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = renewed.notified() => {
                    info!("upgraded");
                    return End::Stopped;
                }
            }
        }
    }

    async fn ask(&self, client: &Client, us: &Registered) -> Result<wire::Steps, ClientError> {
        let now = self.machine.now().duration_since(UNIX_EPOCH);
        let clock = now.map_or(0, |since| since.as_secs());
        let options = GetNextStepsOptions {
            timestamp: Some(i64::try_from(clock).unwrap_or(0)),
        };
        let request = requests::get_next_steps(us.infra_env, us.host, &options);
        client.fetch(&request).await
    }
}

/// Delivers until it is dropped.
#[derive(Debug)]
struct Delivery(tokio::task::JoinHandle<()>);

impl Delivery {
    fn abort(&self) {
        self.0.abort();
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Takes over what the service calls us. Its version counts from now on: a service that sees
/// another one asks for an upgrade and for nothing else. An answer that cannot be used changes
/// nothing; the reference sleeps for an hour then.
fn adopted(us: Registered, hello: Hello) -> Registered {
    let args = hello
        .next_step_runner_command
        .and_then(|command| command.args);
    let request = args.as_deref().and_then(|args| match args {
        [only] => serde_json::from_str::<RunnerRequest>(only).ok(),
        _ => None,
    });
    match request {
        Some(request) => Registered {
            infra_env: request.infra_env_id,
            host: request.host_id,
            version: Some(request.agent_version)
                .filter(|version| is_header(version))
                .unwrap_or(us.version),
        },
        None => us,
    }
}

fn is_header(version: &str) -> bool {
    (1..=512).contains(&version.len()) && version.chars().all(|c| c.is_ascii_graphic() || c == ' ')
}

/// How long to wait before the next poll. Only someone who leaves may be asked to do it at once.
fn interval(seconds: Option<i64>, last: bool) -> Duration {
    let asked = seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .map(Duration::from_secs);
    match asked {
        Some(asked) if last || !asked.is_zero() => asked.min(LONGEST_INTERVAL),
        None if last => Duration::ZERO,
        Some(_) | None => USUAL_INTERVAL,
    }
}

/// A person has to act before it can work.
fn is_refusal(error: &ClientError) -> bool {
    let status = error.status().map(|status| status.as_u16());
    matches!(status, Some(401 | 403 | 404 | 409))
}

/// An error with its causes on one line.
fn error_chain(error: &ClientError) -> String {
    crate::steps::error_chain(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us() -> Registered {
        Registered {
            infra_env: Uuid::from_u128(1),
            host: Uuid::from_u128(2),
            version: "mine".into(),
        }
    }

    fn hello(text: &str) -> Registered {
        adopted(us(), serde_json::from_str(text).unwrap())
    }

    #[test]
    fn the_service_decides_what_we_are_called() {
        let registered = hello(
            r#"{"id":"x","status":null,"next_step_runner_command":{"args":["{\"agent_version\":\"quay.io/a:1\",\"host_id\":\"4d5b53bf-e799-b31f-f374-432d47187920\",\"infra_env_id\":\"00000000-0000-0000-0000-000000000009\"}"]}}"#,
        );
        assert_eq!(registered.version, "quay.io/a:1");
        assert_eq!(registered.infra_env, Uuid::from_u128(9));
    }

    #[test]
    fn an_answer_without_a_usable_command_changes_nothing() {
        for text in [
            "{}",
            r#"{"next_step_runner_command":null}"#,
            r#"{"next_step_runner_command":{"args":[]}}"#,
            r#"{"next_step_runner_command":{"args":["{}","{}"]}}"#,
            r#"{"next_step_runner_command":{"args":["rm -rf /"]}}"#,
        ] {
            assert_eq!(hello(text), us(), "{text}");
        }
    }

    #[test]
    fn no_interval_makes_us_knock_without_pause() {
        let secs = Duration::from_secs;
        assert_eq!(interval(Some(5), false), secs(5));
        for silly in [None, Some(0), Some(-3)] {
            assert_eq!(interval(silly, false), USUAL_INTERVAL);
        }
        assert_eq!(interval(Some(i64::MAX), false), LONGEST_INTERVAL);
        assert_eq!(interval(None, true), Duration::ZERO);
        assert_eq!(interval(Some(120), true), secs(120));
    }
}
