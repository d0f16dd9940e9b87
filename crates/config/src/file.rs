//! The configuration file: TOML with dotted keys, each value known by its line.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::errors::{ConfigError, UnknownKey};
use crate::table::{Setting, find, nearest, settings};

/// Places looked at when no file is named, first found wins.
const USUAL_PLACES: [&str; 2] = ["muster.toml", "/etc/muster/muster.toml"];

/// A configuration file that was read.
#[derive(Clone)]
pub struct ConfigFile {
    /// Where it lies, for messages.
    pub path: PathBuf,
    /// Its content, which may hold secrets.
    pub text: String,
}

impl std::fmt::Debug for ConfigFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfigFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// One value of the file.
pub(crate) struct Entry {
    pub(crate) line: usize,
    /// The setting it belongs to, or why there is none.
    pub(crate) setting: Result<&'static Setting, UnknownKey>,
    pub(crate) value: Value,
}

impl ConfigFile {
    /// Reads the named file, or the one at a usual place if there is one.
    pub fn find(named: Option<&Path>) -> Result<Option<Self>, ConfigError> {
        if let Some(path) = named {
            return Self::read(path).map(Some);
        }
        for path in USUAL_PLACES.map(Path::new) {
            if path.exists() {
                return Self::read(path).map(Some);
            }
        }
        Ok(None)
    }

    fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let problem = match error.kind() {
                io::ErrorKind::InvalidData => "the file is not UTF-8 text".into(),
                _ => format!("the file cannot be read: {error}"),
            };
            ConfigError::new(path.display(), problem)
        })?;
        Ok(Self {
            path: path.into(),
            text,
        })
    }

    /// All values in the order of the file; if it is not TOML, `errors` says why.
    pub(crate) fn entries(&self, errors: &mut Vec<ConfigError>) -> Vec<Entry> {
        let (table, broken) = DeTable::parse_recoverable(&self.text);
        if !broken.is_empty() {
            errors.extend(broken.iter().map(|error| {
                let line = self.line(error.span().map_or(0, |span| span.start));
                ConfigError::new(self.place(line), format!("not TOML: {}", error.message()))
            }));
            return Vec::new();
        }
        let mut entries = Vec::new();
        self.collect("", table.get_ref(), &mut entries);
        entries.sort_by_key(|entry| entry.line);
        entries
    }

    fn collect(&self, prefix: &str, table: &DeTable<'_>, entries: &mut Vec<Entry>) {
        for (name, value) in table {
            let key = match prefix {
                "" => name.get_ref().to_string(),
                _ => format!("{prefix}.{}", name.get_ref()),
            };
            let setting = match (find(&key), value.get_ref()) {
                (Some(setting), _) => Ok(setting),
                (None, DeValue::Table(inner)) if is_section(&key) => {
                    self.collect(&key, inner, entries);
                    continue;
                }
                (None, _) => Err(unknown_key(&key)),
            };
            let line = self.line(name.span().start);
            entries.push(Entry {
                line,
                setting,
                value: plain(value),
            });
        }
    }

    /// File and line as messages show them.
    pub(crate) fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }
}

fn is_section(key: &str) -> bool {
    settings().any(|setting| {
        setting
            .key
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

fn unknown_key(key: &str) -> UnknownKey {
    let sections = settings()
        .filter_map(|setting| setting.key.split_once('.'))
        .map(|(s, _)| s);
    let known = settings()
        .map(|setting| setting.key)
        .chain(sections)
        .map(String::from);
    let key = key.to_owned();
    match nearest(&key, known) {
        Some(meant) => UnknownKey::Misspelt { key, meant },
        None => UnknownKey::Unknown { key },
    }
}

/// A TOML value as JSON, which knows everything our settings need.
fn plain(value: &Spanned<DeValue<'_>>) -> Value {
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or_else(|_| Value::String(number.to_string()), Value::from),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .ok()
            .and_then(serde_json::Number::from_f64)
            .map_or_else(|| Value::String(number.to_string()), Value::Number),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => Value::Array(items.iter().map(plain).collect()),
        DeValue::Table(table) => Value::Object(
            table
                .iter()
                .map(|(name, value)| (name.get_ref().to_string(), plain(value)))
                .collect::<Map<_, _>>(),
        ),
    }
}
