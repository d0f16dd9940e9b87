//! `muster image-based create config-images`: many sites in one run.
//!
//! Sites come as folders, each with its own files, or as rows of a table that fill the blanks of two
//! templates. Each site is made by itself: one that is wrong does not keep the others back.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

use anyhow::{Context, bail};
use clap::Args;
use muster_documents::image_based_config as site_config;
use muster_image_based::seed::SiteSeed;
use serde::Serialize;

use super::{
    Shown,
    config_image::{self, Choices, State, Work},
    directory,
    messages::Messages,
    seeds,
};
use crate::{
    agent::log::Level,
    create::FILE as INSTALL_CONFIG,
    output,
    release::access::{Access, Known},
};

const REPORT: &str = "report.json";

/// Create the configuration images of many sites at once.
#[derive(Debug, Args)]
pub struct Batch {
    /// Sites: a folder with one folder per site, or a CSV file whose columns fill the blanks
    /// `{{column}}` of install-config.yaml and image-based-config.yaml in --templates
    #[arg(long, value_name = "DIR|CSV")]
    sites: PathBuf,
    /// Folder of the two templates [default: that of the CSV file]
    #[arg(long, value_name = "DIR")]
    templates: Option<PathBuf>,
    /// Where each site gets a folder with its image and log-ins
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Sites made at the same time [default: one per processor]
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
    /// Compare every site with this seed: an image, or the seed-info.json of `create image`
    #[arg(long, value_name = "IMAGE|FILE")]
    seed: Option<String>,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    shown: Shown,
    #[command(flatten)]
    access: Access,
}

/// A site to be made.
struct Job {
    name: String,
    source: Source,
}

enum Source {
    Folder(PathBuf),
    Row {
        install_config: String,
        site_config: String,
        manifests: PathBuf,
    },
}

/// A line of the report.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    infra_id: Option<String>,
    bytes: u64,
    seconds: f64,
}

impl Batch {
    pub(super) fn messages(&self) -> Messages {
        Messages::open(&self.output, self.shown.log_level)
    }
}

/// Makes all sites.
pub fn run(batch: &Batch, messages: &Messages) -> ExitCode {
    match make_all(batch, messages) {
        Ok((text, true)) => {
            messages.ended(Level::Info, &text);
            output::text(&text)
        }
        Ok((text, false)) => {
            messages.ended(Level::Error, &text);
            output::text(&text);
            ExitCode::FAILURE
        }
        Err(error) => {
            messages.ended(Level::Error, &format!("{error:#}"));
            output::failure(&error)
        }
    }
}

fn make_all(batch: &Batch, messages: &Messages) -> anyhow::Result<(String, bool)> {
    let jobs = jobs(batch)?;
    let seed = match &batch.seed {
        Some(named) => Some(seeds::of_site(
            &batch.access,
            &Known::default(),
            named,
            messages,
        )?),
        None => {
            messages.info(
                "note: the sites were not compared with a seed; --seed names an image, or the \
                 seed-info.json of `create image`\n",
            );
            None
        }
    };
    let workers = batch
        .jobs
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
        .clamp(1, 64);
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    let rows: Mutex<Vec<Row>> = Mutex::new(Vec::with_capacity(jobs.len()));
    thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            scope.spawn(|| {
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = row(batch, job, seed.as_ref(), messages);
                    rows.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(row);
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let report = format!("{:#}\n", serde_json::to_value(&rows)?);
    directory::write(&batch.output.join(REPORT), report.as_bytes(), 0o640)?;
    let failed: Vec<&Row> = rows.iter().filter(|row| !row.ok).collect();
    let mut text = format!(
        "{} of {} sites created in {} in {:.1} s; {}\n",
        rows.len() - failed.len(),
        rows.len(),
        batch.output.display(),
        started.elapsed().as_secs_f64(),
        batch.output.join(REPORT).display(),
    );
    for row in &failed {
        let why = row.error.as_deref().unwrap_or_default();
        text.push_str(&format!("failed: {}: {why}\n", row.name));
    }
    Ok((text, failed.is_empty()))
}

fn row(batch: &Batch, job: &Job, seed: Option<&SiteSeed>, messages: &Messages) -> Row {
    let started = Instant::now();
    let made = make_one(batch, job, seed, messages);
    let seconds = started.elapsed().as_secs_f64();
    let name = job.name.clone();
    match made {
        Ok(made) => Row {
            name,
            ok: true,
            error: None,
            cluster: Some(made.cluster_name),
            cluster_id: Some(made.cluster_id),
            infra_id: Some(made.infra_id),
            bytes: made.image.len(),
            seconds,
        },
        Err(error) => Row {
            name,
            ok: false,
            error: Some(format!("{error:#}")),
            cluster: None,
            cluster_id: None,
            infra_id: None,
            bytes: 0,
            seconds,
        },
    }
}

fn make_one(
    batch: &Batch,
    job: &Job,
    seed: Option<&SiteSeed>,
    messages: &Messages,
) -> anyhow::Result<muster_image_based::site::Site> {
    let (install_config, site_config, from) = match &job.source {
        Source::Folder(folder) => (
            config_image::required(folder, INSTALL_CONFIG)?,
            config_image::required(folder, site_config::FILE)?,
            folder,
        ),
        Source::Row {
            install_config,
            site_config,
            manifests,
        } => (
            install_config.clone().into_bytes(),
            site_config.clone().into_bytes(),
            manifests,
        ),
    };
    let work = Work {
        prefix: format!("{}/", job.name),
        install_config,
        site_config,
        manifests: directory::extra_manifests(from)?,
        tls: config_image::tls(from)?,
        seed,
        choices: &batch.choices,
        messages,
    };
    let to = batch.output.join(&job.name);
    let state = State::of(&to, None)?;
    let made = config_image::make(&work, &state).map_err(super::Failure::into_error)?;
    config_image::write(&to, &made, &state)?;
    Ok(made)
}

fn jobs(batch: &Batch) -> anyhow::Result<Vec<Job>> {
    let cannot = || format!("{} cannot be read", batch.sites.display());
    let jobs = if fs::metadata(&batch.sites).with_context(cannot)?.is_dir() {
        of_folders(&batch.sites).with_context(cannot)?
    } else {
        of_table(batch)?
    };
    if jobs.is_empty() {
        bail!("{} names no site", batch.sites.display());
    }
    let mut names = HashSet::new();
    for job in &jobs {
        if !is_name(&job.name) {
            bail!(
                "`{}` cannot be the name of a site: use letters, digits, `-`, `_` and `.`",
                job.name
            );
        }
        if !names.insert(&job.name) {
            bail!("site {} is there twice", job.name);
        }
    }
    Ok(jobs)
}

/// Names become folders.
fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.len() <= 100 && !name.starts_with('.') && name.chars().all(plain)
}

fn of_folders(sites: &Path) -> anyhow::Result<Vec<Job>> {
    let mut jobs = Vec::new();
    for entry in fs::read_dir(sites)? {
        let path = entry?.path();
        if path.join(INSTALL_CONFIG).is_file() {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            jobs.push(Job {
                name,
                source: Source::Folder(path),
            });
        }
    }
    jobs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(jobs)
}

fn of_table(batch: &Batch) -> anyhow::Result<Vec<Job>> {
    let beside = batch.sites.parent().unwrap_or(Path::new(".")).to_owned();
    let templates = batch.templates.clone().unwrap_or(beside);
    let template = |name: &str| -> anyhow::Result<String> {
        String::from_utf8(config_image::required(&templates, name)?)
            .with_context(|| format!("{name} is not text"))
    };
    let (cluster, site) = (template(INSTALL_CONFIG)?, template(site_config::FILE)?);
    let text = fs::read_to_string(&batch.sites)?;
    let mut rows = table(&text)?.into_iter();
    let Some(heads) = rows.next() else {
        return Ok(Vec::new());
    };
    let mut jobs = Vec::new();
    for (number, row) in rows.enumerate() {
        if row.len() != heads.len() {
            bail!(
                "row {} of {} has {} columns, the first row {}",
                number + 2,
                batch.sites.display(),
                row.len(),
                heads.len()
            );
        }
        let values: BTreeMap<&str, &str> = heads
            .iter()
            .map(|head| head.trim())
            .zip(row.iter().map(String::as_str))
            .collect();
        let name = values.get("name").copied().unwrap_or(row[0].as_str());
        let filled = |template: &str| {
            fill(template, &values).with_context(|| format!("row {} ({name})", number + 2))
        };
        jobs.push(Job {
            name: name.to_owned(),
            source: Source::Row {
                install_config: filled(&cluster)?,
                site_config: filled(&site)?,
                manifests: templates.clone(),
            },
        });
    }
    Ok(jobs)
}

/// Fills the blanks of a template.
fn fill(template: &str, values: &BTreeMap<&str, &str>) -> anyhow::Result<String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else {
            bail!(
                "a blank is not closed: {{{{{}",
                behind.lines().next().unwrap_or_default()
            );
        };
        let Some(value) = values.get(name.trim()) else {
            bail!("there is no column `{}`", name.trim());
        };
        text.push_str(before);
        text.push_str(value);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// Rows of comma-separated values; quotes as in RFC 4180.
fn table(text: &str) -> anyhow::Result<Vec<Vec<String>>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut was_quoted) = (false, false);
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => {
                signs.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => (quoted, was_quoted) = (true, true),
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
                was_quoted = false;
            }
            sign => cell.push(sign),
        }
    }
    if quoted {
        bail!("a quote is not closed");
    }
    if !cell.is_empty() || !row.is_empty() || was_quoted {
        row.push(cell);
        rows.push(row);
    }
    rows.retain(|row: &Vec<String>| row.iter().any(|cell| !cell.trim().is_empty()));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_with_quotes_and_without_empty_rows() {
        let rows = table("name,net\r\n\na,\"1, \"\"2\"\"\nb\"\nc,\nd").unwrap();
        assert_eq!(rows[0], ["name", "net"]);
        assert_eq!(rows[1], ["a", "1, \"2\"\nb"]);
        assert_eq!(rows[2], ["c", ""]);
        assert_eq!(rows[3], ["d"]);
        assert!(table("a,\"b").is_err());
    }

    #[test]
    fn blanks_are_filled_and_unknown_ones_refused() {
        let values = BTreeMap::from([("name", "site1"), ("ip", "10.0.0.1")]);
        assert_eq!(
            fill("{{name}}: {{ ip }} {}", &values).unwrap(),
            "site1: 10.0.0.1 {}"
        );
        assert!(fill("{{other}}", &values).is_err());
        assert!(fill("{{name", &values).is_err());
    }

    #[test]
    fn names_of_sites_are_names_of_folders() {
        assert!(is_name("site-1.example"));
        for bad in ["", "..", "a/b", ".hidden", "a b"] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
