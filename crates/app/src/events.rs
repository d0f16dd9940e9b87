//! The history of clusters, hosts and infra-envs: what callers add, and what they may read.

use std::net::IpAddr;

use muster_api::wire;
use muster_auth::{Principal, Scope};
use muster_model::{
    Category, ClusterId, Event, EventScope, HostId, HostKey, InfraEnvId, Severity, Timestamp,
    storable_json,
};
use muster_store::{Changes, EventQuery};
use serde_json::{Map, Value};
use tracing::warn;
use uuid::Uuid;

use super::{App, Error, aggregate::Cause, membership};

/// Longest name of an event: a word, not a story.
const MAX_NAME_BYTES: usize = 256;
/// Longest properties of an event: details, not files.
const MAX_PROPS_BYTES: usize = 64 << 10;

/// Stores an event that an agent or a controller posts.
pub async fn post(
    app: &App,
    caller: &Principal,
    peer: IpAddr,
    given: &wire::Event,
    cause: &Cause,
) -> Result<(), Error> {
    let mut event = event(given, cause.now)?;
    event.scope = placed(app, caller, event.scope).await?;
    event.request_id.clone_from(&cause.request_id);
    app.admit_posted_event(caller, peer, &event).await?;
    let mut changes = Changes::default();
    changes.event(event);
    Ok(app.commit_posted(changes).await?)
}

/// Keeps the holder of a token within what the token was made for.
pub async fn confined(
    app: &App,
    caller: &Principal,
    mut query: EventQuery,
) -> Result<EventQuery, Error> {
    let Some(scope) = caller.scope().filter(|_| !caller.is_admin()) else {
        return Ok(query);
    };
    let mine = match scope {
        Scope::Cluster(own) => query.cluster == Some(own),
        // Machines report events and read none.
        Scope::Host { .. } => false,
        // With a cluster named the store looks at nothing else, so it must not be foreign.
        Scope::InfraEnv(_) if query.cluster.is_some() => false,
        Scope::InfraEnv(own) if query.hosts.is_empty() => query.infra_env == Some(own),
        Scope::InfraEnv(own) => {
            // The same machine may have booted from other infra-envs too, under the same id.
            query.within = Some(own);
            let hosts = app.store.hosts_of_infra_env(own).await?;
            query
                .hosts
                .iter()
                .all(|id| hosts.iter().any(|host| host.id == *id))
        }
    };
    if mine {
        Ok(query)
    } else {
        Err(Error::not_found(
            "the requested events are outside the scope of this token",
        ))
    }
}

/// The event to store. Its time is ours: clocks of machines being installed are often wrong.
fn event(given: &wire::Event, now: Timestamp) -> Result<Event, Error> {
    let bad = |member: &str, why: String| Error::invalid(format!("{member}: {why}"));
    let category = match given.category.as_deref() {
        None | Some("") => Category::User,
        Some(name) => name.parse().map_err(|_| {
            bad(
                "category",
                format!("{name:?} is unknown; use user or metrics"),
            )
        })?,
    };
    let severity = given.severity.as_deref().unwrap_or_default();
    let severity: Severity = severity.parse().map_err(|_| {
        bad(
            "severity",
            format!("{severity:?} is unknown; use info, warning, error or critical"),
        )
    })?;
    let id = |member: &str, text: &Option<String>| {
        let parsed = text.as_deref().filter(|text| !text.is_empty()).map(|text| {
            Uuid::try_parse(text).map_err(|_| bad(member, format!("{text:?} is no id")))
        });
        parsed.transpose()
    };
    let scope = EventScope {
        cluster: id("cluster_id", &given.cluster_id)?.map(ClusterId),
        host: id("host_id", &given.host_id)?.map(HostId),
        infra_env: id("infra_env_id", &given.infra_env_id)?.map(InfraEnvId),
    };
    let name = given.name.as_deref().unwrap_or_default();
    if name.len() > MAX_NAME_BYTES {
        let why = format!(
            "it has {} bytes, at most {MAX_NAME_BYTES} are kept; put details into the message",
            name.len()
        );
        return Err(bad("name", why));
    }
    let message = given.message.clone().unwrap_or_default();
    let mut event = Event::new(name, severity, scope, now, message);
    event.category = category;
    event.props = match given.props.as_deref().filter(|text| !text.is_empty()) {
        Some(text) if text.len() > MAX_PROPS_BYTES => {
            let why = format!(
                "they have {} bytes, at most {MAX_PROPS_BYTES} are kept; send large findings as logs",
                text.len()
            );
            return Err(bad("props", why));
        }
        Some(text) => props(name, text)?,
        None => None,
    };
    Ok(event)
}

/// Properties as a JSON object: given as one, or as a list of alternating names and values. The
/// event matters more than its details, so other texts are dropped and only logged; a list
/// whose names are not strings is a bug of the caller, and an error.
fn props(event: &str, text: &str) -> Result<Option<String>, Error> {
    let dropped = |why: &str| {
        warn!(event, why, "the properties of an event were dropped");
        Ok(None)
    };
    let items = match serde_json::from_str(&storable_json(text)) {
        Ok(Value::Object(object)) => return Ok(Some(Value::Object(object).to_string())),
        Ok(Value::Array(items)) => items,
        Ok(_) => return dropped("they are neither a JSON object nor a list"),
        Err(cause) => return dropped(&format!("they are not JSON: {cause}")),
    };
    let mut object = Map::new();
    for pair in items.chunks(2) {
        match pair {
            [Value::String(name), value] => {
                object.insert(name.clone(), value.clone());
            }
            [Value::String(_)] => return dropped("the last name of the list has no value"),
            _ => {
                return Err(Error::invalid(
                    "props: a list must hold names and values in turn, and names are texts",
                ));
            }
        }
    }
    Ok(Some(Value::Object(object).to_string()))
}

/// Where the event belongs. A machine may report about itself and its cluster, a controller about
/// its cluster, neither about others; and because the id of a host says little without its
/// infra-env, what the caller left out is filled in.
async fn placed(app: &App, caller: &Principal, about: EventScope) -> Result<EventScope, Error> {
    let placed = match caller.scope().filter(|_| !caller.is_admin()) {
        None => Some(about),
        Some(Scope::InfraEnv(own)) => in_infra_env(app, own, about).await?,
        Some(Scope::Cluster(own)) => in_cluster(app, own, about).await?,
        Some(Scope::Host { key, .. }) => of_host(app, key, about).await?,
    };
    placed.ok_or_else(|| Error::not_found("the event is outside the scope of this token"))
}

async fn in_infra_env(
    app: &App,
    own: InfraEnvId,
    about: EventScope,
) -> Result<Option<EventScope>, Error> {
    if about.infra_env.is_some_and(|named| named != own) {
        return Ok(None);
    }
    if let Some(cluster) = about.cluster
        && !membership::belongs(app, own, cluster).await?
    {
        return Ok(None);
    }
    if let Some(host) = about.host {
        let key = HostKey {
            infra_env: own,
            host,
        };
        let known = app.store.host(key).await?;
        if known.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(EventScope {
        infra_env: Some(own),
        ..about
    }))
}

async fn of_host(app: &App, own: HostKey, about: EventScope) -> Result<Option<EventScope>, Error> {
    if about.host.is_some_and(|named| named != own.host) {
        return Ok(None);
    }
    if let Some(cluster) = about.cluster
        && !membership::is_bound_to(app, own, cluster).await?
    {
        return Ok(None);
    }
    in_infra_env(app, own.infra_env, about).await
}

async fn in_cluster(
    app: &App,
    own: ClusterId,
    about: EventScope,
) -> Result<Option<EventScope>, Error> {
    if about.cluster.is_some_and(|named| named != own) {
        return Ok(None);
    }
    let mut infra_env = about.infra_env;
    if let Some(id) = about.host {
        let hosts = app.store.hosts_of_cluster(own).await;
        let hosts = hosts?;
        let meant = hosts
            .iter()
            .find(|host| host.id == id && infra_env.is_none_or(|named| named == host.infra_env));
        let Some(host) = meant else {
            return Ok(None);
        };
        infra_env = Some(host.infra_env);
    } else if let Some(named) = infra_env
        && !membership::belongs(app, named, own).await?
    {
        return Ok(None);
    }
    Ok(Some(EventScope {
        cluster: Some(own),
        infra_env,
        ..about
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn posted(props: &str) -> wire::Event {
        wire::Event {
            name: Some("reboots_for_node".into()),
            severity: Some("info".into()),
            message: Some("rebooted".into()),
            event_time: Some("2001-01-01T00:00:00Z".into()),
            props: Some(props.into()),
            ..wire::Event::default()
        }
    }

    #[test]
    fn an_event_gets_our_time_and_the_user_category() {
        let event = event(&posted(""), Timestamp(7)).unwrap();
        assert_eq!(event.at, Timestamp(7));
        assert_eq!(event.category, Category::User);
        assert_eq!(event.props, None);
    }

    #[test]
    fn properties_are_an_object_or_names_and_values_in_turn() {
        for (text, stored) in [
            (r#"{"a": 1}"#, Some(r#"{"a":1}"#)),
            (r#"["a", 1, "b", [2]]"#, Some(r#"{"a":1,"b":[2]}"#)),
            ("[]", Some("{}")),
            (r#"["a"]"#, None),
            ("7", None),
            ("not json", None),
        ] {
            let event = event(&posted(text), Timestamp(0)).unwrap();
            assert_eq!(event.props.as_deref(), stored, "{text}");
        }
    }

    #[test]
    fn a_list_whose_names_are_no_texts_is_a_bad_request() {
        for text in ["[1, 2]", r#"["a", 1, null, 2]"#, "[{}]"] {
            let failure = event(&posted(text), Timestamp(0)).unwrap_err();
            assert!(matches!(failure, Error::Invalid(_)), "{text}");
        }
    }

    #[test]
    fn unknown_words_and_broken_ids_are_bad_requests() {
        let mut odd = posted("");
        odd.category = Some("gossip".into());
        assert!(matches!(event(&odd, Timestamp(0)), Err(Error::Invalid(_))));
        let mut odd = posted("");
        odd.host_id = Some("me".into());
        assert!(matches!(event(&odd, Timestamp(0)), Err(Error::Invalid(_))));
    }

    #[test]
    fn too_long_a_message_is_cut_and_kept() {
        let mut long = posted("");
        long.message = Some("ä".repeat(5000));
        let event = event(&long, Timestamp(0)).unwrap();
        assert_eq!(event.message.len(), Event::MAX_MESSAGE_BYTES);
    }

    #[test]
    fn too_long_a_name_is_a_bad_request_that_says_so() {
        let mut long = posted("");
        long.name = Some("n".repeat(MAX_NAME_BYTES));
        assert_eq!(event(&long, Timestamp(0)).unwrap().name.len(), 256);
        long.name = Some("ä".repeat(MAX_NAME_BYTES / 2 + 1));
        let failure = event(&long, Timestamp(0)).unwrap_err();
        assert!(matches!(failure, Error::Invalid(_)));
        assert!(failure.to_string().starts_with("name: "), "{failure}");
    }

    #[test]
    fn too_large_properties_are_a_bad_request_that_says_so() {
        let object = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
        let fits = event(&posted(&object(64 << 10)), Timestamp(0)).unwrap();
        assert_eq!(fits.props.map(|text| text.len()), Some(64 << 10));
        // The limit also holds for texts that would be dropped because they are not JSON.
        for text in [object((64 << 10) + 1), "x".repeat((64 << 10) + 1)] {
            let failure = event(&posted(&text), Timestamp(0)).unwrap_err();
            assert!(matches!(failure, Error::Invalid(_)));
            assert!(failure.to_string().starts_with("props: "), "{failure}");
        }
    }
}
