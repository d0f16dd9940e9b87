//! Every filter of the event list, alone and together.

use muster_model::{
    Category, ClusterId, Event, EventScope, HostKey, InfraEnvId, Severity, Timestamp,
};
use muster_store::{EventOrder, EventQuery, SeverityCounts, Store};

use crate::{
    places::{Place, on_both},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env, infra_env_id,
        of_cluster,
    },
};

struct Scene {
    store: Store,
    cluster: ClusterId,
    infra_env: InfraEnvId,
    live: HostKey,
    deleted: HostKey,
}

/// One cluster with a live and a deleted host, and events named a to h at times 1 to 8.
async fn scene(place: &Place) -> Scene {
    let store = place.open().await;
    let (cluster_id, i) = (cluster_id(), infra_env_id());
    let (live, deleted) = (host_key(i), host_key(i));
    let of_host = |key: HostKey| EventScope {
        cluster: Some(cluster_id),
        host: Some(key.host),
        infra_env: Some(i),
    };
    let of_infra_env = EventScope {
        infra_env: Some(i),
        ..EventScope::default()
    };
    let told = |name: &str, severity, scope, at, message: &str| {
        Event::new(name, severity, scope, Timestamp(at), message)
    };
    let mut metrics = event("g", of_cluster(cluster_id), 7);
    metrics.category = Category::Metrics;
    metrics.props = Some("{\"a\": 1}".into());
    metrics.request_id = Some("r-1".into());
    let mut gone = host(deleted, Some(cluster_id), 1);
    gone.deleted_at = Some(Timestamp(2));
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(cluster_id, 1))
            .insert_infra_env(infra_env(i, Some(cluster_id), 1))
            .insert_host(host(live, Some(cluster_id), 1))
            .insert_host(gone)
            .event(told(
                "a",
                Severity::Info,
                of_cluster(cluster_id),
                1,
                "Registered CLUSTER",
            ))
            .event(told(
                "b",
                Severity::Warning,
                of_host(live),
                2,
                "100% of disk_a\\b",
            ))
            .event(told(
                "c",
                Severity::Error,
                of_host(deleted),
                3,
                "Ärger mit 100x of diskXa",
            ))
            .event(told(
                "d",
                Severity::Critical,
                of_host(live),
                4,
                "nul\0byte!",
            ))
            .event(told("e", Severity::Info, of_infra_env, 5, "image"))
            .event(told(
                "f",
                Severity::Info,
                EventScope::default(),
                6,
                "service",
            ))
            .event(metrics)
            .event(event("h", of_cluster(super::samples::cluster_id()), 8));
    })
    .await
    .unwrap();
    Scene {
        store,
        cluster: cluster_id,
        infra_env: i,
        live,
        deleted,
    }
}

impl Scene {
    fn of_cluster(&self) -> EventQuery {
        EventQuery {
            cluster: Some(self.cluster),
            ..EventQuery::default()
        }
    }

    async fn names(&self, query: EventQuery) -> String {
        let page = self.store.events(&query).await.unwrap();
        page.events
            .iter()
            .map(|event| event.name.as_str())
            .collect()
    }
}

on_both![
    each_filter_picks_its_events,
    counts_follow_the_contract,
    an_event_comes_back_as_it_was,
    events_of_a_deleted_cluster_stay_and_of_a_deleted_infra_env_hide,
    events_of_one_moment_keep_their_order,
    without_a_limit_five_thousand_are_listed_and_all_are_counted,
    the_last_time_of_an_event_is_known_by_name_and_scope,
];

async fn each_filter_picks_its_events(place: Place) {
    let scene = scene(&place).await;
    let (live, deleted) = (scene.live.host, scene.deleted.host);
    let c = || scene.of_cluster();
    let none = EventQuery::default;
    let i = || EventQuery {
        infra_env: Some(scene.infra_env),
        ..none()
    };
    let text = |text: &str| EventQuery {
        message: Some(text.into()),
        ..c()
    };
    let table = [
        ("all user events", none(), "abcdefh"),
        ("of the cluster", c(), "abcd"),
        (
            "of an unknown cluster with events",
            EventQuery {
                cluster: Some(cluster_id()),
                ..none()
            },
            "",
        ),
        ("of the infra-env", i(), "bcde"),
        (
            "of an unknown infra-env",
            EventQuery {
                infra_env: Some(infra_env_id()),
                ..none()
            },
            "",
        ),
        (
            "of a live host",
            EventQuery {
                hosts: vec![live],
                ..none()
            },
            "bd",
        ),
        (
            "of a deleted host alone",
            EventQuery {
                hosts: vec![deleted],
                ..none()
            },
            "",
        ),
        (
            "hosts win over the infra-env",
            EventQuery {
                hosts: vec![live, deleted],
                ..i()
            },
            "bd",
        ),
        (
            "the cluster wins over the infra-env",
            EventQuery {
                infra_env: Some(infra_env_id()),
                ..c()
            },
            "abcd",
        ),
        (
            "hosts of the cluster",
            EventQuery {
                hosts: vec![live, deleted],
                ..c()
            },
            "bcd",
        ),
        (
            "deleted hosts",
            EventQuery {
                deleted_hosts: true,
                ..c()
            },
            "c",
        ),
        (
            "cluster level",
            EventQuery {
                cluster_level: true,
                ..c()
            },
            "a",
        ),
        (
            "deleted hosts or cluster level",
            EventQuery {
                deleted_hosts: true,
                cluster_level: true,
                ..c()
            },
            "ac",
        ),
        (
            "all three",
            EventQuery {
                hosts: vec![live],
                deleted_hosts: true,
                cluster_level: true,
                ..c()
            },
            "abcd",
        ),
        (
            "deleted hosts need a cluster",
            EventQuery {
                deleted_hosts: true,
                cluster_level: true,
                ..i()
            },
            "bcde",
        ),
        ("message in any case", text("rEgistered cluster"), "a"),
        ("message beyond ASCII", text("äRGER"), "c"),
        ("percent is literal", text("100%"), "b"),
        ("underscore is literal", text("disk_a"), "b"),
        ("backslash is literal", text("a\\b"), "b"),
        ("exclamation mark is literal", text("byte!"), "d"),
        ("no such message", text("!%"), ""),
        ("empty message", text(""), "abcd"),
        ("absurdly long message", text(&"x".repeat(60_000)), ""),
        (
            "message needs a cluster",
            EventQuery {
                message: Some("zzz".into()),
                ..none()
            },
            "abcdefh",
        ),
        (
            "severity",
            EventQuery {
                severities: vec![Severity::Error],
                ..c()
            },
            "c",
        ),
        (
            "severities",
            EventQuery {
                severities: vec![Severity::Critical, Severity::Info, Severity::Info],
                ..c()
            },
            "ad",
        ),
        (
            "metrics",
            EventQuery {
                categories: vec![Category::Metrics],
                ..c()
            },
            "g",
        ),
        (
            "both categories",
            EventQuery {
                categories: vec![Category::Metrics, Category::User],
                ..c()
            },
            "abcdg",
        ),
        (
            "newest first",
            EventQuery {
                order: EventOrder::Descending,
                ..c()
            },
            "dcba",
        ),
        (
            "first two",
            EventQuery {
                limit: Some(2),
                ..c()
            },
            "ab",
        ),
        (
            "next two",
            EventQuery {
                limit: Some(2),
                offset: 2,
                ..c()
            },
            "cd",
        ),
        ("beyond the end", EventQuery { offset: 9, ..c() }, ""),
        ("negative offset", EventQuery { offset: -3, ..c() }, "abcd"),
        (
            "absurd offset",
            EventQuery {
                offset: i64::MAX,
                limit: Some(i64::MAX),
                ..c()
            },
            "",
        ),
        (
            "limit 0",
            EventQuery {
                limit: Some(0),
                ..c()
            },
            "",
        ),
        (
            "limit -1",
            EventQuery {
                limit: Some(-1),
                ..c()
            },
            "abcd",
        ),
        (
            "limit below -1",
            EventQuery {
                limit: Some(i64::MIN),
                ..c()
            },
            "abcd",
        ),
    ];
    for (claim, query, expected) in table {
        assert_eq!(scene.names(query).await, expected, "{claim}");
    }
}

async fn counts_follow_the_contract(place: Place) {
    let scene = scene(&place).await;
    let one_each = SeverityCounts {
        info: 1,
        warning: 1,
        error: 1,
        critical: 1,
    };
    let zero = SeverityCounts::default();
    let c = || scene.of_cluster();
    let table = [
        ("cluster", c(), one_each, 4),
        (
            "severity counts ignore severities",
            EventQuery {
                severities: vec![Severity::Error],
                ..c()
            },
            one_each,
            1,
        ),
        (
            "counts ignore paging",
            EventQuery {
                limit: Some(0),
                offset: 3,
                ..c()
            },
            one_each,
            4,
        ),
        (
            "counts follow the other filters",
            EventQuery {
                cluster_level: true,
                ..c()
            },
            SeverityCounts { info: 1, ..zero },
            1,
        ),
        (
            "infra-env: total only",
            EventQuery {
                infra_env: Some(scene.infra_env),
                ..EventQuery::default()
            },
            zero,
            4,
        ),
        (
            "host: total only",
            EventQuery {
                hosts: vec![scene.live.host],
                ..EventQuery::default()
            },
            zero,
            2,
        ),
        ("no scope: nothing", EventQuery::default(), zero, 0),
    ];
    for (claim, query, severity_counts, total) in table {
        let page = scene.store.events(&query).await.unwrap();
        assert_eq!(
            (page.severity_counts, page.total),
            (severity_counts, total),
            "{claim}"
        );
    }
}

async fn an_event_comes_back_as_it_was(place: Place) {
    let scene = scene(&place).await;
    let query = EventQuery {
        categories: vec![Category::Metrics],
        ..scene.of_cluster()
    };
    let page = scene.store.events(&query).await.unwrap();
    let mut expected = event("g", of_cluster(scene.cluster), 7);
    expected.category = Category::Metrics;
    expected.props = Some("{\"a\": 1}".into());
    expected.request_id = Some("r-1".into());
    assert_eq!(page.events, [expected]);
    let page = scene
        .store
        .events(&EventQuery {
            message: Some("nul".into()),
            ..scene.of_cluster()
        })
        .await
        .unwrap();
    assert_eq!(page.events[0].message, "nul\0byte!");
}

async fn events_of_a_deleted_cluster_stay_and_of_a_deleted_infra_env_hide(place: Place) {
    let scene = scene(&place).await;
    let row = scene.store.cluster(scene.cluster).await.unwrap().unwrap();
    commit(&scene.store, |changes| {
        changes
            .update_cluster(&row, edited(&row, |c| c.deleted_at = Some(Timestamp(9))))
            .delete_infra_env(scene.infra_env);
    })
    .await
    .unwrap();
    assert_eq!(scene.names(scene.of_cluster()).await, "abcd");
    let query = EventQuery {
        infra_env: Some(scene.infra_env),
        ..EventQuery::default()
    };
    assert_eq!(scene.names(query).await, "");
}

async fn events_of_one_moment_keep_their_order(place: Place) {
    let store = place.open().await;
    let id = cluster_id();
    let names: Vec<String> = (0..50).map(|number| format!("{number:02} ")).collect();
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(id, 1))
            .events(names.iter().map(|name| event(name, of_cluster(id), 1)));
    })
    .await
    .unwrap();
    let page = store
        .events(&EventQuery {
            cluster: Some(id),
            ..EventQuery::default()
        })
        .await
        .unwrap();
    assert_eq!(
        page.events
            .iter()
            .map(|event| event.name.clone())
            .collect::<Vec<_>>(),
        names
    );
    assert_eq!(page.total, 50);
}

async fn without_a_limit_five_thousand_are_listed_and_all_are_counted(place: Place) {
    let store = place.open().await;
    let id = cluster_id();
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(id, 1))
            .events((0..5003).map(|at| event("e", of_cluster(id), at)));
    })
    .await
    .unwrap();
    let page = store
        .events(&EventQuery {
            cluster: Some(id),
            ..EventQuery::default()
        })
        .await
        .unwrap();
    assert_eq!((page.events.len(), page.total), (5000, 5003));
    let query = EventQuery {
        cluster: Some(id),
        limit: Some(-1),
        ..EventQuery::default()
    };
    assert_eq!(store.events(&query).await.unwrap().events.len(), 5003);
}

async fn the_last_time_of_an_event_is_known_by_name_and_scope(place: Place) {
    let scene = scene(&place).await;
    let scope = of_cluster(scene.cluster);
    let happened = |name: &'static str, scope: EventScope, since: i64| {
        let store = scene.store.clone();
        async move {
            store
                .event_happened_since(name, &scope, Timestamp(since))
                .await
                .unwrap()
        }
    };
    assert!(happened("a", scope, 1).await);
    assert!(!happened("a", scope, 2).await);
    assert!(!happened("b", scope, 0).await, "it has a host");
    assert!(
        !happened("a", EventScope::default(), 0).await,
        "it has a cluster"
    );
    assert!(happened("f", EventScope::default(), 0).await);
}
