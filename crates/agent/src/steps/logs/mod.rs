//! `logs-gather`: collects what shows why an installation went wrong and uploads it.
//!
//! The archive is made while it is sent: nothing is written to a machine that may run from
//! memory, and no more than one log is held at a time. Secrets are taken out on the way.
//!
//! A bundle of the other machines takes up to half an hour to make, in which this one may be
//! switched off; so what is there without it is sent before, and replaced by the whole later.

mod bundle;
mod redact;
mod sources;

use std::{convert::Infallible, net::IpAddr, pin::Pin, sync::Arc, task::Poll, time::Duration};

pub(crate) use bundle::Bundle;
use bytes::Bytes;
use http_body::Frame;
use muster_api::{
    client::Client,
    requests::{self, UploadLogsLogsType, UploadLogsOptions},
    wire::LogsProgressParams,
};
pub(crate) use redact::Redactor;
use serde::Deserialize;
use sources::Source;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::{
    Context, Outcome,
    args::{Moment, Unusable, one},
    error_chain,
    web::null_is_empty,
};

const ATTEMPTS: u32 = 3;
const UPLOAD: Duration = Duration::from_secs(3000);
/// The service takes 250 MiB; some room is left for the last log.
const ENOUGH: usize = 200 << 20;

#[derive(Clone, Debug, Deserialize)]
struct Request {
    cluster_id: Uuid,
    host_id: Uuid,
    infra_env_id: Uuid,
    #[serde(default)]
    bootstrap: bool,
    #[serde(default)]
    installer_gather: bool,
    #[serde(default, deserialize_with = "null_is_empty")]
    master_ips: Vec<IpAddr>,
    /// From where on journals are read; not on the wire, but the reference's program has it.
    #[serde(default)]
    since: Option<Moment>,
}

/// How much is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// All but the bundle of the other machines.
    Quick,
    Whole,
}

pub(super) async fn run(context: &Arc<Context>, args: Vec<String>) -> Result<Outcome, Unusable> {
    let request: Request = one(args)?;
    let takes_long = request.bootstrap && request.installer_gather;
    if takes_long
        && context.machine.exists(sources::GATHER_SCRIPT)
        && let Err(problem) = send(context, &request, Extent::Quick).await
    {
        tracing::warn!("the first part of the logs was not sent: {problem}");
    }
    let mut attempt = 1;
    loop {
        match send(context, &request, Extent::Whole).await {
            Ok(complaints) => {
                return Ok(Outcome {
                    exit_code: 0,
                    output: "the logs were sent".to_owned(),
                    error: complaints,
                });
            }
            Err(problem) if attempt == ATTEMPTS => {
                return Ok(Outcome::refused(format!(
                    "the logs were not sent: {problem}"
                )));
            }
            Err(problem) => tracing::warn!("the logs were not sent: {problem}; trying again"),
        }
        tokio::time::sleep(Duration::from_secs(u64::from(attempt) * 5)).await;
        attempt += 1;
    }
}

async fn send(context: &Arc<Context>, request: &Request, extent: Extent) -> Result<String, String> {
    let client = context
        .link
        .client(None)
        .map_err(|cause| error_chain(&cause))?;
    progress(&client, request, "requested").await;
    progress(&client, request, "collecting").await;
    let options = UploadLogsOptions {
        host_id: Some(request.host_id),
        infra_env_id: Some(request.infra_env_id),
    };
    let upload = requests::upload_logs(request.cluster_id, UploadLogsLogsType::Host, &options);
    let (pieces, receiver) = mpsc::channel(4);
    let boundary = Uuid::new_v4().simple().to_string();
    let secret = context.link.directions().token.token();
    let gathering = gather(
        context,
        sources::of(request, extent),
        format!("logs_host_{}", request.host_id),
        Redactor::new(secret),
        upload.form(&boundary, "logs.tar.gz"),
        pieces,
    );
    let body = reqwest::Body::wrap(Pieces(receiver));
    let upload = client.upload_stream(&upload, &boundary, body, UPLOAD);
    // An upload that ends early ends the gathering: its pieces go nowhere.
    let (complaints, uploaded) = tokio::join!(gathering, upload);
    uploaded.map_err(|cause| error_chain(&cause))?;
    if extent == Extent::Whole {
        progress(&client, request, "completed").await;
    }
    Ok(complaints)
}

/// Best effort: the upload itself is what counts.
async fn progress(client: &Client, request: &Request, state: &str) {
    let body = LogsProgressParams {
        logs_state: Some(state.to_owned()),
    };
    let report = requests::update_host_logs_progress(request.infra_env_id, request.host_id, &body);
    if let Err(error) = client.send(&report).await {
        tracing::warn!(%error, "the state of the logs was not reported");
    }
}

/// Sends the form with the archive, log by log; what could not be collected is in its report.
async fn gather(
    context: &Arc<Context>,
    sources: Vec<Source>,
    folder: String,
    redactor: Redactor,
    (head, end): (String, String),
    pieces: mpsc::Sender<Bytes>,
) -> String {
    let redactor = Arc::new(redactor);
    let mut sent = 0;
    let mut bundle = Bundle::new(folder);
    let mut complaints = Vec::new();
    if pieces.send(head.into()).await.is_err() {
        return String::new();
    }
    for source in sources {
        if sent > ENOUGH {
            complaints.push(format!(
                "{}: left out, the archive is large enough",
                source.name
            ));
            continue;
        }
        let Some(content) = source.read(context, &mut complaints).await else {
            continue;
        };
        // Large logs take a while; others need not wait for it.
        let redactor = Arc::clone(&redactor);
        let packed = tokio::task::spawn_blocking(move || {
            let content = if source.is_text {
                redactor.clean(content)
            } else {
                content
            };
            let piece = bundle.add(&source.name, &content);
            (bundle, piece)
        });
        let Ok((back, piece)) = packed.await else {
            return "the archive was not finished".to_owned();
        };
        bundle = back;
        sent += piece.len();
        if pieces.send(piece.into()).await.is_err() {
            return String::new();
        }
    }
    let report = complaints.join("\n");
    let mut tail = bundle.add("report.logs", report.as_bytes());
    tail.extend(bundle.finish());
    tail.extend(end.into_bytes());
    let _ = pieces.send(tail.into()).await;
    report
}

/// A body whose pieces arrive one after the other.
struct Pieces(mpsc::Receiver<Bytes>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0
            .poll_recv(task)
            .map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests;
