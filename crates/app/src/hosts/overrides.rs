//! A host's own installer arguments and Ignition.

mod installer_args;

use std::sync::Arc;

use muster_ignition::Config;
use muster_model::{Event, EventScope, Host, HostKey, Severity, Timestamp};

use crate::{
    App, Error, Missing,
    aggregate::{Aggregate, Cause},
    files,
};

/// Replaces the installer arguments, in any state: they count for the next installation.
pub async fn set_installer_args(
    app: &Arc<App>,
    key: HostKey,
    args: &[String],
    cause: &Cause,
) -> Result<Aggregate, Error> {
    installer_args::check(args)?;
    let ((), all) = app
        .change_host(key, cause, |all| {
            let host = all.host_mut(key)?;
            host.installer_args = Some(args.to_vec());
            let text = format!("installer arguments of {} were set", name(host));
            let applied = event("host_installer_args_applied", host, cause.now, text);
            all.events.push(applied);
            Ok(())
        })
        .await?;
    Ok(all)
}

/// Sets the Ignition override of a host, or removes it.
pub async fn set_ignition(
    app: &Arc<App>,
    key: HostKey,
    config: Option<&str>,
    cause: &Cause,
) -> Result<(), Error> {
    if let Some(text) = config {
        Config::read(text).map_err(|cause| Error::invalid(format!("config: {cause}")))?;
    }
    app.change_host(key, cause, |all| {
        let host = all.host_mut(key)?;
        host.ignition_config_overrides = config.map(str::to_owned);
        let done = if config.is_some() { "set" } else { "removed" };
        let text = format!("the Ignition override of {} was {done}", name(host));
        let applied = event(
            "host_discovery_ignition_config_applied",
            host,
            cause.now,
            text,
        );
        all.events.push(applied);
        Ok(())
    })
    .await
    .map(drop)
}

/// Name and content of the Ignition config made for the host.
pub async fn generated(app: &App, key: HostKey) -> Result<(String, bytes::Bytes), Error> {
    let host = app.host(key).await?;
    let Some(id) = host.cluster else {
        return Err(Error::not_found(format!(
            "host {} is not bound to a cluster, so it has no Ignition config",
            host.id
        )));
    };
    let cluster = super::cluster_of(app, &host)
        .await?
        .ok_or(Missing::Cluster(id))?;
    if !cluster.status.has_files() {
        return Err(Error::conflict(format!(
            "cluster {} is {}; Ignition configs are generated when its installation begins",
            cluster.name, cluster.status
        )));
    }
    let (name, bytes) = files::host_ignition_of(app, &host, &cluster).await?;
    let bytes = bytes.ok_or_else(|| {
        Error::conflict(format!(
            "{name} was not generated yet; it is created with the host's installation"
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
