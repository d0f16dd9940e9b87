//! Rows are read back as written, in order, and are deleted on request.

use muster_model::Timestamp;
use muster_store::Deleted;

use crate::{
    places::{Place, on_both},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env, infra_env_id,
        of_cluster,
    },
};

on_both![
    what_was_inserted_is_read_back_equal,
    an_update_raises_the_version_by_one,
    lists_run_by_creation_then_id,
    long_lists_are_complete_from_a_cold_start,
    a_deleted_cluster_is_seen_only_when_asked_for,
    a_purged_cluster_leaves_nothing_behind,
    a_host_that_comes_back_takes_the_place_of_the_deleted_one,
    what_is_kept_beside_a_host_stays_comes_and_goes_with_it,
    a_host_moves_between_lists_with_its_cluster,
    the_revision_changes_with_the_cluster_and_its_hosts_only,
    a_deleted_infra_env_is_gone,
    settings_are_kept_and_replaced,
];

async fn what_was_inserted_is_read_back_equal(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    let written = (cluster(c, 1), infra_env(i, Some(c), 2), host(h, Some(c), 3));
    commit(&store, |changes| {
        changes
            .insert_cluster(written.0.clone())
            .insert_infra_env(written.1.clone())
            .insert_host(written.2.clone());
    })
    .await
    .unwrap();
    for _ in 0..2 {
        assert_eq!(*store.cluster(c).await.unwrap().unwrap(), written.0);
        assert_eq!(*store.infra_env(i).await.unwrap().unwrap(), written.1);
        assert_eq!(*store.host(h).await.unwrap().unwrap(), written.2);
    }
    store.close().await;
    let store = place.open().await;
    assert_eq!(*store.cluster(c).await.unwrap().unwrap(), written.0);
    assert_eq!(*store.infra_env(i).await.unwrap().unwrap(), written.1);
    assert_eq!(*store.host(h).await.unwrap().unwrap(), written.2);
    assert!(store.cluster(cluster_id()).await.unwrap().is_none());
    assert!(store.infra_env(infra_env_id()).await.unwrap().is_none());
    assert!(store.host(host_key(i)).await.unwrap().is_none());
}

async fn an_update_raises_the_version_by_one(place: Place) {
    let store = place.open().await;
    let id = cluster_id();
    commit(&store, |changes| {
        changes.insert_cluster(cluster(id, 1));
    })
    .await
    .unwrap();
    let first = store.cluster(id).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes.update_cluster(&first, edited(&first, |c| c.name = "renamed".into()));
    })
    .await
    .unwrap();
    let second = store.cluster(id).await.unwrap().unwrap();
    assert_eq!(
        (second.version, second.name.as_str()),
        (first.version + 1, "renamed")
    );
}

async fn lists_run_by_creation_then_id(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let mut ids: Vec<_> = (0..5).map(|_| host_key(i)).collect();
    commit(&store, |changes| {
        for (key, at) in ids.iter().zip([30, 10, 20, 20, 20]) {
            changes.insert_host(host(*key, Some(c), at));
        }
        for at in [9, 7, 8] {
            changes.insert_cluster(cluster(cluster_id(), at));
            changes.insert_infra_env(infra_env(infra_env_id(), Some(c), at));
        }
    })
    .await
    .unwrap();
    let last = ids.remove(0);
    ids[1..].sort_by_key(|key| key.host);
    ids.push(last);
    for _ in 0..2 {
        let of_cluster = store.hosts_of_cluster(c).await.unwrap();
        assert_eq!(
            of_cluster.iter().map(|host| host.key()).collect::<Vec<_>>(),
            ids
        );
        let of_infra_env = store.hosts_of_infra_env(i).await.unwrap();
        assert_eq!(
            of_infra_env
                .iter()
                .map(|host| host.key())
                .collect::<Vec<_>>(),
            ids
        );
        let clusters = store.clusters(Deleted::Excluded).await.unwrap();
        assert_eq!(
            clusters
                .iter()
                .map(|one| one.created_at.0)
                .collect::<Vec<_>>(),
            [7, 8, 9]
        );
        for listed in [
            store.infra_envs().await.unwrap(),
            store.infra_envs_of_cluster(c).await.unwrap(),
        ] {
            assert_eq!(
                listed
                    .iter()
                    .map(|one| one.created_at.0)
                    .collect::<Vec<_>>(),
                [7, 8, 9]
            );
        }
    }
}

async fn long_lists_are_complete_from_a_cold_start(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    commit(&store, |changes| {
        for at in 0..57 {
            changes.insert_host(host(host_key(i), Some(c), at));
        }
    })
    .await
    .unwrap();
    store.close().await;
    let store = place.open().await;
    for _ in 0..2 {
        let hosts = store.hosts_of_cluster(c).await.unwrap();
        let order: Vec<i64> = hosts.iter().map(|host| host.created_at.0).collect();
        assert_eq!(order, (0..57).collect::<Vec<_>>());
    }
}

async fn a_deleted_cluster_is_seen_only_when_asked_for(place: Place) {
    let store = place.open().await;
    let (gone, kept) = (cluster_id(), cluster_id());
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(gone, 1))
            .insert_cluster(cluster(kept, 2));
    })
    .await
    .unwrap();
    let row = store.cluster(gone).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes.update_cluster(&row, edited(&row, |c| c.deleted_at = Some(Timestamp(5))));
    })
    .await
    .unwrap();
    assert!(store.cluster(gone).await.unwrap().is_none());
    let deleted = store.cluster_even_deleted(gone).await.unwrap().unwrap();
    assert_eq!(deleted.deleted_at, Some(Timestamp(5)));
    assert_eq!(store.clusters(Deleted::Excluded).await.unwrap().len(), 1);
    assert_eq!(store.clusters(Deleted::Included).await.unwrap().len(), 2);
    // Taking the deletion back is an update like any other.
    commit(&store, |changes| {
        changes.update_cluster(&deleted, edited(&deleted, |c| c.deleted_at = None));
    })
    .await
    .unwrap();
    assert_eq!(store.clusters(Deleted::Excluded).await.unwrap().len(), 2);
}

async fn a_purged_cluster_leaves_nothing_behind(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    commit(&store, |changes| {
        let mut deleted = host(h, Some(c), 1);
        deleted.deleted_at = Some(Timestamp(2));
        changes
            .insert_cluster(cluster(c, 1))
            .insert_host(deleted)
            .event(event("noted", of_cluster(c), 1));
    })
    .await
    .unwrap();
    assert_eq!(
        store.hosts_of_cluster_even_deleted(c).await.unwrap().len(),
        1
    );
    for _ in 0..2 {
        commit(&store, |changes| {
            changes.purge_cluster(c);
        })
        .await
        .unwrap();
        assert!(store.cluster(c).await.unwrap().is_none());
        assert!(store.cluster_even_deleted(c).await.unwrap().is_none());
        assert!(
            store
                .hosts_of_cluster_even_deleted(c)
                .await
                .unwrap()
                .is_empty()
        );
        assert!(
            store
                .events(&Default::default())
                .await
                .unwrap()
                .events
                .is_empty()
        );
    }
}

async fn a_host_that_comes_back_takes_the_place_of_the_deleted_one(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    commit(&store, |changes| {
        changes.insert_host(host(h, Some(c), 1));
    })
    .await
    .unwrap();
    let first = store.host(h).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes.update_host(
            &first,
            edited(&first, |h| h.deleted_at = Some(Timestamp(2))),
        );
    })
    .await
    .unwrap();
    assert!(store.host(h).await.unwrap().is_none());
    assert!(store.hosts_of_infra_env(i).await.unwrap().is_empty());
    assert_eq!(
        store.hosts_of_cluster_even_deleted(c).await.unwrap().len(),
        1
    );
    commit(&store, |changes| {
        changes.insert_host(host(h, None, 3));
    })
    .await
    .unwrap();
    let second = store.host(h).await.unwrap().unwrap();
    assert_eq!((second.created_at, second.cluster), (Timestamp(3), None));
    assert!(
        second.version > first.version + 1,
        "a version never comes twice"
    );
    assert!(
        store
            .hosts_of_cluster_even_deleted(c)
            .await
            .unwrap()
            .is_empty()
    );
}

async fn what_is_kept_beside_a_host_stays_comes_and_goes_with_it(place: Place) {
    let key = host_key(infra_env_id());
    let mut wanted = host(key, None, 1);
    wanted.reports.connectivity = Some(r#"{"remote_hosts":[]}"#.into());
    let store = place.open().await;
    commit(&store, |changes| {
        changes.insert_host(wanted.clone());
    })
    .await
    .unwrap();
    store.close().await;
    for report in [wanted.reports.connectivity.clone(), Some("{}".into()), None] {
        let store = place.open().await;
        let row = store.host(key).await.unwrap().unwrap();
        assert_eq!(*row, wanted, "read from a cold start");
        wanted.status_info.push_str(" again");
        wanted.reports.connectivity = report;
        let next = wanted.clone();
        commit(&store, |changes| {
            changes.update_host(&row, next);
        })
        .await
        .unwrap();
        store.close().await;
    }
    let store = place.open().await;
    let row = store.host(key).await.unwrap().unwrap();
    assert_eq!(*row, wanted, "and without it at the end");
}

async fn a_host_moves_between_lists_with_its_cluster(place: Place) {
    let store = place.open().await;
    let (from, to, i) = (cluster_id(), cluster_id(), infra_env_id());
    let h = host_key(i);
    commit(&store, |changes| {
        changes.insert_host(host(h, Some(from), 1));
    })
    .await
    .unwrap();
    let row = store.host(h).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes.update_host(&row, edited(&row, |h| h.cluster = Some(to)));
    })
    .await
    .unwrap();
    assert!(store.hosts_of_cluster(from).await.unwrap().is_empty());
    assert_eq!(store.hosts_of_cluster(to).await.unwrap().len(), 1);
    assert_eq!(store.hosts_of_infra_env(i).await.unwrap().len(), 1);
    commit(&store, |changes| {
        changes.purge_host(h).purge_host(h);
    })
    .await
    .unwrap();
    assert!(store.hosts_of_cluster(to).await.unwrap().is_empty());
    assert!(store.hosts_of_infra_env(i).await.unwrap().is_empty());
}

async fn the_revision_changes_with_the_cluster_and_its_hosts_only(place: Place) {
    let store = place.open().await;
    let (c, i) = (cluster_id(), infra_env_id());
    let h = host_key(i);
    assert_eq!(store.cluster_revision(c).await.unwrap(), None);
    commit(&store, |changes| {
        changes.insert_cluster(cluster(c, 1));
    })
    .await
    .unwrap();
    let mut seen = vec![store.cluster_revision(c).await.unwrap().unwrap()];
    commit(&store, |changes| {
        changes.insert_host(host(h, Some(c), 1));
    })
    .await
    .unwrap();
    seen.push(store.cluster_revision(c).await.unwrap().unwrap());
    let row = store.host(h).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes.update_host(&row, host(h, Some(c), 1));
    })
    .await
    .unwrap();
    seen.push(store.cluster_revision(c).await.unwrap().unwrap());
    let row = store.cluster(c).await.unwrap().unwrap();
    commit(&store, |changes| {
        changes.update_cluster(&row, cluster(c, 1));
    })
    .await
    .unwrap();
    seen.push(store.cluster_revision(c).await.unwrap().unwrap());
    commit(&store, |changes| {
        changes.insert_host(host(host_key(i), None, 1));
    })
    .await
    .unwrap();
    let last = *seen.last().unwrap();
    assert_eq!(
        store.cluster_revision(c).await.unwrap(),
        Some(last),
        "not its host"
    );
    store.close().await;
    let store = place.open().await;
    assert_eq!(
        store.cluster_revision(c).await.unwrap(),
        Some(last),
        "kept by a restart"
    );
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}

async fn a_deleted_infra_env_is_gone(place: Place) {
    let store = place.open().await;
    let i = infra_env_id();
    commit(&store, |changes| {
        changes.insert_infra_env(infra_env(i, None, 1));
    })
    .await
    .unwrap();
    commit(&store, |changes| {
        changes.delete_infra_env(i);
    })
    .await
    .unwrap();
    assert!(store.infra_env(i).await.unwrap().is_none());
    assert!(store.infra_envs().await.unwrap().is_empty());
}

async fn settings_are_kept_and_replaced(place: Place) {
    let store = place.open().await;
    assert_eq!(store.setting("ca").await.unwrap(), None);
    store.put_setting("ca", "one").await.unwrap();
    store.put_setting("ca", "two").await.unwrap();
    store.close().await;
    let store = place.open().await;
    assert_eq!(store.setting("ca").await.unwrap().as_deref(), Some("two"));
    assert!(store.put_setting("ca", "\0").await.is_err());
    store.ping().await.unwrap();
}
