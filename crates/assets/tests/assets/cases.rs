//! Clusters to make: an install-config and a release each, with a fixed seed and time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use jiff::Timestamp;
use muster_assets::file::File;
use muster_assets::pki::KeyCache;
use muster_assets::plan::Extras;
use muster_assets::profiles::Release;
use muster_assets::workdir::{Outcome, Request, State, Target, WorkdirError, run};
use muster_documents::install_config::FipsHost;
use muster_ignition::Config;

/// Name of the install-config in `tests/cases` and release.
pub const CASES: &[(&str, &str)] = &[
    ("none-single-node", "4.20.3"),
    ("none-compact", "4.14.0"),
    ("none-highly-available", "5.0.0"),
    ("external-highly-available", "4.18.1"),
    ("external-single-node", "4.21.0"),
    ("baremetal-compact", "4.19.2"),
    ("baremetal-highly-available", "4.22.0"),
    ("baremetal-arbiter", "4.20.0-okd-scos.4"),
    ("none-two-nodes-fencing", "4.20.3"),
    ("vsphere-highly-available", "4.20.3"),
    ("nutanix-highly-available", "4.21.0"),
];

pub fn now() -> Timestamp {
    "2026-08-20T10:00:00Z".parse().unwrap()
}

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

pub fn release(version: &str) -> Release {
    Release {
        version: version.to_owned(),
        image: format!("registry.example.org/release@sha256:{}", "0".repeat(64)),
    }
}

/// Private keys of all cases. They follow from the seed, which most cases share, so each is made once.
static KEYS: LazyLock<KeyCache> = LazyLock::new(KeyCache::default);

/// A directory of assets in memory.
#[derive(Default)]
pub struct Directory {
    pub files: BTreeMap<String, Vec<u8>>,
    pub state: Option<State>,
    pub seed: u8,
    pub force: bool,
    pub load_certificates: bool,
    /// The time, if it matters.
    pub now: Option<Timestamp>,
}

impl Directory {
    pub fn with(name: &str) -> Self {
        let path = folder("cases").join(format!("{name}.yaml"));
        let text = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut directory = Self {
            seed: 1,
            ..Self::default()
        };
        directory
            .files
            .insert("install-config.yaml".to_owned(), text);
        directory
    }

    pub fn try_create(&mut self, target: Target, version: &str) -> Result<Outcome, WorkdirError> {
        let outcome = run(&Request {
            target,
            on_disk: self.files.clone(),
            state: self.state.clone(),
            release: Some(release(version)),
            fresh_seed: [self.seed; 32],
            now: self.now.unwrap_or_else(now),
            lenient: false,
            fips_host: FipsHost::No,
            force: self.force,
            load_certificates: self.load_certificates,
            extras: Extras {
                keys: KEYS.clone(),
                ..Extras::default()
            },
            lookup: &|_| None,
        })?;
        for path in &outcome.remove {
            self.files.remove(path);
        }
        for file in &outcome.write {
            self.files.insert(file.path.clone(), file.content.clone());
        }
        self.state = Some(State::from_text(&outcome.state.to_text()).unwrap());
        Ok(outcome)
    }

    pub fn create(&mut self, target: Target, version: &str) -> Outcome {
        self.try_create(target, version).unwrap_or_else(|error| {
            let report = match &error {
                WorkdirError::InstallConfig(report) => report.to_string(),
                _ => String::new(),
            };
            panic!("{error}\n{report}")
        })
    }

    pub fn text(&self, path: &str) -> String {
        let bytes = self
            .files
            .get(path)
            .unwrap_or_else(|| panic!("{path} is not there"));
        String::from_utf8(bytes.clone()).unwrap()
    }

    pub fn config(&self, path: &str) -> Config {
        Config::read(&self.text(path)).unwrap()
    }
}

/// The Ignition of a case, whichever way it starts. Keys take their time, so each is made once.
pub fn ignition(name: &str, version: &str) -> (Directory, Config) {
    type Files = BTreeMap<String, Vec<u8>>;
    static MADE: LazyLock<Mutex<BTreeMap<String, Files>>> = LazyLock::new(Mutex::default);
    let (target, file) = if name.contains("single-node") {
        (
            Target::SingleNodeIgnitionConfig,
            "bootstrap-in-place-for-live-iso.ign",
        )
    } else {
        (Target::IgnitionConfigs, "bootstrap.ign")
    };
    let case = format!("{name} {version}");
    let known = MADE.lock().unwrap().get(&case).cloned();
    let files = known.unwrap_or_else(|| {
        let mut directory = Directory::with(name);
        directory.create(target, version);
        MADE.lock().unwrap().insert(case, directory.files.clone());
        directory.files
    });
    let directory = Directory {
        files,
        ..Directory::default()
    };
    let config = directory.config(file);
    (directory, config)
}

/// Files of a config with their contents, unpacked.
pub fn unpacked(config: &Config) -> Vec<File> {
    let files = config.json()["storage"]["files"].as_array().unwrap();
    files
        .iter()
        .map(|file| {
            let path = file["path"].as_str().unwrap();
            let mode = file["mode"].as_u64().unwrap() as u32;
            File::with_mode(path, config.file(path).unwrap().unwrap_or_default(), mode)
        })
        .collect()
}
