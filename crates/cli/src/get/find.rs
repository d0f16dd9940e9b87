//! Names instead of ids.

use muster_api::client::{Client, ClientError};
use serde_json::Value;
use uuid::Uuid;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Cluster,
    InfraEnv,
    Host,
}

/// Whose hosts or events.
#[derive(Clone, Debug)]
pub enum Filter {
    Everything,
    Cluster(String),
    InfraEnv(String),
}

/// Why nothing was found.
#[derive(Debug)]
pub enum Error {
    Client(ClientError),
    Name(String),
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        Self::Client(error)
    }
}

impl Kind {
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Cluster => ("cluster", "clusters"),
            Self::InfraEnv => ("infra-env", "infra-envs"),
            Self::Host => ("host", "hosts"),
        }
    }

    const fn name_members(self) -> &'static [&'static str] {
        match self {
            Self::Cluster | Self::InfraEnv => &["name"],
            Self::Host => &["requested_hostname"],
        }
    }
}

/// The one record with this name or id.
pub fn by_name<'a>(kind: Kind, all: &'a [Value], name: &str) -> Result<&'a Value, Error> {
    let (one, many) = kind.words();
    let known = |record: &&Value| {
        record["id"] == name
            || kind
                .name_members()
                .iter()
                .any(|member| record[*member] == name)
    };
    let mut found = all.iter().filter(known);
    match (found.next(), found.next()) {
        (Some(record), None) => Ok(record),
        (Some(_), Some(_)) => Err(Error::Name(format!(
            "several {many} are called {name}; use the id, `muster get {many}` shows it"
        ))),
        (None, _) => Err(Error::Name(format!(
            "there is no {one} {name}; `muster get {many}` lists them"
        ))),
    }
}

/// The id of a cluster or infra-env. An id is not looked up, so that it can also name what a list
/// does not show.
pub async fn id(client: &Client, kind: Kind, name: &str) -> Result<Uuid, Error> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let all = client.get(kind.words().1).await?;
    let record = by_name(kind, all.as_array().map_or(&[], Vec::as_slice), name)?;
    let id = record["id"].as_str().and_then(|id| id.parse().ok());
    id.ok_or_else(|| Error::Name(format!("the service shows no id of {name}")))
}

/// Hosts of a cluster, of an infra-env or of all infra-envs.
pub async fn hosts(client: &Client, filter: &Filter) -> Result<Vec<Value>, Error> {
    let infra_envs = match filter {
        Filter::InfraEnv(name) => vec![id(client, Kind::InfraEnv, name).await?.to_string()],
        Filter::Cluster(_) | Filter::Everything => {
            let all = client.get("infra-envs").await?;
            let all = all.as_array().into_iter().flatten();
            all.filter_map(|one| one["id"].as_str().map(str::to_owned))
                .collect()
        }
    };
    let cluster = match filter {
        Filter::Cluster(name) => Some(id(client, Kind::Cluster, name).await?.to_string()),
        Filter::InfraEnv(_) | Filter::Everything => None,
    };
    let mut hosts = Vec::new();
    for infra_env in infra_envs {
        let some = client.get(&format!("infra-envs/{infra_env}/hosts")).await?;
        let some = some.as_array().cloned().unwrap_or_default();
        hosts.extend(some.into_iter().filter(|host| {
            cluster
                .as_deref()
                .is_none_or(|cluster| host["cluster_id"] == cluster)
        }));
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_means_one_record_or_an_error_that_helps() {
        let all = [
            json!({"id": "1", "name": "steel"}),
            json!({"id": "2", "name": "iron"}),
            json!({"id": "3", "name": "iron"}),
        ];
        let find = |name| by_name(Kind::Cluster, &all, name);
        assert_eq!(find("steel").unwrap()["id"], "1");
        assert_eq!(find("3").unwrap()["name"], "iron");
        let words = |name| match find(name) {
            Err(Error::Name(words)) => words,
            other => panic!("{other:?}"),
        };
        assert!(words("iron").contains("several"));
        assert!(words("tin").contains("muster get clusters"));
    }
}
