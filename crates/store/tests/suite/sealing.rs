//! Stored secrets are encrypted, and only their own key decrypts them.

use std::path::Path;

use muster_model::Secret;
use muster_store::{SealingKey, Store, StoreError};

use crate::{
    places::{Place, on_both},
    samples::{cluster, cluster_id, commit, edited, host, host_key, infra_env, infra_env_id},
};

const MARK: &[u8] = b"hushhush-at-rest";

fn mark() -> Secret {
    Secret::new(str::from_utf8(MARK).unwrap())
}

fn holds_mark(bytes: &[u8]) -> bool {
    bytes.windows(MARK.len()).any(|window| window == MARK)
}

/// Everything the database holds, as its disk sees it, or as any of its users does.
async fn all_that_is_kept(place: &Place) -> Vec<u8> {
    match place {
        Place::Sqlite(dir) => {
            let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().collect();
            assert!(files.len() > 1, "the log of the database is there too");
            let files = files.into_iter().map(|file| file.unwrap().path());
            files
                .flat_map(|file| std::fs::read(file).unwrap())
                .collect()
        }
        Place::Postgres(url) => {
            let mut other: sqlx::PgConnection = sqlx::Connection::connect(url).await.unwrap();
            let docs = "SELECT doc FROM clusters UNION ALL SELECT doc FROM infra_envs \
                        UNION ALL SELECT doc FROM hosts";
            let docs: Vec<String> = sqlx::query_scalar(docs)
                .fetch_all(&mut other)
                .await
                .unwrap();
            assert_eq!(docs.len(), 3);
            docs.concat().into_bytes()
        }
    }
}

async fn no_secret_is_readable_in_the_database_and_all_survive_it(place: Place) {
    let store = place.open().await;
    let (id, env) = (cluster_id(), infra_env_id());
    let key = host_key(env);
    let mut secretive = cluster(id, 1);
    secretive.pull_secret = mark();
    let mut its_env = infra_env(env, Some(id), 1);
    (its_env.pull_secret, its_env.image_token_key) = (mark(), mark());
    let mut its_host = host(key, Some(id), 1);
    its_host.ignition_endpoint_token = Some(mark());
    commit(&store, |x| {
        x.insert_cluster(secretive.clone());
        x.insert_infra_env(its_env.clone());
        x.insert_host(its_host.clone());
    })
    .await
    .unwrap();
    // An update is written by another statement than an insert.
    let seen = store.host(key).await.unwrap().unwrap();
    its_host = edited(&seen, |host| host.fencing_credentials = Some(mark()));
    commit(&store, |x| {
        x.update_host(&seen, its_host.clone());
    })
    .await
    .unwrap();
    let kept = all_that_is_kept(&place).await;
    assert!(!holds_mark(&kept), "a secret is readable");
    store.close().await;
    drop(store);

    let store = place.open().await;
    assert_eq!(*store.cluster(id).await.unwrap().unwrap().value, secretive);
    assert_eq!(*store.infra_env(env).await.unwrap().unwrap().value, its_env);
    assert_eq!(*store.host(key).await.unwrap().unwrap().value, its_host);
}

async fn a_database_opens_only_with_the_key_it_was_made_with(place: Place) {
    place.open().await.close().await;
    let other = SealingKey::parse(&SealingKey::generate().unwrap(), "the file other.key").unwrap();
    let refused = Store::open(&place.url(), other)
        .await
        .expect_err("another key");
    let StoreError::WrongKey { given, wanted, .. } = &refused else {
        panic!("{refused:?}")
    };
    assert_ne!(given, wanted);
    let text = refused.to_string();
    assert!(text.contains("the file other.key holds key"), "{text}");
    place.open().await;
}

async fn a_secret_moved_to_another_row_is_refused(place: Place) {
    let store = place.open().await;
    let (rich, poor) = (cluster_id(), cluster_id());
    commit(&store, |x| {
        x.insert_cluster(cluster(rich, 1));
        x.insert_cluster(cluster(poor, 2));
    })
    .await
    .unwrap();
    store.close().await;
    drop(store);
    let theft = format!(
        "UPDATE clusters SET doc = (SELECT replace(doc, '{rich}', '{poor}') FROM clusters \
         WHERE id = '{rich}') WHERE id = '{poor}'"
    );
    match &place {
        Place::Sqlite(dir) => write_sqlite(&dir.path().join("muster.db"), &theft),
        Place::Postgres(url) => {
            let mut other: sqlx::PgConnection = sqlx::Connection::connect(url).await.unwrap();
            sqlx::query(&theft).execute(&mut other).await.unwrap();
        }
    }
    let store = place.open().await;
    assert!(store.cluster(rich).await.unwrap().is_some());
    let refused = store.cluster(poor).await.expect_err("it was moved");
    assert!(refused.to_string().contains(&poor.to_string()), "{refused}");
}

fn write_sqlite(file: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(file).unwrap();
    assert_eq!(connection.execute(sql, []).unwrap(), 1);
}

on_both!(
    no_secret_is_readable_in_the_database_and_all_survive_it,
    a_database_opens_only_with_the_key_it_was_made_with,
    a_secret_moved_to_another_row_is_refused,
);
