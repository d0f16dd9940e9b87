//! YAML that knows where each value stands in the file.
//!
//! Files of users (install-config, agent-config and their kin) are read into a tree of [`Node`]s
//! with byte positions, so that whatever is wrong with a value later can be shown at its place.
//! Nothing is typed here: a scalar is its text and whether it was quoted; what it means is for
//! the schema to say.
//!
//! Input is hostile: size, depth and the work aliases may cause are bounded ([`LIMITS`]).
//! Start at [`parse`].

mod build;
mod documents;
mod mask;
mod scalar;
mod text;

use std::fmt;

pub use build::parse;
pub use documents::parse_each;
pub use mask::mask;
pub use text::{Lines, Place, decode};

/// Bounds on what is read.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Size of the file.
    pub bytes: usize,
    /// Lists and mappings inside each other.
    pub depth: usize,
    /// Values, those that aliases repeat counted each time.
    pub nodes: usize,
    /// Text, what aliases repeat counted each time.
    pub text: usize,
}

/// Far more than any honest file needs, and read in well under a second.
pub const LIMITS: Limits = Limits {
    bytes: 4 << 20,
    depth: 64,
    nodes: 200_000,
    text: 16 << 20,
};

/// A stretch of bytes of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// First byte behind it.
    pub end: usize,
}

/// A value and where it stands. What came by an alias stands where its anchor is.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where.
    pub span: Span,
    /// What.
    pub value: Value,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text, number, switch or nothing; see [`Scalar`].
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in the order of the file; no key twice.
    Mapping(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key as written.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// A text as written. May be a secret, so `Debug` shows only its length.
#[derive(Clone)]
pub struct Scalar {
    /// The text, quotes and escapes resolved.
    pub text: String,
    /// Written without quotes, so it may mean a number, a switch or nothing.
    pub plain: bool,
}

/// Why the text is not good YAML. Duplicate keys leave a tree behind, the rest does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub span: Span,
    /// A short stable name of the rule.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
    pub help: String,
}

/// A tree, as far as there is one, and what is wrong with the text.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The first document; none if it is empty or cannot be read.
    pub root: Option<Node>,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What is only odd.
    pub oddities: Vec<Problem>,
}

impl Node {
    /// What it is, in a word a user knows.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
            Value::Scalar(scalar) => scalar.kind(),
        }
    }

    /// Nothing: `~`, `null` or an empty place.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar(scalar) if scalar.is_null())
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scalar({} bytes)", self.text.len())
    }
}
