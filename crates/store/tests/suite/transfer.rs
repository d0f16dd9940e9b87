//! Copies of whole databases: between the kinds, and while the store is in use.

use muster_store::{EventQuery, SealingKey, Store, StoreError, copy, reseal, reserve, snapshot};

use crate::{
    places::{KEY, Place, on_both, open},
    samples::{commit, event, of_cluster},
    scene::scene,
};

on_both![
    a_copy_to_the_other_kind_and_back_holds_the_same_rows,
    a_database_that_a_service_uses_is_not_copied,
    a_snapshot_holds_all_that_was_committed_before_it,
    secrets_move_to_another_key_and_the_old_one_is_refused,
];

fn other_kind(place: &Place) -> Place {
    match place {
        Place::Sqlite(_) => Place::postgres(),
        Place::Postgres(_) => Place::sqlite(),
    }
}

fn same_kind(place: &Place) -> Place {
    match place {
        Place::Sqlite(_) => Place::sqlite(),
        Place::Postgres(_) => Place::postgres(),
    }
}

/// Rows as text, of every table that has some.
async fn rows(place: &Place) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for query in [
        "SELECT id || version || created_at || doc || checksum FROM clusters ORDER BY 1",
        "SELECT id || version || cluster_id || doc || checksum FROM infra_envs ORDER BY 1",
        "SELECT id || version || doc || checksum || COALESCE(deleted_at, 0) FROM hosts ORDER BY 1",
        "SELECT seq || name || doc || folded_message || checksum FROM events ORDER BY seq",
        "SELECT key || value FROM settings ORDER BY 1",
    ] {
        let table = place.sql(query).await;
        assert!(!table.is_empty(), "{query}");
        found.push(table);
    }
    found
}

async fn a_copy_to_the_other_kind_and_back_holds_the_same_rows(place: Place) {
    let scene = scene(&place).await;
    // The number of an event that is gone must not come again.
    let last = event("x", of_cluster(scene.cluster), 9);
    commit(&scene.store, |changes| {
        changes.event(last);
    })
    .await
    .unwrap();
    scene.store.close().await;
    place
        .sql("DELETE FROM events WHERE name = 'x' RETURNING name")
        .await;
    let (there, back) = (other_kind(&place), same_kind(&place));
    let copied = copy(&place.url(), &there.url()).await.unwrap();
    assert!(
        copied.contains(&("hosts", 2)) && copied.contains(&("events", 8)),
        "{copied:?}"
    );
    copy(&there.url(), &back.url()).await.unwrap();
    assert_eq!(rows(&there).await, rows(&place).await);
    assert_eq!(rows(&back).await, rows(&place).await);
    let refused = copy(&place.url(), &there.url())
        .await
        .expect_err("not empty");
    assert!(
        matches!(refused, StoreError::NotEmpty { table: "clusters" }),
        "{refused}"
    );

    let store = there.open().await;
    let next = event("y", of_cluster(scene.cluster), 10);
    commit(&store, |changes| {
        changes.event(next);
    })
    .await
    .unwrap();
    store.close().await;
    let numbers = "SELECT CAST(MAX(seq) AS TEXT) FROM events";
    assert_eq!(there.sql(numbers).await, ["10"]);
}

async fn a_database_that_a_service_uses_is_not_copied(place: Place) {
    let in_use = |error: &StoreError| {
        matches!(
            error,
            StoreError::InUse { .. } | StoreError::ServerInUse { .. }
        )
    };
    let store = place.open().await;
    let there = other_kind(&place);
    let refused = [
        copy(&place.url(), &there.url()).await.expect_err("source"),
        copy(&there.url(), &place.url()).await.expect_err("target"),
        reserve(&place.url()).await.expect_err("in use"),
    ];
    for error in &refused {
        assert!(in_use(error), "{error}");
    }
    store.close().await;
    drop(store);
    let reserved = reserve(&place.url()).await.unwrap();
    if let Place::Sqlite(_) = &place {
        let error = open(&place.url()).await.expect_err("reserved");
        assert!(in_use(&error), "{error}");
    }
    drop(reserved);
    copy(&place.url(), &there.url()).await.unwrap();
}

async fn a_snapshot_holds_all_that_was_committed_before_it(place: Place) {
    let scene = scene(&place).await;
    let copy = Place::sqlite();
    let Place::Sqlite(folder) = &copy else {
        unreachable!()
    };
    snapshot(&place.url(), &folder.path().join("muster.db"))
        .await
        .unwrap();
    let all = EventQuery::default();
    let before = scene.names(all.clone()).await;
    let store = copy.open().await;
    let page = store.events(&all).await.unwrap();
    let names: String = page
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    assert_eq!(names, before);
    store.close().await;
    assert_eq!(rows(&copy).await, rows(&place).await);
}

async fn secrets_move_to_another_key_and_the_old_one_is_refused(place: Place) {
    let scene = scene(&place).await;
    let before = scene.store.cluster(scene.cluster).await.unwrap().unwrap();
    scene.store.close().await;
    let parse = |text: &muster_model::Secret| SealingKey::parse(text, "the test").unwrap();
    let text = SealingKey::generate().unwrap();
    let old = parse(&muster_model::Secret::new(KEY));
    let count = reseal(&place.url(), old, parse(&text)).await.unwrap();
    assert!(count >= 2, "{count}");
    let refused = open(&place.url()).await.expect_err("the old key");
    assert!(matches!(refused, StoreError::WrongKey { .. }), "{refused}");
    let store = Store::open(&place.url(), parse(&text)).await.unwrap();
    let after = store.cluster(scene.cluster).await.unwrap().unwrap();
    assert_eq!(after.pull_secret, before.pull_secret);
    assert_eq!(*after, *before);
    assert!(store.quarantined().values().all(|rows| *rows == 0));
    store.close().await;
}
