//! Many concurrent callers: each gets its own result, nothing is lost or half done.

use std::collections::HashSet;

use muster_model::Timestamp;
use muster_store::{Deleted, EventQuery, Store, StoreError};

use crate::{
    places::{Place, on_both},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env_id, of_cluster,
    },
};

/// Adds one to a number in a cluster, as often as it takes to win.
async fn count_up(store: &Store, id: muster_model::ClusterId) -> u32 {
    let mut lost = 0;
    loop {
        let seen = store.cluster(id).await.unwrap().unwrap();
        let next = seen.ui_settings.parse::<u64>().unwrap_or(0) + 1;
        let result = commit(store, |changes| {
            changes
                .update_cluster(&seen, edited(&seen, |c| c.ui_settings = next.to_string()))
                .event(event("counted", of_cluster(id), next as i64));
        })
        .await;
        match result {
            Ok(()) => return lost,
            Err(StoreError::Conflict { .. }) => lost += 1,
            Err(error) => panic!("neither done nor a conflict: {error:?}"),
        }
    }
}

on_both![
    concurrent_increments_are_all_counted_once,
    a_refused_unit_does_not_harm_its_neighbours,
    units_that_touch_the_same_rows_in_any_order_never_block_each_other,
    a_unit_is_carried_out_even_if_its_caller_goes_away,
];

async fn concurrent_increments_are_all_counted_once(place: Place) {
    let store = place.open().await;
    let id = cluster_id();
    commit(&store, |x| {
        x.insert_cluster(cluster(id, 1));
    })
    .await
    .unwrap();
    let tasks: Vec<_> = (0..12)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                let mut lost = 0;
                for _ in 0..10 {
                    lost += count_up(&store, id).await;
                }
                lost
            })
        })
        .collect();
    let mut lost = 0;
    for task in tasks {
        lost += task.await.unwrap();
    }
    assert!(lost > 0, "the test never raced");
    assert_eq!(store.cluster(id).await.unwrap().unwrap().ui_settings, "120");
    let history = store
        .events(&EventQuery {
            cluster: Some(id),
            ..EventQuery::default()
        })
        .await
        .unwrap();
    let numbers: Vec<i64> = history.events.iter().map(|event| event.at.0).collect();
    assert_eq!(numbers, (1..=120).collect::<Vec<_>>());
}

/// Good and refused units are queued together, so that they share transactions.
async fn a_refused_unit_does_not_harm_its_neighbours(place: Place) {
    let store = place.open().await;
    let taken = cluster_id();
    commit(&store, |x| {
        x.insert_cluster(cluster(taken, 0));
    })
    .await
    .unwrap();
    let units = (1..=200).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let id = cluster_id();
            let result = commit(&store, |changes| {
                changes.insert_cluster(cluster(id, number)).event(event(
                    "made",
                    of_cluster(id),
                    number,
                ));
                if number % 3 == 0 {
                    changes.insert_cluster(cluster(taken, number));
                }
            })
            .await;
            (id, number, result)
        })
    });
    let mut kept = HashSet::from([taken]);
    for unit in units.collect::<Vec<_>>() {
        let (id, number, result) = unit.await.unwrap();
        match result {
            Ok(()) => assert!(number % 3 != 0 && kept.insert(id)),
            Err(StoreError::Conflict { .. }) => assert!(number % 3 == 0),
            Err(error) => panic!("{error:?}"),
        }
    }
    let mut store = store;
    for _ in 0..2 {
        let found = store.clusters(Deleted::Included).await.unwrap();
        assert_eq!(found.iter().map(|one| one.id).collect::<HashSet<_>>(), kept);
        let events = store.events(&EventQuery::default()).await.unwrap().events;
        assert_eq!(events.len(), kept.len() - 1);
        store.close().await;
        store = place.open().await;
    }
}

async fn units_that_touch_the_same_rows_in_any_order_never_block_each_other(place: Place) {
    let store = place.open().await;
    let i = infra_env_id();
    let keys: Vec<_> = (0..6).map(|_| host_key(i)).collect();
    commit(&store, |changes| {
        for key in &keys {
            changes.insert_host(host(*key, None, 1));
        }
    })
    .await
    .unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, mut keys) = (store.clone(), keys.clone());
            tokio::spawn(async move {
                for round in 0..15 {
                    keys.rotate_left((task + round) % 6);
                    let mut rows = Vec::new();
                    for key in &keys {
                        rows.push(store.host(*key).await.unwrap().unwrap());
                    }
                    let result = commit(&store, |changes| {
                        for row in &rows {
                            changes.update_host(
                                row,
                                edited(row, |h| {
                                    h.updated_at = Timestamp(h.updated_at.0 + 1);
                                }),
                            );
                        }
                    })
                    .await;
                    assert!(
                        matches!(&result, Ok(()))
                            || matches!(&result, Err(StoreError::Conflict { what })
                                if what.contains("host")),
                        "{result:?}"
                    );
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let hosts = store.hosts_of_infra_env(i).await.unwrap();
    let moves: HashSet<i64> = hosts.iter().map(|host| host.updated_at.0).collect();
    assert_eq!(moves.len(), 1, "all six moved together: {moves:?}");
}

async fn a_unit_is_carried_out_even_if_its_caller_goes_away(place: Place) {
    let store = place.open().await;
    let ids: Vec<_> = (0..20).map(|_| cluster_id()).collect();
    for id in &ids {
        let mut changes = muster_store::Changes::default();
        changes.insert_cluster(cluster(*id, 1));
        let mut waiting = Box::pin(store.commit(changes));
        // Polled once, then dropped.
        let _ = futures::poll!(waiting.as_mut());
    }
    commit(&store, |x| {
        x.insert_cluster(cluster(cluster_id(), 2));
    })
    .await
    .unwrap();
    for _ in 0..200 {
        if store.clusters(Deleted::Excluded).await.unwrap().len() == 21 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("some units never arrived");
}
