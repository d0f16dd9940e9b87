//! The loop with sources that come and go: a service that ends in the middle, and an API that is
//! away while its host reboots.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use muster_tracking::{
    Goal, Line, Outcome, Phase, Sink, Status, Tracker, follow,
    sources::{ServiceAccess, Site, Sources, Token},
    tracker::Limits,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

const CLUSTER: &str = "00000000-0000-4000-8000-000000000001";
const LIMIT: Duration = Duration::from_secs(120);

/// Answers by path; `None` is a server that is away.
type Answers = Arc<Mutex<Option<BTreeMap<String, Value>>>>;

async fn server() -> (String, Answers) {
    let answers = Answers::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let shared = Arc::clone(&answers);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = Vec::new();
            let mut byte = [0; 1024];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut byte).await {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&byte[..read]),
                }
            }
            let text = String::from_utf8_lossy(&request);
            let path = text.split(' ').nth(1).unwrap_or_default();
            let path = path.split('?').next().unwrap_or_default().to_owned();
            let answer = shared
                .lock()
                .unwrap()
                .as_ref()
                .map(|all| all.get(&path).cloned());
            let (status, body) = match answer {
                None => continue,
                Some(None) => ("404 Not Found", json!({"message": "no"})),
                Some(Some(body)) => ("200 OK", body),
            };
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n\
                 Content-Length: {}\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all((head + &body).as_bytes()).await;
        }
    });
    (url, answers)
}

fn service(status: &str, stage: &str) -> Option<BTreeMap<String, Value>> {
    let base = "/api/assisted-install/v2";
    let host = json!({"id": CLUSTER, "infra_env_id": CLUSTER, "status": "installing-in-progress",
        "requested_hostname": "node-0", "role": "master", "bootstrap": true,
        "progress": {"current_stage": stage}});
    let cluster = json!({"id": CLUSTER, "name": "lab", "status": status, "hosts": [host]});
    let events = json!([{"event_time": "2026-01-01T00:00:00Z", "severity": "info",
                         "message": "Host node-0: registered"}]);
    Some(BTreeMap::from([
        (format!("{base}/clusters/{CLUSTER}"), cluster),
        (format!("{base}/events"), events),
    ]))
}

fn api(is_complete: bool) -> Option<BTreeMap<String, Value>> {
    let condition =
        |kind: &str, is: bool| json!({"type": kind, "status": if is { "True" } else { "False" }});
    let conditions = json!([
        condition("Available", is_complete),
        condition("Progressing", !is_complete),
        condition("Failing", false),
    ]);
    let version = json!({"metadata": {"name": "version"}, "status": {"conditions": conditions}});
    let operator = json!({"metadata": {"name": "dns"}, "status": {"conditions": conditions}});
    let node = json!({"metadata": {"name": "node-0"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let list = |items: Value| json!({"metadata": {"resourceVersion": "1"}, "items": items});
    let config = "/apis/config.openshift.io/v1";
    Some(BTreeMap::from([
        ("/version".to_owned(), json!({"major": "1"})),
        (
            "/api/v1/namespaces/kube-system/configmaps/bootstrap".to_owned(),
            json!({"data": {"status": "complete"}}),
        ),
        (format!("{config}/clusterversions/version"), version),
        (
            format!("{config}/clusteroperators"),
            list(json!([operator])),
        ),
        ("/api/v1/nodes".to_owned(), list(json!([node]))),
    ]))
}

/// Moves the script on when the account has come so far.
struct Director {
    service: Answers,
    api: Answers,
    phases: Vec<Phase>,
    looks: usize,
    lines: Vec<String>,
}

impl Sink for Director {
    fn line(&mut self, line: &Line, _: &Status) {
        self.lines.push(format!("{:?} {}", line.level, line.text));
    }

    fn status(&mut self, status: &Status) {
        if self.phases.last() != Some(&status.phase) {
            self.phases.push(status.phase);
            self.looks = 0;
        }
        self.looks += 1;
        match (status.phase, self.looks) {
            (Phase::Booting, 2) => *self.service.lock().unwrap() = service("insufficient", ""),
            (Phase::Discovery, 2) => {
                *self.service.lock().unwrap() = service("installing", "Installing")
            }
            (Phase::Installing, 2) => {
                *self.service.lock().unwrap() = service("installing", "Rebooting");
            }
            (Phase::Bootstrapping, 2) => *self.service.lock().unwrap() = None,
            (Phase::Handover, 3) => *self.api.lock().unwrap() = api(false),
            (Phase::Finalizing, 2) => *self.api.lock().unwrap() = None,
            (Phase::Finalizing, 4) => *self.api.lock().unwrap() = api(true),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_account_goes_on_while_its_sources_come_and_go() {
    let (service_url, service) = server().await;
    let (api_url, api) = server().await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let text = json!({"current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": api_url}}],
        "users": [{"name": "u", "user": {"token": "x"}}]});
    fs::write(&kubeconfig, text.to_string()).unwrap();
    let site = Site {
        service: Some(ServiceAccess {
            url: service_url,
            ca_pem: None,
            token: Some(Token("watcher".to_owned())),
            cluster: Some(CLUSTER.parse().unwrap()),
        }),
        ..Site::default()
    };
    let mut sources = Sources::new(&kubeconfig, site).unwrap();
    let limits = Limits {
        rest: Duration::from_millis(300),
        ..Limits::default()
    };
    let mut tracker = Tracker::new(Goal::Install, limits);
    let mut director = Director {
        service,
        api,
        phases: Vec::new(),
        looks: 0,
        lines: Vec::new(),
    };
    let pause = Duration::from_millis(100);
    let account = follow(&mut sources, &mut tracker, &mut director, pause);
    let outcome = tokio::time::timeout(LIMIT, account).await;
    assert_eq!(outcome.unwrap(), Outcome::Reached, "{:#?}", director.lines);
    assert_eq!(
        director.phases,
        [
            Phase::Booting,
            Phase::Discovery,
            Phase::Installing,
            Phase::Bootstrapping,
            Phase::Handover,
            Phase::Finalizing,
            Phase::Settling,
            Phase::Complete
        ]
    );
    let warnings: Vec<_> = director
        .lines
        .iter()
        .filter(|line| line.starts_with("Warn"))
        .collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    let registered = director
        .lines
        .iter()
        .filter(|line| line.contains("registered"));
    assert_eq!(registered.count(), 1);
}
