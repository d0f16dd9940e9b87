//! Heartbeats in bulk.

use muster_model::Timestamp;
use muster_store::Heartbeat;

use crate::{
    places::{Place, on_both},
    samples::{commit, host, host_key, infra_env_id},
};

on_both![
    the_newest_beat_of_each_host_is_kept,
    a_purged_host_takes_its_heartbeat_along,
];

async fn the_newest_beat_of_each_host_is_kept(place: Place) {
    let store = place.open().await;
    let i = infra_env_id();
    let mut keys: Vec<_> = (0..150).map(|_| host_key(i)).collect();
    keys.sort();
    let beats = |at: i64| -> Vec<Heartbeat> {
        let beat = |key: &_| Heartbeat {
            key: *key,
            at: Timestamp(at),
            agent_clock: Some(at / 2),
        };
        keys.iter().rev().map(beat).collect()
    };
    store.save_heartbeats(&[]).await.unwrap();
    store.save_heartbeats(&beats(10)).await.unwrap();
    store.save_heartbeats(&beats(30)).await.unwrap();
    store.save_heartbeats(&beats(20)).await.unwrap();
    let twice = [40, 50, 45].map(|at| Heartbeat {
        key: keys[0],
        at: Timestamp(at),
        agent_clock: None,
    });
    store.save_heartbeats(&twice).await.unwrap();
    store.close().await;
    let store = place.open().await;
    let mut expected = beats(30);
    expected.reverse();
    expected[0] = Heartbeat {
        key: keys[0],
        at: Timestamp(50),
        agent_clock: None,
    };
    assert_eq!(store.heartbeats().await.unwrap(), expected);
}

async fn a_purged_host_takes_its_heartbeat_along(place: Place) {
    let store = place.open().await;
    let key = host_key(infra_env_id());
    let beat = Heartbeat {
        key,
        at: Timestamp(1),
        agent_clock: None,
    };
    commit(&store, |x| {
        x.insert_host(host(key, None, 1));
    })
    .await
    .unwrap();
    store.save_heartbeats(&[beat]).await.unwrap();
    commit(&store, |x| {
        x.purge_host(key);
    })
    .await
    .unwrap();
    assert!(store.heartbeats().await.unwrap().is_empty());
}
