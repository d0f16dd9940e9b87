//! The other generator: the release's own `openshift-install`, taken out of the payload and run
//! where it can do no harm.
//!
//! How to reach the payload stands in the install-config: pull secret, mirrors, trusted
//! certificates. Once that is used up it stands in the installer's state.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use muster_assets::file::File;
use muster_assets::workdir::{STATE_FILE, Target};
use muster_release::{ImageRef, Release, Run};
use serde_json::{Value, json};

use super::directory::{self, Files, Made};
use super::native;
use crate::release::access::{Access, Known};

/// Where the release's installer keeps what connects its commands.
const ITS_STATE: &str = ".openshift_install_state.json";
/// Records which release's installer began here.
const BEGUN: &str = ".muster_installer.json";
/// Variables that the installer may see.
const PASSED_ON: &str = "OPENSHIFT_INSTALL_";
/// The installer got its release when it was taken out of it.
const OVERRIDE: &str = "OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE";
const PROXIES: &[&str] = &[
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// How the release's installer is fetched and run.
#[derive(Debug, Args)]
#[command(next_help_heading = "For --assets=release")]
pub struct Installer {
    /// Let the installer use the network
    #[arg(long)]
    installer_network: bool,
    /// Stop the installer after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 900)]
    installer_timeout: u64,
    #[command(flatten)]
    access: Access,
}

/// The release whose installer began in a directory, if one did.
pub fn begun(directory: &Path) -> anyhow::Result<Option<String>> {
    let Some(text) = directory::read_one(directory, BEGUN)? else {
        return Ok(None);
    };
    let begun: Value = serde_json::from_slice(&text).unwrap_or_default();
    let image = begun["release_image"].as_str().map(str::to_owned);
    image.map(Some).with_context(|| {
        format!("{BEGUN} names no release_image; name it with --release, or remove the file")
    })
}

/// Has the installer of a release make assets.
pub fn make(
    directory: &Path,
    image: &str,
    target: Target,
    how: &Installer,
) -> anyhow::Result<Made> {
    if directory::read_one(directory, STATE_FILE)?.is_some() {
        bail!(
            "Muster's own generator began in this directory, and another cannot go on with its \
             keys: finish with --assets=muster, or start with the install-config in another \
             directory"
        );
    }
    let mut top = native::TOP.to_vec();
    top.push(ITS_STATE);
    let mut folders = native::FOLDERS.to_vec();
    folders.push("cluster-api");
    let before = directory::read(directory, &top, &folders)?;
    let settings = settings(&before)?;
    let reference: ImageRef = image.parse()?;
    let client = how
        .access
        .client(Some(&Known::of_install_config(&settings)))?;
    let temporary = tempfile::Builder::new()
        .prefix("muster-release-")
        .tempdir()
        .context("making a directory for the release's installer")?;

    let runtime = tokio::runtime::Runtime::new()?;
    let (after, image) = runtime.block_on(async {
        let release = Release::open(&client, &reference, None).await?;
        let fips = settings["fips"] == true;
        let installer = release.installer(fips, temporary.path()).await?;
        let run = Run {
            target: word(target),
            files: before.clone(),
            environment: environment(how.installer_network),
            network: how.installer_network,
            timeout: Duration::from_secs(how.installer_timeout),
        };
        let print = |line: &str| _ = writeln!(io::stderr(), "{line}");
        let after = installer.run(&run, print).await?;
        anyhow::Ok((after, installer.image().to_string()))
    })?;
    Ok(made(&before, after, &image))
}

/// The installer's name of a target.
const fn word(target: Target) -> &'static str {
    match target {
        Target::Manifests => "manifests",
        Target::IgnitionConfigs => "ignition-configs",
        Target::SingleNodeIgnitionConfig => "single-node-ignition-config",
    }
}

/// What changed.
fn made(before: &Files, after: Files, image: &str) -> Made {
    let remove = before
        .keys()
        .filter(|path| !after.contains_key(*path))
        .cloned()
        .collect();
    let write = after
        .into_iter()
        .filter(|(path, content)| before.get(path) != Some(content))
        .map(|(path, content)| File::secret(path, content))
        .collect();
    let state = json!({ "release_image": image }).to_string();
    Made {
        write,
        state: File::secret(BEGUN, state),
        remove,
    }
}

/// The install-config, from its file or from what the installer remembers of it.
fn settings(files: &Files) -> anyhow::Result<Value> {
    if let Some(bytes) = files.get("install-config.yaml") {
        return serde_yaml_ng::from_slice(bytes).context("install-config.yaml is not YAML");
    }
    let Some(bytes) = files.get(ITS_STATE) else {
        bail!(
            "there is no install-config.yaml in this directory, and no earlier command left its \
             state; write one, or run `muster create install-config`"
        );
    };
    let state: Value =
        serde_json::from_slice(bytes).with_context(|| format!("{ITS_STATE} is not JSON"))?;
    Ok(state["*installconfig.InstallConfig"]["config"].clone())
}

fn environment(network: bool) -> Vec<(String, String)> {
    std::env::vars()
        .filter(|(name, _)| {
            (name.starts_with(PASSED_ON) && name != OVERRIDE)
                || (network && PROXIES.contains(&name.as_str()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_goes_and_what_changed_is_written() {
        let files = |rows: &[(&str, &str)]| -> Files {
            rows.iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect()
        };
        let before = files(&[("install-config.yaml", "a"), ("tls/x.key", "k"), ("a", "1")]);
        let after = files(&[("manifests/m.yaml", "m"), ("tls/x.key", "k"), ("a", "2")]);
        let made = made(&before, after, "r@sha256:0");
        let written: Vec<&str> = made.write.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(written, ["a", "manifests/m.yaml"]);
        assert_eq!(made.remove, ["install-config.yaml"]);
        assert_eq!(made.state.text(), r#"{"release_image":"r@sha256:0"}"#);
    }

    #[test]
    fn the_second_command_knows_the_registries_from_the_state_of_the_first() {
        let config = json!({
            "pullSecret": "{}",
            "imageDigestSources": [{"source": "a.example/b", "mirrors": ["c.example/d"]}],
        });
        let state = json!({"*installconfig.InstallConfig": {"config": config}});
        let files = Files::from([(ITS_STATE.to_owned(), state.to_string().into_bytes())]);
        let known = Known::of_install_config(&settings(&files).expect("is JSON"));
        assert_eq!(known.pull_secret.as_deref(), Some("{}"));
        assert!(
            known
                .mirrors
                .is_some_and(|text| text.contains("c.example/d"))
        );
        let error = settings(&Files::new()).expect_err("nothing there");
        assert!(
            error.to_string().contains("no install-config.yaml"),
            "{error}"
        );
    }
}
