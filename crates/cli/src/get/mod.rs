//! `muster get`: what the service has, as a table or as JSON.

pub mod find;
mod table;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use muster_api::client::Client;
use muster_model::OpenshiftVersion;
use serde_json::Value;

use crate::{
    connection::{Connection, explained},
    format,
    login::runtime,
    output,
};
use find::{Kind, by_name};
use table::Table;

/// Show clusters, infra-envs, hosts, events or versions of a service.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Get {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Clusters, or one by name or id.
    #[command(visible_alias = "cluster")]
    Clusters(Named),
    /// Infra-envs, or one by name or id.
    #[command(visible_alias = "infra-env")]
    InfraEnvs(Named),
    /// Hosts, or one by name or id.
    #[command(visible_alias = "host")]
    Hosts(Hosts),
    /// Events, oldest first.
    #[command(visible_alias = "event")]
    Events(Scope),
    /// OpenShift and OKD versions the service can install.
    #[command(visible_alias = "version")]
    Versions(Plain),
}

#[derive(Debug, Args)]
struct Named {
    /// Name or id
    name: Option<String>,
    #[command(flatten)]
    common: Plain,
}

#[derive(Debug, Args)]
struct Hosts {
    /// Name or id
    name: Option<String>,
    #[command(flatten)]
    scope: Scope,
}

#[derive(Debug, Args)]
struct Scope {
    /// Only of this cluster, by name or id
    #[arg(long, value_name = "NAME", conflicts_with = "infra_env")]
    cluster: Option<String>,
    /// Only of this infra-env, by name or id
    #[arg(long, value_name = "NAME")]
    infra_env: Option<String>,
    #[command(flatten)]
    common: Plain,
}

#[derive(Debug, Args)]
struct Plain {
    #[command(flatten)]
    output: format::Output,
    #[command(flatten)]
    connection: Connection,
}

/// Asks the service and prints.
pub fn run(get: &Get) -> ExitCode {
    let common = match &get.what {
        What::Clusters(named) | What::InfraEnvs(named) => &named.common,
        What::Hosts(hosts) => &hosts.scope.common,
        What::Events(scope) => &scope.common,
        What::Versions(plain) => plain,
    };
    match fetch(get, &common.connection) {
        Ok(found) if common.output.is_json() => output::json(&found.json),
        Ok(found) => output::text(&found.text),
        Err(error) => output::failure(&error),
    }
}

/// A result in both forms.
struct Found {
    text: String,
    json: Value,
}

fn fetch(get: &Get, connection: &Connection) -> anyhow::Result<Found> {
    let target = connection.target()?;
    let client = target.client()?;
    let asking = ask(&client, &get.what);
    runtime()?.block_on(asking).map_err(|error| match error {
        find::Error::Client(error) => explained(error, &target.url),
        find::Error::Name(words) => anyhow::anyhow!(words),
    })
}

async fn ask(client: &Client, what: &What) -> Result<Found, find::Error> {
    match what {
        What::Clusters(named) => {
            let all = client.get("clusters").await?;
            shown(CLUSTERS, all, Kind::Cluster, named.name.as_deref())
        }
        What::InfraEnvs(named) => {
            let all = client.get("infra-envs").await?;
            shown(INFRA_ENVS, all, Kind::InfraEnv, named.name.as_deref())
        }
        What::Hosts(hosts) => {
            let all = Value::Array(find::hosts(client, &hosts.scope.filter()).await?);
            shown(HOSTS, all, Kind::Host, hosts.name.as_deref())
        }
        What::Events(scope) => {
            let path = match scope.filter() {
                find::Filter::Everything => "events".to_owned(),
                find::Filter::Cluster(name) => {
                    let id = find::id(client, Kind::Cluster, &name).await?;
                    format!("events?cluster_id={id}")
                }
                find::Filter::InfraEnv(name) => {
                    let id = find::id(client, Kind::InfraEnv, &name).await?;
                    format!("events?infra_env_id={id}")
                }
            };
            let json = client.get(&path).await?;
            Ok(Found {
                text: Table::of(EVENTS, &rows(&json)).text(),
                json,
            })
        }
        What::Versions(_) => {
            let json = client.get("openshift-versions").await?;
            let rows = versions(&json);
            Ok(Found {
                text: Table::of(VERSIONS, &rows).text(),
                json,
            })
        }
    }
}

impl Scope {
    fn filter(&self) -> find::Filter {
        match (&self.cluster, &self.infra_env) {
            (Some(name), _) => find::Filter::Cluster(name.clone()),
            (None, Some(name)) => find::Filter::InfraEnv(name.clone()),
            (None, None) => find::Filter::Everything,
        }
    }
}

const CLUSTERS: table::Columns = &[
    ("NAME", &["name"]),
    ("STATUS", &["status"]),
    ("VERSION", &["openshift_version"]),
    ("HOSTS", &["total_host_count"]),
    ("ID", &["id"]),
];

const INFRA_ENVS: table::Columns = &[
    ("NAME", &["name"]),
    ("VERSION", &["openshift_version"]),
    ("ARCH", &["cpu_architecture"]),
    ("IMAGE", &["type"]),
    ("CLUSTER", &["cluster_id"]),
    ("ID", &["id"]),
];

const HOSTS: table::Columns = &[
    ("NAME", &["requested_hostname", "id"]),
    ("STATUS", &["status"]),
    ("ROLE", &["suggested_role", "role"]),
    ("STAGE", &["progress.current_stage"]),
    ("INFO", &["status_info"]),
    ("ID", &["id"]),
];

const EVENTS: table::Columns = &[
    ("TIME", &["event_time"]),
    ("SEVERITY", &["severity"]),
    ("MESSAGE", &["message"]),
];

const VERSIONS: table::Columns = &[
    ("VERSION", &["version"]),
    ("SUPPORT", &["support_level"]),
    ("ARCHITECTURES", &["architectures"]),
    ("DEFAULT", &["default"]),
];

fn rows(json: &Value) -> Vec<Value> {
    json.as_array().cloned().unwrap_or_default()
}

/// The map of versions as rows, newest first.
fn versions(json: &Value) -> Vec<Value> {
    let mut rows: Vec<Value> = json
        .as_object()
        .into_iter()
        .flatten()
        .map(|(version, about)| {
            let mut row = about.clone();
            row["version"] = Value::from(version.as_str());
            let archs: Vec<&str> = about["cpu_architectures"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            row["architectures"] = Value::from(archs.join(","));
            row
        })
        .collect();
    let key = |row: &Value| -> Option<OpenshiftVersion> { row["version"].as_str()?.parse().ok() };
    rows.sort_by_key(|row| std::cmp::Reverse(key(row)));
    rows
}

fn shown(
    columns: table::Columns,
    all: Value,
    kind: Kind,
    name: Option<&str>,
) -> Result<Found, find::Error> {
    let Some(name) = name else {
        return Ok(Found {
            text: Table::of(columns, &rows(&all)).text(),
            json: all,
        });
    };
    let one = by_name(kind, &rows(&all), name)?.clone();
    Ok(Found {
        text: Table::of(columns, std::slice::from_ref(&one)).text(),
        json: one,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_listed_from_the_newest_on() {
        let answer = json!({
            "4.9.59": {"cpu_architectures": ["x86_64"]},
            "4.20.3": {"cpu_architectures": ["x86_64", "arm64"], "default": true},
        });
        let rows = versions(&answer);
        assert_eq!(rows[0]["version"], "4.20.3");
        assert_eq!(rows[0]["architectures"], "x86_64,arm64");
        assert_eq!(rows[1]["version"], "4.9.59");
    }
}
