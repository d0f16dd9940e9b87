//! Fields of files that users write: name, type, default, meaning.
//!
//! One table per [`Document`], for three uses: [`walk`] checks a file against it and gives each value
//! its type, [`explain`] describes it in words, and tests compare the Rust types with it.

mod explain;
pub mod json;
pub(crate) mod read;
mod scalars;
pub mod walk;
pub(crate) mod wording;

use crate::validation::RuleSummary;
use muster_model::MinorVersion;

/// A file that users write.
#[derive(Debug)]
pub struct Document {
    /// What commands and messages call it.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// How one begins.
    pub begins: &'static str,
    /// How to come to one.
    pub fix: &'static str,
    /// What can be set in it.
    pub fields: &'static [Field],
    /// What must hold in it.
    pub rule_summaries: fn() -> Vec<RuleSummary>,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The key in the file.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What it is for, in a sentence.
    pub about: &'static str,
    /// What holds when it is left out; empty if nothing does.
    pub default: &'static str,
    /// The first release that knows it.
    pub since: Option<MinorVersion>,
    /// What to write instead, if it is an old spelling.
    pub instead: Option<&'static str>,
    /// The file is unreadable without it.
    pub indispensable: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text; numbers and switches are taken as they are written.
    Text,
    /// A text that reads as nothing else: numbers and switches must be quoted.
    OnlyText,
    /// A text that is never shown.
    Secret,
    /// True or false.
    Flag,
    /// A whole number within bounds.
    Number(i64, i64),
    /// A network as `address/prefix`.
    Cidr,
    /// An IP address.
    Ip,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// Several of them.
    List(&'static Kind),
    /// Fields of its own.
    Object(&'static [Field]),
    /// Texts by name.
    Labels,
    /// Any value; its form is defined elsewhere.
    Anything,
    /// Known to the reference, not offered here.
    Foreign,
}

/// Numbers the reference keeps in 32 bits.
pub(crate) const INT32: Kind = Kind::Number(i32::MIN as i64, i32::MAX as i64);
/// Numbers the reference keeps in 64 bits.
pub(crate) const INT64: Kind = Kind::Number(i64::MIN, i64::MAX);
pub(crate) const TEXTS: Kind = Kind::List(&Kind::Text);
pub(crate) const IPS: Kind = Kind::List(&Kind::Ip);

impl Field {
    pub(crate) const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            default: "",
            since: None,
            instead: None,
            indispensable: false,
        }
    }

    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }

    pub(crate) const fn since(mut self, major: u32, minor: u32) -> Self {
        self.since = Some(MinorVersion::new(major, minor));
        self
    }

    pub(crate) const fn instead(mut self, instead: &'static str) -> Self {
        self.instead = Some(instead);
        self
    }

    pub(crate) const fn indispensable(mut self) -> Self {
        self.indispensable = true;
        self
    }
}

impl Kind {
    /// What to write, in a few words.
    #[must_use]
    pub fn description(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::OnlyText => "text, quoted if it reads as a number or switch".to_owned(),
            Self::Secret => "secret text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Number(..) => "whole number".to_owned(),
            Self::Cidr => "network (address/prefix)".to_owned(),
            Self::Ip => "IP address".to_owned(),
            Self::Word(words) => words.join(" | "),
            Self::List(kind) => format!("list of {}", kind.description()),
            Self::Object(_) => "mapping".to_owned(),
            Self::Labels => "mapping of texts".to_owned(),
            Self::Anything => "anything".to_owned(),
            Self::Foreign => "not supported".to_owned(),
        }
    }

    /// The fields below, through lists.
    #[must_use]
    pub fn fields(&self) -> &'static [Field] {
        match self {
            Self::Object(fields) => fields,
            Self::List(kind) => kind.fields(),
            Self::Text
            | Self::OnlyText
            | Self::Secret
            | Self::Flag
            | Self::Number(..)
            | Self::Cidr
            | Self::Ip
            | Self::Word(_)
            | Self::Labels
            | Self::Anything
            | Self::Foreign => &[],
        }
    }
}

impl Document {
    /// Calls `visit` with the path and row of every field, parents first, in the order of the
    /// tables. Paths have `[]` behind lists.
    pub fn each_field(&self, visit: &mut dyn FnMut(&str, &'static Field)) {
        below("", self.fields, visit);
    }
}

fn below(prefix: &str, fields: &'static [Field], visit: &mut dyn FnMut(&str, &'static Field)) {
    for field in fields {
        let path = format!("{prefix}{}", field.name);
        visit(&path, field);
        let list = if matches!(field.kind, Kind::List(_)) {
            "[]"
        } else {
            ""
        };
        below(&format!("{path}{list}."), field.kind.fields(), visit);
    }
}
