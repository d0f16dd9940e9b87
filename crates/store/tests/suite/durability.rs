//! Acknowledged writes survive; what cannot be stored is reported.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use muster_store::{Deleted, StoreError};

use crate::{
    places::{Place, open},
    samples::{cluster, cluster_id, commit},
};

/// Passes the address of the database to the child processes below.
const URL: &str = "MUSTER_TEST_DATABASE";

fn file_of(place: &Place) -> std::path::PathBuf {
    place.url().trim_start_matches("sqlite://").into()
}

/// This test program again, running only one of the children below.
fn child(name: &str, place: &Place) -> String {
    let program = std::env::current_exe().expect("we are a program");
    format!(
        "{URL}='{}' exec '{}' --ignored --exact durability::{name} --nocapture",
        place.url(),
        program.display()
    )
}

fn spawn(script: &str) -> std::process::Child {
    Command::new("sh")
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell starts")
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").expect("the parent listens");
    out.flush().expect("the parent listens");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child process of the tests below"]
async fn write_for_ever() {
    let store = open(&std::env::var(URL).unwrap()).await.unwrap();
    let writers = (0..4).map(|_| {
        let store = store.clone();
        tokio::spawn(async move {
            loop {
                let id = cluster_id();
                commit(&store, |x| {
                    x.insert_cluster(cluster(id, 1));
                })
                .await
                .unwrap();
                say(&format!("kept {id}"));
            }
        })
    });
    futures::future::join_all(writers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a child process of the tests below"]
async fn write_until_the_disk_is_full() {
    let store = open(&std::env::var(URL).unwrap()).await.unwrap();
    let mut failures = 0;
    for round in 0..10_000 {
        let id = cluster_id();
        let mut large = cluster(id, round);
        large.ui_settings = "x".repeat(100_000);
        match commit(&store, |changes| {
            changes.insert_cluster(large);
        })
        .await
        {
            Ok(()) => say(&format!("kept {id}")),
            Err(StoreError::DiskFull { .. }) => {
                assert!(store.cluster(id).await.unwrap().is_none());
                failures += 1;
            }
            Err(other) => panic!("{other:?}"),
        }
        if failures == 3 {
            assert_eq!(store.refused_by_full_disk(), 3);
            let count = store.clusters(Deleted::Excluded).await.unwrap().len();
            say(&format!("full after {count}"));
            return;
        }
    }
}

fn kept(lines: &[String]) -> Vec<muster_model::ClusterId> {
    let ids = lines
        .iter()
        .filter_map(|line| line.split_once("kept ")?.1.parse().ok());
    ids.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_answered_is_lost_by_kill_9() {
    let place = Place::sqlite();
    let mut writer = spawn(&child("write_for_ever", &place));
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let mut seen: Vec<String> = lines.by_ref().take(300).map(Result::unwrap).collect();
    writer.kill().unwrap();
    seen.extend(lines.map_while(Result::ok));
    writer.wait().unwrap();
    let ids = kept(&seen);
    assert!(ids.len() > 250, "{seen:?}");
    let store = place.open().await;
    for id in ids {
        assert!(store.cluster(id).await.unwrap().is_some(), "{id}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_on_one_sqlite_file_is_refused_until_the_first_ends() {
    let place = Place::sqlite();
    let mut writer = spawn(&child("write_for_ever", &place));
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("kept")));
    let refused = open(&place.url()).await.expect_err("in use");
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused:?}");
    assert!(
        refused
            .to_string()
            .contains("muster.db is in use by another process"),
        "{refused}"
    );
    writer.kill().unwrap();
    writer.wait().unwrap();
    place.open().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_store_in_the_same_process_is_refused_too() {
    let place = Place::sqlite();
    let store = place.open().await;
    assert!(matches!(
        open(&place.url()).await,
        Err(StoreError::InUse { .. })
    ));
    store.close().await;
    place.open().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_reported_and_keeps_what_was_answered() {
    let place = Place::sqlite();
    // Writes beyond 4 MiB per file fail, as they do on a full disk.
    let script = format!(
        "trap '' XFSZ; ulimit -f 8192; {}",
        child("write_until_the_disk_is_full", &place)
    );
    let mut writer = spawn(&script);
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let seen: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(writer.wait().unwrap().success(), "{seen:?}");
    let ids = kept(&seen);
    assert!(ids.len() > 5, "{seen:?}");
    assert!(
        seen.iter()
            .any(|line| line.ends_with(&format!("full after {}", ids.len()))),
        "{seen:?}"
    );
    let store = place.open().await;
    assert_eq!(
        store.clusters(Deleted::Included).await.unwrap().len(),
        ids.len()
    );
}

#[tokio::test]
async fn a_file_that_is_no_database_is_called_damaged() {
    let place = Place::sqlite();
    std::fs::write(
        file_of(&place),
        "this is certainly not a database\n".repeat(500),
    )
    .unwrap();
    let refused = open(&place.url()).await.expect_err("no database");
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
    assert!(
        refused.to_string().contains("muster.db is damaged"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_damaged_page_is_called_damaged() {
    let place = Place::sqlite();
    let store = place.open().await;
    commit(&store, |changes| {
        for at in 0..200 {
            changes.insert_cluster(cluster(cluster_id(), at));
        }
    })
    .await
    .unwrap();
    store.close().await;
    let mut bytes = std::fs::read(file_of(&place)).unwrap();
    assert!(
        bytes.len() > 200_000,
        "the log went into the file: {}",
        bytes.len()
    );
    // The header and the schema stay; every page of the middle is overwritten.
    let end = bytes.len() - 4096;
    bytes[100_000..end].fill(0xa5);
    std::fs::write(file_of(&place), bytes).unwrap();
    let refused = match open(&place.url()).await {
        Ok(store) => store
            .clusters(Deleted::Excluded)
            .await
            .expect_err("damaged"),
        Err(error) => error,
    };
    assert!(matches!(refused, StoreError::Corrupt { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_damaged_document_is_named() {
    let place = Place::postgres();
    let store = place.open().await;
    let id = cluster_id();
    commit(&store, |x| {
        x.insert_cluster(cluster(id, 1));
    })
    .await
    .unwrap();
    let Place::Postgres(url) = &place else {
        unreachable!()
    };
    let mut other: sqlx::PgConnection = sqlx::Connection::connect(url).await.unwrap();
    sqlx::query("UPDATE clusters SET doc = '{\"id\": 5}', version = version + 1")
        .execute(&mut other)
        .await
        .unwrap();
    let refused = store.cluster(id).await.expect_err("damaged");
    assert!(refused.to_string().contains(&id.to_string()), "{refused}");
    sqlx::query("UPDATE schema_version SET version = 99")
        .execute(&mut other)
        .await
        .unwrap();
    let refused = open(url).await.expect_err("from the future");
    assert!(
        matches!(refused, StoreError::TooNew { found: 99, .. }),
        "{refused:?}"
    );
}

#[tokio::test]
async fn places_that_cannot_be_opened_are_named() {
    let nowhere = open("sqlite:///no/such/folder/muster.db")
        .await
        .expect_err("no folder");
    let StoreError::Unavailable { source } = &nowhere else {
        panic!("{nowhere:?}")
    };
    assert!(
        source.to_string().contains("/no/such/folder/muster.db"),
        "{source}"
    );
    assert!(!Path::new("/no").exists());
    for bad in ["muster.db", "mysql://host/x", "sqlite:relative.db"] {
        let refused = open(bad).await.expect_err(bad);
        assert!(matches!(refused, StoreError::Address { .. }), "{refused:?}");
    }
    let secret = open("postgres://me:hush@127.0.0.1:1/x")
        .await
        .expect_err("nothing listens there");
    assert!(matches!(secret, StoreError::Unavailable { .. }));
    assert!(!format!("{secret:?} {secret}").contains("hush"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_died_while_idle_are_replaced_unnoticed() {
    let place = Place::postgres();
    let store = place.open().await;
    let Place::Postgres(url) = &place else {
        unreachable!()
    };
    let mut other: sqlx::PgConnection = sqlx::Connection::connect(url).await.unwrap();
    for round in 0..4 {
        futures::future::join_all((0..8).map(|_| store.ping())).await;
        sqlx::query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
             WHERE datname = current_database() AND pid <> pg_backend_pid()",
        )
        .execute(&mut other)
        .await
        .unwrap();
        if round % 2 == 0 {
            store.ping().await.unwrap();
        }
        commit(&store, |x| {
            x.insert_cluster(cluster(cluster_id(), round));
        })
        .await
        .unwrap();
    }
    assert_eq!(store.clusters(Deleted::Excluded).await.unwrap().len(), 4);
}
