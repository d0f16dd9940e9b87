//! Every filter of the event list, alone and together.

use muster_model::{Category, Severity};
use muster_store::{EventOrder, EventQuery, SeverityCounts};

use crate::{
    places::{Place, on_both},
    samples::{cluster_id, infra_env_id},
    scene::scene,
};

on_both![each_filter_picks_its_events, counts_follow_the_contract,];

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
            "of a live host within its infra-env",
            EventQuery {
                hosts: vec![live],
                within: Some(scene.infra_env),
                ..none()
            },
            "bd",
        ),
        (
            "of a live host within another infra-env",
            EventQuery {
                hosts: vec![live],
                within: Some(infra_env_id()),
                ..none()
            },
            "",
        ),
        (
            "anything within the infra-env",
            EventQuery {
                within: Some(scene.infra_env),
                ..none()
            },
            "bcde",
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
