//! One real `muster serve` with TLS on the office network of the room, and what it thinks.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use reqwest::{Certificate, Client, Method};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{program::Background, room::Room};

/// Where the service is; hosts reach it over a network that is not the cluster's.
pub const ADDRESS: &str = "10.99.0.1";
const PORT: u16 = 8090;
/// A release that the catalogue knows.
const VERSION: &str = "4.20";
/// Longer than anything here takes, even on a machine with other things to do.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Agents come often. None may touch this machine's disks, whatever happens in a story.
const SETTINGS: &[&str] = &[
    "timeouts.poll_interval=2s",
    "timeouts.host_disconnection=12s",
    "features.upgrade_agent=false",
    "images.fetch=never",
    "cluster.disabled_steps=installation-disk-speed-check,install",
];

/// A service; it may be away for a while.
#[derive(Debug)]
pub struct Service {
    process: Option<Background>,
    words: Vec<String>,
    log: PathBuf,
    runtime: Runtime,
    client: Client,
    data: PathBuf,
    /// What agents trust.
    trusted: PathBuf,
}

/// The program beside the agent.
fn muster() -> PathBuf {
    let path = Path::new(env!("CARGO_BIN_EXE_muster-agent")).with_file_name("muster");
    let hint = "is missing; `cargo build -p muster-cli` makes it";
    assert!(path.exists(), "{} {hint}", path.display());
    path
}

impl Service {
    /// Starts it in the room; the office network must be there.
    pub fn start(room: &Room, settings: &[String]) -> Self {
        let data = room.file("data");
        let listen = format!("{ADDRESS}:{PORT}");
        let place = data.display().to_string();
        let mut words = vec!["serve", "--auth", "none", "--listen", &listen];
        words.extend(["--data-dir", &place]);
        let all = SETTINGS.iter().copied();
        for setting in all.chain(settings.iter().map(String::as_str)) {
            words.extend(["--set", setting]);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime on this thread, which is in the room");
        let mut service = Self {
            process: None,
            words: words.into_iter().map(str::to_owned).collect(),
            log: room.file("muster.log"),
            runtime,
            client: Client::new(),
            data,
            trusted: room.file("ca.crt"),
        };
        service.come_back();
        service.renew_trust();
        service
    }

    /// Goes away as in a power cut.
    pub fn go_away(&mut self) {
        self.process = None;
    }

    /// Starts, or starts again.
    pub fn come_back(&mut self) {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let mut process = Background::start(&[], &muster(), &words, self.log.clone());
        let begun = Instant::now();
        self.client = loop {
            process.must_live();
            if let Some(client) = trusting(&self.data)
                && let Ok(answer) = self
                    .runtime
                    .block_on(async { client.get(url("/ready")).send().await })
                && answer.status().is_success()
            {
                break client;
            }
            assert!(begun.elapsed() < TIMEOUT, "{}", process.last_words());
            thread::sleep(Duration::from_millis(100));
        };
        self.process = Some(process);
    }

    /// Forgets its certificate and its CA: it will come back with others.
    pub fn lose_its_keys(&self) {
        fs::remove_dir_all(self.data.join("tls")).expect("the service is away");
    }

    /// Hands its present CA to the agents.
    pub fn renew_trust(&self) {
        fs::copy(ca(&self.data), &self.trusted).expect("the service has a CA");
    }

    /// Where agents find it.
    pub fn url(&self) -> String {
        url("")
    }

    /// The file with the CA that agents trust.
    pub fn ca(&self) -> String {
        self.trusted.display().to_string()
    }

    /// The end of its log.
    pub fn last_words(&self) -> String {
        let process = self.process.as_ref();
        process.map_or_else(String::new, Background::last_words)
    }

    /// One call, which must succeed.
    pub fn call(&self, method: Method, path: &str, body: &Value) -> Value {
        self.ask(method, path, body)
            .unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// The same; what was refused is returned.
    pub fn ask(&self, method: Method, path: &str, body: &Value) -> Result<Value, String> {
        let address = url(&format!("/api/assisted-install/v2{path}"));
        let mut request = self.client.request(method, address);
        if !body.is_null() {
            request = request.json(body);
        }
        self.runtime.block_on(async {
            let answer = request.send().await.expect("the service answers");
            let status = answer.status();
            let text = answer.text().await.expect("an answer has a body");
            match status.is_success() {
                true => Ok(serde_json::from_str(&text).unwrap_or(Value::Null)),
                false => Err(format!("{path}: {status}: {text}")),
            }
        })
    }

    /// Registers a cluster with these fields besides the usual ones; its id.
    pub fn cluster(&self, fields: &Value) -> String {
        let mut body = json!({
            "name": "wires", "openshift_version": VERSION, "pull_secret": pull_secret(),
            "base_dns_domain": "example.com",
        });
        if let (Some(body), Some(fields)) = (body.as_object_mut(), fields.as_object()) {
            body.extend(fields.clone());
        }
        id(&self.call(Method::POST, "/clusters", &body))
    }

    /// Registers the infra-env of a cluster; its id.
    pub fn infra_env(&self, cluster: &str) -> String {
        let body = json!({
            "name": "wires", "openshift_version": VERSION, "pull_secret": pull_secret(),
            "cluster_id": cluster,
        });
        id(&self.call(Method::POST, "/infra-envs", &body))
    }
}

fn url(path: &str) -> String {
    format!("https://{ADDRESS}:{PORT}{path}")
}

fn ca(data: &Path) -> PathBuf {
    data.join("tls/ca.crt")
}

fn trusting(data: &Path) -> Option<Client> {
    let authority = fs::read(ca(data)).ok()?;
    let authority = Certificate::from_pem(&authority).ok()?;
    let client = Client::builder().no_proxy().add_root_certificate(authority);
    client.timeout(Duration::from_secs(30)).build().ok()
}

fn id(record: &Value) -> String {
    record["id"]
        .as_str()
        .expect("a record has an id")
        .to_owned()
}

fn pull_secret() -> String {
    let key = json!({"auth": "dXNlcjpwYXNzd29yZA=="});
    json!({"auths": {
        "cloud.openshift.com": key, "quay.io": key, "registry.redhat.io": key,
        "registry.connect.redhat.com": key,
    }})
    .to_string()
}
