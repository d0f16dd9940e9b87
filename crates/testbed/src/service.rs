//! `muster serve` on a wire, seen from outside: a process, an address, a log.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use muster_vm::{
    Evidence, Network,
    program::{Background, command, eventually, last_lines, run},
};
use serde_json::{Value, json};

use crate::os::Os;

/// The OpenShift version whose OS image the stand-in plays.
pub const VERSION: &str = "4.20";
const PORT: u16 = 8090;
const CONFIG: &str = "muster.toml";
/// Who the stories are in a service where people log in.
const USER: &str = "storyteller";
const PASSWORD: &str = "once upon a time";
/// Lower than any time limit of a story; nothing here takes so long.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// For whole images, in seconds: the service may run on an emulated machine. curl takes the last that it is
/// given.
const DOWNLOAD: [&str; 2] = ["--max-time", "1200"];

/// How the service is set up.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// TLS under a CA that the service makes, users log in and agents have tokens: as a service
    /// on a network is by default. Otherwise plain HTTP and everybody may do everything.
    pub secure: bool,
    /// Listen on the address outside the wire instead of on the wire.
    pub outside: bool,
    /// Further flags of `muster serve`.
    pub flags: Vec<String>,
}

/// Requests to a service on a wire, with curl.
#[derive(Clone, Debug)]
pub struct Client {
    network_command: Vec<String>,
    url: String,
    authority: Option<PathBuf>,
    token: Option<String>,
}

impl Client {
    /// For a service with TLS and tokens.
    #[must_use]
    pub fn new(network: &Network, url: &str, authority: &Path, token: &str) -> Self {
        Self {
            network_command: words_before(network),
            url: url.trim_end_matches('/').to_owned(),
            authority: Some(authority.to_owned()),
            token: Some(token.to_owned()),
        }
    }

    fn curl(&self, arguments: &[&str]) -> Result<String> {
        let mut curl = command(&self.network_command[0]);
        curl.args(&self.network_command[1..]);
        curl.args([
            "curl",
            "--silent",
            "--show-error",
            "--noproxy",
            "*",
            "--max-time",
            "60",
        ]);
        if let Some(authority) = &self.authority {
            curl.arg("--cacert").arg(authority);
        }
        run(curl.args(arguments))
    }

    /// One request below the base path of the API; the answer must be a success.
    ///
    /// # Errors
    /// When it is none; with what the service said.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let address = format!("{}/api/assisted-install/v2{path}", self.url);
        let body = body.to_string();
        let bearer = self
            .token
            .as_ref()
            .map(|token| format!("Authorization: Bearer {token}"));
        let mut arguments = vec![
            "--request",
            method,
            "--write-out",
            "\n%{http_code}",
            &address,
        ];
        if body != "null" {
            arguments.extend([
                "--header",
                "Content-Type: application/json",
                "--data",
                &body,
            ]);
        }
        if let Some(bearer) = &bearer {
            arguments.extend(["--header", bearer]);
        }
        let answer = self.curl(&arguments)?;
        let (text, status) = answer.rsplit_once('\n').context("an answer has a status")?;
        if !status.starts_with('2') {
            bail!("{method} {path} was answered with {status}: {text}");
        }
        if text.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(text).with_context(|| format!("{method} {path}: {text}"))
    }

    /// Reads something.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn get(&self, path: &str) -> Result<Value> {
        self.call("GET", path, &Value::Null)
    }

    /// Reads a file that is not JSON.
    ///
    /// # Errors
    /// When there is none.
    pub fn text(&self, path: &str) -> Result<String> {
        let address = format!("{}/api/assisted-install/v2{path}", self.url);
        let bearer = self.token.as_ref();
        let bearer = bearer.map(|token| format!("Authorization: Bearer {token}"));
        let mut arguments = vec!["--fail", &address];
        if let Some(bearer) = &bearer {
            arguments.extend(["--header", bearer]);
        }
        self.curl(&arguments)
    }

    /// Downloads the image of an infra-env.
    ///
    /// # Errors
    /// When there is none.
    pub fn download_image(&self, infra_env: &str, to: &Path) -> Result<()> {
        let answer = self.get(&format!("/infra-envs/{infra_env}/downloads/image-url"))?;
        let address = answer["url"].as_str().context("an image has an address")?;
        let to = to.display().to_string();
        let [limit, seconds] = DOWNLOAD;
        self.curl(&["--fail", limit, seconds, "--output", &to, address])
            .map(drop)
    }

    /// Downloads a file below the base path of the API.
    ///
    /// # Errors
    /// When there is none.
    pub fn download(&self, path: &str, to: &Path) -> Result<()> {
        let address = format!("{}/api/assisted-install/v2{path}", self.url);
        let bearer = self.token.as_ref();
        let bearer = bearer.map(|token| format!("Authorization: Bearer {token}"));
        let to = to.display().to_string();
        let [limit, seconds] = DOWNLOAD;
        let mut arguments = vec!["--fail", limit, seconds, "--output", &to, &address];
        if let Some(bearer) = &bearer {
            arguments.extend(["--header", bearer]);
        }
        self.curl(&arguments).map(drop)
    }

    /// Its address for hosts and users.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The token of the login.
    #[must_use]
    pub fn token(&self) -> &str {
        self.token.as_deref().unwrap_or_default()
    }

    /// The hosts of an infra-env.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn hosts(&self, infra_env: &str) -> Result<Vec<Value>> {
        let hosts = self.get(&format!("/infra-envs/{infra_env}/hosts"))?;
        Ok(hosts.as_array().cloned().unwrap_or_default())
    }
}

/// A running `muster serve`; may be stopped and started again on the same data.
#[derive(Debug)]
pub struct Service {
    client: Client,
    setup: Setup,
    data: PathBuf,
    log: PathBuf,
    process: Mutex<Background>,
}

impl std::ops::Deref for Service {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// A program of this workspace that must have been built.
///
/// # Errors
/// When it was not.
pub fn built(name: &str) -> Result<PathBuf> {
    let path = crate::target().join(name);
    if !path.exists() {
        bail!(
            "{} is missing; `make testbed` builds it first",
            path.display()
        );
    }
    Ok(path.canonicalize()?)
}

impl Service {
    /// Starts it on a wire with the stand-in as its OS image.
    ///
    /// # Errors
    /// When it does not become ready; with the end of its log.
    pub fn start(network: &Network, evidence: &Evidence, os: &Os, setup: Setup) -> Result<Self> {
        if setup.outside {
            network.add_outside()?;
        }
        let data = evidence.file("data");
        fs::create_dir_all(&data)?;
        add_os_image(os, &data)?;
        let client = Client {
            network_command: words_before(network),
            url: url(&setup),
            authority: setup.secure.then(|| data.join("tls/ca.crt")),
            token: None,
        };
        let log = evidence.file("muster.log");
        if setup.secure {
            write_users(&data)?;
        }
        let process = launch(&client.network_command, &data, &log, &setup)?;
        let mut service = Self {
            client,
            setup,
            data,
            log,
            process: Mutex::new(process),
        };
        service.wait_ready()?;
        if service.setup.secure {
            service.log_in()?;
        }
        Ok(service)
    }

    /// Ends it as a power cut does, and starts it again.
    ///
    /// # Errors
    /// When it does not come back.
    pub fn crash_and_restart(&self) -> Result<()> {
        self.process().kill();
        let process = launch(
            &self.client.network_command,
            &self.data,
            &self.log,
            &self.setup,
        )?;
        *self.process() = process;
        self.wait_ready()
    }

    fn process(&self) -> MutexGuard<'_, Background> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_ready(&self) -> Result<()> {
        let address = format!("{}/ready", self.url());
        eventually(START_TIMEOUT, "the service to be ready", || {
            self.process().must_live(&self.log)?;
            Ok(self.curl(&["--fail", &address]).is_ok().then_some(()))
        })
        .with_context(|| last_lines(&fs::read_to_string(&self.log).unwrap_or_default(), 10))
    }

    fn log_in(&mut self) -> Result<()> {
        let body = json!({"username": USER, "password": PASSWORD}).to_string();
        let address = format!("{}/auth/token", self.url());
        let answer = self.curl(&["--fail", "--data", &body, &address])?;
        let answer: Value = serde_json::from_str(&answer)?;
        self.client.token = answer["token"].as_str().map(str::to_owned);
        self.client
            .token
            .as_ref()
            .map(drop)
            .context("logging in gives a token")
    }

    /// Registers an infra-env; `fields` are added to what each needs.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn new_infra_env(&self, name: &str, fields: &Value) -> Result<Value> {
        let body = json!({"name": name, "openshift_version": VERSION, "pull_secret": pull_secret().to_string()});
        self.call("POST", "/infra-envs", &merged(body, fields))
    }

    /// Registers a cluster; `fields` are added to what each needs.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn new_cluster(&self, name: &str, fields: &Value) -> Result<Value> {
        let body = json!({
            "name": name, "openshift_version": VERSION, "pull_secret": pull_secret().to_string(),
            "base_dns_domain": "example.com",
        });
        self.call("POST", "/clusters", &merged(body, fields))
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// The words that put a command onto a wire.
fn words_before(network: &Network) -> Vec<String> {
    let command = network.command("");
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let mut words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    // The program itself, which is none here.
    words.pop();
    words
}

fn address(setup: &Setup) -> std::net::Ipv4Addr {
    if setup.outside {
        Network::OUTSIDE
    } else {
        Network::GATEWAY
    }
}

fn url(setup: &Setup) -> String {
    let scheme = if setup.secure { "https" } else { "http" };
    format!("{scheme}://{}:{PORT}", address(setup))
}

fn launch(on: &[String], data: &Path, log: &Path, setup: &Setup) -> Result<Background> {
    let mut serve = command(&on[0]);
    serve
        .args(&on[1..])
        .arg(built("debug/muster")?)
        .arg("serve");
    serve
        .arg("--listen")
        .arg(format!("{}:{PORT}", address(setup)));
    serve
        .arg("--base-url")
        .arg(url(setup))
        .arg("--data-dir")
        .arg(data);
    serve.args(["--set", "images.fetch=never"]);
    serve
        .arg("--set")
        .arg(format!("images.agent_dir={}", agent_folder()?.display()));
    if setup.secure {
        serve.arg("--config").arg(data.join(CONFIG));
    } else {
        serve.args(["--plain-http", "--auth", "none"]);
    }
    serve.args(&setup.flags);
    Background::start("muster serve", &mut serve, log)
}

/// Puts the stand-in into a data directory as OS image of [`VERSION`].
///
/// # Errors
/// When it is refused.
pub fn add_os_image(os: &Os, data: &Path) -> Result<()> {
    let words = ["os-images", "add", "--version", VERSION, "--data-dir"];
    let mut add = command(built("debug/muster")?);
    run(add.args(words).arg(data).arg(&os.iso)).context("adding the OS image")?;
    Ok(())
}

/// The static agent that boot images carry.
///
/// # Errors
/// When it was not built.
pub fn agent() -> Result<PathBuf> {
    built("agents/x86_64/muster-agent")
}

/// The folder where the service finds that agent.
///
/// # Errors
/// When it was not built.
pub fn agent_folder() -> Result<PathBuf> {
    agent()?;
    built("agents")
}

/// A configuration with a user whose password we know.
fn write_users(data: &Path) -> Result<()> {
    let script = "printf %s \"$2\" | \"$1\" hash-password";
    let mut hash = command("sh");
    let hash = run(hash
        .args(["-c", script, "hash"])
        .arg(built("debug/muster")?)
        .arg(PASSWORD))?;
    let hash = hash.trim();
    let text = format!(
        "[[auth.users]]\nname = \"{USER}\"\npassword_hash = \"{hash}\"\nrole = \"admin\"\n"
    );
    Ok(fs::write(data.join(CONFIG), text)?)
}

/// A pull secret with an entry for what every cluster may need; it opens nothing.
#[must_use]
pub fn pull_secret() -> Value {
    // user:password
    json!({"auths": {
        "cloud.openshift.com": {"auth": "dXNlcjpwYXNzd29yZA=="},
        "quay.io": {"auth": "dXNlcjpwYXNzd29yZA=="},
        "registry.redhat.io": {"auth": "dXNlcjpwYXNzd29yZA=="},
        "registry.connect.redhat.com": {"auth": "dXNlcjpwYXNzd29yZA=="},
    }})
}

fn merged(mut body: Value, fields: &Value) -> Value {
    if let (Some(body), Some(fields)) = (body.as_object_mut(), fields.as_object()) {
        body.extend(fields.clone());
    }
    body
}
