//! The install-config: what the installer is told about a cluster.

mod known;
mod known_platforms;
mod overrides;
mod platform;
mod render;
#[cfg(test)]
mod tests;

use http::StatusCode;
use muster_api::error::Failure;
use muster_catalog::{BuiltinOperator, OpenshiftVersion};
use muster_model::{Cluster, Event, EventScope, FeatureUse, Host, MonitoredOperator, Severity};
use serde_json::Value;

pub use platform::machine_networks;

use crate::{
    aggregate::Cause,
    app::{App, Shared, store_failure},
    http::{Call, Reply},
    preparation::mirrors_of,
};

/// How the use of overrides is recorded.
const USAGE: (&str, &str) = ("Install Config Overrides", "INSTALL_CONFIG_OVERRIDES");

/// `GET /v2/clusters/{cluster_id}/install-config`: JSON text in a JSON string, with the pull
/// secret, as its readers expect.
pub async fn get(app: Shared, call: Call) -> Result<Reply, Failure> {
    let cluster = app.cluster(call.cluster_id()).await?;
    if cluster.is_day2() {
        return Err(Failure::bad_request(format!(
            "cluster {} is not installed by this service, so it has no install-config here",
            cluster.id
        )));
    }
    let config = of_cluster(&app, &cluster).await?;
    Reply::json(StatusCode::OK, &config.to_string())
}

/// `PATCH /v2/clusters/{cluster_id}/install-config`: replaces all overrides.
pub async fn update(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let text = call.body::<Option<String>>()?.unwrap_or_default();
    let overrides = overrides::parse(&text).map_err(Failure::bad_request)?;
    let cause = Cause::from(&call);
    app.change_cluster(call.cluster_id(), &cause, |all| {
        let cluster = all.cluster_mut()?;
        cluster.install_config_overrides = (!text.is_empty()).then(|| text.clone());
        record_usage(cluster);
        watch_console(cluster, &overrides);
        let event = applied(cluster, &cause);
        all.events.push(event);
        all.refresh(&app, cause.now);
        Ok(())
    })
    .await?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// The rendered install-config of a cluster as it is now. Holds the pull secret.
async fn of_cluster(app: &App, cluster: &Cluster) -> Result<Value, Failure> {
    let rows = app
        .store
        .hosts_of_cluster(cluster.id)
        .await
        .map_err(store_failure)?;
    let hosts: Vec<&Host> = rows.iter().map(|row| &**row).collect();
    let mut infra_envs: Vec<_> = hosts.iter().map(|host| host.infra_env).collect();
    infra_envs.sort_unstable();
    infra_envs.dedup();
    let mut trust = Vec::new();
    for id in infra_envs {
        let infra_env = app.store.infra_env(id).await.map_err(store_failure)?;
        trust.extend(infra_env.and_then(|row| row.additional_trust_bundle.clone()));
    }
    let (mirrors, authorities) = mirrors_of(app);
    trust.push(authorities);
    let around = render::Around {
        trust: trust.iter().map(String::as_str).collect(),
        mirrors,
    };
    render::render(cluster, &hosts, &around).map_err(|why| {
        Failure::bad_request(format!(
            "the install-config of cluster {} cannot be rendered: {why}; replace its overrides",
            cluster.id
        ))
    })
}

/// The same as YAML, the form installers read.
pub async fn yaml_of_cluster(app: &App, cluster: &Cluster) -> Result<String, Failure> {
    let config = of_cluster(app, cluster).await?;
    serde_yaml_ng::to_string(&config).map_err(|cause| {
        Failure::internal(format!(
            "the install-config cannot be written as YAML: {cause}"
        ))
    })
}

/// The rendered install-config of records alone.
#[cfg(test)]
pub fn for_tests(cluster: &Cluster, hosts: &[&Host]) -> Value {
    render::render(cluster, hosts, &render::Around::default()).unwrap()
}

/// The overrides may hold passwords, so the event does not repeat them.
fn applied(cluster: &Cluster, cause: &Cause) -> Event {
    let scope = EventScope {
        cluster: Some(cluster.id),
        ..EventScope::default()
    };
    let what = if cluster.install_config_overrides.is_some() {
        "set"
    } else {
        "removed"
    };
    let message = format!(
        "Install-config overrides of cluster {} were {what}",
        cluster.name
    );
    Event::new(
        "install_config_applied",
        Severity::Info,
        scope,
        cause.now,
        message,
    )
}

fn record_usage(cluster: &mut Cluster) {
    let (name, id) = USAGE;
    if cluster.install_config_overrides.is_some() {
        let entry = FeatureUse {
            id: id.to_owned(),
            data: Default::default(),
        };
        cluster
            .feature_usage
            .entry(name.to_owned())
            .or_insert(entry);
    } else {
        cluster.feature_usage.remove(name);
    }
}

/// A cluster without the web console must not wait for it; since 4.12 it can be left out.
fn watch_console(cluster: &mut Cluster, overrides: &Value) {
    let optional = cluster
        .openshift_version
        .parse::<OpenshiftVersion>()
        .is_ok_and(|version| version.at_least(4, 12));
    let Some(operators) = cluster.monitored_operators.as_mut().filter(|_| optional) else {
        return;
    };
    let console = BuiltinOperator::Console.as_str();
    let watched = operators.iter().any(|operator| operator.name == console);
    if overrides::leave_out_console(overrides) {
        operators.retain(|operator| operator.name != console);
    } else if !watched {
        operators.push(MonitoredOperator {
            name: console.to_owned(),
            operator_type: "builtin".to_owned(),
            namespace: None,
            subscription_name: None,
            properties: None,
            timeout_seconds: i64::from(BuiltinOperator::Console.timeout_seconds()),
            source_bundles: None,
            dependency_only: false,
            version: None,
            status: None,
            status_info: None,
            status_updated_at: None,
        });
    }
}
