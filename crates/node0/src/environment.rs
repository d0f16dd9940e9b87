//! Files of `NAME=value` lines, as units read them.

use std::{collections::BTreeMap, fmt};

/// Variables by name. Some are tokens, so `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<String, String>);

impl Environment {
    /// Adds the lines of a file; a later value replaces an earlier one. Comments and lines of
    /// another form mean nothing, as for systemd.
    pub fn add(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.trim();
            let Some((name, value)) = line.split_once('=') else {
                continue;
            };
            let name = name.trim();
            let is_name = |name: &str| {
                !name.is_empty()
                    && name
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            };
            if !is_name(name) {
                continue;
            }
            let value = value.trim();
            let quoted = |quote| value.strip_prefix(quote)?.strip_suffix(quote);
            let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
            self.0.insert(name.to_owned(), value.to_owned());
        }
    }

    /// A variable that has a value.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(String::as_str);
        value.filter(|value| !value.is_empty())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_units_read_them_and_values_are_not_shown() {
        let mut variables = Environment::default();
        variables.add("# A=1\nB=\"two words\"\n C = 'x=y' \nnonsense\nD=\n2-x=3\n");
        variables.add("B=later\n");
        assert_eq!(variables.get("B"), Some("later"));
        assert_eq!(variables.get("C"), Some("x=y"));
        assert_eq!(variables.get("D"), None);
        assert_eq!(variables.iter().count(), 3);
        assert!(!format!("{variables:?}").contains("later"));
    }
}
