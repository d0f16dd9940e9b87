//! The history of clusters, hosts and infra-envs: reading it, and lines that agents add.

use http::{HeaderName, StatusCode};
use muster_api::{bind::Args, error::Failure, wire};
use muster_auth::{Principal, Scope};
use muster_model::{
    Category, ClusterId, Event, EventScope, HostId, InfraEnvId, Severity, Timestamp,
};
use muster_store::{Changes, EventOrder, EventPage, EventQuery};
use serde_json::{Map, Value};
use tracing::warn;
use uuid::Uuid;

use crate::{
    app::{App, Shared, store_failure},
    driver,
    http::{Call, Reply, admission},
};

/// Most hosts one question may name; a longer list is no question but a mistake.
const MOST_HOSTS: usize = 5000;

/// `GET /v2/events`.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let query = query(&call.args)?;
    require_scope(&app, &call.principal, &query).await?;
    if let Some(cluster) = query.cluster {
        app.driver
            .settle(&app, driver::Scope::Cluster(cluster))
            .await;
    }
    let names_nothing =
        query.cluster.is_none() && query.infra_env.is_none() && query.hosts.is_empty();
    let page = if names_nothing && !call.principal.is_admin() {
        EventPage::default()
    } else {
        app.store.events(&query).await.map_err(store_failure)?
    };
    let list: Vec<_> = page.events.iter().map(shown).collect();
    let counts = page.severity_counts;
    let mut reply = Reply::json(StatusCode::OK, &list)?;
    for (name, count) in [
        ("severity-count-info", counts.info),
        ("severity-count-warning", counts.warning),
        ("severity-count-error", counts.error),
        ("severity-count-critical", counts.critical),
        ("event-count", page.total),
    ] {
        reply = reply.header(HeaderName::from_static(name), count.to_string());
    }
    Ok(reply)
}

/// An event in an answer: without category and request, which are ours.
pub fn shown(event: &Event) -> wire::Event {
    wire::Event {
        name: (!event.name.is_empty()).then(|| event.name.clone()),
        severity: Some(event.severity.to_string()),
        message: Some(event.message.clone()),
        event_time: Some(event.at.millis()),
        cluster_id: event.scope.cluster.map(|id| id.to_string()),
        infra_env_id: event.scope.infra_env.map(|id| id.to_string()),
        host_id: event.scope.host.map(|id| id.to_string()),
        props: event.props.clone(),
        ..wire::Event::default()
    }
}

fn query(args: &Args) -> Result<EventQuery, Failure> {
    let id = |text: &str| {
        Uuid::try_parse(text)
            .or_else(|_| Uuid::try_parse(&text.replace('-', "")))
            .map_err(|_| Failure::bad_request(format!("{text:?} is no host id")))
    };
    let mut hosts = args
        .list("host_ids")
        .iter()
        .map(|text| id(text).map(HostId))
        .collect::<Result<Vec<_>, _>>()?;
    hosts.extend(args.uuid("host_id").map(HostId));
    if hosts.len() > MOST_HOSTS {
        return Err(Failure::bad_request(format!(
            "host_ids names more than {MOST_HOSTS} hosts; ask in parts"
        )));
    }
    let severities = args.list("severities").iter().map(|text| {
        text.parse::<Severity>()
            .map_err(|why| Failure::bad_request(format!("severities: {why}")))
    });
    Ok(EventQuery {
        cluster: args.uuid("cluster_id").map(ClusterId),
        infra_env: args.uuid("infra_env_id").map(InfraEnvId),
        hosts,
        deleted_hosts: args.flag("deleted_hosts"),
        cluster_level: args.flag("cluster_level"),
        message: args
            .text("message")
            .filter(|text| !text.is_empty())
            .map(str::to_owned),
        severities: severities.collect::<Result<_, _>>()?,
        categories: categories(args.list("categories")),
        order: match args.text("order") {
            Some("descending") => EventOrder::Descending,
            _ => EventOrder::Ascending,
        },
        limit: args.int("limit"),
        offset: args.int("offset").unwrap_or(0),
    })
}

/// Categories we know; the parameter is free text, and what nobody writes is found nowhere.
/// Asked for unknown ones only, the answer stays that of user events rather than everything.
fn categories(names: &[String]) -> Vec<Category> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Keeps the holder of a token within what the token was made for.
async fn require_scope(app: &App, caller: &Principal, query: &EventQuery) -> Result<(), Failure> {
    let Some(scope) = caller.scope().filter(|_| !caller.is_admin()) else {
        return Ok(());
    };
    let mine = match scope {
        Scope::Cluster(own) => query.cluster == Some(own),
        // With a cluster named the store looks at nothing else, so it must not be foreign.
        Scope::InfraEnv(_) if query.cluster.is_some() => false,
        Scope::InfraEnv(own) if query.hosts.is_empty() => query.infra_env == Some(own),
        Scope::InfraEnv(own) => {
            let hosts = app
                .store
                .hosts_of_infra_env(own)
                .await
                .map_err(store_failure)?;
            query
                .hosts
                .iter()
                .all(|id| hosts.iter().any(|host| host.id == *id))
        }
    };
    if mine {
        Ok(())
    } else {
        Err(Failure::not_found(
            "the events asked for are not among those this token opens",
        ))
    }
}

/// `POST /v2/events`: an agent tells what happened.
pub async fn trigger(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let told: wire::Event = call.body()?;
    let mut event = event(&told, call.now)?;
    require_own(&app, &call.principal, &event.scope).await?;
    event.request_id = Some(call.request_id.clone());
    let mut changes = Changes::default();
    changes.event(event);
    app.store.commit(changes).await.map_err(store_failure)?;
    Ok(Reply::empty(StatusCode::CREATED))
}

/// The event to store. Its time is ours: clocks of machines being installed are often wrong.
fn event(told: &wire::Event, now: Timestamp) -> Result<Event, Failure> {
    let bad = |member: &str, why: String| Failure::bad_request(format!("{member}: {why}"));
    let category = match told.category.as_deref() {
        None | Some("") => Category::User,
        Some(name) => name.parse().map_err(|_| {
            bad(
                "category",
                format!("{name:?} is unknown; use user or metrics"),
            )
        })?,
    };
    let severity = told.severity.as_deref().unwrap_or_default();
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
        cluster: id("cluster_id", &told.cluster_id)?.map(ClusterId),
        host: id("host_id", &told.host_id)?.map(HostId),
        infra_env: id("infra_env_id", &told.infra_env_id)?.map(InfraEnvId),
    };
    let name = told.name.as_deref().unwrap_or_default();
    let message = told.message.clone().unwrap_or_default();
    let mut event = Event::new(name, severity, scope, now, message);
    event.category = category;
    event.props = match told.props.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => props(name, text)?,
        None => None,
    };
    Ok(event)
}

/// Properties as a JSON object: as it is, or from a list of names and values in turn. The
/// event counts more than its details, so other texts are dropped and only logged; a list
/// whose names are no texts is a mistake of the caller's program, and that is told.
fn props(event: &str, text: &str) -> Result<Option<String>, Failure> {
    let dropped = |why: &str| {
        warn!(event, why, "the properties of an event were dropped");
        Ok(None)
    };
    let items = match serde_json::from_str(text) {
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
                return Err(Failure::bad_request(
                    "props: a list must hold names and values in turn, and names are texts",
                ));
            }
        }
    }
    Ok(Some(Value::Object(object).to_string()))
}

/// A machine may tell about itself and its cluster, not about others.
async fn require_own(app: &Shared, caller: &Principal, about: &EventScope) -> Result<(), Failure> {
    let Some(scope) = caller.scope().filter(|_| !caller.is_admin()) else {
        return Ok(());
    };
    let mine = match (scope, about.cluster, about.infra_env) {
        (Scope::Cluster(own), cluster, _) => cluster.is_none_or(|id| id == own),
        (Scope::InfraEnv(own), _, Some(other)) if own != other => false,
        (Scope::InfraEnv(_), None, _) => true,
        (Scope::InfraEnv(own), Some(cluster), _) => admission::belongs(app, own, cluster).await?,
    };
    if mine {
        Ok(())
    } else {
        Err(Failure::not_found(
            "the event is about something this token was not made for",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(props: &str) -> wire::Event {
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
        let event = event(&told(""), Timestamp(7)).unwrap();
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
            let event = event(&told(text), Timestamp(0)).unwrap();
            assert_eq!(event.props.as_deref(), stored, "{text}");
        }
    }

    #[test]
    fn a_list_whose_names_are_no_texts_is_a_bad_request() {
        for text in ["[1, 2]", r#"["a", 1, null, 2]"#, "[{}]"] {
            let failure = event(&told(text), Timestamp(0)).unwrap_err();
            assert_eq!(failure.status, StatusCode::BAD_REQUEST, "{text}");
        }
    }

    #[test]
    fn unknown_words_and_broken_ids_are_bad_requests() {
        let mut odd = told("");
        odd.category = Some("gossip".into());
        assert_eq!(
            event(&odd, Timestamp(0)).unwrap_err().status,
            StatusCode::BAD_REQUEST
        );
        let mut odd = told("");
        odd.host_id = Some("me".into());
        assert_eq!(
            event(&odd, Timestamp(0)).unwrap_err().status,
            StatusCode::BAD_REQUEST
        );
    }

    #[test]
    fn too_long_a_message_is_cut_and_kept() {
        let mut long = told("");
        long.message = Some("ä".repeat(5000));
        let event = event(&long, Timestamp(0)).unwrap();
        assert_eq!(event.message.len(), Event::MAX_MESSAGE_BYTES);
    }

    #[test]
    fn an_answer_shows_neither_category_nor_request() {
        let mut event = event(&told("{}"), Timestamp(1_000)).unwrap();
        event.request_id = Some("r".into());
        let shown = serde_json::to_value(shown(&event)).unwrap();
        let keys: Vec<_> = shown
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(keys, ["event_time", "message", "name", "props", "severity"]);
        assert_eq!(shown["event_time"], "1970-01-01T00:00:00.001Z");
    }
}
