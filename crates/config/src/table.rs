//! The table of settings: one row per key, made by the sections themselves.
//!
//! A row does not hold a value or a default. It knows the way to a field of [`Config`], and the
//! field's type knows how to read and show itself; so the table cannot disagree with the struct.

use std::fmt;

use serde_json::Value;

use crate::errors::ValueError;
use crate::kinds::Parse;
use crate::sections::{self, Config};

/// A field of [`Config`] seen as something that can be read from text and shown.
pub trait Field {
    /// Takes the value written in a variable, a flag or a string of the file.
    fn set_text(&mut self, text: &str) -> Result<(), ValueError>;
    /// Takes the value as the file has it: number, list or table.
    fn set_value(&mut self, value: &Value) -> Result<(), ValueError>;
    /// The present value as it may be shown to anyone.
    fn show(&self) -> String;
    /// What a value looks like, for docs and error messages.
    fn kind(&self) -> &'static str;
    /// Whether the written text must not be repeated in messages.
    fn secret(&self) -> bool;
    /// Whether the value stands without quotes in the file.
    fn bare(&self) -> bool;
}

impl<T: Parse> Field for T {
    fn set_text(&mut self, text: &str) -> Result<(), ValueError> {
        *self = T::parse(text.trim())?;
        Ok(())
    }

    fn set_value(&mut self, value: &Value) -> Result<(), ValueError> {
        *self = T::from_value(value)?;
        Ok(())
    }

    fn show(&self) -> String {
        Parse::show(self)
    }

    fn kind(&self) -> &'static str {
        T::KIND
    }

    fn secret(&self) -> bool {
        T::SECRET
    }

    fn bare(&self) -> bool {
        T::BARE
    }
}

/// One setting.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Dotted key, as in the configuration file.
    pub key: &'static str,
    /// Names of the reference's environment variables, strongest first.
    pub env: &'static [&'static str],
    /// One line for people.
    pub help: &'static str,
    /// How the value is found when none is given, if the default is not a constant.
    pub rule: Option<&'static str>,
    pub(crate) get: fn(&Config) -> &dyn Field,
    pub(crate) get_mut: fn(&mut Config) -> &mut dyn Field,
}

impl Setting {
    /// The environment variable of our own: `server.listen` is `MUSTER_SERVER_LISTEN`.
    pub fn own_env(&self) -> String {
        format!("MUSTER_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// The field of this setting.
    pub fn of<'c>(&self, config: &'c Config) -> &'c dyn Field {
        (self.get)(config)
    }
}

impl fmt::Debug for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setting")
            .field("key", &self.key)
            .field("env", &self.env)
            .finish()
    }
}

/// The place of all data is the only key outside a section.
const DATA_DIR: Setting = Setting {
    key: "data_dir",
    env: &["WORK_DIR"],
    help: "Folder for the database, stored files, keys and certificates.",
    rule: Some("/var/lib/muster for root, else $XDG_DATA_HOME/muster or ~/.local/share/muster"),
    get: |config| &config.data_dir,
    get_mut: |config| &mut config.data_dir,
};

/// All settings, in the order in which they are printed.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    std::iter::once(&DATA_DIR).chain(sections::TABLE.iter().copied().flatten())
}

/// The setting of a dotted key.
pub(crate) fn find(key: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.key == key)
}

/// The candidate most like a misspelt word, if any is near enough to be meant.
pub(crate) fn nearest(word: &str, candidates: impl Iterator<Item = String>) -> Option<String> {
    let limit = (word.len() / 4).clamp(1, 4);
    candidates
        .map(|candidate| (edits(word, &candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein distance: insertions, removals and replacements between two words.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::unused::WITHOUT_EFFECT;

    #[test]
    fn no_key_and_no_variable_is_claimed_twice() {
        let mut keys = HashSet::new();
        let mut names = HashSet::new();
        for setting in settings() {
            assert!(keys.insert(setting.key), "{} appears twice", setting.key);
            assert!(
                names.insert(setting.own_env()),
                "{} appears twice",
                setting.own_env()
            );
            for name in setting.env {
                assert!(names.insert((*name).into()), "{name} appears twice");
            }
        }
        for (_, group) in WITHOUT_EFFECT {
            for name in *group {
                assert!(
                    names.insert((*name).into()),
                    "{name} is used and unused at once"
                );
            }
        }
    }

    #[test]
    fn every_setting_has_help_that_is_one_sentence() {
        for setting in settings() {
            assert!(
                setting.help.trim().ends_with('.'),
                "{}: {}",
                setting.key,
                setting.help
            );
        }
    }

    #[test]
    fn every_default_that_is_shown_reads_back() {
        let defaults = Config::default();
        for setting in settings().filter(|setting| setting.rule.is_none()) {
            let mut config = Config::default();
            let shown = setting.of(&defaults).show();
            if setting.of(&defaults).secret() {
                continue;
            }
            let read = (setting.get_mut)(&mut config).set_text(&shown);
            assert_eq!(read, Ok(()), "{} = {shown}", setting.key);
            assert_eq!(setting.of(&config).show(), shown, "{}", setting.key);
        }
    }

    #[test]
    fn a_misspelt_key_finds_its_neighbour_and_a_foreign_one_does_not() {
        let keys = || settings().map(|setting| setting.key.to_string());
        assert_eq!(
            nearest("server.listn", keys()).as_deref(),
            Some("server.listen")
        );
        assert_eq!(nearest("colour", keys()), None);
    }
}
