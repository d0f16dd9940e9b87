//! A host's own installer arguments and Ignition.

mod installer_args;

use http::StatusCode;
use muster_api::{error::Failure, wire};
use muster_ignition::Config;
use muster_model::{Event, EventScope, Host, HostKey, Severity, Timestamp};

use super::read::cluster_of;
use crate::{
    aggregate::Cause,
    app::{App, Shared, missing_cluster},
    http::{Call, Reply},
    ops::files,
    views::{self, HostDetail},
};

/// `PATCH /v2/infra-envs/{infra_env_id}/hosts/{host_id}/installer-args`. Replaces the list, in
/// any state: it counts for the next installation.
pub async fn update_installer_args(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::InstallerArgsParams = call.body()?;
    let args = given.args.unwrap_or_default();
    installer_args::check(&args).map_err(Failure::bad_request)?;
    let (key, cause) = (call.host_key(), Cause::from(&call));
    let ((), all) = app
        .change_host(key, &cause, |all| {
            let host = all.host_mut(key)?;
            host.installer_args = Some(args.clone());
            let text = format!("installer arguments of {} were set", name(host));
            let told = event("host_installer_args_applied", host, cause.now, text);
            all.events.push(told);
            Ok(())
        })
        .await?;
    let host = all.host(key)?;
    let cluster = cluster_of(&app, host).await?;
    let detail = HostDetail::WithFreeAddresses;
    let view = views::host(host, cluster.as_deref(), detail, &app.heartbeats);
    Reply::json(StatusCode::CREATED, &view)
}

/// `PATCH /v2/infra-envs/{infra_env_id}/hosts/{host_id}/ignition`. An empty config takes the
/// override away.
pub async fn update_ignition(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::HostIgnitionParams = call.body()?;
    let config = given.config.filter(|text| !text.is_empty());
    if let Some(text) = &config {
        Config::read(text).map_err(|cause| Failure::bad_request(format!("config: {cause}")))?;
    }
    let (key, cause) = (call.host_key(), Cause::from(&call));
    app.change_host(key, &cause, |all| {
        let host = all.host_mut(key)?;
        host.ignition_config_overrides.clone_from(&config);
        let done = if config.is_some() { "set" } else { "removed" };
        let text = format!("the Ignition override of {} was {done}", name(host));
        let told = event(
            "host_discovery_ignition_config_applied",
            host,
            cause.now,
            text,
        );
        all.events.push(told);
        Ok(())
    })
    .await?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// `GET /v2/infra-envs/{infra_env_id}/hosts/{host_id}/ignition`.
pub async fn ignition(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (_, bytes) = generated(&app, call.host_key()).await?;
    let config = String::from_utf8(bytes.to_vec()).map_err(|_| {
        Failure::internal("the stored Ignition config is not text; reset and install again")
    })?;
    Reply::json(
        StatusCode::OK,
        &wire::HostIgnitionParams {
            config: Some(config),
        },
    )
}

/// `GET /v2/infra-env/{infra_env_id}/hosts/{host_id}/downloads/ignition`; "infra-env" is
/// singular in this one path.
pub async fn download_ignition(app: Shared, call: Call) -> Result<Reply, Failure> {
    let (name, bytes) = generated(&app, call.host_key()).await?;
    Ok(Reply::file(&name, bytes))
}

/// Name and content of the Ignition config made for the host.
async fn generated(app: &App, key: HostKey) -> Result<(String, bytes::Bytes), Failure> {
    let host = app.host(key).await?;
    let Some(id) = host.cluster else {
        return Err(Failure::not_found(format!(
            "host {} is not bound to a cluster, so it has no Ignition config",
            host.id
        )));
    };
    let cluster = cluster_of(app, &host)
        .await?
        .ok_or_else(|| missing_cluster(id))?;
    if !cluster.status.has_files() {
        return Err(Failure::conflict(format!(
            "cluster {} is {}; Ignition configs are made when its installation begins",
            cluster.name, cluster.status
        )));
    }
    let (name, bytes) = files::host_ignition_of(app, &host, &cluster).await?;
    let bytes = bytes.ok_or_else(|| {
        Failure::conflict(format!(
            "{name} was not made yet; it comes with the host's installation"
        ))
    })?;
    Ok((name, bytes))
}

fn event(name: &str, host: &Host, at: Timestamp, text: String) -> Event {
    let scope = EventScope {
        cluster: host.cluster,
        host: Some(host.id),
        infra_env: Some(host.infra_env),
    };
    Event::new(name, Severity::Info, scope, at, text)
}

fn name(host: &Host) -> String {
    format!("host {}", muster_engine::inventory::hostname(host))
}
