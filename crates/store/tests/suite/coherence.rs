//! What is read from memory is what the database holds.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use muster_model::{ClusterId, HostKey, Timestamp};
use muster_store::{Store, StoreError};

use crate::{
    places::{Place, on_both, open},
    samples::{cluster, cluster_id, commit, edited, host, host_key, infra_env_id},
};

/// Small numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

/// Inserts, moves, deletes and purges hosts of a small crowd.
async fn stir(store: Store, keys: Vec<HostKey>, clusters: Vec<ClusterId>, seed: u64) {
    let mut dice = Dice(seed);
    for round in 0..120 {
        let key = keys[dice.roll(keys.len())];
        let cluster = clusters[dice.roll(clusters.len())];
        let seen = store.host(key).await.unwrap();
        let choice = dice.roll(8);
        let result = commit(&store, |changes| {
            match (&seen, choice) {
                (None, _) => changes.insert_host(host(key, Some(cluster), round)),
                (Some(_), 0) => changes.purge_host(key),
                (Some(row), 1) => {
                    changes.update_host(row, edited(row, |h| h.deleted_at = Some(Timestamp(1))))
                }
                (Some(row), _) => changes.update_host(
                    row,
                    edited(row, |h| {
                        h.cluster = Some(cluster);
                        h.updated_at = Timestamp(h.updated_at.0 + 1);
                    }),
                ),
            };
        })
        .await;
        match result {
            Ok(()) | Err(StoreError::Conflict { .. } | StoreError::Missing { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Everything the store says about these hosts.
async fn census(
    store: &Store,
    keys: &[HostKey],
    clusters: &[ClusterId],
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for key in keys {
        let host = store.host(*key).await.unwrap();
        found.insert(
            key.to_string(),
            host.map_or("none".into(), |h| format!("{} {:?}", h.version, *h)),
        );
    }
    for id in clusters {
        let hosts = store.hosts_of_cluster(*id).await.unwrap();
        let list: Vec<_> = hosts
            .iter()
            .map(|h| (h.key(), h.version, h.updated_at))
            .collect();
        found.insert(
            id.to_string(),
            format!("{list:?} {:?}", store.cluster_revision(*id).await.unwrap()),
        );
    }
    found
}

async fn stir_and_compare(place: &Place, writers: Vec<Store>) {
    let i = infra_env_id();
    let keys: Vec<_> = (0..12).map(|_| host_key(i)).collect();
    let clusters: Vec<_> = (0..3).map(|_| cluster_id()).collect();
    commit(&writers[0], |changes| {
        for id in &clusters {
            changes.insert_cluster(cluster(*id, 1));
        }
    })
    .await
    .unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = writers
        .iter()
        .map(|store| {
            let (store, keys, clusters, over) = (
                store.clone(),
                keys.clone(),
                clusters.clone(),
                Arc::clone(&over),
            );
            tokio::spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    census(&store, &keys, &clusters).await;
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let tasks: Vec<_> = (0..6)
        .map(|seed| {
            let store = writers[seed % writers.len()].clone();
            tokio::spawn(stir(store, keys.clone(), clusters.clone(), seed as u64))
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    let mut censuses = Vec::new();
    for store in &writers {
        censuses.push(census(store, &keys, &clusters).await);
        store.close().await;
    }
    let fresh = census(&place.open().await, &keys, &clusters).await;
    assert!(fresh.values().filter(|host| *host != "none").count() > 3);
    for one in censuses {
        assert_eq!(one, fresh);
    }
}

on_both![
    memory_and_database_agree_after_a_storm,
    a_fill_that_races_with_a_commit_does_not_bring_back_the_past,
];

async fn memory_and_database_agree_after_a_storm(place: Place) {
    let store = place.open().await;
    stir_and_compare(&place, vec![store]).await;
}

/// A cold start fills the cache while writers are already at work.
async fn a_fill_that_races_with_a_commit_does_not_bring_back_the_past(place: Place) {
    let i = infra_env_id();
    let keys: Vec<_> = (0..40).map(|_| host_key(i)).collect();
    let store = place.open().await;
    commit(&store, |changes| {
        for key in &keys {
            changes.insert_host(host(*key, None, 1));
        }
    })
    .await
    .unwrap();
    for round in 2..8 {
        store.close().await;
        let store = place.open().await;
        let rows = store.hosts_of_infra_env(i).await.unwrap();
        store.close().await;
        let store = place.open().await;
        let lister = tokio::spawn({
            let store = store.clone();
            async move {
                for _ in 0..5 {
                    store.hosts_of_infra_env(i).await.unwrap();
                }
            }
        });
        for row in &rows {
            commit(&store, |changes| {
                changes.update_host(row, edited(row, |h| h.updated_at = Timestamp(round)));
            })
            .await
            .unwrap();
            let now = store.host(row.key()).await.unwrap().unwrap();
            assert_eq!(
                (now.version, now.updated_at),
                (row.version + 1, Timestamp(round))
            );
        }
        lister.await.unwrap();
        for host in store.hosts_of_infra_env(i).await.unwrap() {
            assert_eq!(host.updated_at, Timestamp(round));
        }
        store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_on_one_postgres_see_each_others_writes_at_once() {
    let place = Place::postgres();
    let (one, two) = (place.open().await, place.open().await);
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    commit(&one, |x| {
        x.insert_cluster(cluster(c, 1))
            .insert_host(host(h, Some(c), 1));
    })
    .await
    .unwrap();
    for round in 0..20 {
        let (writer, reader) = if round % 2 == 0 {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let row = writer.host(h).await.unwrap().unwrap();
        let before = reader.cluster_revision(c).await.unwrap();
        commit(writer, |changes| {
            changes.update_host(&row, edited(&row, |h| h.updated_at = Timestamp(round)));
        })
        .await
        .unwrap();
        let late = commit(reader, |changes| {
            changes.update_host(&row, host(h, None, 1));
        })
        .await;
        assert!(matches!(late, Err(StoreError::Conflict { .. })));
        assert_eq!(
            reader.host(h).await.unwrap().unwrap().updated_at,
            Timestamp(round)
        );
        assert_eq!(
            reader.hosts_of_cluster(c).await.unwrap()[0].updated_at,
            Timestamp(round)
        );
        assert_ne!(reader.cluster_revision(c).await.unwrap(), before);
    }
    commit(&one, |x| {
        x.purge_host(h);
    })
    .await
    .unwrap();
    assert!(two.host(h).await.unwrap().is_none());
    commit(&two, |x| {
        x.insert_host(host(h, None, 99));
    })
    .await
    .unwrap();
    assert_eq!(
        one.host(h).await.unwrap().unwrap().created_at,
        Timestamp(99)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_replicas_one_gets_a_piece_of_work_until_it_lets_go() {
    let place = Place::postgres();
    let (one, two) = (place.open().await, place.open().await);
    let held = one.claim("files/a").await.unwrap();
    assert!(held.is_some());
    assert!(two.claim("files/a").await.unwrap().is_none());
    assert!(two.claim("files/b").await.unwrap().is_some());
    drop(held);
    // The server notices a closed connection a moment later.
    let mut taken = None;
    for _ in 0..200 {
        taken = two.claim("files/a").await.unwrap();
        if taken.is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(taken.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alone_on_sqlite_everything_is_ours() {
    let place = Place::sqlite();
    let store = place.open().await;
    assert!(store.claim("files/a").await.unwrap().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_agree_after_a_storm() {
    let place = Place::postgres();
    let writers = vec![place.open().await, place.open().await];
    stir_and_compare(&place, writers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_may_start_together_on_an_empty_database() {
    let place = Place::postgres();
    let url = place.url();
    let starts: Vec<_> = (0..6)
        .map(|_| {
            let url = url.clone();
            tokio::spawn(async move { open(&url).await })
        })
        .collect();
    for start in starts {
        start.await.unwrap().expect("every replica starts");
    }
}
