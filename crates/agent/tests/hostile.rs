//! The agent against services that are broken, hostile or away: it always comes back, it never
//! floods, and it never does what it should not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::{sync::Arc, time::Duration};

use serde_json::json;
use support::{Agent, Answer, HOST, Service, hello, steps};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{CertificateDer, PrivateKeyDer},
    },
};

/// Everything a service can answer that is no answer.
fn rubbish() -> Vec<Answer> {
    vec![
        Answer::status("400 Bad Request"),
        Answer::status("401 Unauthorized"),
        Answer::status("403 Forbidden"),
        Answer::status("404 Not Found"),
        Answer::status("409 Conflict"),
        Answer::status("429 Too Many Requests"),
        Answer::status("500 Internal Server Error"),
        Answer::status("503 Service Unavailable"),
        Answer::ok("<html>a proxy says hello</html>"),
        Answer::ok(r#"{"instructions":[{"step_type":"inv"#),
        Answer::ok(r#"{"instructions":7}"#),
        Answer::ok("[]"),
        Answer::ok("\u{0}\u{1}"),
        Answer::Flood(100),
        Answer::Circle,
        Answer::HangUp,
    ]
}

/// In this time a patient agent asks a handful of times, a flood would be thousands.
const WATCHED: Duration = Duration::from_secs(4);
const A_HANDFUL: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_registration_is_answered_the_agent_comes_back_and_never_floods() {
    let mut tasks = Vec::new();
    for bad in rubbish() {
        tasks.push(tokio::spawn(async move {
            let service = Service::start(bad.clone(), steps(json!(null))).await;
            let mut agent = Agent::start(&service.url(), &[]);
            service
                .until("a first attempt", |heard| !heard.is_empty())
                .await;
            tokio::time::sleep(WATCHED).await;
            let attempts = service.heard().len();
            assert!(attempts <= A_HANDFUL, "{bad:?}: {attempts} requests");
            assert!(agent.is_running(), "{bad:?}");
            service.say(hello(), steps(json!(null)));
            service
                .until("polling", |heard| heard.iter().any(|one| one.is_poll()))
                .await;
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_a_poll_is_answered_the_agent_comes_back_and_never_floods() {
    let mut tasks = Vec::new();
    // An empty object and a missing interval made the reference ask 880 times a second.
    let empty = [
        Answer::ok("{}"),
        Answer::ok(r#"{"next_instruction_seconds":0}"#),
    ];
    let exit = Answer::ok(r#"{"instructions":null,"post_step_action":"exit"}"#);
    // An answer without an interval, or one that can be read as such, brings the agent back after
    // a minute, which is not waited for here.
    let is_list = |bad: &Answer| matches!(bad, Answer::Say(_, body) if body == "[]");
    let fixed = rubbish().into_iter().chain([exit]);
    let fixed = fixed.map(|bad| (bad.clone(), !is_list(&bad)));
    for (bad, waited_for) in fixed.chain(empty.map(|bad| (bad, false))) {
        tasks.push(tokio::spawn(async move {
            let service = Service::start(hello(), steps(json!(null))).await;
            let mut agent = Agent::start(&service.url(), &[]);
            service
                .until("polling", |heard| heard.iter().any(|one| one.is_poll()))
                .await;
            service.say(hello(), bad.clone());
            service.forget();
            tokio::time::sleep(WATCHED).await;
            // A host that is not known, or is asked to register again, registers for each poll.
            let requests = service.heard().len();
            assert!(requests <= 2 * A_HANDFUL, "{bad:?}: {requests} requests");
            assert!(agent.is_running(), "{bad:?}");
            service.say(hello(), steps(json!(null)));
            service.forget();
            let polls = |heard: &[support::Heard]| heard.iter().filter(|one| one.is_poll()).count();
            let back = |heard: &[support::Heard]| !waited_for || polls(heard) >= 2;
            service.until("polling as before", back).await;
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn polling_goes_on_by_itself_when_the_service_is_back() {
    let service = Service::start(hello(), steps(json!(null))).await;
    let _agent = Agent::start(&service.url(), &[]);
    for bad in [
        Answer::status("503 Away"),
        Answer::HangUp,
        Answer::status("404 Gone"),
        Answer::Flood(30),
    ] {
        service
            .until("polling", |heard| heard.iter().any(|one| one.is_poll()))
            .await;
        service.say(hello(), bad);
        service.forget();
        service
            .until("a failed poll", |heard| {
                heard.iter().any(|one| one.is_poll())
            })
            .await;
        service.say(hello(), steps(json!(null)));
        service.forget();
        service
            .until("two polls", |heard| {
                heard.iter().filter(|one| one.is_poll()).count() >= 2
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_carry_what_the_protocol_wants() {
    let ask =
        json!([{"step_type": "stop-installation", "step_id": "stop-installation-1", "args": []}]);
    let service = Service::start(hello(), steps(ask)).await;
    let _agent = Agent::start(
        &format!("{}/", service.url()),
        &["--agent-version", "quay.io/x/agent:1"],
    );
    service
        .until("a reply", |heard| heard.iter().any(|one| one.is_reply()))
        .await;
    let heard = service.heard();
    let first = &heard[0];
    assert!(
        first
            .line
            .starts_with("POST /api/assisted-install/v2/infra-envs/"),
        "{}",
        first.line
    );
    assert!(
        first
            .body
            .contains(r#""discovery_agent_version":"quay.io/x/agent:1""#)
    );
    assert!(first.body.contains(HOST));
    let of = |head: &str, name: &str| {
        head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then(|| value.to_owned())
        })
    };
    assert_eq!(
        of(&first.head, "x-secret-key").as_deref(),
        Some("token-of-the-machine")
    );
    assert!(of(&first.head, "x-request-id").is_some());
    let poll = heard.iter().find(|one| one.is_poll()).unwrap();
    // From the registration on, the service's name for the agent counts.
    assert_eq!(
        of(&poll.head, "discovery_agent_version").as_deref(),
        Some("quay.io/x/agent:9")
    );
    let reply = heard.iter().find(|one| one.is_reply()).unwrap();
    assert_eq!(
        reply.body,
        r#"{"step_id":"stop-installation-1","step_type":"stop-installation"}"#
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_delivered_when_the_service_is_back_and_unknown_steps_are_reported() {
    let ask = json!([
        {"step_type": "execute", "step_id": "execute-1", "args": ["touch", "/tmp/never"]},
        {"step_type": "free-network-addresses", "step_id": "f-1", "args": ["[\"127.0.0.0/30; reboot\"]"]},
    ]);
    let service = Service::start(hello(), steps(ask)).await;
    service.say_to_replies(Answer::status("503 Away"));
    let _agent = Agent::start(&service.url(), &[]);
    service
        .until("an attempt to reply", |heard| {
            heard.iter().any(|one| one.is_reply())
        })
        .await;
    service.say(hello(), steps(json!(null)));
    service.say_to_replies(Answer::Say("204 No Content", String::new()));
    service.forget();
    service
        .until("both replies", |heard| {
            heard.iter().filter(|one| one.is_reply()).count() == 2
        })
        .await;
    for reply in service.heard().iter().filter(|one| one.is_reply()) {
        assert!(reply.body.contains(r#""exit_code":-1"#), "{}", reply.body);
    }
    assert!(!std::path::Path::new("/tmp/never").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_step_is_not_begun_twice() {
    // A Tang server that takes calls and never answers: the step outlasts several polls.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let servers = json!([{"url": url, "thumbprint": "x"}]).to_string();
    let args = json!({"tang_servers": servers}).to_string();
    let ask = json!([{"step_type": "tang-connectivity-check", "step_id": "t", "args": [args]}]);
    let service = Service::start(hello(), steps(ask)).await;
    let _agent = Agent::start(&service.url(), &[]);
    let first = silent.accept().await.unwrap();
    service
        .until("five polls", |heard| {
            heard.iter().filter(|one| one.is_poll()).count() >= 5
        })
        .await;
    let second = tokio::time::timeout(Duration::ZERO, silent.accept()).await;
    assert!(second.is_err(), "the step was begun again");
    drop(first);
    service
        .until("its result", |heard| heard.iter().any(|one| one.is_reply()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_the_environment_are_used_except_where_it_says_no() {
    let proxy = Service::start(hello(), steps(json!(null))).await;
    let direct = Service::start(hello(), steps(json!(null))).await;
    let far = "http://service.example:8090";
    let through = [
        ("http_proxy", proxy.url()),
        ("NO_PROXY", "127.0.0.1".to_owned()),
    ];
    let through: Vec<(&str, &str)> = through.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let _far = Agent::start_with(far, &[], &through);
    let _near = Agent::start_with(&direct.url(), &[], &through);
    let polled = |heard: &[support::Heard]| heard.iter().any(|one| one.is_poll());
    proxy.until("polling through the proxy", polled).await;
    direct.until("polling past the proxy", polled).await;
    let all_far = |one: &support::Heard| one.line.contains("http://service.example:8090/api/");
    assert!(proxy.heard().iter().all(all_far), "{:?}", proxy.heard());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_an_ipv6_address_is_reached() {
    let service = Service::start_on("[::1]:0", hello(), steps(json!(null))).await;
    let _agent = Agent::start(&service.url(), &[]);
    service
        .until("polling", |heard| heard.iter().any(|one| one.is_poll()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_token_is_used_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "first-token").unwrap();
    let service = Service::start(hello(), steps(json!(null))).await;
    let _agent = Agent::start(&service.url(), &["--token-file", file.to_str().unwrap()]);
    for token in ["first-token", "second-token"] {
        std::fs::write(&file, token).unwrap();
        service
            .until(token, |heard| {
                heard.iter().any(|one| one.head.contains(token))
            })
            .await;
    }
}

/// A CA and a server certificate of it for 127.0.0.1.
fn authority() -> (String, ServerConfig) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec![]).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap();
    let pem = ca.pem();
    let issuer = rcgen::Issuer::new(params, key);
    let server_key = rcgen::KeyPair::generate().unwrap();
    let server = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let server = server.signed_by(&server_key, &issuer).unwrap();
    let chain: Vec<CertificateDer<'static>> = vec![server.der().clone()];
    let key = PrivateKeyDer::Pkcs8(server_key.serialize_der().into());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    (pem, config)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_trusted_once_its_ca_is_on_disk_and_not_before() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (first_ca, first) = authority();
    let (second_ca, second) = authority();
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, &first_ca).unwrap();
    // Plain underneath; the test puts TLS in front of it and can exchange the certificate.
    let service = Service::start(hello(), steps(json!(null))).await;
    let config = Arc::new(std::sync::Mutex::new(Arc::new(first)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let connections = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (serving, current, counter) = (
        service.clone(),
        Arc::clone(&config),
        Arc::clone(&connections),
    );
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let acceptor = TlsAcceptor::from(Arc::clone(&current.lock().unwrap()));
            let service = serving.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    service.serve(stream).await;
                }
            });
        }
    });
    let ca_path = ca.to_str().unwrap();
    let _agent = Agent::start(&url, &["--cacert", ca_path]);
    service
        .until("polling", |heard| heard.iter().any(|one| one.is_poll()))
        .await;
    *config.lock().unwrap() = Arc::new(second);
    service.forget();
    connections.store(0, std::sync::atomic::Ordering::Relaxed);
    tokio::time::sleep(WATCHED).await;
    assert_eq!(service.heard().len(), 0, "an unknown server was trusted");
    let connected = connections.load(std::sync::atomic::Ordering::Relaxed);
    assert!(
        (1..=2 * A_HANDFUL).contains(&connected),
        "{connected} connections"
    );
    std::fs::write(&ca, &second_ca).unwrap();
    service
        .until("polling", |heard| heard.iter().any(|one| one.is_poll()))
        .await;
}
