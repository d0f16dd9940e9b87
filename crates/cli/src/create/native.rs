//! Muster's own generator: [`muster_assets::workdir`] decides, with what this machine knows.

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, ToSocketAddrs};

use anyhow::{Context, anyhow};
use muster_assets::file::File;
use muster_assets::plan::{Extras, PlanError};
use muster_assets::profiles::{ProfileError, Release};
use muster_assets::workdir::{Request, STATE_FILE, State, Target, WorkdirError, run};
use muster_documents::install_config::FipsHost;

use super::directory::{Files, Made};
use crate::diagnostics;

/// Files of later commands that an earlier one may find.
pub const TOP: &[&str] = &[
    "install-config.yaml",
    "master.ign",
    "worker.ign",
    "arbiter.ign",
];
/// Directories whose files count.
pub const FOLDERS: &[&str] = &["manifests", "openshift", "tls"];

/// What there is to make assets from.
pub struct Work {
    pub target: Target,
    pub on_disk: Files,
    pub state: Option<State>,
    pub release: Option<Release>,
    pub seed: Option<u64>,
    pub force: bool,
}

/// What came of it.
pub enum Answer {
    Made(Made),
    /// Only the release's own installer can do this; why.
    NotOurs(String),
}

/// Makes the assets, and returns what the user should know.
pub fn make(work: Work) -> anyhow::Result<Answer> {
    let mut seed = [0; 32];
    match work.seed {
        Some(number) => seed[..8].copy_from_slice(&number.to_be_bytes()),
        None => rand::fill(&mut seed),
    }
    let invoker = variable("OPENSHIFT_INSTALL_INVOKER").unwrap_or_default();
    let request = Request {
        target: work.target,
        on_disk: work.on_disk,
        state: work.state,
        release: work.release,
        fresh_seed: seed,
        now: now()?,
        lenient: !invoker.is_empty(),
        fips_host: fips_host(),
        force: work.force,
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
    let outcome = match run(&request) {
        Ok(outcome) => outcome,
        Err(WorkdirError::InstallConfig(report)) => {
            diagnostics::show(&report);
            return Err(anyhow!("the install-config cannot be used"));
        }
        Err(error) if needs_the_release(&error) => return Ok(Answer::NotOurs(error.to_string())),
        Err(error) => return Err(anyhow!(error)),
    };
    for line in &outcome.notes {
        let _ = writeln!(io::stderr(), "note: {line}");
    }
    if let Some(report) = &outcome.report {
        diagnostics::show(report);
    }
    Ok(Answer::Made(Made {
        write: outcome.write,
        state: File::secret(STATE_FILE, outcome.state.to_text()),
        remove: outcome.remove,
    }))
}

/// Whether another generator could do what ours cannot.
fn needs_the_release(error: &WorkdirError) -> bool {
    let unknown = |profile: &ProfileError| !matches!(profile, ProfileError::NoVersion(_));
    match error {
        WorkdirError::Profile(profile) | WorkdirError::Plan(PlanError::Profile(profile)) => {
            unknown(profile)
        }
        WorkdirError::Plan(PlanError::Ecdsa) => true,
        WorkdirError::Plan(PlanError::Incomplete(_) | PlanError::SingleNode(_))
        | WorkdirError::NoInput
        | WorkdirError::NoRelease
        | WorkdirError::InstallConfig(_)
        | WorkdirError::EditsInTheWay(_)
        | WorkdirError::Tls(_)
        | WorkdirError::Pki(_)
        | WorkdirError::Ignition(_) => false,
    }
}

pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

pub fn now() -> anyhow::Result<jiff::Timestamp> {
    // Certificates know no fractions of a second.
    let second = jiff::Timestamp::now().as_second();
    jiff::Timestamp::from_second(second).context("the clock is far off")
}

pub fn fips_host() -> FipsHost {
    let enabled = fs::read_to_string("/proc/sys/crypto/fips_enabled");
    if enabled.is_ok_and(|text| text.trim() == "1") {
        FipsHost::Yes
    } else if variable("OPENSHIFT_INSTALL_SKIP_HOSTCRYPT_VALIDATION").is_some() {
        FipsHost::Bypassed
    } else {
        FipsHost::No
    }
}

pub fn lookup(name: &str) -> Option<IpAddr> {
    let mut found = (name, 0).to_socket_addrs().ok()?;
    found.next().map(|address| address.ip())
}
