//! The install-config: what the installer knows of a cluster.

mod overrides;
mod platform;
mod render;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use muster_catalog::BuiltinOperator;
use muster_model::{
    Cluster, ClusterId, Event, EventScope, FeatureUse, Host, MonitoredOperator, OpenshiftVersion,
    Severity, UseDetail,
};
use serde_json::Value;

pub use platform::machine_networks;

use crate::{App, Error, aggregate::Cause, preparation::mirrors_of};

/// How the use of overrides is recorded.
const USAGE: &str = "Install Config Overrides";

/// How FIPS mode is recorded, which overrides switch on.
const FIPS_USAGE: &str = "FIPS";

/// The install-config of a cluster as JSON. Holds the pull secret.
pub async fn of_installed_here(app: &App, id: ClusterId) -> Result<Value, Error> {
    let cluster = app.cluster(id).await?;
    if cluster.is_day2() {
        return Err(Error::invalid(format!(
            "cluster {} is not installed by this service, so it has no install-config here",
            cluster.id
        )));
    }
    of_cluster(app, &cluster, false).await
}

/// Replaces all overrides.
pub async fn set_overrides(
    app: &Arc<App>,
    id: ClusterId,
    text: &str,
    cause: &Cause,
) -> Result<(), Error> {
    let overrides = overrides::parse(text)?;
    app.change_cluster(id, cause, |all| {
        let cluster = all.cluster_mut()?;
        cluster.install_config_overrides = (!text.is_empty()).then(|| text.to_owned());
        record_usage(cluster, &overrides);
        watch_console(cluster, &overrides);
        let event = applied(cluster, cause);
        all.events.push(event);
        all.refresh(app, cause.now);
        Ok(())
    })
    .await
    .map(drop)
}

/// The install-config rendered from the present state of a cluster. Holds the pull secret.
async fn of_cluster(app: &App, cluster: &Cluster, for_files: bool) -> Result<Value, Error> {
    let rows = app.store.hosts_of_cluster(cluster.id).await?;
    let hosts: Vec<&Host> = rows.iter().map(|row| &**row).collect();
    let mut infra_envs: Vec<_> = hosts.iter().map(|host| host.infra_env).collect();
    infra_envs.sort_unstable();
    infra_envs.dedup();
    let mut trust = Vec::new();
    for id in infra_envs {
        let infra_env = app.store.infra_env(id).await?;
        trust.extend(infra_env.and_then(|row| row.additional_trust_bundle.clone()));
    }
    let (mirrors, authorities) = mirrors_of(app);
    trust.push(authorities);
    let around = render::Around {
        trust: trust.iter().map(String::as_str).collect(),
        mirrors,
        for_files,
    };
    render::render(cluster, &hosts, &around).map_err(|why| {
        Error::invalid(format!(
            "the install-config of cluster {} cannot be rendered: {why}; replace its overrides",
            cluster.id
        ))
    })
}

/// The same as YAML, the form installers read.
pub async fn yaml_of_cluster(app: &App, cluster: &Cluster) -> Result<String, Error> {
    let config = of_cluster(app, cluster, true).await?;
    serde_yaml_ng::to_string(&config).map_err(|cause| {
        Error::internal(format!(
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

/// Records what is overridden, by name: values may be secrets.
fn record_usage(cluster: &mut Cluster, overrides: &Value) {
    let members = overrides.as_object().into_iter().flatten();
    let usage = members.fold(FeatureUse::of(USAGE), |usage, (name, value)| {
        let mut inner: Vec<&str> = value.as_object().map_or_else(Vec::new, |members| {
            members.keys().map(String::as_str).collect()
        });
        inner.sort_unstable();
        inner.insert(0, name);
        usage.with(&inner.join(" "), UseDetail::Flag(true))
    });
    let uses = &mut cluster.feature_usage;
    if usage.data.is_empty() {
        uses.remove(USAGE);
    } else {
        uses.insert(USAGE.to_owned(), usage);
    }
    if overrides["fips"] == true {
        uses.insert(FIPS_USAGE.to_owned(), FeatureUse::of(FIPS_USAGE));
    } else {
        uses.remove(FIPS_USAGE);
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
