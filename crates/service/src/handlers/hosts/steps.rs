//! Polls of agents for steps, and their replies.

use http::StatusCode;
use muster_api::wire;
use muster_app::{
    aggregate::Cause,
    hosts::steps::{self, Poll},
};
use muster_engine::{StepType, replies::StepReply};
use muster_model::json_size;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// `GET …/instructions`: a heartbeat, answered with work.
pub async fn next(app: Shared, call: Call) -> Result<Reply, Failure> {
    let version = call.args.text("discovery_agent_version");
    let poll = Poll {
        clock: call.args.int("timestamp"),
        agent_version: version.filter(|text| !text.is_empty()),
    };
    let body = steps::next(&app, call.host_key(), &poll, &Cause::from(&call)).await?;
    Ok(Reply::json_bytes(StatusCode::OK, body))
}

/// `POST …/instructions`: the result of a step. A step that failed is answered with 204 too: the
/// agent did its duty.
pub async fn reply(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::StepReply = call.body()?;
    let key = call.host_key();
    app.host(key).await?;
    let step_type = match body.step_type.as_deref() {
        // Old agents leave it out of replies that are not read.
        None | Some("") => return Ok(Reply::empty(StatusCode::NO_CONTENT)),
        Some(text) => text
            .parse::<StepType>()
            .map_err(|unknown| Failure::bad_request(unknown.to_string()))?,
    };
    let reply = StepReply {
        step_type,
        exit_code: body.exit_code.unwrap_or(0),
        output: body.output.unwrap_or_default(),
        error: body.error.unwrap_or_default(),
    };
    steps::check_size(&app, &reply)?;
    let size = json_size(reply.output.as_bytes());
    let _held = app.intake.output(&app.metrics, call.peer, size).await?;
    steps::reply(&app, key, &reply, &Cause::from(&call)).await?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
