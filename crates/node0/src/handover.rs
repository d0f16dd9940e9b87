//! What this service knows, written into the new cluster while both exist.
//!
//! The rendezvous host reboots into its disk last, and this service ends with it. Before that it
//! keeps a ConfigMap current with every host and the history, as soon as the API of the new cluster
//! answers. The controller takes the hosts from there, and `muster agent wait-for` the history.

use std::{net::IpAddr, path::Path, sync::Arc};

use muster_app::{App, Error, files::places};
use muster_controller::{
    hosts::{Cluster as Summary, Host as Member},
    kube::{Access, Kube},
    record::{self, Entry},
};
use muster_model::{Cluster, ClusterId, Host};
use muster_store::{EventOrder, EventQuery};
use serde_json::{Value, json};
use tracing::{debug, info};

/// Events that are handed over; the newest.
const EVENTS: i64 = 300;

/// Keeps the ConfigMap current.
#[derive(Debug, Default)]
pub struct Handover {
    kube: Option<Kube>,
    written: Value,
}

impl Handover {
    /// Writes what changed since the last time. An API that does not answer is asked again with
    /// the next call.
    pub async fn write(&mut self, app: &Arc<App>, cluster: &Cluster, hosts: &[&Host]) {
        match self.try_write(app, cluster, hosts).await {
            Ok(true) => info!("status and history handed over to the cluster"),
            Ok(false) => {}
            Err(error) => {
                debug!(%error, "hand-over not written");
                self.kube = None;
            }
        }
    }

    async fn try_write(
        &mut self,
        app: &Arc<App>,
        cluster: &Cluster,
        hosts: &[&Host],
    ) -> Result<bool, String> {
        let content = record::handover(&members(cluster, hosts), &history(app, cluster.id).await?);
        if content == self.written {
            return Ok(false);
        }
        let kube = match self.kube.take() {
            Some(kube) => kube,
            None => connect(app, cluster, hosts).await?,
        };
        kube.apply(&content)
            .await
            .map_err(|error| error.to_string())?;
        self.written = content;
        self.kube = Some(kube);
        Ok(true)
    }
}

/// The hosts as the controller knows them.
fn members(cluster: &Cluster, hosts: &[&Host]) -> Vec<Member> {
    let shown: Vec<Value> = hosts
        .iter()
        .map(|host| {
            json!({
                "id": host.id,
                "infra_env_id": host.infra_env,
                "status": host.status.as_str(),
                "role": host.effective_role().as_str(),
                "bootstrap": host.bootstrap,
                "requested_hostname": host.requested_hostname,
                "inventory": host.reports.inventory.as_ref().map(|report| report.text()),
                "progress": {"current_stage": host.progress.stage.map(|stage| stage.as_str())},
                "node_labels": host.node_labels.as_ref().map(|labels| json!(labels).to_string()),
                "machine_config_pool_name": host.machine_config_pool_name,
            })
        })
        .collect();
    let answer = json!({
        "name": cluster.name,
        "base_dns_domain": cluster.base_dns_domain,
        "hosts": shown,
    });
    Summary::read(&answer).hosts
}

async fn history(app: &App, id: ClusterId) -> Result<Vec<Entry>, String> {
    let query = EventQuery {
        cluster: Some(id),
        order: EventOrder::Descending,
        limit: Some(EVENTS),
        ..EventQuery::default()
    };
    let page = app
        .store
        .events(&query)
        .await
        .map_err(|error| error.to_string())?;
    let mut entries: Vec<Entry> = page
        .events
        .iter()
        .map(|event| Entry::new(event.at.millis(), event.message.clone()))
        .collect();
    entries.reverse();
    Ok(entries)
}

/// The first address at which the API of this cluster answers.
async fn connect(app: &App, cluster: &Cluster, hosts: &[&Host]) -> Result<Kube, String> {
    let path = places::generated(cluster.id, places::KUBECONFIG_NOINGRESS)
        .map_err(|error: Error| error.to_string())?;
    let kubeconfig = app
        .blobs
        .get(&path)
        .await
        .map_err(|error| error.to_string())?;
    let kubeconfig = kubeconfig.ok_or("the kubeconfig was not made yet")?;
    let access = Access::parse(&kubeconfig, Path::new(places::KUBECONFIG_NOINGRESS))
        .map_err(|error| error.to_string())?;
    let vips = cluster.api_vips.iter().flatten().map(|vip| vip.ip);
    let addresses: Vec<IpAddr> = vips
        .chain(
            members(cluster, hosts)
                .into_iter()
                .flat_map(|host| host.addresses),
        )
        .collect();
    let ways = std::iter::once(access.clone()).chain(addresses.into_iter().map(|ip| access.at(ip)));
    let mut trouble = String::new();
    for way in ways {
        let kube = match Kube::new(way) {
            Ok(kube) => kube,
            Err(error) => {
                trouble = error.to_string();
                continue;
            }
        };
        match kube.version().await {
            Ok(_) => return Ok(kube),
            Err(error) => trouble = error.to_string(),
        }
    }
    Err(trouble)
}
