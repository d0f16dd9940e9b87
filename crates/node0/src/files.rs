//! What the image says: the files below `/etc/assisted` and their companions, read once.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    environment::Environment,
    hints::Hints,
    host_config::{Fencing, HostConfig},
    join::Join,
};

/// Largest file that is read.
const LARGEST: u64 = 4 << 20;
/// Most files of one folder.
const MOST: usize = 2000;

/// Where the files are.
#[derive(Clone, Debug)]
pub struct Places {
    /// Settings, manifests and host configuration.
    pub config: PathBuf,
    /// Keys and certificates.
    pub tls: PathBuf,
    /// Further files of variables.
    pub environment: Vec<PathBuf>,
    /// Mirrors that containers of this host are pulled from.
    pub mirrors: PathBuf,
    /// Authorities of these mirrors.
    pub authorities: PathBuf,
}

/// What makes the image unusable.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A file cannot be read.
    #[error("reading {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// A file has the wrong form.
    #[error("{}: {problem}", path.display())]
    Form {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
}

/// The cluster manifests of the image.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    /// AgentClusterInstall.
    pub install: Value,
    /// ClusterDeployment.
    pub deployment: Value,
    /// ClusterImageSet.
    pub image_set: Value,
    /// InfraEnv.
    pub infra_env: Value,
    /// Every NMStateConfig.
    pub networks: Vec<Value>,
    /// The content of the pull secret.
    pub pull_secret: Secret,
    /// OLM operators to install, as `operators.yaml` names them.
    pub operators: Value,
}

/// A text that is not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The seed that the keys of the cluster follow from, made at the desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// 32 bytes as base64.
    pub seed: Secret,
    /// When its root certificates begin.
    pub created: jiff::Timestamp,
}

/// Everything the image says.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Variables.
    pub environment: Environment,
    /// Cluster manifests.
    pub manifests: Manifests,
    /// Manifests of the user, by file name.
    pub extra_manifests: BTreeMap<String, Vec<u8>>,
    /// What is known of single hosts.
    pub hosts: Vec<HostConfig>,
    /// Fencing credentials by host name.
    pub fencing: BTreeMap<String, Fencing>,
    /// The seed.
    pub seed: Option<Seed>,
    /// The running cluster that this host joins.
    pub join: Option<Join>,
}

impl Files {
    /// Reads all of them.
    ///
    /// # Errors
    /// See [`FilesError`]; a file that is not there is an empty one.
    pub fn read(places: &Places) -> Result<Self, FilesError> {
        let mut environment = Environment::default();
        for path in &places.environment {
            environment.add(&text(path)?);
        }
        for name in ["rendezvous-host.env", "assisted-service.env", "node0"] {
            environment.add(&text(&places.config.join(name))?);
        }
        let hostconfig = places.config.join("hostconfig");
        Ok(Self {
            environment,
            manifests: manifests(&places.config.join("manifests"))?,
            extra_manifests: folder(&places.config.join("extra-manifests"))?,
            hosts: hosts(&hostconfig)?,
            fencing: fencing(&hostconfig.join("fencing-credentials.yaml"))?
                .into_iter()
                .filter(|one| !one.hostname.is_empty())
                .map(|one| (one.hostname.clone(), one))
                .collect(),
            seed: seed(&places.tls.join("cluster-seed.json"))?,
            join: join(&places.config.join("add-nodes.json"))?,
        })
    }
}

fn manifests(folder: &Path) -> Result<Manifests, FilesError> {
    let one = |name: &str| -> Result<Value, FilesError> {
        let mut all = documents(&folder.join(name))?;
        Ok(match all.is_empty() {
            true => Value::Null,
            false => all.swap_remove(0),
        })
    };
    let secret = one("pull-secret.yaml")?;
    let pull_secret = secret.pointer("/stringData/.dockerconfigjson");
    Ok(Manifests {
        install: one("agent-cluster-install.yaml")?,
        deployment: one("cluster-deployment.yaml")?,
        image_set: one("cluster-image-set.yaml")?,
        infra_env: one("infraenv.yaml")?,
        networks: documents(&folder.join("nmstateconfig.yaml"))?,
        pull_secret: Secret(pull_secret.and_then(Value::as_str).unwrap_or("").to_owned()),
        operators: one("operators.yaml")?,
    })
}

/// The documents of a YAML file that say something.
fn documents(path: &Path) -> Result<Vec<Value>, FilesError> {
    let text = text(path)?;
    let mut found = Vec::new();
    if text.trim().is_empty() {
        return Ok(found);
    }
    for document in serde_yaml_ng::Deserializer::from_str(&text) {
        let value = Value::deserialize(document).map_err(|cause| FilesError::Form {
            path: path.to_owned(),
            problem: cause.to_string(),
        })?;
        if !value.is_null() {
            found.push(value);
        }
    }
    Ok(found)
}

fn hosts(folder: &Path) -> Result<Vec<HostConfig>, FilesError> {
    let mut hosts = Vec::new();
    for name in names(folder)? {
        let own = folder.join(&name);
        let macs = text(&own.join("mac_addresses"))?;
        let macs: Vec<String> = macs.split_whitespace().map(str::to_lowercase).collect();
        if macs.is_empty() {
            continue;
        }
        let hints_file = own.join("root-device-hints.yaml");
        let mut hints = documents(&hints_file)?;
        let hints = match hints.is_empty() {
            true => Hints::default(),
            false => {
                serde_json::from_value(hints.swap_remove(0)).map_err(|cause| FilesError::Form {
                    path: hints_file,
                    problem: cause.to_string(),
                })?
            }
        };
        hosts.push(HostConfig {
            role: Some(text(&own.join("role"))?.trim().to_owned()).filter(|role| !role.is_empty()),
            fencing: fencing(&own.join("fencing-credentials.yaml"))?
                .into_iter()
                .next(),
            name,
            macs,
            hints,
        });
    }
    Ok(hosts)
}

fn fencing(path: &Path) -> Result<Vec<Fencing>, FilesError> {
    let mut found = documents(path)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let list = found.swap_remove(0)["credentials"].take();
    if list.is_null() {
        return Ok(Vec::new());
    }
    serde_json::from_value(list).map_err(|cause| FilesError::Form {
        path: path.to_owned(),
        problem: format!("credentials: {cause}"),
    })
}

fn seed(path: &Path) -> Result<Option<Seed>, FilesError> {
    let text = text(path)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let wrong = |problem: &str| FilesError::Form {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    // The message of the parser could contain a piece of the seed.
    let value: Value = serde_json::from_str(&text).map_err(|_| wrong("this is not JSON"))?;
    let seed = value["seed"]
        .as_str()
        .ok_or_else(|| wrong("`seed` is missing"))?;
    let created = value["created"].as_str().unwrap_or_default();
    let created = created
        .parse()
        .map_err(|_| wrong("`created` is not a time such as 2026-01-02T03:04:05Z"))?;
    Ok(Some(Seed {
        seed: Secret(seed.to_owned()),
        created,
    }))
}

fn join(path: &Path) -> Result<Option<Join>, FilesError> {
    let text = text(path)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let read = serde_json::from_str(&text).map_err(|cause| FilesError::Form {
        path: path.to_owned(),
        problem: cause.to_string(),
    });
    read.map(Some)
}

/// The text of a file; empty if it is not there.
fn text(path: &Path) -> Result<String, FilesError> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

fn bytes(path: &Path) -> Result<Vec<u8>, FilesError> {
    let failed = |cause| FilesError::Read {
        path: path.to_owned(),
        cause,
    };
    match fs::metadata(path) {
        Ok(about) if about.len() > LARGEST => Err(FilesError::Form {
            path: path.to_owned(),
            problem: format!("larger than {} MiB", LARGEST >> 20),
        }),
        Ok(_) => fs::read(path).map_err(failed),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(failed(cause)),
    }
}

fn folder(path: &Path) -> Result<BTreeMap<String, Vec<u8>>, FilesError> {
    let yaml = |name: &String| name.ends_with(".yaml") || name.ends_with(".yml");
    let mut found = BTreeMap::new();
    for name in names(path)?.into_iter().filter(yaml) {
        found.insert(name.clone(), bytes(&path.join(&name))?);
    }
    Ok(found)
}

/// Names in a folder, sorted; none if it is not there.
fn names(path: &Path) -> Result<Vec<String>, FilesError> {
    let failed = |cause| FilesError::Read {
        path: path.to_owned(),
        cause,
    };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(cause) => return Err(failed(cause)),
    };
    let mut names = Vec::new();
    for entry in entries.take(MOST) {
        if let Ok(name) = entry.map_err(failed)?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}
