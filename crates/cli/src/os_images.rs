//! `muster os-images`: the OS images from which boot images are made.
//!
//! Works on the data directory of a service, which may be running: it sees new images at once.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_assets::install_config::Release;
use muster_boot_images::{
    agents::Agents,
    base::{BaseImages, Origin, State},
    catalogue,
    fetch::Downloads,
    inspect,
};
use muster_catalog::{Arch, OsImage, OsImages as Catalogue};
use muster_config::{Config, Overrides, Sources};
use serde_json::json;

use crate::output;

/// List, add, fetch or verify the OS images from which boot images are made.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct OsImages {
    /// Data directory of the service
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<String>,
    /// Configuration file of the service [default: as `muster serve`]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Which OS images there are, and which of them are here.
    List {
        /// Only those that are here or on their way.
        #[arg(long)]
        here: bool,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Copy a live ISO in as the OS image of a version.
    #[command(disable_version_flag = true)]
    Add {
        /// The ISO.
        file: PathBuf,
        #[command(flatten)]
        image: Choice,
        /// Refuse the file unless it has this digest.
        #[arg(long, value_name = "HEX")]
        sha256: Option<String>,
    },
    /// Fetch an OS image from its URL; goes on where an earlier fetch stopped.
    #[command(disable_version_flag = true)]
    Fetch {
        #[command(flatten)]
        image: Choice,
        /// From here instead of where the catalogue says.
        #[arg(long)]
        url: Option<String>,
        /// Refuse the image unless it has this digest.
        #[arg(long, value_name = "HEX")]
        sha256: Option<String>,
    },
    /// Read the OS images that are here and compare them with their digests.
    #[command(disable_version_flag = true)]
    Verify {
        /// Only those of this version.
        #[arg(long)]
        version: Option<String>,
    },
}

/// Which OS image is meant.
#[derive(Debug, Args)]
struct Choice {
    /// OpenShift version, such as 4.20, or build of the operating system
    #[arg(long)]
    version: String,
    /// x86_64, aarch64, ppc64le or s390x
    #[arg(long, default_value = "x86_64")]
    arch: Arch,
}

impl Choice {
    fn find<'a>(&self, images: &'a Catalogue) -> anyhow::Result<&'a OsImage> {
        match images.named(&self.version, self.arch) {
            Some(image) => Ok(image),
            None => images.find(&self.version, self.arch).with_context(|| {
                "no such OS image in the catalogue; catalog.os_images can add it".to_owned()
            }),
        }
    }
}

struct Shelf {
    config: Config,
    images: Catalogue,
    store: BaseImages,
}

/// Runs the command.
pub fn run(command: OsImages) -> ExitCode {
    let shelf = match shelf(command.data_dir, command.config) {
        Ok(shelf) => shelf,
        Err(error) => {
            let _ = writeln!(io::stderr(), "muster: {error:#}");
            return ExitCode::from(2);
        }
    };
    match command.command {
        Command::List { here, json: true } => output::json(&list_json(&shelf, here)),
        Command::List { here, json: false } => output::text(&list(&shelf, here)),
        Command::Add {
            file,
            image,
            sha256,
        } => output::report(add(&shelf, &file, &image, sha256.as_deref())),
        Command::Fetch { image, url, sha256 } => output::report(fetch(&shelf, &image, url, sha256)),
        Command::Verify { version } => verify(&shelf, version.as_deref()),
    }
}

/// What a data directory has for boot images.
pub struct Stock(Shelf);

/// The stock of a data directory, found as `muster serve` finds it.
pub fn stock(data_dir: Option<String>, file: Option<PathBuf>) -> anyhow::Result<Stock> {
    shelf(data_dir, file).map(Stock)
}

impl Stock {
    /// The newest OpenShift version with an OS image for x86_64 here.
    pub fn newest(&self) -> Option<String> {
        let here = shown(&self.0, true).filter(|(image, state)| {
            image.cpu_architecture == Arch::X86_64 && matches!(state, State::Ready(_))
        });
        let newest = here.max_by_key(|(image, _)| Release::parse(image.openshift_version.as_str()));
        newest.map(|(image, _)| image.openshift_version.to_string())
    }

    /// Fails if the OS image of a version is not here.
    pub fn must_have(&self, version: &str) -> anyhow::Result<()> {
        let choice = Choice {
            version: version.to_owned(),
            arch: Arch::X86_64,
        };
        let image = choice.find(&self.0.images)?;
        if !matches!(self.0.store.state(image), State::Ready(_)) {
            bail!(
                "the OS image of OpenShift {version} is not here; `muster os-images fetch \
                 --version {version}` or `add` brings it"
            );
        }
        Ok(())
    }

    /// The folder of the images.
    pub fn folder(&self) -> &Path {
        self.0.store.folder()
    }

    /// Fails if no agent would go into the images.
    pub fn must_have_agent(&self) -> anyhow::Result<()> {
        let packed = Agents::find(self.agents()).payload("x86_64");
        packed.map(drop).map_err(|why| {
            anyhow::anyhow!(
                "there is no agent for the machines: {why}; `make agents` builds it in \
                 target/agents, MUSTER_IMAGES_AGENT_DIR says where it is"
            )
        })
    }

    /// The folder of agents, if the configuration names one.
    pub fn agents(&self) -> Option<&Path> {
        self.0.config.images.agent_dir.as_deref()
    }
}

fn shelf(data_dir: Option<String>, file: Option<PathBuf>) -> anyhow::Result<Shelf> {
    let mut flags = Overrides::default();
    flags.config_file = file;
    if let Some(dir) = data_dir {
        flags = flags.set("--data-dir", "data_dir", dir);
    }
    let config = Config::load(&Sources::of_process(flags)?)?.config;
    Ok(Shelf {
        images: catalogue(&config)?,
        store: BaseImages::in_data_dir(&config.data_dir),
        config,
    })
}

fn shown(shelf: &Shelf, here: bool) -> impl Iterator<Item = (&OsImage, State)> {
    shelf
        .images
        .iter()
        .map(|image| (image, shelf.store.state(image)))
        .filter(move |(_, state)| !here || *state != State::Missing)
}

fn list(shelf: &Shelf, here: bool) -> String {
    let mut text = format!("{:<22} {:<8} {:<26} STATE\n", "OPENSHIFT", "ARCH", "BUILD");
    for (image, state) in shown(shelf, here) {
        text += &format!(
            "{:<22} {:<8} {:<26} {}\n",
            image.openshift_version.to_string(),
            image.cpu_architecture.to_string(),
            image.version,
            describe(&state)
        );
    }
    text
}

fn describe(state: &State) -> String {
    match state {
        State::Missing => "missing".to_owned(),
        State::Ready(record) => {
            let how = match record.origin {
                Origin::Added => "added",
                Origin::Fetched => "fetched",
            };
            format!("ready, {} MiB, {how}", record.size >> 20)
        }
        State::Fetching {
            done,
            total,
            active,
        } => {
            let how = if *active { "fetching" } else { "unfinished" };
            format!("{how}, {}", amount(*done, *total))
        }
        State::Broken { reason } => format!("broken: {reason}"),
    }
}

fn amount(done: u64, total: Option<u64>) -> String {
    match total {
        Some(total) if total > 0 => format!(
            "{} of {} MiB, {} %",
            done >> 20,
            total >> 20,
            done.saturating_mul(100) / total
        ),
        Some(_) | None => format!("{} MiB", done >> 20),
    }
}

fn list_json(shelf: &Shelf, here: bool) -> serde_json::Value {
    shown(shelf, here)
        .map(|(image, state)| {
            let mut entry = json!({
                "openshift_version": image.openshift_version,
                "cpu_architecture": image.cpu_architecture,
                "version": image.version,
                "url": image.url,
            });
            let state = serde_json::to_value(state).unwrap_or_default();
            if let (Some(entry), Some(state)) = (entry.as_object_mut(), state.as_object()) {
                entry.extend(state.clone());
            }
            entry
        })
        .collect()
}

fn add(
    shelf: &Shelf,
    file: &Path,
    choice: &Choice,
    sha256: Option<&str>,
) -> anyhow::Result<String> {
    let image = choice.find(&shelf.images)?;
    let live = inspect(file, image.cpu_architecture).map_err(anyhow::Error::msg)?;
    if !image.version.starts_with(&live.version) && !live.version.starts_with(&image.version) {
        let _ = writeln!(
            io::stderr(),
            "muster: the catalogue expects build {}, the label of this image says {}; \
             using it anyway",
            image.version,
            live.version
        );
    }
    let mut meter = Meter::new("copying");
    let record = shelf
        .store
        .add(image, file, sha256, |done, total| meter.show(done, total))
        .with_context(|| format!("adding {}", file.display()))?;
    meter.end();
    Ok(summary(image, "added", &record.sha256))
}

fn fetch(
    shelf: &Shelf,
    choice: &Choice,
    url: Option<String>,
    sha256: Option<String>,
) -> anyhow::Result<String> {
    let mut image = choice.find(&shelf.images)?.clone();
    if let State::Ready(record) = shelf.store.state(&image) {
        return Ok(summary(&image, "already here", &record.sha256));
    }
    if let Some(digest) = &sha256
        && (digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        bail!("--sha256 must be 64 hexadecimal digits");
    }
    image.sha256 = sha256.or(image.sha256);
    image.url = url.unwrap_or(image.url);
    let downloads = Downloads::new(&shelf.config.images)?;
    let known: Vec<&OsImage> = shelf.images.iter().collect();
    let mut meter = Meter::new("fetching");
    let runtime = tokio::runtime::Runtime::new()?;
    let fetching = downloads.fetch(&shelf.store, &image, &known, |done, total| {
        meter.show(done, total);
    });
    let record = runtime
        .block_on(fetching)
        .context("fetching the OS image; the same command goes on with what has arrived")?;
    meter.end();
    Ok(summary(&image, "fetched", &record.sha256))
}

fn verify(shelf: &Shelf, version: Option<&str>) -> ExitCode {
    let mut faults = 0;
    let mut text = String::new();
    for (image, state) in shown(shelf, true) {
        let asked = version.is_none_or(|version| {
            image.openshift_version.as_str() == version || image.version == version
        });
        if !asked || matches!(state, State::Fetching { .. }) {
            continue;
        }
        match shelf.store.verify(image) {
            Ok(record) => text += &(summary(image, "sound", &record.sha256) + "\n"),
            Err(error) => {
                faults += 1;
                text += &format!(
                    "{} {}: broken: {error}\n",
                    image.version, image.cpu_architecture
                );
            }
        }
    }
    if text.is_empty() {
        text = "no OS images are here\n".to_owned();
    }
    let printed = output::text(&text);
    if faults > 0 {
        ExitCode::FAILURE
    } else {
        printed
    }
}

fn summary(image: &OsImage, what: &str, sha256: &str) -> String {
    format!(
        "{} {} (OpenShift {}): {what}, sha256 {sha256}",
        image.version, image.cpu_architecture, image.openshift_version
    )
}

/// Progress on standard error: a line that changes on a terminal, few lines elsewhere.
struct Meter {
    what: &'static str,
    last: Instant,
    every: Duration,
    end: &'static str,
}

impl Meter {
    fn new(what: &'static str) -> Self {
        let (every, end) = match io::stderr().is_terminal() {
            true => (Duration::from_millis(200), "\r"),
            false => (Duration::from_secs(10), "\n"),
        };
        Self {
            what,
            last: Instant::now(),
            every,
            end,
        }
    }

    fn show(&mut self, done: u64, total: Option<u64>) {
        if self.last.elapsed() >= self.every {
            self.last = Instant::now();
            let _ = write!(
                io::stderr(),
                "{}: {}   {}",
                self.what,
                amount(done, total),
                self.end
            );
        }
    }

    fn end(&self) {
        if self.end == "\r" {
            let _ = writeln!(io::stderr());
        }
    }
}
