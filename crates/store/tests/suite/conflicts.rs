//! A change is applied only if no other one came first, and then completely.

use muster_store::StoreError;

use crate::{
    places::{Place, on_both},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env, infra_env_id,
        of_cluster,
    },
};

fn is_conflict(result: Result<(), StoreError>, subject: impl ToString) -> bool {
    matches!(result, Err(StoreError::Conflict { what }) if what.contains(&subject.to_string()))
}

fn is_missing(result: Result<(), StoreError>, subject: impl ToString) -> bool {
    matches!(result, Err(StoreError::Missing { what }) if what.contains(&subject.to_string()))
}

on_both![
    the_second_of_two_updates_of_one_version_conflicts,
    a_taken_key_conflicts,
    a_row_that_is_gone_is_missing,
    what_is_written_before_it_is_removed_must_be_unchanged,
    a_refused_unit_leaves_nothing,
    an_update_cannot_change_the_key,
    a_closed_store_says_so,
];

async fn the_second_of_two_updates_of_one_version_conflicts(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(c, 1))
            .insert_infra_env(infra_env(i, None, 1))
            .insert_host(host(h, None, 1));
    })
    .await
    .unwrap();
    let seen = (
        store.cluster(c).await.unwrap().unwrap(),
        store.infra_env(i).await.unwrap().unwrap(),
        store.host(h).await.unwrap().unwrap(),
    );
    commit(&store, |changes| {
        changes
            .update_cluster(&seen.0, edited(&seen.0, |c| c.name = "first".into()))
            .update_infra_env(&seen.1, edited(&seen.1, |i| i.name = "first".into()))
            .update_host(&seen.2, edited(&seen.2, |h| h.status_info = "first".into()));
    })
    .await
    .unwrap();
    let late = commit(&store, |x| {
        x.update_cluster(&seen.0, cluster(c, 1));
    })
    .await;
    assert!(is_conflict(late, c));
    let late = commit(&store, |x| {
        x.update_infra_env(&seen.1, infra_env(i, None, 1));
    })
    .await;
    assert!(is_conflict(late, i));
    let late = commit(&store, |x| {
        x.update_host(&seen.2, host(h, None, 1));
    })
    .await;
    assert!(is_conflict(late, h.host));
    assert_eq!(store.cluster(c).await.unwrap().unwrap().name, "first");
    assert_eq!(store.infra_env(i).await.unwrap().unwrap().name, "first");
    assert_eq!(store.host(h).await.unwrap().unwrap().status_info, "first");
}

async fn a_taken_key_conflicts(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    let all = |changes: &mut muster_store::Changes| {
        changes.insert_cluster(cluster(c, 1));
    };
    commit(&store, all).await.unwrap();
    assert!(is_conflict(commit(&store, all).await, c));
    commit(&store, |x| {
        x.insert_infra_env(infra_env(i, None, 1));
    })
    .await
    .unwrap();
    let again = commit(&store, |x| {
        x.insert_infra_env(infra_env(i, None, 1));
    })
    .await;
    assert!(is_conflict(again, i));
    commit(&store, |x| {
        x.insert_host(host(h, None, 1));
    })
    .await
    .unwrap();
    let again = commit(&store, |x| {
        x.insert_host(host(h, None, 1));
    })
    .await;
    assert!(is_conflict(again, h.host));
}

async fn a_row_that_is_gone_is_missing(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(c, 1))
            .insert_infra_env(infra_env(i, None, 1));
    })
    .await
    .unwrap();
    let seen = store.cluster(c).await.unwrap().unwrap();
    commit(&store, |x| {
        x.purge_cluster(c).delete_infra_env(i);
    })
    .await
    .unwrap();
    let late = commit(&store, |x| {
        x.update_cluster(&seen, cluster(c, 1));
    })
    .await;
    assert!(is_missing(late, c));
    assert!(is_missing(
        commit(&store, |x| {
            x.delete_infra_env(i);
        })
        .await,
        i
    ));
}

/// Housekeeping deletes infra-envs this way, so that it never deletes one that was just changed.
async fn what_is_written_before_it_is_removed_must_be_unchanged(place: Place) {
    let store = place.open().await;
    let i = infra_env_id();
    commit(&store, |x| {
        x.insert_infra_env(infra_env(i, None, 1));
    })
    .await
    .unwrap();
    let stale = store.infra_env(i).await.unwrap().unwrap();
    commit(&store, |x| {
        x.update_infra_env(&stale, infra_env(i, None, 2));
    })
    .await
    .unwrap();
    let late = commit(&store, |x| {
        x.update_infra_env(&stale, stale.value.as_ref().clone())
            .delete_infra_env(i);
    })
    .await;
    assert!(is_conflict(late, i));
    let seen = store.infra_env(i).await.unwrap().unwrap();
    commit(&store, |x| {
        x.update_infra_env(&seen, seen.value.as_ref().clone())
            .delete_infra_env(i);
    })
    .await
    .unwrap();
    assert!(store.infra_env(i).await.unwrap().is_none());
}

async fn a_refused_unit_leaves_nothing(place: Place) {
    let mut store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let (old, new) = (host_key(i), host_key(i));
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(c, 1))
            .insert_host(host(old, Some(c), 1));
    })
    .await
    .unwrap();
    let seen = store.cluster(c).await.unwrap().unwrap();
    let stale = store.host(old).await.unwrap().unwrap();
    commit(&store, |x| {
        x.update_host(&stale, host(old, Some(c), 1));
    })
    .await
    .unwrap();
    let refused = commit(&store, |changes| {
        changes
            .update_cluster(&seen, edited(&seen, |c| c.name = "half".into()))
            .insert_host(host(new, Some(c), 2))
            .insert_cluster(cluster(cluster_id(), 2))
            .event(event("half", of_cluster(c), 1))
            .update_host(&stale, host(old, None, 1));
    })
    .await;
    assert!(is_conflict(refused, old.host));
    for when in ["before a restart", "after it"] {
        assert_eq!(
            store.cluster(c).await.unwrap().unwrap().name,
            "sample",
            "{when}"
        );
        assert!(store.host(new).await.unwrap().is_none());
        assert_eq!(store.hosts_of_cluster(c).await.unwrap().len(), 1);
        assert_eq!(
            store
                .clusters(muster_store::Deleted::Included)
                .await
                .unwrap()
                .len(),
            1
        );
        assert!(
            store
                .events(&Default::default())
                .await
                .unwrap()
                .events
                .is_empty()
        );
        store.close().await;
        store = place.open().await;
    }
}

async fn an_update_cannot_change_the_key(place: Place) {
    let store = place.open().await;
    let c = cluster_id();
    commit(&store, |x| {
        x.insert_cluster(cluster(c, 1));
    })
    .await
    .unwrap();
    let seen = store.cluster(c).await.unwrap().unwrap();
    let refused = commit(&store, |x| {
        x.update_cluster(&seen, cluster(cluster_id(), 1));
    })
    .await;
    assert!(matches!(refused, Err(StoreError::Invalid { .. })));
}

async fn a_closed_store_says_so(place: Place) {
    let store = place.open().await;
    store.close().await;
    let late = commit(&store, |x| {
        x.insert_cluster(cluster(cluster_id(), 1));
    })
    .await;
    assert!(matches!(late, Err(StoreError::Closed)), "{late:?}");
    assert!(matches!(store.ping().await, Err(StoreError::Closed)));
    store.close().await;
}
