//! `muster create manifests | ignition-configs | single-node-ignition-config`: reads a directory,
//! has [`muster_assets::workdir`] decide, and writes the directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use muster_assets::file::File;
use muster_assets::install_config::FipsHost;
use muster_assets::plan::Extras;
use muster_assets::profiles::Release;
use muster_assets::workdir::{Outcome, Request, STATE_FILE, State, Target, WorkdirError, run};
use muster_catalog::{Arch, ReleaseCatalog};

use crate::diagnostics;

/// Files of later commands that an earlier one may find.
const TOP: &[&str] = &[
    "install-config.yaml",
    "master.ign",
    "worker.ign",
    "arbiter.ign",
];
/// Directories whose files count.
const FOLDERS: &[&str] = &["manifests", "openshift", "tls"];

/// What to make assets from.
#[derive(Debug, Args)]
#[command(disable_version_flag = true)]
pub struct Assets {
    /// Directory with the install-config; the assets go there
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Release to install, by digest in disconnected networks [default: as the last command, or
    /// the newest of the catalogue]
    #[arg(
        long,
        value_name = "IMAGE",
        env = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE"
    )]
    release_image: Option<String>,
    /// Its version, as 4.20.3, if the image's tag does not tell
    #[arg(long, value_name = "VERSION")]
    release_version: Option<String>,
    /// Throw edited manifests away where install-config.yaml was changed after them
    #[arg(long)]
    force: bool,
    /// Who makes the assets: muster, or the release's own openshift-install
    #[arg(long, value_name = "GENERATOR", default_value = "muster")]
    assets: String,
    /// Derive every key from this number instead of chance: for tests only, anybody can guess them
    #[arg(long, value_name = "NUMBER", hide = true)]
    insecure_seed: Option<u64>,
}

/// Makes the assets; the text says what there is now.
pub fn create(assets: &Assets, target: Target) -> anyhow::Result<String> {
    if assets.assets != "muster" {
        bail!(
            "--assets={} is not part of this build: run the release's own openshift-install for \
             releases Muster has no profile for",
            assets.assets
        );
    }
    let directory = &assets.dir;
    let on_disk = read(directory)?;
    let state = read_state(directory)?;
    let release = release(assets, state.as_ref())?;
    let mut seed = [0; 32];
    match assets.insecure_seed {
        Some(number) => seed[..8].copy_from_slice(&number.to_be_bytes()),
        None => rand::fill(&mut seed),
    }
    let invoker = variable("OPENSHIFT_INSTALL_INVOKER").unwrap_or_default();
    let request = Request {
        target,
        on_disk,
        state,
        release,
        fresh_seed: seed,
        now: now()?,
        lenient: !invoker.is_empty(),
        fips_host: fips_host(),
        force: assets.force,
        load_certificates: variable("OPENSHIFT_INSTALL_LOAD_CLUSTER_CERTS").as_deref()
            == Some("true"),
        extras: Extras {
            invoker,
            bootstrap_node_ip: variable("OPENSHIFT_INSTALL_BOOTSTRAP_NODE_IP")
                .and_then(|ip| ip.parse().ok()),
            cluster_profile: variable("OPENSHIFT_INSTALL_EXPERIMENTAL_CLUSTER_PROFILE"),
            unmanaged_image_policy: variable("OPENSHIFT_INSTALL_EXPERIMENTAL_DISABLE_IMAGE_POLICY")
                .is_some(),
            ..Extras::default()
        },
        lookup: &lookup,
    };
    let outcome = run(&request).map_err(|error| match error {
        WorkdirError::InstallConfig(report) => {
            diagnostics::show(&report);
            anyhow!("the install-config cannot be used")
        }
        other => anyhow!(other),
    })?;
    apply(directory, &outcome)?;
    for line in outcome.notes.iter().map(String::as_str) {
        let _ = writeln!(io::stderr(), "note: {line}");
    }
    if let Some(report) = &outcome.report {
        diagnostics::show(report);
    }
    let mut shown: Vec<&str> = outcome
        .write
        .iter()
        .map(|file| match file.path.split_once('/') {
            Some((folder @ ("manifests" | "openshift"), _)) => folder,
            _ => file.path.as_str(),
        })
        .collect();
    shown.dedup();
    Ok(format!(
        "created in {}: {}",
        directory.display(),
        shown.join(" ")
    ))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn now() -> anyhow::Result<jiff::Timestamp> {
    // Certificates know no fractions of a second.
    let second = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(second).context("the clock is far off")
}

fn fips_host() -> FipsHost {
    let enabled = fs::read_to_string("/proc/sys/crypto/fips_enabled");
    if enabled.is_ok_and(|text| text.trim() == "1") {
        FipsHost::Yes
    } else if variable("OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION").is_some() {
        FipsHost::Bypassed
    } else {
        FipsHost::No
    }
}

fn lookup(name: &str) -> Option<IpAddr> {
    let mut found = (name, 0).to_socket_addrs().ok()?;
    found.next().map(|address| address.ip())
}

/// The release asked for; nothing if the state knows it.
fn release(assets: &Assets, state: Option<&State>) -> anyhow::Result<Option<Release>> {
    let catalogue = ReleaseCatalog::embedded();
    if let Some(image) = &assets.release_image {
        let known = catalogue
            .by_url(image)
            .map(|known| known.version.to_string());
        let version = assets
            .release_version
            .clone()
            .or(known)
            .or_else(|| version_in_tag(image));
        let Some(version) = version else {
            bail!("the version of {image} is not known; name it with --release-version");
        };
        return Ok(Some(Release {
            version,
            image: image.clone(),
        }));
    }
    if let Some(version) = &assets.release_version {
        let found = catalogue
            .resolve(version, Arch::X86_64)
            .with_context(|| format!("name the image of release {version} with --release-image"))?;
        return Ok(Some(Release {
            version: found.version.to_string(),
            image: found.url.clone(),
        }));
    }
    if state.is_some() {
        return Ok(None);
    }
    let newest = catalogue.recommended(Arch::X86_64);
    Ok(newest.map(|found| Release {
        version: found.version.to_string(),
        image: found.url.clone(),
    }))
}

/// `4.20.3` of `quay.io/x/ocp-release:4.20.3-x86_64`.
fn version_in_tag(image: &str) -> Option<String> {
    let (image, _digest) = image.split_once('@').unwrap_or((image, ""));
    let (_, tag) = image.rsplit_once('/')?.1.split_once(':')?;
    let architectures = ["-x86_64", "-aarch64", "-ppc64le", "-s390x", "-multi"];
    let version = architectures
        .iter()
        .find_map(|arch| tag.strip_suffix(arch))
        .unwrap_or(tag);
    version
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| version.to_owned())
}

fn read(directory: &Path) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut take = |relative: String, path: &Path| -> anyhow::Result<()> {
        match fs::read(path) {
            Ok(content) => {
                files.insert(relative, content);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).with_context(|| format!("{} cannot be read", path.display())),
        }
    };
    for name in TOP {
        take((*name).to_owned(), &directory.join(name))?;
    }
    for folder in FOLDERS {
        let path = directory.join(folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error).context(format!("{} cannot be read", path.display())),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_file() {
                take(format!("{folder}/{name}"), &entry.path())?;
            }
        }
    }
    Ok(files)
}

fn read_state(directory: &Path) -> anyhow::Result<Option<State>> {
    match fs::read_to_string(directory.join(STATE_FILE)) {
        Ok(text) => Ok(Some(State::from_text(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).context(format!("{STATE_FILE} cannot be read")),
    }
}

/// Writes everything, then the state, and only then takes away what was used up: whatever
/// interrupts this, the command can be run again.
fn apply(directory: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    for file in &outcome.write {
        write(directory, file, 0o640)?;
    }
    let state = File::secret(STATE_FILE, outcome.state.to_text());
    write(directory, &state, 0o600)?;
    for path in &outcome.remove {
        let path = directory.join(path);
        fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    for folder in ["manifests", "openshift"] {
        // Fails where the user has files of their own in it, which is as it should be.
        let _ = fs::remove_dir(directory.join(folder));
    }
    Ok(())
}

fn write(directory: &Path, file: &File, mode: u32) -> anyhow::Result<()> {
    let path = directory.join(&file.path);
    let cannot = || format!("{} cannot be written", path.display());
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o750)
            .create(folder)
            .with_context(cannot)?;
    }
    let part = path.with_extension("part");
    let mut options = fs::OpenOptions::new();
    let mut out = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(&part)
        .with_context(cannot)?;
    out.write_all(&file.content)
        .and_then(|()| out.sync_all())
        .with_context(cannot)?;
    fs::rename(&part, &path).with_context(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_tags() {
        let version = |image| version_in_tag(image).unwrap_or_default();
        assert_eq!(version("quay.io/x/ocp-release:4.20.3-x86_64"), "4.20.3");
        assert_eq!(
            version("quay.io/okd/scos-release:4.20.0-okd-scos.1"),
            "4.20.0-okd-scos.1"
        );
        assert_eq!(version("localhost:5000/x@sha256:00"), "");
        assert_eq!(version("quay.io/x/release:latest"), "");
    }
}
