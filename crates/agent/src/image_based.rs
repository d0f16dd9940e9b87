//! `muster-agent image-based-install`: prepares this machine from a seed image, in the live system of
//! a factory.
//!
//! [`muster_installer::image_based`] decides and acts on the machine. Here are the parts that talk to
//! the outside: the seed out of its registry ([`Registry`]), progress on the console and to a URL.

use std::{
    fs, io,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use clap::Args;
use muster_installer::image_based::{
    config::Configuration,
    plan::steps,
    progress::Event,
    run::{Around, Fetch, TAR_OPTIONS, install},
};
use muster_machine::Machine;
use muster_release::{
    Client, ImageRef, Limits, Mirror, Mirrors, Platform, Progress, PullSecret, Rule, Serves,
    Settings, Source, Visitor,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Seeds are large: far more than any layer of a release.
const LARGEST_LAYER: u64 = 64 << 30;
/// How often bytes are reported.
const EVERY: Duration = Duration::from_secs(5);
/// How long the last report may take to be delivered.
const DELIVERY: Duration = Duration::from_secs(10);

/// What to prepare this machine from.
#[derive(Debug, Args)]
pub struct ImageBasedOptions {
    /// What to install, as `muster image-based create image` wrote it
    #[arg(
        short = 'f',
        long,
        value_name = "FILE",
        env = "IBI_CONFIGURATION_FILE",
        default_value = "/var/tmp/ibi-configuration.json"
    )]
    configuration_file: PathBuf,
    /// Credentials of registries
    #[arg(
        long,
        value_name = "FILE",
        env = "PULL_SECRET_FILE",
        default_value = "/var/tmp/pull-secret.json"
    )]
    pull_secret_file: PathBuf,
    /// Script to run when everything else is done, if it is there
    #[arg(long, value_name = "FILE", default_value = "/var/tmp/post.sh")]
    post_script: PathBuf,
    /// Mirrors of registries, if the file is there
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/containers/registries.conf"
    )]
    registries: PathBuf,
    /// Certificates to trust besides those of the system, if the file is there
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/pki/ca-trust/source/anchors/additional-trust-bundle.pem"
    )]
    trust: PathBuf,
    /// Print the steps and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Prepares the machine.
///
/// # Errors
/// Why it is not ready; running it again goes on.
pub async fn run(
    options: ImageBasedOptions,
    machine: Arc<dyn Machine>,
) -> anyhow::Result<ExitCode> {
    let file = &options.configuration_file;
    let text = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let config = Configuration::read(&text).map_err(anyhow::Error::msg)?;
    if options.dry_run {
        for step in steps(&config, options.post_script.exists()) {
            writeln!(io::stdout(), "{}", step.about())?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let posting = tokio::spawn(post(config.progress_url.clone(), receiver));
    let installing = tokio::task::spawn_blocking(move || {
        let console = Console::new(sender, sender_of(&*machine));
        let around = Around {
            seeds: &Registry { options: &options },
            pull_secret: options.pull_secret_file.clone(),
            post_script: options.post_script.clone(),
            report: &|event| console.show(event),
            sleep: &thread::sleep,
        };
        install(&*machine, &text, &around)
    });
    let ended = installing
        .await
        .context("the installation was interrupted")?;
    // What was reported last is still on its way.
    let _ = tokio::time::timeout(DELIVERY, posting).await;
    ended.map_err(anyhow::Error::msg)?;
    Ok(ExitCode::SUCCESS)
}

/// Reports progress: lines on the console, and everything to the server that was named.
struct Console {
    posted: mpsc::UnboundedSender<Posted>,
    /// Which machine this is.
    machine: Value,
    meter: Mutex<Meter>,
}

/// What is posted, and who waits until that is done.
struct Posted {
    event: Value,
    done: Option<std::sync::mpsc::Sender<()>>,
}

/// What a machine is called on its case: receivers hear from all machines of a factory.
fn sender_of(machine: &dyn Machine) -> Value {
    let read = |name: &str| {
        let text = machine.text(format!("/sys/class/dmi/id/{name}"));
        text.map(|text| text.trim().to_owned())
    };
    json!({ "serial": read("product_serial"), "uuid": read("product_uuid") })
}

#[derive(Default)]
struct Meter {
    last: Option<(Instant, u64)>,
}

impl Console {
    fn new(posted: mpsc::UnboundedSender<Posted>, machine: Value) -> Self {
        Self {
            posted,
            machine,
            meter: Mutex::default(),
        }
    }

    fn show(&self, event: &Event) {
        let mut rate = None;
        if let Event::Bytes { done, total, .. } = event {
            let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
            let now = Instant::now();
            match meter.last {
                Some((at, _)) if now.duration_since(at) < EVERY && done < total => return,
                Some((at, before)) => {
                    let seconds = now.duration_since(at).as_secs_f64().max(0.001);
                    rate = Some(done.saturating_sub(before) as f64 / seconds);
                }
                None => {}
            }
            meter.last = Some((now, *done));
        }
        let line = match rate {
            Some(rate) => format!("{event}, {:.1} MiB/s", rate / f64::from(1 << 20)),
            None => event.to_string(),
        };
        // A console that takes nothing is no reason to stop.
        let _ = writeln!(io::stdout(), "image-based-install: {line}");
        let mut value = json!({ "machine": self.machine, "event": event, "message": line });
        if let Some(rate) = rate {
            value["bytesPerSecond"] = json!(rate as u64);
        }
        let is_last = *event == Event::Complete;
        let (done, delivered) = std::sync::mpsc::channel();
        let _ = self.posted.send(Posted {
            event: value,
            done: is_last.then_some(done),
        });
        if is_last {
            // The machine may be switched off next.
            let _ = delivered.recv_timeout(DELIVERY);
        }
    }
}

/// Posts events, one after the other; a receiver that is away misses them.
async fn post(url: String, mut events: mpsc::UnboundedReceiver<Posted>) {
    let client = reqwest::Client::builder()
        .dns_resolver(muster_names::for_http())
        .timeout(Duration::from_secs(5))
        .build()
        .ok()
        .filter(|_| !url.is_empty());
    while let Some(Posted { event, done }) = events.recv().await {
        if let Some(client) = &client
            && let Err(cause) = client.post(&url).json(&event).send().await
        {
            tracing::debug!("progress was not delivered: {cause}");
        }
        // Dropped, so that the sender goes on.
        drop(done);
    }
}

/// Seeds out of their registry.
#[derive(Debug)]
pub struct Registry<'a> {
    /// How to reach it.
    pub options: &'a ImageBasedOptions,
}

impl Registry<'_> {
    fn client(&self) -> Result<Client, muster_release::Error> {
        let mut settings = Settings {
            pull_secret: PullSecret::read(&self.options.pull_secret_file)?,
            limits: Limits {
                layer: LARGEST_LAYER,
                ..Limits::default()
            },
            ..Settings::default()
        };
        if let Ok(text) = fs::read_to_string(&self.options.registries) {
            settings.mirrors = Mirrors::of(mirror_rules(&text))?;
        }
        if self.options.trust.exists() {
            settings.trust_file(&self.options.trust)?;
        }
        Client::new(settings)
    }
}

impl Fetch for Registry<'_> {
    fn fetch(
        &self,
        image: &str,
        into: &Path,
        tar: &str,
        report: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<(), String> {
        let reference = image
            .parse::<ImageRef>()
            .map_err(|cause| format!("{image}: {cause}"))?;
        let client = self.client().map_err(|cause| cause.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|cause| cause.to_string())?;
        let seen: Arc<Mutex<(u64, u64)>> = Arc::default();
        let watched = {
            let seen = Arc::clone(&seen);
            client.watched(move |progress| {
                if let Progress::Layer { done, total, .. } = progress {
                    *seen.lock().unwrap_or_else(PoisonError::into_inner) = (done, total);
                }
            })
        };
        let visitor = Unpack {
            into: into.to_owned(),
            tar: tar.to_owned(),
        };
        runtime.block_on(async {
            let found = watched.image(&reference, Platform::Any).await;
            let found = found.map_err(|cause| format!("{image}: {cause:#}"))?;
            let visit = found.visit(visitor);
            tokio::pin!(visit);
            let mut tick = tokio::time::interval(Duration::from_secs(1));
            let visited = loop {
                tokio::select! {
                    visited = &mut visit => break visited,
                    _ = tick.tick() => {
                        let (done, total) = *seen.lock().unwrap_or_else(PoisonError::into_inner);
                        if total > 0 {
                            report(done, total);
                        }
                    }
                }
            };
            report(found.size(), found.size());
            visited
                .map(drop)
                .map_err(|cause| format!("{image}: {cause:#}"))
        })
    }
}

/// Mirrors of a `registries.conf`, as the desk writes it: one member per line. A whole parser of its
/// language would weigh more in every boot image than all of this module.
fn mirror_rules(text: &str) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut in_mirror = false;
    for line in text.lines().map(str::trim) {
        match line {
            "[[registry]]" => {
                in_mirror = false;
                rules.push(Rule {
                    prefix: String::new(),
                    location: None,
                    mirrors: Vec::new(),
                    source: Source::Allowed,
                    insecure: false,
                });
                continue;
            }
            "[[registry.mirror]]" => {
                in_mirror = true;
                continue;
            }
            _ => {}
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim().trim_matches('"').to_owned());
        let Some(rule) = rules.last_mut() else {
            continue;
        };
        match (key, in_mirror) {
            ("location", true) => rule.mirrors.push(Mirror {
                location: value,
                insecure: false,
                serves: Serves::Digests,
            }),
            ("location", false) => rule.prefix = value,
            ("blocked", false) if value == "true" => rule.source = Source::Forbidden,
            _ => {}
        }
    }
    rules.retain(|rule| !rule.prefix.is_empty() && !rule.mirrors.is_empty());
    rules
}

/// Puts the files at the root of a seed into a folder, its object store unpacked.
struct Unpack {
    into: PathBuf,
    tar: String,
}

impl Visitor for Unpack {
    fn begin(&mut self, layer: usize) -> io::Result<()> {
        if layer == 0 {
            // What came of an attempt before may be cut short.
            fs::remove_dir_all(&self.into).or_else(|cause| match cause.kind() {
                io::ErrorKind::NotFound => Ok(()),
                _ => Err(cause),
            })?;
        }
        fs::create_dir_all(&self.into)
    }

    fn file(&mut self, path: &str, _: u64, content: &mut dyn io::Read) -> io::Result<()> {
        match path {
            "ostree.tgz" => self.unpack(content),
            // It came to install the machine, which is done by this program.
            "lca-cli" => Ok(()),
            path if path.contains('/') => Ok(()),
            path => {
                let mut file = fs::File::create(self.into.join(path))?;
                io::copy(content, &mut file)?;
                file.sync_all()
            }
        }
    }
}

impl Unpack {
    /// Has tar unpack the object store while it arrives.
    fn unpack(&self, content: &mut dyn io::Read) -> io::Result<()> {
        let store = self.into.join("ostree");
        fs::create_dir_all(&store)?;
        let mut tar = Command::new(&self.tar)
            .args(["-xzf", "-", "-C"])
            .arg(&store)
            .args(TAR_OPTIONS)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let copied = match tar.stdin.take() {
            Some(mut input) => io::copy(content, &mut input).map(drop),
            None => Ok(()),
        };
        let ended = tar.wait_with_output()?;
        if !ended.status.success() {
            let words = String::from_utf8_lossy(&ended.stderr);
            let words: String = words.trim().chars().take(400).collect();
            return Err(io::Error::other(format!("tar failed: {words}")));
        }
        copied
    }
}

#[cfg(test)]
mod tests {
    use muster_installer::image_based::plan::Step;
    use muster_machine::{Simulated, Tree};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    #[test]
    fn mirrors_are_read_as_the_desk_writes_them() {
        let text = "short-name-mode = \"\"\n\n[[registry]]\nlocation = \"quay.io/a\"\nprefix = \"\"\n\
                    mirror-by-digest-only = true\nblocked = true\n\n[[registry.mirror]]\n\
                    location = \"lab:5000/a\"\n\n[[registry]]\nlocation = \"quay.io/b\"\n";
        let rules = mirror_rules(text);
        assert_eq!(rules.len(), 1, "one without mirrors is left out");
        assert_eq!(
            (&*rules[0].prefix, rules[0].source),
            ("quay.io/a", Source::Forbidden)
        );
        assert_eq!(rules[0].mirrors[0].location, "lab:5000/a");
        assert!(Mirrors::of(rules).is_ok());
        assert!(mirror_rules("unqualified-search-registries = []").is_empty());
    }

    /// Bodies of requests, each answered; the second connection is broken off.
    async fn receive(listener: TcpListener, count: usize) -> Vec<Value> {
        let mut bodies = Vec::new();
        for number in 0..=count {
            let (mut stream, _) = listener.accept().await.unwrap();
            if number == 1 {
                continue;
            }
            let mut text = Vec::new();
            let body = loop {
                stream.read_buf(&mut text).await.unwrap();
                let text = String::from_utf8_lossy(&text).into_owned();
                if let Some((head, body)) = text.split_once("\r\n\r\n") {
                    let head = head.to_lowercase();
                    let length = head.split("content-length: ").nth(1).unwrap();
                    let length: usize = length.lines().next().unwrap().parse().unwrap();
                    if body.len() == length {
                        assert!(head.starts_with("post /p http/1.1"), "{head}");
                        break body.to_owned();
                    }
                }
            };
            bodies.push(serde_json::from_str(&body).unwrap());
            let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
            stream.write_all(answer).await.unwrap();
        }
        bodies
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn receivers_get_events_with_the_machine_they_come_from_and_the_last_one_in_time() {
        let machine = Simulated::new(Tree::default());
        machine.change(|tree| tree.line("/sys/class/dmi/id/product_serial", "SN-7"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/p", listener.local_addr().unwrap());
        let receiving = tokio::spawn(receive(listener, 4));
        let (sender, receiver) = mpsc::unbounded_channel();
        let posting = tokio::spawn(post(url, receiver));
        let shown = tokio::task::spawn_blocking(move || {
            let console = Console::new(sender, sender_of(&machine));
            let step = Step::FetchSeed;
            console.show(&Event::Started { step });
            // Lost: the receiver was away for a moment.
            console.show(&Event::Finished { step });
            for done in [1 << 20, 2 << 20, 8 << 20] {
                let total = 8 << 20;
                console.show(&Event::Bytes { step, done, total });
            }
            console.show(&Event::Complete);
            console
        });
        // It is delivered before the machine goes down, not only when everything is over.
        let console = shown.await.unwrap();
        let bodies = receiving.await.unwrap();
        drop(console);
        posting.await.unwrap();
        assert!(
            bodies
                .iter()
                .all(|body| body["machine"]["serial"] == "SN-7")
        );
        let states: Vec<&Value> = bodies.iter().map(|body| &body["event"]["state"]).collect();
        assert_eq!(states, ["started", "bytes", "bytes", "complete"]);
        assert_eq!(bodies[0]["event"]["step"], "fetch-seed");
        assert_eq!(
            bodies[2]["event"]["done"],
            8 << 20,
            "the second is too soon"
        );
        assert!(bodies[2]["bytesPerSecond"].as_u64().unwrap() > 0);
        let message = bodies[2]["message"].as_str().unwrap();
        assert!(message.ends_with(" MiB/s"), "{message}");
    }
}
