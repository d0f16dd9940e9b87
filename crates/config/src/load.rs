//! Loads a configuration from its layers.

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::derive;
use crate::errors::{ConfigError, ConfigErrors};
use crate::file::ConfigFile;
use crate::sections::Config;
use crate::table::{Setting, find, nearest, settings};
use crate::unused::{WITHOUT_EFFECT, is_idle};

/// Names the configuration file when no flag does.
const FILE_VARIABLE: &str = "MUSTER_CONFIG";

/// Values from the command line.
#[derive(Clone, Default)]
pub struct Overrides {
    /// File named with `--config`.
    pub config_file: Option<PathBuf>,
    values: Vec<(String, &'static str, String)>,
}

impl Overrides {
    /// Notes that `flag` (such as `--listen`) gives `key` (such as `server.listen`) a value.
    #[must_use]
    pub fn set(mut self, flag: &str, key: &'static str, value: impl Into<String>) -> Self {
        self.values.push((flag.into(), key, value.into()));
        self
    }
}

impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags: Vec<_> = self.values.iter().map(|(flag, ..)| flag).collect();
        f.debug_struct("Overrides")
            .field("config_file", &self.config_file)
            .field("flags", &flags)
            .finish()
    }
}

/// Everything a configuration is made of.
#[derive(Clone, Default)]
pub struct Sources {
    /// Values from the command line.
    pub flags: Overrides,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Configuration file, if there is one.
    pub file: Option<ConfigFile>,
    /// Whether we run as root, which decides the place of data.
    pub root: bool,
    /// Name of this machine, used when we listen on all addresses.
    pub host_name: Option<String>,
}

impl Sources {
    /// What this process was started with.
    ///
    /// # Errors
    /// If the named configuration file cannot be read.
    pub fn of_process(flags: Overrides) -> Result<Self, ConfigErrors> {
        let env: Vec<(String, String)> = std::env::vars_os()
            .filter_map(|(name, value)| {
                Some((
                    name.into_string().ok()?,
                    value.to_string_lossy().into_owned(),
                ))
            })
            .collect();
        let from_env = env
            .iter()
            .find(|(name, value)| name == FILE_VARIABLE && !value.is_empty());
        let named = match (&flags.config_file, from_env) {
            (Some(path), _) => Some(path.clone()),
            (None, found) => found.map(|(_, value)| PathBuf::from(value)),
        };
        let file = ConfigFile::find(named.as_deref())?;
        // The owner of our own entry below /proc is the user we run as.
        let root = std::fs::metadata("/proc/self").is_ok_and(|entry| entry.uid() == 0);
        let host_name = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .ok()
            .map(|name| name.trim().to_string())
            .filter(|name| !name.is_empty());
        Ok(Self {
            flags,
            env,
            file,
            root,
            host_name,
        })
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.env
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Sources")
            .field("flags", &self.flags)
            .field("env", &names)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was not given.
    Default,
    /// Worked out of other settings, or corrected; the text says how.
    Derived(String),
    /// A line of the configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
    },
    /// An environment variable.
    Env(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Derived(how) => f.write_str(how),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env(name) => write!(f, "${name}"),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A configuration with the story of its values.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// Where each came from, by key.
    pub origins: BTreeMap<&'static str, Origin>,
    /// What the operator should know before going on.
    pub warnings: Vec<String>,
    /// Variables that were accepted but do nothing here, each with the reason.
    pub without_effect: Vec<(String, &'static str)>,
}

impl Config {
    /// Puts the layers together, works out what depends on other settings, and checks it all.
    ///
    /// # Errors
    /// Everything that is wrong in any layer, not just the first.
    pub fn load(sources: &Sources) -> Result<Loaded, ConfigErrors> {
        let mut loading = Loading::default();
        if let Some(file) = &sources.file {
            loading.take_file(file);
        }
        loading.take_environment(sources);
        loading.take_flags(&sources.flags);
        derive::settle(&mut loading, sources);
        if !loading.errors.is_empty() {
            return Err(ConfigErrors(loading.errors));
        }
        let Loading {
            config,
            origins,
            warnings,
            without_effect,
            ..
        } = loading;
        Ok(Loaded {
            config,
            origins,
            warnings,
            without_effect,
        })
    }
}

/// A configuration that is being put together.
#[derive(Default)]
pub(crate) struct Loading {
    pub(crate) config: Config,
    pub(crate) origins: BTreeMap<&'static str, Origin>,
    pub(crate) warnings: Vec<String>,
    pub(crate) errors: Vec<ConfigError>,
    without_effect: Vec<(String, &'static str)>,
}

impl Loading {
    fn take_file(&mut self, file: &ConfigFile) {
        for entry in file.entries(&mut self.errors) {
            match entry.setting {
                Ok(setting) => {
                    let origin = Origin::File {
                        path: file.path.clone(),
                        line: entry.line,
                    };
                    self.take(setting, origin, &entry.value);
                }
                Err(problem) => {
                    self.errors.push(ConfigError::new(
                        file.place(entry.line),
                        problem.to_string(),
                    ));
                }
            }
        }
    }

    fn take_environment(&mut self, sources: &Sources) {
        for setting in settings() {
            let own = setting.own_env();
            let names = std::iter::once(own.as_str()).chain(setting.env.iter().copied());
            let found = names
                .filter_map(|name| Some((name, sources.variable(name)?)))
                .next();
            if let Some((name, value)) = found {
                self.take(
                    setting,
                    Origin::Env(name.into()),
                    &Value::String(value.into()),
                );
            }
        }
        for (reason, names) in WITHOUT_EFFECT {
            for name in names.iter().filter(|name| sources.variable(name).is_some()) {
                self.without_effect.push(((*name).into(), reason));
            }
        }
        let own_names = || settings().map(Setting::own_env);
        for (name, _) in sources.env.iter().filter(|(name, _)| is_ours(name)) {
            if own_names().any(|known| known == *name) {
                continue;
            }
            // A typo must not go unnoticed any more than one in the file; what resembles no setting
            // may be meant for another program.
            match nearest(name, own_names()) {
                Some(meant) => {
                    let problem = format!("there is no such variable; did you mean {meant}?");
                    self.errors
                        .push(ConfigError::new(format!("${name}"), problem));
                }
                None => self
                    .warnings
                    .push(format!("the variable {name} is unknown and has no effect")),
            }
        }
    }

    fn take_flags(&mut self, flags: &Overrides) {
        for (flag, key, value) in &flags.values {
            match find(key) {
                Some(setting) => {
                    self.take(
                        setting,
                        Origin::Flag(flag.clone()),
                        &Value::String(value.clone()),
                    );
                }
                None => self
                    .errors
                    .push(ConfigError::new(flag, format!("no setting `{key}`"))),
            }
        }
    }

    fn take(&mut self, setting: &'static Setting, origin: Origin, value: &Value) {
        if is_idle(setting.key) {
            self.warnings.push(format!(
                "{} ({origin}) is accepted, but no part of this version acts on it yet",
                setting.key
            ));
        }
        let field = (setting.get_mut)(&mut self.config);
        let result = match value {
            Value::String(text) => field.set_text(text),
            other => field.set_value(other),
        };
        if let Err(reason) = result {
            let shown = if field.secret() {
                "(secret)".into()
            } else {
                brief(value)
            };
            let subject = match &origin {
                Origin::File { .. } => format!("{} = {shown}", setting.key),
                Origin::Env(_) | Origin::Flag(_) | Origin::Default | Origin::Derived(_) => shown,
            };
            let problem = format!("{subject}: {reason}; expected {}", field.kind());
            self.errors.push(ConfigError::new(&origin, problem));
        }
        self.origins.insert(setting.key, origin);
    }

    /// Whether someone gave this setting a value.
    pub(crate) fn is_set(&self, key: &str) -> bool {
        self.origins.contains_key(key)
    }

    /// Where a setting came from, for messages about it.
    pub(crate) fn place(&self, key: &str) -> String {
        match self.origins.get(key) {
            Some(Origin::Env(name)) => format!("${name}"),
            Some(origin @ (Origin::File { .. } | Origin::Flag(_))) => format!("{origin}: {key}"),
            Some(Origin::Default | Origin::Derived(_)) | None => key.into(),
        }
    }
}

impl Loaded {
    /// Every setting as `key = value  # origin`, in the notation of the configuration file.
    pub fn print(&self) -> String {
        let lines = settings().map(|setting| {
            let field = setting.of(&self.config);
            let shown = match field.bare() {
                true => field.show(),
                // JSON's way of quoting is also TOML's.
                false => Value::String(field.show()).to_string(),
            };
            let origin = self.origins.get(setting.key).unwrap_or(&Origin::Default);
            format!("{} = {shown}  # {origin}\n", setting.key)
        });
        lines.collect()
    }
}

/// What other commands and the tests read.
const OF_OTHERS: &[&str] = &[
    "MUSTER_BIN",
    "MUSTER_CACERT",
    "MUSTER_PASSWORD",
    "MUSTER_PULL_SECRET_FILE",
    "MUSTER_TOKEN",
    "MUSTER_URL",
];

/// Variables with our prefix that are neither a flag's stand-in nor made by Kubernetes for a
/// service called `muster`.
fn is_ours(name: &str) -> bool {
    name.starts_with("MUSTER_")
        && name != FILE_VARIABLE
        && !OF_OTHERS.contains(&name)
        && !name.starts_with("MUSTER_PORT")
        && !name.starts_with("MUSTER_SERVICE_")
}

/// A value short enough for a message.
fn brief(value: &Value) -> String {
    const ENOUGH: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(ENOUGH) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// Joins a folder and a file name for a URL or a message.
pub(crate) fn inside(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

#[cfg(test)]
pub(crate) mod tests;
