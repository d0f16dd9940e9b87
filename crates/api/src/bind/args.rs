//! The parameters of a request after binding, accessed by name.

use std::fmt;

use uuid::Uuid;

/// Bound path, query and header parameters. Absent ones hold their default, if they have one.
#[derive(Clone, Default, PartialEq)]
pub struct Args(Vec<(&'static str, Arg)>);

/// One value. Texts with a format have been checked already.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Arg {
    Text(String),
    Flag(bool),
    Int(i64),
    List(Vec<String>),
}

impl Args {
    pub(super) fn insert(&mut self, name: &'static str, arg: Arg) {
        self.0.push((name, arg));
    }

    /// A text, exactly as it was sent (percent-decoded).
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Arg::Text(text)) => Some(text),
            Some(Arg::Flag(_) | Arg::Int(_) | Arg::List(_)) | None => None,
        }
    }

    /// An id. Any spelling that passed the check is parsed; to see upper case or
    /// missing dashes, use [`Args::text`].
    #[must_use]
    pub fn uuid(&self, name: &str) -> Option<Uuid> {
        let text = self.text(name)?;
        Uuid::try_parse(text)
            .or_else(|_| Uuid::try_parse(&text.replace('-', "")))
            .ok()
    }

    /// A switch; off unless it was given and true-like, or its default is on.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Arg::Flag(true)))
    }

    /// A whole number.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Arg::Int(number)) => Some(*number),
            Some(Arg::Flag(_) | Arg::Text(_) | Arg::List(_)) | None => None,
        }
    }

    /// A list; empty if it was not given.
    #[must_use]
    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(Arg::List(list)) => list,
            Some(Arg::Flag(_) | Arg::Int(_) | Arg::Text(_)) | None => &[],
        }
    }

    fn get(&self, name: &str) -> Option<&Arg> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, arg)| arg)
    }
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.iter().map(|(name, arg)| (name, arg)))
            .finish()
    }
}
