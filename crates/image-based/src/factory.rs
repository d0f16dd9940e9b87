//! The installation image of a factory: what its live system is configured with.
//!
//! The configuration is the reference's, file by file, so that the installer inside a seed
//! (`lca-cli ibi`) can read it. Which program installs is a choice ([`LiveSide`]).

use muster_documents::{
    image_based_installation_config::InstallationConfig, install_config::types::SourcePolicy,
};
use muster_ignition::{Builder, Config, Faults, Version, file, spec, unit, user};
use serde::Serialize;

use crate::go_json;

/// Where the live system finds what to install.
pub const CONFIGURATION: &str = "/var/tmp/ibi-configuration.json";
/// Where it finds credentials of registries.
pub const PULL_SECRET: &str = "/var/tmp/pull-secret.json";
/// A script of the user, run when everything else is done.
pub const POST_SCRIPT: &str = "/var/tmp/post.sh";
/// The unit that installs.
pub const UNIT: &str = "install-rhcos-and-restore-seed.service";

const REGISTRIES: &str = "/etc/containers/registries.conf";
const TRUST: &str = "/etc/pki/ca-trust/source/anchors/additional-trust-bundle.pem";
const NETWORK: &str = "/var/tmp/network-config.yaml";
const SCRIPT: &str = "/usr/local/bin/install-rhcos-and-restore-seed.sh";

/// Which program installs the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LiveSide {
    /// `muster-agent` in the image.
    #[default]
    Muster,
    /// The installer inside the seed image.
    LcaCli,
}

/// What the live system is configured with.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The user's file.
    pub config: &'a InstallationConfig,
    /// The seed, by digest if that is known.
    pub seed_image: &'a str,
    /// A script to run at the end.
    pub post_script: Option<&'a [u8]>,
    /// Which program installs.
    pub live_side: LiveSide,
    /// Where the live system has `muster-agent`.
    pub agent: &'a str,
}

/// What the live system installs: members in the order of the reference, then ours, which the
/// seed's own installer knows or ignores.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    extra_partition_label: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    extra_partition_number: u32,
    #[serde(skip_serializing_if = "str::is_empty")]
    extra_partition_start: &'a str,
    installation_disk: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    release_registry: &'a str,
    seed_image: &'a str,
    seed_version: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    shutdown: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    skip_disk_cleanup: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    coreos_installer_args: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    precache_best_effort: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    precache_disabled: bool,
    #[serde(skip_serializing_if = "is_zero")]
    processors: u32,
    #[serde(rename = "progressURL", skip_serializing_if = "str::is_empty")]
    progress_url: &'a str,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Validates an override as the reference does: version 3.2.0 and nothing Ignition refuses.
///
/// # Errors
/// What is wrong with it.
pub fn check_override(text: &str) -> Result<(), String> {
    let config = Config::read(text).map_err(|faults| faults.to_string())?;
    match config.version() {
        Version::V3_2 => Ok(()),
        other => Err(format!("its version is {other}")),
    }
}

/// The Ignition config of the live system.
///
/// # Errors
/// The user's override cannot be laid over it.
pub fn ignition(input: &Input<'_>) -> Result<Config, Faults> {
    let config = input.config;
    let mut first = Builder::new(Version::V3_2);
    first.user(user::with_keys("core", config.ssh_key.lines()));
    if !config.image_digest_sources.is_empty() {
        first.file(file::text(REGISTRIES, 0o644, &registries(config)));
    }
    if !config.additional_trust_bundle.is_empty() {
        first.file(file::text(TRUST, 0o600, &config.additional_trust_bundle));
    }
    if let Some(script) = input.post_script {
        first.file(file::bytes(POST_SCRIPT, 0o755, script));
    }
    let mut merged = first.finish()?;
    let overlay = config.ignition_config_override.reveal();
    if !overlay.is_empty() {
        merged = merged.with(Config::read(overlay)?)?;
    }
    // What installs the machine comes last, so that an override cannot break it.
    let mut fixed = Builder::new(Version::V3_2);
    let network = config.network_yaml();
    if input.live_side == LiveSide::LcaCli {
        fixed.file(file::text(
            SCRIPT,
            0o555,
            include_str!("assets/install-rhcos-and-restore-seed.sh"),
        ));
    }
    let lines = |text: &str| format!("{text}\n");
    fixed
        .file(file::text(
            CONFIGURATION,
            0o600,
            &lines(&configuration(input)),
        ))
        .file(file::text(
            NETWORK,
            0o600,
            &lines(network.as_deref().unwrap_or_default()),
        ))
        .file(file::text(
            PULL_SECRET,
            0o600,
            &lines(config.pull_secret.reveal()),
        ))
        .unit(unit::enabled(UNIT, &install_unit(input)))
        .unit(network_unit(network.is_some()));
    merged.with(fixed.finish()?)
}

/// The content of [`CONFIGURATION`].
#[must_use]
pub fn configuration(input: &Input<'_>) -> String {
    let config = input.config;
    go_json::text(&Configuration {
        extra_partition_label: &config.extra_partition_label,
        extra_partition_number: config.extra_partition_number,
        extra_partition_start: &config.extra_partition_start,
        installation_disk: &config.installation_disk,
        release_registry: &config.release_registry,
        seed_image: input.seed_image,
        seed_version: &config.seed_version,
        shutdown: config.shutdown,
        skip_disk_cleanup: config.skip_disk_cleanup,
        coreos_installer_args: &config.coreos_installer_args,
        precache_best_effort: config.precache_best_effort,
        precache_disabled: config.precache_disabled,
        processors: config.processors,
        progress_url: &config.progress_url,
    })
}

fn install_unit(input: &Input<'_>) -> String {
    let mut environment = String::new();
    let mut set = |name: &str, value: &str| {
        // A percent sign would be a specifier of systemd's.
        let value = value
            .replace('%', "%%")
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        environment.push_str(&format!("Environment=\"{name}={value}\"\n"));
    };
    set("SEED_IMAGE", input.seed_image);
    set("IBI_CONFIGURATION_FILE", CONFIGURATION);
    set("PULL_SECRET_FILE", PULL_SECRET);
    if let Some(proxy) = &input.config.proxy {
        for (name, value) in [
            ("HTTP_PROXY", &proxy.http_proxy),
            ("HTTPS_PROXY", &proxy.https_proxy),
            ("NO_PROXY", &proxy.no_proxy),
        ] {
            if !value.is_empty() {
                set(name, value);
                set(&name.to_lowercase(), value);
            }
        }
    }
    // The label lets the program write SELinux labels that the live system does not know.
    let (program, arguments, restart) = match input.live_side {
        LiveSide::LcaCli => (SCRIPT, "", ""),
        LiveSide::Muster => (
            input.agent,
            " image-based-install",
            "Restart=on-failure\nRestartSec=10\nStandardOutput=journal+console\n",
        ),
    };
    format!(
        "[Unit]\n\
         Description=Install the operating system and restore the seed image\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         {restart}\
         {environment}\
         ExecStartPre=-/usr/bin/chcon -t install_exec_t {program}\n\
         ExecStart={program}{arguments}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

fn network_unit(enabled: bool) -> spec::Unit {
    let name = "network-config.service";
    let text = include_str!("assets/network-config.service");
    if enabled {
        unit::enabled(name, text)
    } else {
        let mut unit = unit::passive(name, text);
        unit.enabled = Some(false);
        unit
    }
}

/// `registries.conf`: entries of one source and policy are one, those without mirrors are left out.
fn registries(config: &InstallationConfig) -> String {
    let mut groups: Vec<(&str, bool, Vec<&str>)> = Vec::new();
    for entry in &config.image_digest_sources {
        let blocked = entry.source_policy == Some(SourcePolicy::NeverContactSource);
        let known = groups
            .iter()
            .position(|(source, own, _)| *source == entry.source && *own == blocked);
        let index = known.unwrap_or_else(|| {
            groups.push((&entry.source, blocked, Vec::new()));
            groups.len() - 1
        });
        for mirror in &entry.mirrors {
            if !groups[index].2.contains(&mirror.as_str()) {
                groups[index].2.push(mirror);
            }
        }
    }
    let mut text = String::from(
        "additional-layer-store-auth-helper = \"\"\n\
         credential-helpers = []\n\
         short-name-mode = \"\"\n\
         unqualified-search-registries = []\n",
    );
    for (source, blocked, mirrors) in groups.iter().filter(|(_, _, mirrors)| !mirrors.is_empty()) {
        text.push_str(&format!(
            "\n[[registry]]\nlocation = {source:?}\nprefix = \"\"\nmirror-by-digest-only = true\n"
        ));
        if *blocked {
            text.push_str("blocked = true\n");
        }
        for mirror in mirrors {
            text.push_str(&format!("\n[[registry.mirror]]\nlocation = {mirror:?}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
