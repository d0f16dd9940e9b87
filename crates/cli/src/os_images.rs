//! `muster os-images`: the OS images from which boot images are made.
//!
//! Works on the data directory of a service, which may be running: it sees new images at once.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use muster_boot_images::{
    agents::Agents,
    base::{BaseImages, Origin, State},
    catalogue,
    fetch::Downloads,
    inspect,
};
use muster_catalog::{OsImage, OsImages as Catalogue, ReleaseCatalog};
use muster_config::{Config, Overrides, Sources};
use muster_model::Arch;
use serde_json::json;

use crate::{
    format,
    output::{self, Printed},
    progress::Meter,
    settings,
};

/// List, add, fetch, verify or remove the OS images from which boot images are made.
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
    /// List OS images, and which of them are stored here.
    List {
        /// Only those that are stored here or being fetched.
        #[arg(long)]
        here: bool,
        #[command(flatten)]
        output: format::Output,
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
        #[command(flatten)]
        output: format::Output,
    },
    /// Fetch an OS image from its URL; goes on where an earlier fetch stopped.
    #[command(disable_version_flag = true)]
    Fetch {
        #[command(flatten)]
        image: Choice,
        /// From this URL instead of where the catalogue says.
        #[arg(long = "from", alias = "url", value_name = "URL")]
        url: Option<String>,
        /// Refuse the image unless it has this digest.
        #[arg(long, value_name = "HEX")]
        sha256: Option<String>,
        #[command(flatten)]
        output: format::Output,
    },
    /// Read the OS images that are here and compare them with their digests.
    #[command(disable_version_flag = true)]
    Verify {
        /// Only those of this version.
        #[arg(long = "release", alias = "version", value_name = "VERSION")]
        version: Option<String>,
        #[command(flatten)]
        output: format::Output,
    },
    /// Remove an OS image that is here, also one that is not fetched completely.
    #[command(disable_version_flag = true)]
    Remove {
        #[command(flatten)]
        image: Choice,
        #[command(flatten)]
        output: format::Output,
    },
}

/// Which OS image is meant.
#[derive(Debug, Args)]
struct Choice {
    /// OpenShift version, such as 4.20, or build of the operating system
    #[arg(long = "release", alias = "version", value_name = "VERSION")]
    version: String,
    /// x86_64, arm64, ppc64le or s390x
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

impl Command {
    /// Whether it changes the data directory.
    fn writes(&self) -> bool {
        match self {
            Self::Add { .. } | Self::Fetch { .. } | Self::Remove { .. } => true,
            Self::List { .. } | Self::Verify { .. } => false,
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
    if command.command.writes()
        && let Err(error) = settings::require_owner(&shelf.config.data_dir)
    {
        return output::failure(&error);
    }
    match command.command {
        Command::List { here, output } => match output.is_json() {
            true => output::json(&list_json(&shelf, here)),
            false => output::text(&list(&shelf, here)),
        },
        Command::Add {
            file,
            image,
            sha256,
            output,
        } => output::print(add(&shelf, &file, &image, sha256.as_deref()), output),
        Command::Fetch {
            image,
            url,
            sha256,
            output,
        } => output::print(fetch(&shelf, &image, url, sha256), output),
        Command::Verify { version, output } => verify(&shelf, version.as_deref(), output),
        Command::Remove { image, output } => output::print(remove(&shelf, &image), output),
    }
}

/// The live ISO of a version, fetched into the user's cache if it is not there.
pub fn of_version(version: &str, arch: Arch) -> anyhow::Result<PathBuf> {
    let shelf = cache()?;
    // A release of a version runs the operating system of its minor version.
    let choice = Choice {
        version: version.to_owned(),
        arch,
    };
    let image = choice.find(&shelf.images)?.clone();
    let fetched = fetch(&shelf, &choice, None, None)?;
    let _ = writeln!(io::stderr(), "{}", fetched.text);
    Ok(shelf.store.file(&image))
}

/// The version of the catalogue under which its OS image is known: that of the named version, else of the
/// recommended release.
pub fn version_of(named: Option<&str>, arch: Arch) -> anyhow::Result<String> {
    let shelf = cache()?;
    let version = match named {
        Some(named) => named.to_owned(),
        None => ReleaseCatalog::embedded()
            .recommended(arch)
            .with_context(|| format!("no release for {arch} is recommended; name a version"))?
            .version
            .to_string(),
    };
    let choice = Choice { version, arch };
    Ok(choice.find(&shelf.images)?.openshift_version.to_string())
}

/// The live ISO at a URL, which may end in `?sha256=`, fetched into the user's cache.
pub fn from_url(url: &str, arch: Arch) -> anyhow::Result<PathBuf> {
    let shelf = cache()?;
    let (plain, sha256) = match url.split_once("?sha256=") {
        Some((plain, digest)) => (plain, Some(digest.to_owned())),
        None => (url, None),
    };
    // The cache goes by builds, so a URL is one of its own.
    let hash = plain.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let base = shelf.images.latest(arch)?.clone();
    let image = OsImage {
        version: format!("url-{hash:016x}"),
        url: plain.to_owned(),
        sha256,
        ..base
    };
    if !matches!(shelf.store.state(&image), State::Ready(_)) {
        let fetched = fetch_one(&shelf, &image)?;
        let _ = writeln!(io::stderr(), "{}", fetched.text);
    }
    Ok(shelf.store.file(&image))
}

/// OS images in the user's cache, for commands that need no service.
fn cache() -> anyhow::Result<Shelf> {
    let folder = crate::release::access::cache_folder()
        .context("there is no home folder to keep images in; name a file with --base-iso")?;
    shelf(Some(folder.display().to_string()), None)
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
        let newest = here.max_by_key(|(image, _)| image.openshift_version.major_minor());
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
                 --release {version}` or `add` brings it"
            );
        }
        Ok(())
    }

    /// The file of the OS image of a version, if it is here.
    pub fn file(&self, version: &str, arch: Arch) -> anyhow::Result<Option<PathBuf>> {
        let choice = Choice {
            version: version.to_owned(),
            arch,
        };
        let image = choice.find(&self.0.images)?;
        let is_ready = matches!(self.0.store.state(image), State::Ready(_));
        Ok(is_ready.then(|| self.0.store.file(image)))
    }

    /// The folder of the images.
    pub fn folder(&self) -> &Path {
        self.0.store.folder()
    }

    /// Fails if no agent would go into the images.
    pub fn must_have_agent(&self) -> anyhow::Result<()> {
        let packed = Agents::find(self.agents()).payload(&Arch::X86_64.into());
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
            let mut entry = described(image);
            entry["url"] = json!(image.url);
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
) -> anyhow::Result<Printed> {
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
    Ok(summary(shelf, image, "added", &record.sha256))
}

fn fetch(
    shelf: &Shelf,
    choice: &Choice,
    url: Option<String>,
    sha256: Option<String>,
) -> anyhow::Result<Printed> {
    let mut image = choice.find(&shelf.images)?.clone();
    if let Some(digest) = &sha256
        && (digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        bail!("--sha256 must be 64 hexadecimal digits");
    }
    image.sha256 = sha256
        .map(|digest| digest.to_ascii_lowercase())
        .or(image.sha256);
    if let State::Ready(record) = shelf.store.state(&image) {
        if let Some(expected) = &image.sha256
            && *expected != record.sha256
        {
            bail!(
                "the OS image that is here has SHA-256 {}, not {expected}; `muster os-images \
                 remove --release {} --arch {}` makes room for another",
                record.sha256,
                choice.version,
                choice.arch
            );
        }
        return Ok(summary(shelf, &image, "already here", &record.sha256));
    }
    image.url = url.unwrap_or(image.url);
    fetch_one(shelf, &image)
}

fn fetch_one(shelf: &Shelf, image: &OsImage) -> anyhow::Result<Printed> {
    let downloads = Downloads::new(&shelf.config.images)?;
    let known: Vec<&OsImage> = shelf.images.iter().collect();
    let mut meter = Meter::new("fetching");
    let runtime = tokio::runtime::Runtime::new()?;
    let fetching = downloads.fetch(&shelf.store, image, &known, |done, total| {
        meter.show(done, total);
    });
    let record = runtime
        .block_on(fetching)
        .context("fetching the OS image; the same command goes on with what has arrived")?;
    meter.end();
    Ok(summary(shelf, image, "fetched", &record.sha256))
}

fn remove(shelf: &Shelf, choice: &Choice) -> anyhow::Result<Printed> {
    let image = choice.find(&shelf.images)?;
    let what = format!(
        "{} {} (OpenShift {})",
        image.version, image.cpu_architecture, image.openshift_version
    );
    match shelf.store.state(image) {
        State::Missing => bail!("{what} is not here; `muster os-images list --here` shows what is"),
        State::Fetching { active: true, .. } => {
            bail!("{what} is being fetched; stop that first")
        }
        State::Ready(_) | State::Broken { .. } | State::Fetching { .. } => {}
    }
    shelf
        .store
        .forget(image)
        .with_context(|| format!("removing {what}"))?;
    let mut json = described(image);
    json["result"] = json!("removed");
    Ok(Printed {
        text: format!("{what}: removed"),
        json,
    })
}

fn verify(shelf: &Shelf, version: Option<&str>, format: format::Output) -> ExitCode {
    let mut faults = 0;
    let mut text = String::new();
    let mut rows = Vec::new();
    for (image, state) in shown(shelf, true) {
        let asked = version.is_none_or(|version| {
            image.openshift_version.as_str() == version || image.version == version
        });
        if !asked || matches!(state, State::Fetching { .. }) {
            continue;
        }
        match shelf.store.verify(image) {
            Ok(record) => {
                let sound = summary(shelf, image, "sound", &record.sha256);
                text += &(sound.text + "\n");
                rows.push(sound.json);
            }
            Err(error) => {
                faults += 1;
                text += &format!(
                    "{} {}: broken: {error}\n",
                    image.version, image.cpu_architecture
                );
                let mut row = described(image);
                row["result"] = json!("broken");
                row["reason"] = json!(error.to_string());
                rows.push(row);
            }
        }
    }
    if text.is_empty() {
        text = "no OS images are here\n".to_owned();
    }
    let json = rows.into();
    let printed = output::print(Ok(Printed { text, json }), format);
    if faults > 0 {
        ExitCode::FAILURE
    } else {
        printed
    }
}

/// What a command did with an image.
fn summary(shelf: &Shelf, image: &OsImage, what: &str, sha256: &str) -> Printed {
    let mut json = described(image);
    json["result"] = json!(what);
    json["sha256"] = json!(sha256);
    json["file"] = json!(shelf.store.file(image));
    Printed {
        text: format!(
            "{} {} (OpenShift {}): {what}, sha256 {sha256}",
            image.version, image.cpu_architecture, image.openshift_version
        ),
        json,
    }
}

/// Which image it is, for programs.
fn described(image: &OsImage) -> serde_json::Value {
    json!({
        "openshift_version": image.openshift_version,
        "cpu_architecture": image.cpu_architecture,
        "version": image.version,
    })
}
