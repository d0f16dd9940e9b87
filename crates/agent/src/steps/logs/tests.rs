//! Logs against a small service of our own.

use std::{collections::BTreeMap, io::Read, sync::Mutex};

use muster_machine::{Finished, Simulated, Tree};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::*;
use crate::{
    link::{Directions, Link, TokenSource},
    steps::tests::on,
};

type Seen = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Takes every request in; uploads are refused as often as requested.
async fn service(refusals: usize) -> (String, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = Seen::default();
    let record = Arc::clone(&seen);
    tokio::spawn(async move {
        let mut refusals = refusals;
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            let mut buffer = [0; 65_536];
            loop {
                let length = stream.read(&mut buffer).await.unwrap();
                bytes.extend_from_slice(&buffer[..length]);
                let head = String::from_utf8_lossy(&bytes).into_owned();
                let Some((head, _)) = head.split_once("\r\n\r\n") else {
                    continue;
                };
                let body = bytes.len() - head.len() - 4;
                let lower = head.to_lowercase();
                let done = match lower.split("content-length: ").nth(1) {
                    Some(rest) => {
                        body >= rest
                            .lines()
                            .next()
                            .unwrap()
                            .trim()
                            .parse::<usize>()
                            .unwrap()
                    }
                    None => bytes.ends_with(b"0\r\n\r\n"),
                };
                if done || length == 0 {
                    break;
                }
            }
            let line = String::from_utf8_lossy(&bytes)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let refuse = line.contains("/logs?") && refusals > 0;
            refusals -= usize::from(refuse);
            record.lock().unwrap().push((line, bytes));
            let status = if refuse { "503 Away" } else { "204 No Content" };
            let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, seen)
}

fn dechunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        whole.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 2 + size + 2..];
    }
    whole
}

/// The files of an uploaded form.
fn files(request: &[u8]) -> BTreeMap<String, String> {
    let at = |bytes: &[u8]| {
        bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4
    };
    let form = dechunked(&request[at(request)..]);
    let archive = &form[at(&form)..];
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(archive));
    let read = |entry: Result<tar::Entry<'_, _>, _>| {
        let mut entry: tar::Entry<'_, _> = entry.unwrap();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        let name = entry
            .path()
            .unwrap()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        (name, text)
    };
    archive.entries().unwrap().map(read).collect()
}

fn args(bootstrap: bool) -> Vec<String> {
    let id = Uuid::from_u128(7);
    vec![
        json!({
            "cluster_id": id, "host_id": id, "infra_env_id": id,
            "installer_gather": true, "bootstrap": bootstrap, "master_ips": null,
            "since": "2026-01-01 00:00:00",
        })
        .to_string(),
    ]
}

async fn gathered(refusals: usize) -> (Outcome, Seen) {
    gathered_on(Simulated::default(), refusals, false).await
}

async fn gathered_on(machine: Simulated, refusals: usize, bootstrap: bool) -> (Outcome, Seen) {
    machine.on(
        ["journalctl"],
        Finished::with_output("all is well PULL_SECRET_TOKEN=hush\n"),
    );
    machine.on(["dmesg"], Finished::with_output("boot verysecret\n"));
    machine.on(["systemctl"], Finished::with_output(""));
    let (context, _) = on(machine);
    let (url, seen) = service(refusals).await;
    let link = Link::new(Directions {
        url,
        cacert: None,
        insecure: false,
        token: TokenSource {
            file: None,
            given: Some("verysecret".into()),
        },
    });
    let context = Arc::into_inner(context).unwrap();
    let context = Arc::new(Context {
        link: Arc::new(link),
        ..context
    });
    (run(&context, args(bootstrap)).await.unwrap(), seen)
}

#[tokio::test]
async fn logs_arrive_as_an_archive_without_secrets_and_trouble_is_in_its_report() {
    let (outcome, seen) = gathered(0).await;
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    let seen = seen.lock().unwrap();
    let lines: Vec<&str> = seen
        .iter()
        .map(|(line, _)| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(lines, ["PUT", "PUT", "POST", "PUT"]);
    assert!(seen[2].0.contains("/clusters/") && seen[2].0.contains("logs_type=host"));
    let files = files(&seen[2].1);
    assert_eq!(
        files["agent.logs"],
        "all is well PULL_SECRET_TOKEN=[removed]\n"
    );
    assert_eq!(files["dmesg.logs"], "boot [removed]\n");
    assert!(files["report.logs"].contains("lsblk"), "{files:?}");
    assert!(!files.contains_key("ironic-agent.logs"));
}

#[tokio::test]
async fn the_journal_is_read_where_it_is_kept() {
    let on_disk = "[/var/log/journal/0123]\nsystem.journal = records\n";
    let nothing_there = "[/var/log]\nmessages = text\n";
    for (tree, expected) in [(on_disk, "on disk\n"), (nothing_there, "anywhere\n")] {
        let machine = Simulated::new(Tree::parse(tree).unwrap());
        let words = "journalctl --all --no-pager";
        let of_folder = format!("{words} -D /var/log/journal");
        let at = |words: &str, said: &str| {
            machine.on(words.split(' '), Finished::with_output(said));
        };
        at(words, "anywhere\n");
        at(&of_folder, "on disk\n");
        let (outcome, seen) = gathered_on(machine, 0, false).await;
        assert_eq!(outcome.exit_code, 0, "{outcome:?}");
        let files = files(&seen.lock().unwrap()[2].1);
        assert_eq!(files["installer.logs"], expected);
    }
}

#[tokio::test]
async fn a_refused_upload_is_tried_again() {
    let (outcome, seen) = gathered(1).await;
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    let uploads = seen
        .lock()
        .unwrap()
        .iter()
        .filter(|(line, _)| line.contains("/logs?"))
        .count();
    assert_eq!(uploads, 2);
}

#[tokio::test]
async fn what_is_quick_is_sent_before_the_bundle_that_takes_long() {
    let tree = Tree::parse("[/usr/local/bin]\ninstaller-gather.sh = script\n").unwrap();
    let machine = Simulated::new(tree);
    machine.on([sources::GATHER_SCRIPT], Finished::with_output("done\n"));
    let (outcome, seen) = gathered_on(machine, 0, true).await;
    assert_eq!(outcome.exit_code, 0, "{outcome:?}");
    let seen = seen.lock().unwrap();
    let uploads: Vec<_> = seen
        .iter()
        .filter(|(line, _)| line.contains("/logs?"))
        .collect();
    assert_eq!(uploads.len(), 2);
    let report = |upload: &(String, Vec<u8>)| files(&upload.1)["report.logs"].clone();
    assert!(!report(uploads[0]).contains("log-bundle"));
    assert!(files(&uploads[0].1).contains_key("journal.logs"));
    // The script of this test makes no bundle, which only the second report can know.
    assert!(report(uploads[1]).contains("log-bundle"));
    let completed = |(_, bytes): &&(String, Vec<u8>)| {
        String::from_utf8_lossy(bytes).contains(r#""logs_state":"completed""#)
    };
    assert_eq!(seen.iter().filter(completed).count(), 1);
}
