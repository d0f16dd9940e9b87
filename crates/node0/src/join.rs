//! The service on a host that joins a running cluster: it knows the cluster as one that was installed
//! elsewhere, and installs this one host as soon as it can.

use std::sync::Arc;

use muster_api::wire;
use muster_app::{App, Error, aggregate::Cause, clusters::create, error_chain, hosts::actions};
use muster_model::{ClusterId, Host, HostStatus, IgnitionEndpoint};
use serde::Deserialize;
use tracing::{info, warn};

use crate::{
    gate::{Gate, because},
    host_config::Decision,
};

/// The cluster, as the desk found it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Join {
    /// Its name.
    pub name: String,
    /// Host of its API.
    pub api_vip_dnsname: String,
    /// Its own id.
    pub openshift_cluster_id: String,
    /// What it runs.
    pub openshift_version: String,
    /// Its load balancers are the user's.
    pub user_managed_networking: bool,
    /// Where its workers fetch their config.
    pub ignition_endpoint: Option<Endpoint>,
}

/// Where configs are fetched from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    /// Address, without the name of a pool.
    pub url: String,
    /// Base64 of the PEM certificate behind it.
    pub ca_certificate: String,
}

impl Join {
    /// Registers the cluster, unless an earlier start did.
    ///
    /// # Errors
    /// The application refuses it.
    pub async fn register(
        &self,
        app: &Arc<App>,
        id: ClusterId,
        user: &str,
        cause: &Cause,
    ) -> Result<(), Error> {
        if app.store.cluster(id).await?.is_none() {
            let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
            let params = wire::ImportClusterParams {
                name: given(&self.name),
                api_vip_dnsname: given(&self.api_vip_dnsname),
                openshift_cluster_id: given(&self.openshift_cluster_id),
                openshift_version: given(&self.openshift_version),
            };
            create::import_as(app, id, &params, user, cause).await?;
        }
        let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let endpoint = self.ignition_endpoint.clone().unwrap_or_default();
        let endpoint = IgnitionEndpoint {
            url: given(&endpoint.url),
            ca_certificate: given(&endpoint.ca_certificate),
        };
        app.change_cluster(id, cause, |all| {
            let cluster = all.cluster_mut()?;
            cluster.ignition_endpoint = endpoint.clone();
            cluster.user_managed_networking = Some(self.user_managed_networking);
            Ok(())
        })
        .await
        .map(drop)
    }
}

/// What is to be done about the host of this image; hosts that are ready and may be installed.
#[must_use]
pub fn decide<'a>(
    hosts: &[&'a Host],
    configured: &Decision,
    are_hosts_listed: bool,
    is_expired: bool,
) -> (Gate, Vec<&'a Host>) {
    let mut reasons = configured.failures.clone();
    if is_expired {
        reasons.push(
            "the image is older than 48 hours and its tokens are no longer valid; make a new one \
             with `muster agent add-nodes`"
                .to_owned(),
        );
    }
    if hosts.is_empty() {
        reasons.push("this host has not registered yet".to_owned());
    }
    let (mut ready, mut is_underway, mut is_over) = (Vec::new(), false, !hosts.is_empty());
    for host in hosts {
        if host.status == HostStatus::AddedToExistingCluster {
            continue;
        }
        is_over = false;
        let name = muster_engine::inventory::hostname(host);
        if matches!(
            host.status,
            HostStatus::Installing | HostStatus::InstallingInProgress
        ) {
            is_underway = true;
        } else if host.status != HostStatus::Known {
            reasons.push(format!(
                "host {name} is {}{}",
                host.status,
                because(&host.status_info, host.validations_info.as_deref())
            ));
        } else if are_hosts_listed && configured.strangers.contains(&host.key()) {
            reasons.push(format!(
                "host {name} is not among the hosts of nodes-config.yaml; make the image again \
                 with one of its hardware addresses"
            ));
        } else {
            ready.push(*host);
        }
    }
    let gate = match (reasons.is_empty(), is_over, is_underway) {
        (_, true, _) => Gate::Over,
        (true, _, true) => Gate::Underway,
        (true, _, false) => Gate::Open,
        (false, ..) => Gate::Waiting(reasons),
    };
    let ready = match gate {
        Gate::Open | Gate::Underway => ready,
        Gate::Waiting(_) | Gate::Over => Vec::new(),
    };
    (gate, ready)
}

/// Starts the installation of hosts.
pub async fn press(app: &Arc<App>, hosts: &[&Host]) {
    for host in hosts {
        let name = muster_engine::inventory::hostname(host);
        match actions::install(app, host.key(), &Cause::internal()).await {
            Ok(_) => info!(host = name, "installation of the host starts"),
            Err(error) => {
                warn!(host = name, error = %error_chain(&error), "installation not started, retrying");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, HostId, HostKey, InfraEnvId, Timestamp};
    use uuid::Uuid;

    use super::*;

    fn host(status: HostStatus) -> Host {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(1)),
            host: HostId(Uuid::from_u128(2)),
        };
        let cluster = Some(ClusterId(Uuid::from_u128(3)));
        let mut host = Host::registered(key, cluster, "admin", Timestamp(0));
        host.status = status;
        host
    }

    #[test]
    fn only_a_listed_host_that_is_known_is_installed_and_not_from_an_old_image() {
        let known = host(HostStatus::Known);
        let mut configured = Decision::default();
        let (gate, ready) = decide(&[&known], &configured, true, false);
        assert_eq!((gate, ready.len()), (Gate::Open, 1));
        let (gate, ready) = decide(&[&known], &configured, true, true);
        assert!(matches!(gate, Gate::Waiting(_)) && ready.is_empty());
        configured.strangers.push(known.key());
        let (gate, ready) = decide(&[&known], &configured, true, false);
        assert!(matches!(gate, Gate::Waiting(_)) && ready.is_empty());
        let (gate, _) = decide(&[&known], &configured, false, false);
        assert_eq!(gate, Gate::Open);
        configured.strangers.clear();
        let added = host(HostStatus::AddedToExistingCluster);
        assert_eq!(decide(&[&added], &configured, true, false).0, Gate::Over);
        assert!(matches!(
            decide(&[], &configured, true, false).0,
            Gate::Waiting(_)
        ));
    }
}
