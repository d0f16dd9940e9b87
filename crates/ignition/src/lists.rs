//! What makes an entry of a list one of a kind.
//!
//! One table for two questions: which entries of parent and child are the same thing
//! ([`crate::merge`]), and whether a config names a thing twice ([`crate::faults`]).

use serde_json::Value;

/// How the entries of a list are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// By the first of these members that says something.
    Members(&'static [&'static str]),
    /// By themselves: they are words.
    Value,
    /// Not at all: order and repetition mean something.
    None,
}

/// Lists that share one space of keys: a path is one thing only, and so is an argument.
pub const SHARED: &[&[&str]] = &[
    &["files", "directories", "links"],
    &["shouldExist", "shouldNotExist"],
];

/// Identity of the entries of a list of objects by the list's name; those not here have names.
const MEMBERS: &[(&str, &[&str])] = &[
    ("files", &["path"]),
    ("directories", &["path"]),
    ("links", &["path"]),
    ("disks", &["device"]),
    ("filesystems", &["device"]),
    ("partitions", &["number", "label"]),
    ("merge", &["source"]),
    ("certificateAuthorities", &["source"]),
    ("tang", &["url"]),
];

/// Lists that are handed to a program or read one after the other.
const ORDERED: &[&str] = &["append", "options", "mountOptions", "openOptions"];

/// How the entries of the list `name` are distinguished, derived from one of them.
pub fn identity(name: &str, entry: Option<&Value>) -> Identity {
    if ORDERED.contains(&name) {
        Identity::None
    } else if !entry.is_some_and(Value::is_object) {
        Identity::Value
    } else {
        let row = MEMBERS.iter().find(|(list, _)| *list == name);
        Identity::Members(row.map_or(&["name"], |(_, members)| members))
    }
}

/// The key of an entry; `None` if it has none and is like no other.
pub fn key(entry: &Value, identity: Identity) -> Option<(&'static str, &Value)> {
    match identity {
        Identity::None => None,
        Identity::Value => Some(("value", entry)),
        Identity::Members(members) => members.iter().find_map(|member| {
            let value = entry
                .get(member)
                .filter(|value| !value.is_null() && **value != 0)?;
            Some((*member, value))
        }),
    }
}

/// The lists that share their keys with the list `name`, without itself.
pub fn relatives(name: &str) -> impl Iterator<Item = &'static str> {
    let group = SHARED.iter().find(|group| group.contains(&name));
    group
        .into_iter()
        .flat_map(|group| group.iter().copied())
        .filter(move |other| *other != name)
}
