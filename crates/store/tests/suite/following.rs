//! Following what is committed, and purging rows that no reader can request.

use std::time::Duration;

use muster_model::{EventScope, HostId, Timestamp};
use muster_store::{EventQuery, HistoryOf, Store};

use crate::{
    places::{Place, on_both},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env, infra_env_id,
        of_cluster,
    },
};

on_both![
    a_follower_hears_of_every_commit_and_history_goes_on_by_number,
    numbers_never_come_twice,
    changes_of_another_store_are_heard_where_it_may_be_shared,
    leftovers_are_removed_and_nothing_else,
    all_hosts_are_listed,
];

async fn names(store: &Store, of: HistoryOf, after: i64, head: i64) -> Vec<String> {
    let found = store.events_after(of, after, head, 100).await.unwrap();
    assert!(found.windows(2).all(|pair| pair[0].number < pair[1].number));
    found.into_iter().map(|one| one.event.name).collect()
}

async fn a_follower_hears_of_every_commit_and_history_goes_on_by_number(place: Place) {
    let store = place.open().await;
    let (c, other, i) = (cluster_id(), cluster_id(), infra_env_id());
    commit(&store, |changes| {
        changes.event(event("a", of_cluster(c), 1));
    })
    .await
    .unwrap();
    let mut follower = store.follow().await.unwrap();
    let start = follower.head();
    assert_eq!(names(&store, HistoryOf::Everything, 0, start).await, ["a"]);
    let of_infra_env = EventScope {
        infra_env: Some(i),
        ..EventScope::default()
    };
    commit(&store, |changes| {
        changes
            .event(event("b", of_cluster(c), 9))
            .event(event("c", of_cluster(other), 5))
            .event(event("d", of_infra_env, 5))
            .event(event("e", EventScope::default(), 1));
    })
    .await
    .unwrap();
    assert!(follower.changed().await.unwrap());
    let head = follower.head();
    for (of, wanted) in [
        (HistoryOf::Cluster(c), vec!["b"]),
        (HistoryOf::InfraEnv(i), vec!["d"]),
        (HistoryOf::AllThings, vec!["b", "c", "d"]),
        (HistoryOf::Everything, vec!["b", "c", "d", "e"]),
    ] {
        assert_eq!(names(&store, of, start, head).await, wanted, "{of:?}");
    }
    assert!(
        names(&store, HistoryOf::Everything, head, head)
            .await
            .is_empty()
    );
    let page = store.events_after(HistoryOf::Everything, start, head, 2);
    assert_eq!(page.await.unwrap().len(), 2);
}

async fn numbers_never_come_twice(place: Place) {
    let store = place.open().await;
    let c = cluster_id();
    let mut follower = store.follow().await.unwrap();
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(c, 1))
            .event(event("gone", of_cluster(c), 1));
    })
    .await
    .unwrap();
    follower.changed().await.unwrap();
    let place_in_history = follower.head();
    commit(&store, |changes| {
        changes.purge_cluster(c);
    })
    .await
    .unwrap();
    commit(&store, |changes| {
        changes.event(event("new", EventScope::default(), 2));
    })
    .await
    .unwrap();
    while follower.head() == place_in_history {
        follower.changed().await.unwrap();
    }
    let listed = names(
        &store,
        HistoryOf::Everything,
        place_in_history,
        follower.head(),
    )
    .await;
    assert_eq!(listed, ["new"]);
}

async fn changes_of_another_store_are_heard_where_it_may_be_shared(place: Place) {
    let store = place.open().await;
    if !store.is_shared() {
        return;
    }
    let other = place.open().await;
    let mut follower = store.follow().await.unwrap();
    while follower.changed().await.unwrap() {}
    commit(&other, |changes| {
        changes.insert_cluster(cluster(cluster_id(), 1));
    })
    .await
    .unwrap();
    let heard = async { while !follower.changed().await.unwrap() {} };
    let heard = tokio::time::timeout(Duration::from_secs(10), heard).await;
    assert!(heard.is_ok(), "a change without an event is one, too");
}

async fn leftovers_are_removed_and_nothing_else(place: Place) {
    let store = place.open().await;
    let (c, i, lost) = (cluster_id(), infra_env_id(), infra_env_id());
    let (live, young, old) = (host_key(i), host_key(i), host_key(i));
    let of = |infra_env| EventScope {
        infra_env: Some(infra_env),
        ..EventScope::default()
    };
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(c, 1))
            .insert_infra_env(infra_env(i, Some(c), 1))
            .insert_host(host(live, Some(c), 1))
            .insert_host(host(young, Some(c), 1))
            .insert_host(host(old, Some(c), 1))
            .event(event("kept", of(i), 10))
            .event(event("lost", of(lost), 10))
            .event(event("young", of(lost), 100))
            .event(event("cluster", of_cluster(c), 10));
    })
    .await
    .unwrap();
    for (key, at) in [(young, 100), (old, 10)] {
        let row = store.host(key).await.unwrap().unwrap();
        let gone = edited(&row, |host| host.deleted_at = Some(Timestamp(at)));
        commit(&store, |changes| {
            changes.update_host(&row, gone);
        })
        .await
        .unwrap();
    }
    store.purge_leftovers(Timestamp(50)).await.unwrap();
    let hosts = store.hosts_of_cluster_even_deleted(c).await.unwrap();
    let mut left: Vec<HostId> = hosts.iter().map(|host| host.id).collect();
    let mut wanted = vec![live.host, young.host];
    left.sort();
    wanted.sort();
    assert_eq!(left, wanted);
    let events = store.events(&EventQuery::default()).await.unwrap().events;
    let names: Vec<_> = events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["kept", "cluster", "young"]);
}

async fn all_hosts_are_listed(place: Place) {
    let store = place.open().await;
    let (i, j) = (infra_env_id(), infra_env_id());
    let (a, b) = (host_key(i), host_key(j));
    commit(&store, |changes| {
        changes
            .insert_infra_env(infra_env(i, None, 1))
            .insert_infra_env(infra_env(j, None, 2))
            .insert_host(host(a, None, 1))
            .insert_host(host(b, None, 2));
    })
    .await
    .unwrap();
    let keys: Vec<_> = store.hosts().await.unwrap();
    let keys: Vec<_> = keys.iter().map(|host| host.key()).collect();
    assert_eq!(keys, [a, b]);
}
