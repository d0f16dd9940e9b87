//! What users may change about a host.
//!
//! All or nothing, in a fixed order, and only while the host is not being installed. Afterwards
//! the rules look at the cluster as a whole, because a role or a disk changes what is still
//! missing.

mod disks;
mod labels;
mod name;
pub mod role;

use std::{collections::BTreeMap, sync::Arc};

use muster_api::wire;
use muster_config::sections::Features;
use muster_model::{Cluster, Host, HostKey, Secret};

use crate::{
    App, Error, Missing,
    aggregate::{Aggregate, Cause},
};

/// Changes a host, and evaluates its cluster.
pub async fn update(
    app: &Arc<App>,
    key: HostKey,
    given: &wire::HostUpdateParams,
    cause: &Cause,
) -> Result<Aggregate, Error> {
    let ((), all) = app
        .change_host_in_context(key, cause, |all| {
            let cluster = all.cluster.as_ref();
            let host = all.hosts.iter_mut().find(|host| host.key() == key);
            let host = host.ok_or(Missing::Host(key))?;
            apply(host, cluster, given, &app.config.features)?;
            all.refresh(app, cause.now);
            Ok(())
        })
        .await?;
    Ok(all)
}

fn apply(
    host: &mut Host,
    cluster: Option<&Cluster>,
    given: &wire::HostUpdateParams,
    features: &Features,
) -> Result<(), Error> {
    if !host.status.accepts_changes() {
        return Err(Error::conflict(format!(
            "host {} is {} and cannot be changed now; hosts are changed before their installation",
            host.id, host.status
        )));
    }
    if let Some(wanted) = &given.host_role {
        role::set(host, cluster, wanted, features)?;
    }
    if let Some(wanted) = &given.host_name {
        name::check(wanted)?;
        host.requested_hostname = Some(wanted.clone());
    }
    if let Some(wanted) = &given.disks_selected_config {
        disks::select(host, wanted).map_err(|why| Error::conflict(why.to_string()))?;
    }
    if let Some(wanted) = &given.machine_config_pool_name {
        host.machine_config_pool_name = Some(wanted.clone()).filter(|name| !name.is_empty());
    }
    if let Some(wanted) = &given.ignition_endpoint_token {
        host.ignition_endpoint_token =
            Some(Secret::new(wanted.as_str())).filter(|token| !token.is_empty());
    }
    if let Some(wanted) = &given.ignition_endpoint_http_headers {
        let pair = |header: &wire::IgnitionEndpointHttpHeadersParams| {
            (
                header.key.clone().unwrap_or_default(),
                header.value.clone().unwrap_or_default(),
            )
        };
        let headers: BTreeMap<String, String> = wanted.iter().map(pair).collect();
        host.ignition_endpoint_http_headers = Some(headers).filter(|headers| !headers.is_empty());
    }
    if let Some(wanted) = &given.node_labels {
        host.node_labels = Some(labels::read(wanted)?);
    }
    if let Some(wanted) = &given.disks_skip_formatting {
        disks::skip_formatting(host, wanted)?;
    }
    if let Some(wanted) = &given.fencing_credentials {
        role::check_fencing(cluster, features)?;
        host.fencing_credentials = Some(Secret::new(fencing_text(wanted)));
    }
    Ok(())
}

fn fencing_text(given: &wire::FencingCredentialsParams) -> String {
    let mut credentials = serde_json::json!({
        "address": given.address,
        "username": given.username,
        "password": given.password,
        "certificate_verification": given.certificate_verification.as_deref().unwrap_or("Enabled"),
    });
    if let Some(mac) = &given.mac_address {
        credentials["mac_address"] = serde_json::json!(mac);
    }
    credentials.to_string()
}

#[cfg(test)]
mod tests;
