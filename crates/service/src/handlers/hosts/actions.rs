//! Actions on a host: bind, unbind, install (day 2), reset, repeat a check.

use http::{StatusCode, header};
use muster_api::wire;
use muster_app::{
    App,
    aggregate::{Aggregate, Cause},
    hosts::actions,
};
use muster_model::{ClusterId, HostKey};

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
    views::{self, HostDetail},
};

/// `POST …/actions/bind`.
pub async fn bind(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let body: wire::BindHostParams = call.body()?;
    let text = body.cluster_id.as_deref().unwrap_or_default();
    let cluster: ClusterId = text
        .parse()
        .map_err(|_| Failure::bad_request(format!("cluster_id {text:?} is not a UUID")))?;
    let key = call.host_key();
    let all = actions::bind(&app, key, cluster, &Cause::from(&call)).await?;
    shown(&app, &all, key, StatusCode::OK)
}

/// `POST …/actions/unbind`.
pub async fn unbind(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let all = actions::unbind(&app, key, &Cause::from(&call)).await?;
    shown(&app, &all, key, StatusCode::OK)
}

/// `POST …/actions/reset`.
pub async fn reset(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let all = actions::reset(&app, key, &Cause::from(&call)).await?;
    shown(&app, &all, key, StatusCode::OK)
}

/// `POST …/actions/install`.
pub async fn install(app: Shared, call: Call) -> Result<Reply, Failure> {
    let key = call.host_key();
    let all = actions::install(&app, key, &Cause::from(&call)).await?;
    shown(&app, &all, key, StatusCode::ACCEPTED)
}

/// `PATCH …/actions/reset-validation/{validation_id}`.
pub async fn reset_validation(app: Shared, call: Call) -> Result<Reply, Failure> {
    let validation = call.args.text("validation_id").unwrap_or_default();
    actions::reset_validation(&app, call.host_key(), validation, &Cause::from(&call)).await?;
    // Empty, yet announced as JSON: clients of this operation expect the header.
    Ok(Reply::empty(StatusCode::OK).header(header::CONTENT_TYPE, "application/json"))
}

/// The host as the change left it.
pub fn shown(
    app: &App,
    all: &Aggregate,
    key: HostKey,
    status: StatusCode,
) -> Result<Reply, Failure> {
    let detail = HostDetail::WithFreeAddresses;
    let view = views::host(
        all.host(key)?,
        all.cluster.as_ref(),
        detail,
        &app.heartbeats,
    );
    Reply::json(status, &view)
}
