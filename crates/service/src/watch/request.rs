//! Who may watch what: the same callers that may `GET` it.

use http::{Method, Request, StatusCode, header, request::Parts};
use hyper::body::Incoming;
use muster_api::contract::{Operation, contract};
use muster_app::refusals::Refusal;
use muster_auth::{Principal, Role, Scope};
use muster_model::{ClusterId, InfraEnvId, Timestamp};
use muster_store::HistoryOf;
use uuid::Uuid;

use super::{places::Holder, stream};
use crate::{
    http::{
        Failure, Reply,
        admission::{authenticate, authorize_ids},
    },
    service::Shared,
};

/// What is watched as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Every cluster and host.
    All,
    /// A cluster and its hosts.
    Cluster(ClusterId),
    /// The hosts of an infra-env.
    InfraEnv(InfraEnvId),
}

/// Which kinds of changes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    pub clusters: bool,
    pub hosts: bool,
    pub events: bool,
}

/// A checked request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription {
    pub target: Target,
    pub kinds: Kinds,
    /// The number after which history goes on; none for "from now".
    pub after: Option<i64>,
    pub history: HistoryOf,
    pub audience: Audience,
}

/// Who reads a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// May see secrets.
    Trusted,
    /// May only look: secrets are masked.
    ReadOnly,
}

impl From<Role> for Audience {
    fn from(role: Role) -> Self {
        match role {
            Role::ReadOnly => Self::ReadOnly,
            Role::Admin | Role::User | Role::Agent => Self::Trusted,
        }
    }
}

/// `GET /v2/watch`.
pub async fn answer(app: &Shared, request: Request<Incoming>) -> Reply {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let failure = Failure::infra(
            StatusCode::METHOD_NOT_ALLOWED,
            format!("method {} is not allowed, but [GET] are", request.method()),
        );
        return Reply::failure(&failure).header(header::ALLOW, "GET");
    }
    let (parts, _) = request.into_parts();
    match open(app, parts).await {
        Ok(reply) => reply,
        Err(failure) => Reply::failure(&failure),
    }
}

async fn open(app: &Shared, parts: Parts) -> Result<Reply, Failure> {
    let asked = Asked::parse(&parts)?;
    let (subscription, holder) = admitted(app, &parts, &asked).await?;
    match subscription.target {
        Target::Cluster(id) => drop(app.cluster(id).await?),
        Target::InfraEnv(id) => drop(app.infra_env(id).await?),
        Target::All => {}
    }
    let place = app
        .changes
        .places
        .take(holder)
        .inspect_err(|_| app.metrics.refused(Refusal::WatchPlaces))?;
    Ok(stream::start(
        app,
        subscription,
        stream::Ticket {
            parts,
            asked,
            place,
        },
    ))
}

/// The request as it was put, before it is known who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    target: Target,
    kinds: Option<Kinds>,
    after: Option<i64>,
}

impl Asked {
    fn parse(parts: &Parts) -> Result<Self, Failure> {
        let header = match parts.headers.get("last-event-id") {
            Some(value) => Some(value.to_str().unwrap_or("?")),
            None => None,
        };
        Self::of(parts.uri.query().unwrap_or(""), header)
    }

    fn of(query: &str, last_event_id: Option<&str>) -> Result<Self, Failure> {
        let (mut cluster, mut infra_env, mut kinds, mut after) = (None, None, None, None);
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "cluster_id" => cluster = Some(id("cluster_id", &value)?),
                "infra_env_id" => infra_env = Some(id("infra_env_id", &value)?),
                "kinds" => kinds = Some(parse_kinds(&value)?),
                "last_event_id" => after = Some(number(&value)?),
                // Credentials have been looked at elsewhere.
                "api_key" | "image_token" => {}
                other => {
                    return Err(Failure::bad_request(format!(
                        "{other} is not a parameter of this call; there are cluster_id, infra_env_id, \
                         kinds and last_event_id"
                    )));
                }
            }
        }
        // What the client saw last counts more than where it once began.
        if let Some(text) = last_event_id.filter(|text| !text.is_empty()) {
            after = Some(number(text)?);
        }
        let target = match (cluster, infra_env) {
            (None, None) => Target::All,
            (Some(id), None) => Target::Cluster(ClusterId(id)),
            (None, Some(id)) => Target::InfraEnv(InfraEnvId(id)),
            (Some(_), Some(_)) => {
                return Err(Failure::bad_request(
                    "name either cluster_id or infra_env_id; watch both with two calls",
                ));
            }
        };
        if matches!(target, Target::InfraEnv(_)) && kinds.is_some_and(|kinds| kinds.clusters) {
            return Err(Failure::bad_request(
                "kinds: an infra-env has hosts and events; watch clusters without infra_env_id",
            ));
        }
        Ok(Self {
            target,
            kinds,
            after,
        })
    }
}

fn id(name: &str, text: &str) -> Result<Uuid, Failure> {
    Uuid::try_parse(text)
        .map_err(|_| Failure::bad_request(format!("{name}: {text:?} is not an id")))
}

fn number(text: &str) -> Result<i64, Failure> {
    text.parse()
        .ok()
        .filter(|number| *number >= 0)
        .ok_or_else(|| {
            Failure::bad_request(format!(
                "last event id {text:?} did not come from this service; leave it out to start from the beginning"
            ))
        })
}

fn parse_kinds(text: &str) -> Result<Kinds, Failure> {
    let mut kinds = Kinds {
        clusters: false,
        hosts: false,
        events: false,
    };
    for word in text.split(',') {
        match word.trim() {
            "cluster" => kinds.clusters = true,
            "host" => kinds.hosts = true,
            "event" => kinds.events = true,
            other => {
                return Err(Failure::bad_request(format!(
                    "kinds: {other:?} is unknown; there are cluster, host and event"
                )));
            }
        }
    }
    Ok(kinds)
}

/// Checks the caller, and leaves out what it may not see unless that was asked for by name.
pub async fn admitted(
    app: &Shared,
    parts: &Parts,
    asked: &Asked,
) -> Result<(Subscription, Holder), Failure> {
    let (operation, infra_env, cluster) = match asked.target {
        Target::All => ("v2ListClusters", None, None),
        Target::Cluster(id) => ("v2GetCluster", None, Some(id)),
        Target::InfraEnv(id) => ("v2ListHosts", Some(id), None),
    };
    let operation: &Operation = contract()
        .operation(operation)
        .ok_or_else(|| Failure::internal(format!("the contract has no {operation}")))?;
    let query = parts.uri.query().unwrap_or("");
    let caller = authenticate(app, operation, parts, query, Timestamp::now()).await?;
    authorize_ids(app, &caller, operation, infra_env, cluster).await?;
    Ok((subscription(&caller, asked)?, Holder::of(&caller)))
}

fn subscription(caller: &Principal, asked: &Asked) -> Result<Subscription, Failure> {
    let may_read_events = match caller.scope().filter(|_| !caller.is_admin()) {
        None => true,
        Some(Scope::Cluster(own)) => asked.target == Target::Cluster(own),
        Some(Scope::InfraEnv(own)) => asked.target == Target::InfraEnv(own),
        Some(Scope::Host { .. }) => false,
    };
    let mut kinds = asked.kinds.unwrap_or(Kinds {
        clusters: !matches!(asked.target, Target::InfraEnv(_)),
        hosts: true,
        events: true,
    });
    if kinds.events && !may_read_events {
        if asked.kinds.is_some() {
            return Err(Failure::not_found(
                "the requested events are outside the scope of this token",
            ));
        }
        kinds.events = false;
    }
    Ok(Subscription {
        target: asked.target,
        kinds,
        after: asked.after,
        audience: caller.role.into(),
        history: match asked.target {
            Target::Cluster(id) => HistoryOf::Cluster(id),
            Target::InfraEnv(id) => HistoryOf::InfraEnv(id),
            Target::All if caller.is_admin() => HistoryOf::Everything,
            Target::All => HistoryOf::AllThings,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "11111111-2222-4333-8444-555555555555";

    #[test]
    fn a_request_says_what_where_and_since_when() {
        let one = |query: &str| Asked::of(query, None).unwrap();
        assert_eq!(one("").target, Target::All);
        let id = Uuid::parse_str(ID).unwrap();
        assert_eq!(
            one(&format!("cluster_id={ID}")).target,
            Target::Cluster(ClusterId(id))
        );
        let asked = one(&format!(
            "infra_env_id={ID}&kinds=host,event&last_event_id=5"
        ));
        assert_eq!(asked.target, Target::InfraEnv(InfraEnvId(id)));
        assert_eq!(asked.after, Some(5));
        let kinds = asked.kinds.unwrap();
        assert!(!kinds.clusters && kinds.hosts && kinds.events);
    }

    #[test]
    fn what_the_client_saw_last_wins_over_where_it_began() {
        let asked = Asked::of("last_event_id=5", Some("9")).unwrap();
        assert_eq!(asked.after, Some(9));
    }

    #[test]
    fn nonsense_is_refused_with_a_hint() {
        for (query, hint) in [
            ("cluster_id=me", "cluster_id"),
            ("kinds=host,dog", "dog"),
            ("kinds=", "unknown"),
            ("follow=1", "follow"),
            ("last_event_id=-1", "last event id"),
            ("last_event_id=x", "last event id"),
            (&format!("cluster_id={ID}&infra_env_id={ID}"), "either"),
            (&format!("infra_env_id={ID}&kinds=cluster"), "infra-env"),
        ] {
            let refusal = Asked::of(query, None).unwrap_err();
            assert_eq!(refusal.status, StatusCode::BAD_REQUEST, "{query}");
            assert!(refusal.reason.contains(hint), "{query}: {}", refusal.reason);
        }
    }
}
