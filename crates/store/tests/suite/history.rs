//! What an event keeps, in which order, and for how long.

use muster_model::{Category, EventScope, Timestamp};
use muster_store::EventQuery;

use crate::{
    places::{Place, on_both},
    samples::{cluster, cluster_id, commit, edited, event, of_cluster},
    scene::scene,
};

on_both![
    an_event_comes_back_as_it_was,
    events_of_a_deleted_cluster_stay_and_of_a_deleted_infra_env_hide,
    events_of_one_moment_keep_their_order,
    without_a_limit_five_thousand_are_listed_and_all_are_counted,
    large_events_make_short_pages_that_add_up,
    the_last_time_of_an_event_is_known_by_name_and_scope,
];

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
    let live = scene.store.host(scene.live).await.unwrap().unwrap();
    commit(&scene.store, |changes| {
        changes
            .update_host(&live, edited(&live, |h| h.deleted_at = Some(Timestamp(9))))
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

async fn large_events_make_short_pages_that_add_up(place: Place) {
    const EVENTS: usize = 300;
    const SIZE: usize = 64 << 10;
    let store = place.open().await;
    let id = cluster_id();
    commit(&store, |changes| {
        changes.insert_cluster(cluster(id, 1));
        for at in 0..EVENTS {
            let mut large = event(&format!("{at}"), of_cluster(id), at as i64);
            large.props = Some("x".repeat(SIZE));
            changes.event(large);
        }
    })
    .await
    .unwrap();
    for limit in [-1, EVENTS as i64] {
        let mut names = Vec::new();
        let mut pages = 0;
        while names.len() < EVENTS {
            let query = EventQuery {
                cluster: Some(id),
                limit: Some(limit),
                offset: names.len() as i64,
                ..EventQuery::default()
            };
            let page = store.events(&query).await.unwrap();
            assert!(!page.events.is_empty(), "paging must come to an end");
            assert!(page.events.len() * SIZE <= 8 << 20, "{}", page.events.len());
            assert_eq!(page.total, EVENTS as i64);
            names.extend(page.events.into_iter().map(|event| event.name));
            pages += 1;
        }
        let all: Vec<String> = (0..EVENTS).map(|at| at.to_string()).collect();
        assert_eq!(names, all);
        assert_eq!(pages, 3, "pages are filled");
    }
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
