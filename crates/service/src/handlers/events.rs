//! The history of clusters, hosts and infra-envs.

use http::{HeaderName, StatusCode};
use muster_api::{bind::Args, wire};
use muster_app::{aggregate::Cause, driver, events};
use muster_model::{Category, ClusterId, Event, HostId, InfraEnvId, Severity};
use muster_store::{EventOrder, EventPage, EventQuery};
use uuid::Uuid;

use crate::{
    http::{Call, Failure, Reply},
    service::Shared,
};

/// The most hosts one request may name; a longer list is a mistake.
const MOST_HOSTS: usize = 5000;

/// `GET /v2/events`.
pub async fn list(app: Shared, call: Call) -> Result<Reply, Failure> {
    let query = events::confined(&app, &call.principal, query(&call.args)?).await?;
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
        app.store.events(&query).await?
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

/// `POST /v2/events`: lines of history that agents and controllers add.
pub async fn trigger(app: Shared, mut call: Call) -> Result<Reply, Failure> {
    let given: wire::Event = call.body()?;
    events::post(
        &app,
        &call.principal,
        call.peer,
        &given,
        &Cause::from(&call),
    )
    .await?;
    Ok(Reply::empty(StatusCode::CREATED))
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
            .map_err(|_| Failure::bad_request(format!("{text:?} is not a host id")))
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
        within: None,
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

/// Categories we know; the parameter is free text, and a category that is never written matches nothing.
/// Asked for unknown ones only, the answer stays that of user events rather than everything.
fn categories(names: &[String]) -> Vec<Category> {
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use muster_model::{EventScope, Timestamp};

    use super::*;

    #[test]
    fn an_answer_shows_neither_category_nor_request() {
        let scope = EventScope::default();
        let mut event = Event::new("noted", Severity::Info, scope, Timestamp(1_000), "story");
        event.props = Some("{}".into());
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
