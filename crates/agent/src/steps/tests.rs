//! What the tests of the steps share, and claims about all steps together.

use std::collections::BTreeSet;

use muster_machine::Simulated;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::link::{Directions, TokenSource};

/// A context on a simulated machine, which stays at hand to be asked what it ran.
pub fn on(machine: Simulated) -> (Arc<Context>, Arc<Simulated>) {
    // As main does; a second call changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let machine = Arc::new(machine);
    let context = Context {
        machine: Arc::clone(&machine) as Arc<dyn Machine>,
        link: Arc::new(Link::new(Directions {
            url: "http://127.0.0.1:1".into(),
            cacert: None,
            insecure: false,
            token: TokenSource::default(),
        })),
        infra_env: Uuid::from_u128(1),
        host: Uuid::from_u128(2),
        program: None,
    };
    (Arc::new(context), machine)
}

/// A web server that gives every request the same answer; its URL.
pub async fn answering(status: &str, body: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

#[test]
fn every_step_a_service_hands_out_is_known_once() {
    let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.len(), KINDS.len());
    for step in muster_engine::StepType::ALL {
        let handed_out = !matches!(step.as_str(), "execute" | "next-step-runner");
        assert_eq!(names.contains(step.as_str()), handed_out, "{step}");
    }
}

/// Arguments that would do harm if any of them met a shell, a path or an option parser.
const HOSTILE: &[&str] = &[
    "",
    "; touch /tmp/pwned",
    "$(touch /tmp/pwned)",
    "`touch /tmp/pwned`",
    "--privileged",
    "-v/:/host",
    "../../../etc/shadow",
    "{\"url\":\"file:///etc/shadow\"}",
    "{\"images\":[\"--root=/\"]}",
    "{\"agent_image\":\"--root=/ x\"}",
    "{\"path\":\"/dev/../etc/passwd\"}",
    "{\"ntp_source\":\"-a;reboot\"}",
    "{\"host_fs_mount_dir\":\"/host/../etc\"}",
    "{\"interface\":\"-x\",\"api_vip_mac\":\"00:1a:4a:00:00:01\",\"ingress_vip_mac\":\"00:1a:4a:00:00:02\"}",
    "[{\"vip\":\"$(id)\",\"vip_type\":\"api\"}]",
    "[1,2,3]",
    "{",
    "null",
];

#[tokio::test]
async fn hostile_arguments_are_refused_by_every_step_and_run_no_program() {
    for kind in KINDS {
        for text in HOSTILE {
            let (context, machine) = on(Simulated::default());
            let args = vec![(*text).to_owned()];
            let outcome = perform(Arc::clone(&context), kind.name, args).await;
            assert_eq!(outcome.exit_code, -1, "{} {text:?}: {outcome:?}", kind.name);
            assert!(
                machine.ran().is_empty(),
                "{} {text:?}: {:?}",
                kind.name,
                machine.ran()
            );
        }
    }
}

#[tokio::test]
async fn unknown_steps_are_reported_and_not_obeyed() {
    for name in ["execute", "next-step-runner", "", "rm -rf /", "Inventory"] {
        let (context, machine) = on(Simulated::default());
        let outcome = perform(context, name, vec!["/bin/true".into()]).await;
        assert_eq!(outcome.exit_code, -1);
        assert!(outcome.error.contains("no step"), "{}", outcome.error);
        assert!(machine.ran().is_empty());
    }
}
