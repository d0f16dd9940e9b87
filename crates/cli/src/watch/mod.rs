//! `muster watch`: what happens, as it happens, one line each.
//!
//! Connects again when the connection breaks, and goes on where it was: no event is missed or
//! shown twice. Ends with Ctrl-C, or when what is watched is gone.

mod lines;

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use muster_api::client::{Client, ClientError};

use crate::{
    connection::{Connection, explained},
    format,
    get::find::{self, Kind},
    output,
};
use lines::Lines;

/// Waits between attempts to connect, the last one for all that follow.
const PAUSES: [u64; 5] = [1, 2, 4, 8, 15];

/// Show live what happens to clusters and hosts.
///
/// The credentials: the login of `muster login`, or a token in MUSTER_TOKEN.
#[derive(Debug, Args)]
pub struct Watch {
    /// Only this cluster and its hosts, by name or id
    #[arg(long, value_name = "NAME", conflicts_with = "infra_env")]
    cluster: Option<String>,
    /// Only the hosts of this infra-env, by name or id
    #[arg(long, value_name = "NAME")]
    infra_env: Option<String>,
    /// Begin with the whole history instead of now
    #[arg(long)]
    history: bool,
    #[command(flatten)]
    output: format::Output,
    #[command(flatten)]
    connection: Connection,
}

/// Watches until asked to stop.
pub fn run(watch: Watch) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return output::failure(&error.into()),
    };
    match runtime.block_on(follow(watch)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => output::failure(&error),
    }
}

async fn follow(watch: Watch) -> anyhow::Result<()> {
    let target = watch.connection.target()?;
    let client = target.client()?;
    let id = |kind, name: String| {
        let (client, url) = (&client, &target.url);
        async move {
            let found = find::id(client, kind, &name).await;
            found.map_err(|error| match error {
                find::Error::Client(error) => explained(error, url),
                find::Error::Name(words) => anyhow::anyhow!(words),
            })
        }
    };
    let query = match (watch.cluster, watch.infra_env) {
        (Some(name), _) => format!("cluster_id={}", id(Kind::Cluster, name).await?),
        (None, Some(name)) => format!("infra_env_id={}", id(Kind::InfraEnv, name).await?),
        (None, None) => String::new(),
    };
    let mut session = Session {
        lines: match watch.output.is_json() {
            true => None,
            false => Some(Lines::default()),
        },
        last: watch.history.then(|| "0".to_owned()),
        failures: 0,
        gone: false,
    };
    loop {
        match session.listen(&client, &query).await {
            Ok(()) if session.gone => return Ok(()),
            Ok(()) => note("the service ended the stream"),
            Err(Problem::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                return Ok(());
            }
            Err(Problem::Output(error)) => return Err(error.into()),
            // Refused for good; trying again would only repeat it.
            Err(Problem::Client(error))
                if error
                    .status()
                    .is_some_and(|status| status.is_client_error() && status.as_u16() != 429)
                    || error.certificate_fault().is_some() =>
            {
                return Err(explained(error, &target.url));
            }
            Err(Problem::Client(
                error @ (ClientError::Settings(_) | ClientError::Garbage { .. }),
            )) => return Err(error.into()),
            Err(Problem::Client(error)) => note(&format!("{:#}", anyhow::Error::from(error))),
        }
        let pause = PAUSES[session.failures.min(PAUSES.len() - 1)];
        session.failures += 1;
        note(&format!("connecting again in {pause} s"));
        tokio::time::sleep(Duration::from_secs(pause)).await;
    }
}

/// Remarks about the connection go beside the result.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "muster: {text}");
}

enum Problem {
    Client(ClientError),
    Output(io::Error),
}

impl From<ClientError> for Problem {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// What outlives a connection.
struct Session {
    /// What a person was shown; nothing if a program reads the messages.
    lines: Option<Lines>,
    last: Option<String>,
    failures: usize,
    /// What was watched does not exist any more.
    gone: bool,
}

impl Session {
    async fn listen(&mut self, client: &Client, query: &str) -> Result<(), Problem> {
        let mut stream = client.watch(query, self.last.as_deref()).await?;
        loop {
            let next = stream.next().await;
            if let Some(id) = stream.last_id() {
                self.last = Some(id.to_owned());
            }
            let Some(message) = next? else {
                return Ok(());
            };
            // Who only accepts connections and says nothing is not asked faster and faster.
            self.failures = 0;
            let Ok(body) = serde_json::from_str::<serde_json::Value>(&message.data) else {
                note("a message that is not JSON was ignored");
                continue;
            };
            let target = query.split_once('=').map(|(_, id)| id);
            self.gone |=
                message.kind == "deleted" && target.is_some() && body["id"].as_str() == target;
            let mut out = io::stdout().lock();
            match &mut self.lines {
                Some(lines) => {
                    for line in lines.of(&message.kind, &body) {
                        writeln!(out, "{line}")?;
                    }
                }
                None => {
                    let message = serde_json::json!({"kind": message.kind, "body": body});
                    writeln!(out, "{message}")?;
                }
            }
            out.flush()?;
        }
    }
}
