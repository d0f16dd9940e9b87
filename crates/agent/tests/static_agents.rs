//! The static programs, those of this machine natively and those of aarch64 under QEMU: each agent against a
//! real `muster serve`, and `muster serve` of aarch64 with a real agent. `make agents` builds agents and
//! runs what concerns them, `make test` builds all.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

fn target(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target")
        .join(path);
    assert!(
        path.exists(),
        "{} is missing; `make agents` builds agents, scripts/build-static all programs",
        path.display()
    );
    path
}

/// Words that run the agent of an architecture.
fn agent(architecture: &str) -> Vec<String> {
    program(architecture, &format!("agents/{architecture}/muster-agent"))
}

/// Words that run a program of an architecture.
fn program(architecture: &str, path: &str) -> Vec<String> {
    let path = target(path);
    let runner =
        (architecture != std::env::consts::ARCH).then(|| format!("qemu-{architecture}-static"));
    runner
        .into_iter()
        .chain([path.to_string_lossy().into_owned()])
        .collect()
}

fn run(words: &[String], more: &[&str]) -> std::process::Output {
    Command::new(&words[0])
        .args(&words[1..])
        .args(more)
        .output()
        .unwrap()
}

struct Service {
    child: Child,
    url: String,
    _folder: tempfile::TempDir,
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Service {
    /// Starts the service with the words that run `muster`.
    async fn start(muster: &[String]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(&muster[0])
            .args(&muster[1..])
            .args(["serve", "--plain-http", "--auth", "none"])
            .args(["--listen", &format!("127.0.0.1:{port}")])
            .arg("--data-dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let service = Self {
            child,
            url: format!("http://127.0.0.1:{port}"),
            _folder: folder,
        };
        for _ in 0..1200 {
            if reqwest::get(format!("{}/health", service.url))
                .await
                .is_ok()
            {
                return service;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("muster serve never answered");
    }

    async fn call(&self, request: reqwest::RequestBuilder) -> Value {
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{status}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    async fn infra_env(&self) -> String {
        let pull_secret = r#"{"auths":{"quay.io":{"auth":"dXNlcjpwYXNz"}}}"#;
        let body = json!({"name": "lab", "pull_secret": pull_secret, "cpu_architecture": "x86_64"});
        let url = format!("{}/api/assisted-install/v2/infra-envs", self.url);
        let made = self
            .call(reqwest::Client::new().post(url).json(&body))
            .await;
        made["id"].as_str().unwrap().to_owned()
    }

    async fn host(&self, infra_env: &str, host: &str) -> Value {
        let url = format!(
            "{}/api/assisted-install/v2/infra-envs/{infra_env}/hosts/{host}",
            self.url
        );
        self.call(reqwest::Client::new().get(url)).await
    }
}

#[test]
#[ignore = "needs the agents of a release; run by `make agents`"]
fn the_agents_of_a_release_are_small() {
    for architecture in ["x86_64", "aarch64"] {
        let agent = format!("{architecture}-unknown-linux-musl/small/muster-agent");
        let size = fs::metadata(target(&agent)).unwrap().len();
        assert!(size < 10_000_000, "{architecture}: {size} bytes");
    }
}

#[test]
#[ignore = "needs the static agents; run by `make agents`"]
fn the_agents_are_static_and_print_their_version() {
    for architecture in ["x86_64", "aarch64"] {
        let done = run(&agent(architecture), &["--version"]);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            done.status.success() && said.contains(env!("CARGO_PKG_VERSION")),
            "{said}"
        );
        let head = fs::read(target(&format!("agents/{architecture}/muster-agent"))).unwrap();
        // A program that names an interpreter is not static.
        let needle = b"/lib/ld-";
        assert!(
            !head.windows(needle.len()).any(|part| part == needle),
            "{architecture}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the static agents and muster; run by `make agents`"]
async fn each_agent_registers_polls_and_delivers_its_inventory_to_a_real_service() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let service = Service::start(&program(std::env::consts::ARCH, "debug/muster")).await;
    let infra_env = service.infra_env().await;
    for architecture in ["x86_64", "aarch64"] {
        registers(architecture, &service, &infra_env).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs static programs of aarch64; run by `make test`"]
async fn the_service_of_aarch64_accepts_an_agent() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let service = Service::start(&program("aarch64", "programs/aarch64/muster")).await;
    let infra_env = service.infra_env().await;
    registers(std::env::consts::ARCH, &service, &infra_env).await;
}

/// Runs the agent of an architecture until it has delivered its inventory.
async fn registers(architecture: &str, service: &Service, infra_env: &str) {
    let host = uuid::Uuid::new_v4().to_string();
    let words = agent(architecture);
    let mut more = vec!["--url", &service.url, "--infra-env-id", infra_env];
    more.extend(["--host-id", &host, "--once"]);
    let more: Vec<String> = more.into_iter().map(str::to_owned).collect();
    let done = tokio::task::spawn_blocking(move || {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        run(&words, &more)
    });
    let done = done.await.unwrap();
    assert!(
        done.status.success(),
        "{architecture}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let known = service.host(infra_env, &host).await;
    let inventory = known["inventory"].as_str().unwrap_or_default();
    assert!(inventory.contains("interfaces"), "{architecture}: {known}");
}
