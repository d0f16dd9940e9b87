//! The client against a small server that returns scripted responses in order.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

use super::*;

/// Answers, and what was asked.
struct Server {
    kube: Kube,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn answering(answers: Vec<(u16, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            let (mut answers, mut quiet) = (answers.into_iter(), Vec::new());
            for stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream);
                let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
                reader.read_line(&mut first).unwrap();
                while reader.read_line(&mut line).unwrap() > 2 {
                    if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    line.clear();
                }
                reader.read_exact(&mut vec![0; length]).unwrap();
                seen.lock().unwrap().push(first);
                let Some((status, body)) = answers.next() else {
                    // Nothing more to say: the connection stays open like a quiet watch.
                    quiet.push(reader);
                    continue;
                };
                let head = format!(
                    "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    body.len()
                );
                let _ = reader
                    .get_mut()
                    .write_all(format!("{head}{body}").as_bytes());
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        let config = json!({
            "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        });
        std::fs::write(&path, config.to_string()).unwrap();
        let access = Access::from_kubeconfig(&path).unwrap();
        Self {
            kube: Kube::new(access).unwrap(),
            asked,
        }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn node(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version}})
}

fn list(items: &[Value], version: &str, next: &str) -> (u16, String) {
    let metadata = json!({"resourceVersion": version, "continue": next});
    let body = json!({"metadata": metadata, "items": items});
    (200, body.to_string())
}

fn events(events: &[(&str, Value)]) -> (u16, String) {
    let lines = events
        .iter()
        .map(|(kind, object)| format!("{}\n", json!({"type": kind, "object": object})));
    (200, lines.collect())
}

fn expired() -> Value {
    json!({"kind": "Status", "code": 410, "reason": "Expired"})
}

#[tokio::test]
async fn an_expired_watch_lists_again_and_an_ended_one_goes_on() {
    let server = Server::answering(vec![
        list(&[node("a", "1"), node("b", "2")], "5", ""),
        events(&[("DELETED", node("a", "6")), ("BOOKMARK", node("", "9"))]),
        events(&[("ADDED", node("c", "10")), ("ERROR", expired())]),
        list(&[node("c", "10"), node("d", "12")], "12", ""),
        (410, expired().to_string()),
        list(&[node("e", "20")], "20", ""),
    ]);
    let mut mirror = Mirror::start(server.kube.clone(), Kind::NODE, None);
    let mut seen: Vec<String> = Vec::new();
    while seen != ["e"] {
        let changed = tokio::time::timeout(Duration::from_secs(20), mirror.changed());
        changed.await.unwrap();
        seen = mirror.take().unwrap().keys().cloned().collect();
    }
    let watched: Vec<bool> = server
        .asked()
        .iter()
        .map(|line| line.contains("watch=true"))
        .collect();
    assert_eq!(watched[..6], [false, true, true, false, true, false]);
    let asked = server.asked();
    assert!(asked[1].contains("resourceVersion=5"), "{asked:?}");
    assert!(
        asked[2].contains("resourceVersion=9"),
        "bookmarks move on: {asked:?}"
    );
}

#[tokio::test]
async fn a_watch_that_fell_silent_is_replaced() {
    let server = Server::answering(vec![list(&[node("a", "1")], "5", "")]);
    let _mirror = Mirror::start(server.kube.clone(), Kind::NODE, None);
    let asked = async |count: usize| {
        while server.asked().len() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, asked(2)).await.unwrap();
    // Let the client finish sending before the clock moves.
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(server.asked().len(), 2);
    tokio::time::pause();
    tokio::time::advance(mirror::SILENCE + Duration::from_secs(1)).await;
    tokio::time::resume();
    tokio::time::timeout(limit, asked(3)).await.unwrap();
    let asked = server.asked();
    assert!(
        asked[2].contains("watch=true") && asked[2].contains("resourceVersion=5"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn a_long_list_comes_in_pages_and_begins_again_when_they_expire() {
    let server = Server::answering(vec![
        list(&[node("a", "1")], "5", "next/page"),
        (410, expired().to_string()),
        list(&[node("b", "6")], "7", "more"),
        list(&[node("c", "6")], "7", ""),
    ]);
    let (items, version) = server.kube.list(Kind::NODE, None, "a=b").await.unwrap();
    let names: Vec<&str> = items
        .iter()
        .map(|one| text(one, "/metadata/name"))
        .collect();
    assert_eq!((names, version.as_str()), (vec!["b", "c"], "7"));
    let asked = server.asked();
    assert!(asked[1].contains("continue=next%2Fpage"), "{asked:?}");
    assert!(asked[0].contains("labelSelector=a%3Db"), "{asked:?}");
}

#[tokio::test]
async fn a_write_that_lost_a_race_reads_again() {
    let server = Server::answering(vec![
        (200, node("a", "1").to_string()),
        (409, json!({"code": 409, "message": "changed"}).to_string()),
        (200, node("a", "2").to_string()),
        (200, node("a", "3").to_string()),
    ]);
    let mut versions = Vec::new();
    let at = Kind::NODE.named("a");
    let changed = server.kube.update(&at, "status", |object| {
        versions.push(text(object, "/metadata/resourceVersion").to_owned());
        true
    });
    assert!(changed.await.unwrap());
    assert_eq!(versions, ["1", "2"]);
    assert!(server.asked()[1].starts_with("PUT /api/v1/nodes/a/status "));
}

#[tokio::test]
async fn a_refusal_keeps_the_words_of_the_server() {
    let answer = json!({"code": 403, "message": "you may not"}).to_string();
    let server = Server::answering(vec![(403, answer)]);
    let error = server.kube.get(&Kind::NODE.named("a")).await.unwrap_err();
    let words = error.to_string();
    assert!(
        words.contains("you may not") && words.contains("GET /api/v1/nodes/a"),
        "{words}"
    );
    assert!(!error.is_missing() && error.code() == Some(StatusCode::FORBIDDEN));
}

#[test]
fn a_kubeconfig_without_its_parts_says_which() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let read = |text: &str| {
        std::fs::write(&path, text).unwrap();
        Access::from_kubeconfig(&path)
            .map(drop)
            .unwrap_err()
            .to_string()
    };
    assert!(read("{}").contains("no usable context"));
    assert!(read("[").contains("not a kubeconfig"));
    let half = "contexts: [{name: a, context: {cluster: c, user: u}}]\n";
    assert!(read(half).contains("no usable cluster"));
}

#[test]
fn entries_of_a_kubeconfig_are_chosen_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let config = json!({
        "current-context": "lab",
        "contexts": [
            {"name": "lab", "context": {"cluster": "lab", "user": "reader"}},
            {"name": "depot", "context": {"cluster": "depot", "user": "reader"}},
        ],
        "clusters": [
            {"name": "lab", "cluster": {"server": "https://lab:6443"}},
            {"name": "depot", "cluster": {"server": "https://depot:6443"}},
        ],
        "users": [
            {"name": "reader", "user": {"token": "r"}},
            {"name": "admin", "user": {"token": "a"}},
        ],
    });
    std::fs::write(&path, config.to_string()).unwrap();
    let chosen = |context: &str, cluster: &str, user: &str| {
        let filled = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let entries = Entries {
            context: filled(context),
            cluster: filled(cluster),
            user: filled(user),
        };
        Access::from_entries(&path, &entries)
            .map(|access| (access.server().to_owned(), access.token().unwrap()))
            .map_err(|error| error.to_string())
    };
    let found =
        |server: &str, token: &str| Ok((format!("https://{server}:6443"), token.to_owned()));
    assert_eq!(chosen("", "", ""), found("lab", "r"));
    assert_eq!(chosen("depot", "", ""), found("depot", "r"));
    assert_eq!(chosen("depot", "lab", "admin"), found("lab", "a"));
    let error = chosen("attic", "", "").unwrap_err();
    assert!(
        error.contains("no context attic; it has: lab, depot"),
        "{error}"
    );
    let other = Access::from_kubeconfig(&path).unwrap();
    let other = other
        .with_server("https://10.0.0.1:6443")
        .with_token("mine");
    assert_eq!(other.server(), "https://10.0.0.1:6443");
    assert_eq!(other.token().as_deref(), Some("mine"));
}
