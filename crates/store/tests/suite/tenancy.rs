//! Nothing that live hosts depend on is deleted, and no host joins what was deleted.

use muster_model::{ClusterId, HostKey, InfraEnvId, Timestamp};
use muster_store::{Changes, Store, StoreError};

use crate::{
    places::{Place, on_both},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env, infra_env_id,
        of_cluster,
    },
};

/// Hosts that register at once.
const CROWD: usize = 8;
/// Races run; each starts a little differently.
const ROUNDS: usize = 25;

on_both![
    a_requirement_fails_when_its_row_is_gone,
    a_requirement_does_not_mind_changes,
    an_infra_env_with_live_hosts_stays,
    a_cluster_with_live_hosts_stays,
    hosts_racing_the_delete_of_their_cluster_are_never_left_behind,
    hosts_racing_the_delete_of_their_infra_env_are_never_left_behind,
    two_deletes_of_one_infra_env_race_without_harm,
];

fn is_missing(result: &Result<(), StoreError>) -> bool {
    matches!(result, Err(StoreError::Missing { .. }))
}

fn is_conflict(result: &Result<(), StoreError>) -> bool {
    matches!(result, Err(StoreError::Conflict { .. }))
}

/// A cluster with an infra-env of its own.
async fn found(store: &Store) -> (ClusterId, InfraEnvId) {
    let (c, i) = (cluster_id(), infra_env_id());
    commit(store, |changes| {
        changes
            .insert_cluster(cluster(c, 1))
            .insert_infra_env(infra_env(i, Some(c), 1));
    })
    .await
    .unwrap();
    (c, i)
}

/// Stores a host the way a registration does.
async fn register(store: &Store, key: HostKey, c: ClusterId) -> Result<(), StoreError> {
    commit(store, |changes| {
        changes
            .insert_host(host(key, Some(c), 1))
            .require_live_cluster(c)
            .require_infra_env(key.infra_env)
            .event(event("registered", of_cluster(c), 1));
    })
    .await
}

/// Deletes a cluster with all hosts in sight; again for those that came meanwhile.
async fn delete_cluster(store: &Store, c: ClusterId) {
    for _ in 0..100 {
        let row = store.cluster(c).await.unwrap().unwrap();
        let mut changes = Changes::new();
        for seen in store.hosts_of_cluster(c).await.unwrap() {
            let gone = edited(&seen, |host| host.deleted_at = Some(Timestamp(2)));
            changes.update_host(&seen, gone);
        }
        let gone = edited(&row, |cluster| cluster.deleted_at = Some(Timestamp(2)));
        changes.update_cluster(&row, gone);
        match store.commit(changes).await {
            Ok(()) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    panic!("the delete never won");
}

async fn a_requirement_fails_when_its_row_is_gone(place: Place) {
    let store = place.open().await;
    let (c, i) = found(&store).await;
    let key = host_key(i);
    for (claim, c, i) in [
        ("no such cluster", cluster_id(), i),
        ("no such infra-env", c, infra_env_id()),
    ] {
        let refused = register(&store, host_key(i), c).await;
        assert!(is_missing(&refused), "{claim}: {refused:?}");
    }
    delete_cluster(&store, c).await;
    let refused = register(&store, key, c).await;
    assert!(is_missing(&refused), "a deleted cluster: {refused:?}");
    assert!(store.host(key).await.unwrap().is_none());
    let found = store.events(&Default::default()).await.unwrap();
    assert!(found.events.is_empty(), "a refused unit leaves no event");
}

async fn a_requirement_does_not_mind_changes(place: Place) {
    let store = place.open().await;
    let (c, i) = found(&store).await;
    let row = store.cluster(c).await.unwrap().unwrap();
    let seen = store.infra_env(i).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes
            .update_cluster(&row, edited(&row, |c| c.name = "renamed".into()))
            .update_infra_env(&seen, edited(&seen, |i| i.name = "renamed".into()));
    })
    .await
    .unwrap();
    register(&store, host_key(i), c).await.unwrap();
    // Required and written in one unit: the write is check enough.
    let row = store.cluster(c).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes
            .require_live_cluster(c)
            .require_live_cluster(c)
            .update_cluster(&row, edited(&row, |c| c.name = "again".into()));
    })
    .await
    .unwrap();
    assert_eq!(store.cluster(c).await.unwrap().unwrap().name, "again");
}

async fn an_infra_env_with_live_hosts_stays(place: Place) {
    let store = place.open().await;
    let (c, i) = found(&store).await;
    let key = host_key(i);
    register(&store, key, c).await.unwrap();
    let refused = commit(&store, |changes| {
        changes.delete_infra_env(i);
    })
    .await;
    assert!(is_conflict(&refused), "{refused:?}");
    assert!(store.infra_env(i).await.unwrap().is_some());
    let seen = store.host(key).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes
            .delete_infra_env(i)
            .update_host(&seen, edited(&seen, |h| h.deleted_at = Some(Timestamp(2))));
    })
    .await
    .expect("its last host goes with it");
    assert!(store.infra_env(i).await.unwrap().is_none());
}

async fn a_cluster_with_live_hosts_stays(place: Place) {
    let store = place.open().await;
    let (c, i) = found(&store).await;
    register(&store, host_key(i), c).await.unwrap();
    let row = store.cluster(c).await.unwrap().unwrap();
    let refused = commit(&store, |changes| {
        changes.update_cluster(&row, edited(&row, |c| c.deleted_at = Some(Timestamp(2))));
    })
    .await;
    assert!(is_conflict(&refused), "{refused:?}");
    assert!(store.cluster(c).await.unwrap().is_some());
}

async fn hosts_racing_the_delete_of_their_cluster_are_never_left_behind(place: Place) {
    let store = place.open().await;
    for round in 0..ROUNDS {
        let (c, i) = found(&store).await;
        let crowd = crowd(&store, c, i);
        for _ in 0..round % CROWD {
            tokio::task::yield_now().await;
        }
        delete_cluster(&store, c).await;
        for registered in crowd {
            let result = registered.await.unwrap();
            assert!(result.is_ok() || is_missing(&result), "{result:?}");
        }
        let left = store.hosts_of_cluster(c).await.unwrap();
        assert!(left.is_empty(), "round {round}: {} orphans", left.len());
    }
}

async fn hosts_racing_the_delete_of_their_infra_env_are_never_left_behind(place: Place) {
    let store = place.open().await;
    for round in 0..ROUNDS {
        let (c, i) = found(&store).await;
        let crowd = crowd(&store, c, i);
        for _ in 0..round % CROWD {
            tokio::task::yield_now().await;
        }
        let deleted = commit(&store, |changes| {
            changes.delete_infra_env(i);
        })
        .await;
        assert!(deleted.is_ok() || is_conflict(&deleted), "{deleted:?}");
        let mut registered = 0;
        for result in crowd {
            let result = result.await.unwrap();
            registered += usize::from(result.is_ok());
            assert!(result.is_ok() || is_missing(&result), "{result:?}");
        }
        let left = store.hosts_of_infra_env(i).await.unwrap().len();
        assert_eq!(left, registered, "round {round}");
        assert_eq!(
            deleted.is_ok(),
            left == 0,
            "round {round}: {left} hosts, delete: {deleted:?}"
        );
        assert_eq!(
            store.infra_env(i).await.unwrap().is_some(),
            deleted.is_err()
        );
    }
}

async fn two_deletes_of_one_infra_env_race_without_harm(place: Place) {
    let store = place.open().await;
    for _ in 0..ROUNDS {
        let (_, i) = found(&store).await;
        let delete = || {
            commit(&store, |changes| {
                changes.delete_infra_env(i);
            })
        };
        let results = tokio::join!(delete(), delete());
        let results = [results.0, results.1];
        assert_eq!(results.iter().filter(|one| one.is_ok()).count(), 1);
        assert_eq!(results.iter().filter(|one| is_missing(one)).count(), 1);
    }
}

type Registration = tokio::task::JoinHandle<Result<(), StoreError>>;

fn crowd(store: &Store, c: ClusterId, i: InfraEnvId) -> Vec<Registration> {
    let tasks = (0..CROWD).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { register(&store, host_key(i), c).await })
    });
    tasks.collect()
}
