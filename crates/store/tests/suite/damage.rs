//! Unknown and unreadable data is left unchanged.

use std::os::unix::fs::PermissionsExt as _;

use muster_model::{ClusterId, EventScope};
use muster_store::{Deleted, EventQuery, HistoryOf, Store, StoreError};
use serde_json::{Value, json};

use crate::{
    places::{Place, on_both, open},
    samples::{
        cluster, cluster_id, commit, edited, event, host, host_key, infra_env, infra_env_id,
        of_cluster,
    },
};

on_both![
    members_of_a_newer_program_survive_a_change,
    an_unreadable_row_hides_no_other_and_is_never_touched,
    a_document_that_does_not_fit_its_checksum_is_not_believed,
    a_decision_about_a_cluster_gets_every_host_or_none,
    an_unreadable_event_hides_no_other,
];

fn text(value: &Value) -> String {
    value.to_string().replace('\'', "''")
}

/// Two clusters, and the store closed again.
async fn two_clusters(place: &Place) -> (ClusterId, ClusterId) {
    let store = place.open().await;
    let (one, two) = (cluster_id(), cluster_id());
    commit(&store, |changes| {
        changes
            .insert_cluster(cluster(one, 1))
            .insert_cluster(cluster(two, 2));
    })
    .await
    .unwrap();
    store.close().await;
    (one, two)
}

async fn document(place: &Place, id: ClusterId) -> Value {
    let found = place.sql(format!("SELECT doc FROM clusters WHERE id = '{id}'"));
    serde_json::from_str(&found.await[0]).unwrap()
}

async fn listed(store: &Store) -> Vec<ClusterId> {
    let clusters = store.clusters(Deleted::Excluded).await.unwrap();
    clusters.iter().map(|cluster| cluster.id).collect()
}

async fn members_of_a_newer_program_survive_a_change(place: Place) {
    let (id, _) = two_clusters(&place).await;
    let mut newer = document(&place, id).await;
    newer["moon_phase"] = json!({"name": "gibbous"});
    newer["recipe"]["salt"] = json!([1, 2]);
    let doc = text(&newer);
    // Such a program raises the version, and ours finds a checksum that is not for it.
    place
        .sql(format!(
            "UPDATE clusters SET doc = '{doc}', version = version + 1 WHERE id = '{id}'"
        ))
        .await;
    let store = place.open().await;
    for name in ["first", "second"] {
        let row = store.cluster(id).await.unwrap().unwrap();
        let changed = edited(&row, |cluster| cluster.name = name.to_owned());
        commit(&store, |changes| {
            changes.update_cluster(&row, changed);
        })
        .await
        .unwrap();
    }
    store.close().await;
    let found = document(&place, id).await;
    assert_eq!(found["name"], "second");
    assert_eq!(found["moon_phase"], newer["moon_phase"]);
    assert_eq!(found["recipe"]["salt"], newer["recipe"]["salt"]);
}

async fn an_unreadable_row_hides_no_other_and_is_never_touched(place: Place) {
    let (bad, good) = two_clusters(&place).await;
    place
        .sql(format!(
            "UPDATE clusters SET doc = '{{\"id\": 5', checksum = NULL WHERE id = '{bad}'"
        ))
        .await;
    let store = place.open().await;
    assert_eq!(listed(&store).await, [good]);
    assert_eq!(store.quarantined()["clusters"], 1);
    for refused in [
        store.cluster(bad).await.expect_err("unreadable"),
        store
            .cluster_even_deleted(bad)
            .await
            .expect_err("unreadable"),
    ] {
        assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
        assert!(refused.to_string().contains(&bad.to_string()), "{refused}");
    }
    let again = commit(&store, |changes| {
        changes.insert_cluster(cluster(bad, 3));
    });
    assert!(matches!(again.await, Err(StoreError::Conflict { .. })));
    store.close().await;
    let left = place.sql(format!("SELECT doc FROM clusters WHERE id = '{bad}'"));
    assert_eq!(left.await, ["{\"id\": 5"]);
    let whole = place.sql(format!("SELECT doc FROM clusters WHERE id = '{good}'"));
    let whole = whole
        .await
        .remove(0)
        .replace(&good.to_string(), &bad.to_string());
    let mut restored: Value = serde_json::from_str(&whole).unwrap();
    restored["pull_secret"] = json!("");
    place
        .sql(format!(
            "UPDATE clusters SET doc = '{}' WHERE id = '{bad}'",
            text(&restored)
        ))
        .await;
    let store = place.open().await;
    assert_eq!(listed(&store).await, [bad, good]);
    assert_eq!(store.quarantined()["clusters"], 0);
}

async fn a_document_that_does_not_fit_its_checksum_is_not_believed(place: Place) {
    let (bad, good) = two_clusters(&place).await;
    let mut flipped = document(&place, bad).await;
    flipped["name"] = json!("sampld");
    let doc = text(&flipped);
    place
        .sql(format!(
            "UPDATE clusters SET doc = '{doc}' WHERE id = '{bad}'"
        ))
        .await;
    let store = place.open().await;
    assert_eq!(listed(&store).await, [good]);
    let refused = store.cluster(bad).await.expect_err("damaged");
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    store.close().await;
    place
        .sql(format!(
            "UPDATE clusters SET checksum = NULL WHERE id = '{bad}'"
        ))
        .await;
    let store = place.open().await;
    assert_eq!(
        store.cluster(bad).await.unwrap().unwrap().name,
        "sampld",
        "without a checksum it is accepted unverified"
    );
}

async fn a_decision_about_a_cluster_gets_every_host_or_none(place: Place) {
    let (id, _) = two_clusters(&place).await;
    let store = place.open().await;
    let i = infra_env_id();
    let (bad, good) = (host_key(i), host_key(i));
    commit(&store, |changes| {
        changes
            .insert_infra_env(infra_env(i, Some(id), 1))
            .insert_host(host(bad, Some(id), 1))
            .insert_host(host(good, Some(id), 2));
    })
    .await
    .unwrap();
    assert_eq!(store.every_host_of_cluster(id).await.unwrap().len(), 2);
    store.close().await;
    place
        .sql(format!(
            "UPDATE hosts SET doc = '{{}}' WHERE id = '{}'",
            bad.host
        ))
        .await;
    let store = place.open().await;
    let shown = store.hosts_of_cluster(id).await.unwrap();
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].key(), good);
    assert!(matches!(
        store.every_host_of_cluster(id).await,
        Err(StoreError::Corrupt { .. })
    ));
    assert_eq!(store.quarantined()["hosts"], 1);
}

async fn an_unreadable_event_hides_no_other(place: Place) {
    let (id, _) = two_clusters(&place).await;
    let store = place.open().await;
    commit(&store, |changes| {
        changes.events(["a", "b", "c", "d"].map(|name| event(name, of_cluster(id), 1)));
        changes.event(event("e", EventScope::default(), 1));
    })
    .await
    .unwrap();
    store.close().await;
    place
        .sql("UPDATE events SET doc = '{}', checksum = NULL WHERE name = 'b'")
        .await;
    place
        .sql("UPDATE events SET checksum = 'other' WHERE name = 'c'")
        .await;
    let store = place.open().await;
    let query = EventQuery {
        cluster: Some(id),
        ..EventQuery::default()
    };
    let page = store.events(&query).await.unwrap();
    let names: Vec<_> = page
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    assert_eq!(names, ["a", "d"]);
    assert_eq!(store.quarantined()["events"], 2);
    let pages = store.events_after(HistoryOf::Everything, 0, i64::MAX, 2);
    let names: Vec<_> = pages
        .await
        .unwrap()
        .into_iter()
        .map(|one| one.event.name)
        .collect();
    assert_eq!(
        names,
        ["a", "d"],
        "a short page would be taken for the last"
    );
}

#[tokio::test]
async fn the_files_of_a_database_are_private_even_in_an_open_folder() {
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else {
        unreachable!()
    };
    let set = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(dir.path(), 0o755);
    let store = place.open().await;
    let modes = || {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            found.push((entry.file_name().into_string().unwrap(), mode));
        }
        found.sort();
        found
    };
    let expected = [
        "muster.db",
        "muster.db-shm",
        "muster.db-wal",
        "muster.db.lock",
    ];
    let expected = expected.map(|name| (name.to_owned(), 0o600));
    assert_eq!(modes(), expected);
    store.close().await;
    for name in ["muster.db", "muster.db.lock"] {
        set(&dir.path().join(name), 0o644);
    }
    let store = open(&place.url()).await.unwrap();
    assert_eq!(modes(), expected, "those of an older release are tightened");
    drop(store);
}
