//! A directory of assets, one command after the other: what is read, made, written and used up.
//!
//! Commands consume their input, as users of the reference know it: `install-config.yaml` goes when
//! manifests are made of it, the manifests go when Ignition is made of them. What was changed in
//! between counts. What must stay the same from one command to the next follows from the seed in
//! the [`State`]; nothing else is kept. This module only decides; the caller reads and writes.

mod state;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use chacha20::rand_core::Rng;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

pub use self::state::{STATE_FILE, State, StateError};
use crate::entropy::Entropy;
use crate::file::File;
use crate::ignition_configs::{IgnitionError, Kind, Pointers, bootstrap};
use crate::kubeadmin::Kubeadmin;
use crate::kubeconfig::ADMIN;
use crate::manifests::{self, Source, user_files};
use crate::metadata;
use crate::pki::{Pki, PkiError, Scope, Supplied};
use crate::plan::{Extras, Plan, PlanError};
use crate::profiles::{ProfileError, Release};
use muster_documents::findings::Report;
use muster_documents::install_config::{
    Environment, FipsHost, Given, Loaded, UnknownKeys, load, to_yaml,
};
use muster_model::MinorVersion;

/// The input of everything.
pub const INSTALL_CONFIG: &str = "install-config.yaml";

/// Certificates that live for a day need this much of it for the installation.
const TIME_TO_INSTALL: SignedDuration = SignedDuration::from_hours(12);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// `manifests/` and `openshift/`.
    Manifests,
    /// `bootstrap.ign`, a config per role, log-ins.
    IgnitionConfigs,
    /// The config of a node that bootstraps itself, log-ins.
    SingleNodeIgnitionConfig,
}

/// One command.
pub struct Request<'a> {
    /// What is asked for.
    pub target: Target,
    /// Every file in the directory that may count, by relative path.
    pub on_disk: BTreeMap<String, Vec<u8>>,
    /// What the last command left.
    pub state: Option<State>,
    /// The release to install; without one the last command's.
    pub release: Option<Release>,
    /// 32 random bytes, used if this is a new cluster.
    pub fresh_seed: [u8; 32],
    /// The time.
    pub now: Timestamp,
    /// Unknown keys of the install-config are tolerated.
    pub lenient: bool,
    /// Whether this machine may prepare a FIPS cluster.
    pub fips_host: FipsHost,
    /// Throw edited manifests away where they contradict a new install-config.
    pub force: bool,
    /// Take certificates from `tls/`.
    pub load_certificates: bool,
    /// What callers may add.
    pub extras: Extras,
    /// Asks DNS for virtual addresses that were not chosen.
    pub lookup: &'a dyn Fn(&str) -> Option<IpAddr>,
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("target", &self.target)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// What to do with the directory.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Files to write.
    pub write: Vec<File>,
    /// Files to remove, and directories they leave empty.
    pub remove: Vec<String>,
    /// What the next command needs.
    pub state: State,
    /// Warnings about the install-config.
    pub report: Option<Report>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Why nothing was made.
#[derive(Debug, Error)]
pub enum WorkdirError {
    /// There is nothing to begin with.
    #[error(
        "there is no {INSTALL_CONFIG} in this directory, and no earlier command left its state; \
         write one, or run `muster create install-config`"
    )]
    NoInput,
    /// There is no input that says what to install.
    #[error(
        "it is not known which release to install; name one with --release (and \
         --release-version, if the image's tag does not name it)"
    )]
    NoRelease,
    /// The install-config has faults.
    #[error("{INSTALL_CONFIG} cannot be used")]
    InstallConfig(Box<Report>),
    /// Edits would be lost.
    #[error(
        "{INSTALL_CONFIG} was changed after the manifests were made, and these were edited: {}; \
         take {INSTALL_CONFIG} away to keep the edits, or use --force to throw them away",
        .0.join(", ")
    )]
    EditsInTheWay(Vec<String>),
    /// A file in `tls/` cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The release is not known.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The cluster cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Keys or certificates.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// Ignition or manifests.
    #[error(transparent)]
    Ignition(#[from] IgnitionError),
}

/// Decides what a command does.
pub fn run(request: &Request<'_>) -> Result<Outcome, WorkdirError> {
    let began = begin(request)?;
    let mut notes = Vec::new();
    let on_disk = began.manifests_on_disk(request, &mut notes)?;
    let plan = began.plan.clone();
    let mut state = began.state.clone();
    let mut outcome = match request.target {
        Target::Manifests => create_manifests(&plan, &on_disk)?,
        Target::IgnitionConfigs | Target::SingleNodeIgnitionConfig => {
            let mut plan = plan;
            let usable = |issued: &Timestamp| request.now.duration_since(*issued) < TIME_TO_INSTALL;
            plan.issued = state.issued.filter(usable).unwrap_or(request.now);
            state.issued = Some(plan.issued);
            create_ignition(request, &plan, &on_disk, &mut notes)?
        }
    };
    let written: Vec<&String> = outcome.iter().map(|file| &file.path).collect();
    let remove = request
        .on_disk
        .keys()
        .filter(|path| *path == INSTALL_CONFIG || user_files::is_manifest(path))
        .filter(|path| !written.contains(path))
        .cloned()
        .collect();
    outcome.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Outcome {
        write: outcome,
        remove,
        state,
        report: began.report,
        notes,
    })
}

/// The cluster, from the file or from the state.
struct Began {
    plan: Plan,
    state: State,
    report: Option<Report>,
    /// The plan before the install-config changed, if it did.
    before: Option<Plan>,
}

fn begin(request: &Request<'_>) -> Result<Began, WorkdirError> {
    let file = request.on_disk.get(INSTALL_CONFIG);
    let release = request
        .release
        .clone()
        .or_else(|| Some(request.state.as_ref()?.release.clone()));
    let release = release.ok_or(match (file, &request.state) {
        (None, None) => WorkdirError::NoInput,
        _ => WorkdirError::NoRelease,
    })?;
    let extras = extras(request)?;
    let plan = |state: &State, loaded: Loaded| -> Result<Plan, WorkdirError> {
        let entropy = Entropy::new(state.seed);
        Ok(Plan::new(
            loaded.config,
            release.clone(),
            entropy,
            state.created,
            extras.clone(),
        )?)
    };
    let kept = match &request.state {
        Some(state) => Some((
            state,
            read(
                request,
                &release,
                state.install_config.as_bytes(),
                state.seed,
            )?,
        )),
        None => None,
    };
    let Some(bytes) = file else {
        let (state, loaded) = kept.ok_or(WorkdirError::NoInput)?;
        let mut state = state.clone();
        state.release = release.clone();
        return Ok(Began {
            plan: plan(&state, loaded)?,
            state,
            report: None,
            before: None,
        });
    };
    let mut before = None;
    if let Some((state, kept)) = kept {
        let again = read(request, &release, bytes, state.seed)?;
        if again.config == kept.config && state.release == release {
            let report = Some(again.report.clone());
            return Ok(Began {
                plan: plan(state, again)?,
                state: state.clone(),
                report,
                before: None,
            });
        }
        before = Some(plan(state, kept)?);
    }
    let loaded = read(request, &release, bytes, request.fresh_seed)?;
    let effective = to_yaml(&loaded.config)
        .map_err(|error| WorkdirError::Tls(format!("{INSTALL_CONFIG} cannot be kept: {error}")))?;
    let state = State {
        seed: request.fresh_seed,
        created: request.now,
        issued: None,
        install_config: effective,
        release: release.clone(),
    };
    let report = Some(loaded.report.clone());
    Ok(Began {
        plan: plan(&state, loaded)?,
        state,
        report,
        before,
    })
}

impl Began {
    /// Manifests that count: none of those made from another install-config.
    fn manifests_on_disk(
        &self,
        request: &Request<'_>,
        notes: &mut Vec<String>,
    ) -> Result<BTreeMap<String, Vec<u8>>, WorkdirError> {
        let on_disk: BTreeMap<String, Vec<u8>> = request
            .on_disk
            .iter()
            .filter(|(path, _)| user_files::is_manifest(path))
            .map(|(path, content)| (path.clone(), content.clone()))
            .collect();
        let Some(before) = &self.before else {
            return Ok(on_disk);
        };
        let made: BTreeMap<String, Vec<u8>> = generated(before, None)?
            .1
            .into_iter()
            .map(|file| (file.path, file.content))
            .collect();
        let edited: Vec<String> = on_disk
            .iter()
            .filter(|(path, content)| made.get(*path) != Some(*content))
            .map(|(path, _)| path.clone())
            .collect();
        if !edited.is_empty() && !request.force {
            return Err(WorkdirError::EditsInTheWay(edited));
        }
        if !edited.is_empty() {
            notes.push(format!("edits were thrown away: {}", edited.join(", ")));
        }
        Ok(BTreeMap::new())
    }
}

/// Reads an install-config; what it leaves to chance follows from the seed.
fn read(
    request: &Request<'_>,
    release: &Release,
    bytes: &[u8],
    seed: [u8; 32],
) -> Result<Loaded, WorkdirError> {
    let mut stream = Entropy::new(seed).stream("install-config");
    let mut random = |bytes: &mut [u8]| stream.fill_bytes(bytes);
    let mut around = Environment::new(&mut random);
    around.lookup = request.lookup;
    around.given = Given {
        release: MinorVersion::parse(&release.version),
        okd: release.is_okd(),
        fips_host: request.fips_host,
        unknown_keys: if request.lenient {
            UnknownKeys::Warn
        } else {
            UnknownKeys::Refuse
        },
        ..Given::default()
    };
    load(INSTALL_CONFIG, bytes, &mut around)
        .map_err(|report| WorkdirError::InstallConfig(Box::new(report)))
}

/// Root certificate, pointers and generated manifests.
fn generated(
    plan: &Plan,
    edited: Option<&Request<'_>>,
) -> Result<(Pointers, Vec<File>), WorkdirError> {
    let pki = plan.pki(Scope::Manifests)?;
    let pointers = pointers(plan, &pki, edited)?;
    let source = Source {
        plan,
        pki: &pki,
        pointers: &pointers,
    };
    let files = manifests::generate(source);
    Ok((pointers, files))
}

fn pointers(
    plan: &Plan,
    pki: &Pki,
    edited: Option<&Request<'_>>,
) -> Result<Pointers, WorkdirError> {
    let mut pointers =
        Pointers::generate(plan, pki).expect("every scope makes the root certificate");
    for role in ["master", "worker", "arbiter"] {
        let file = edited.and_then(|request| request.on_disk.get(&format!("{role}.ign")));
        if let Some(bytes) = file {
            let text = String::from_utf8_lossy(bytes);
            pointers.edit(role, &text).map_err(IgnitionError::from)?;
        }
    }
    Ok(pointers)
}

fn create_manifests(
    plan: &Plan,
    on_disk: &BTreeMap<String, Vec<u8>>,
) -> Result<Vec<File>, WorkdirError> {
    let (_, files) = generated(plan, None)?;
    Ok(user_files::merged(files, on_disk))
}

fn create_ignition(
    request: &Request<'_>,
    plan: &Plan,
    on_disk: &BTreeMap<String, Vec<u8>>,
    notes: &mut Vec<String>,
) -> Result<Vec<File>, WorkdirError> {
    let pki = plan.pki(Scope::All)?;
    // Pointer configs of another install-config point elsewhere.
    let fresh = request.on_disk.contains_key(INSTALL_CONFIG);
    let pointers = pointers(plan, &pki, (!fresh).then_some(request))?;
    let source = Source {
        plan,
        pki: &pki,
        pointers: &pointers,
    };
    let manifests = user_files::merged(manifests::generate(source), on_disk);
    let (kind, name) = match request.target {
        Target::SingleNodeIgnitionConfig => (Kind::InPlace, "bootstrap-in-place-for-live-iso.ign"),
        Target::Manifests | Target::IgnitionConfigs => (Kind::Bootstrap, "bootstrap.ign"),
    };
    let config = bootstrap(plan, &pki, &pointers, manifests, kind)?;
    let mut files = vec![File::secret(name, config.to_text())];
    files.extend(
        pointers
            .files()
            .into_iter()
            .filter(|file| kind == Kind::Bootstrap || file.path == "worker.ign"),
    );
    let domain = plan.config.cluster_domain();
    let kubeconfig = ADMIN.render(&plan.config.metadata.name, &domain, &pki);
    files.extend(kubeconfig.map(|text| File::secret(ADMIN.path, text)));
    let password = plan.kubeadmin.password.as_str();
    files.push(File::secret("auth/kubeadmin-password", password));
    files.push(File::secret("metadata.json", metadata::json(plan)));
    if kind == Kind::Bootstrap && plan.wants_konnectivity() {
        notes.push(
            "konnectivity is not set up: with the preview features of this cluster the API server \
             on the bootstrap host cannot call webhooks that run in the cluster; if the \
             installation waits for them, use --assets=release"
                .to_owned(),
        );
    }
    notes.push(format!(
        "some certificates in {name} are good until {}: start the installation before",
        plan.issued
            .checked_add(SignedDuration::from_hours(24))
            .map_or_else(|_| "the end of time".to_owned(), |end| end.to_string())
    ));
    Ok(files)
}

/// What the directory adds to a plan: signers, a password hash, a key, a registry of its own.
fn extras(request: &Request<'_>) -> Result<Extras, WorkdirError> {
    let mut extras = request.extras.clone();
    let text = |path: &str| -> Result<Option<String>, WorkdirError> {
        let Some(bytes) = request.on_disk.get(path) else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes.clone());
        text.map(Some)
            .map_err(|_| WorkdirError::Tls(format!("{path} is not text in UTF-8")))
    };
    if request.load_certificates {
        for name in crate::pki::ACCEPTED {
            let certificate = text(&format!("tls/{name}.crt"))?;
            let key = text(&format!("tls/{name}.key"))?;
            if let (Some(certificate_pem), Some(key_pem)) = (certificate, key) {
                let supplied = Supplied {
                    certificate_pem,
                    key_pem,
                };
                extras.supplied.insert((*name).to_owned(), supplied);
            }
        }
    }
    if let Some(hash) = text("tls/kubeadmin-password.hash")? {
        let password = text("tls/kubeadmin-password")?;
        extras.kubeadmin = Some(Kubeadmin::supplied(hash.trim(), password.as_deref()));
    }
    if let Some(key) = text("tls/bound-service-account-signing-key.key")? {
        extras.bound_service_account_key = Some(key);
    }
    extras.internal_release_image |= request.on_disk.iter().any(|(path, content)| {
        path.starts_with("openshift/")
            && user_files::is_manifest(path)
            && is_internal_release_image(content)
    });
    Ok(extras)
}

/// Whether a manifest asks for a registry inside the cluster that holds its release.
#[must_use]
pub fn is_internal_release_image(content: &[u8]) -> bool {
    let object: Result<serde_json::Value, _> = serde_yaml_ng::from_slice(content);
    object.is_ok_and(|object| {
        object["kind"] == "InternalReleaseImage" && object["metadata"]["name"] == "cluster"
    })
}
