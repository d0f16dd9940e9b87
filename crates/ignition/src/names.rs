//! Member names of the specification.
//!
//! Ignition reads them without regard to case. Inside, only the spelling of the specification is
//! used, so that merging and checking meet each member under one name.

use serde_json::{Map, Value};

/// Every member name of the specification up to 3.6, in byte order. No two differ by case alone,
/// and no object has free names.
const NAMES: &[&str] = &[
    "advertisement",
    "append",
    "certificateAuthorities",
    "cex",
    "clevis",
    "compression",
    "config",
    "contents",
    "custom",
    "device",
    "devices",
    "directories",
    "discard",
    "disks",
    "dropins",
    "enabled",
    "files",
    "filesystems",
    "format",
    "gecos",
    "gid",
    "group",
    "groups",
    "guid",
    "hard",
    "hash",
    "homeDir",
    "httpHeaders",
    "httpProxy",
    "httpResponseHeaders",
    "httpTotal",
    "httpsProxy",
    "id",
    "ignition",
    "kernelArguments",
    "keyFile",
    "label",
    "level",
    "links",
    "luks",
    "mask",
    "merge",
    "mode",
    "mountOptions",
    "name",
    "needsNetwork",
    "noCreateHome",
    "noLogInit",
    "noProxy",
    "noUserGroup",
    "number",
    "openOptions",
    "options",
    "overwrite",
    "partitions",
    "passwd",
    "passwordHash",
    "path",
    "pin",
    "primaryGroup",
    "proxy",
    "raid",
    "replace",
    "resize",
    "security",
    "shell",
    "shouldExist",
    "shouldNotExist",
    "sizeMiB",
    "source",
    "spares",
    "sshAuthorizedKeys",
    "startMiB",
    "storage",
    "system",
    "systemd",
    "tang",
    "target",
    "threshold",
    "thumbprint",
    "timeouts",
    "tls",
    "tpm2",
    "typeGuid",
    "uid",
    "units",
    "url",
    "user",
    "users",
    "uuid",
    "value",
    "verification",
    "version",
    "wipeFilesystem",
    "wipePartitionEntry",
    "wipeTable",
    "wipeVolume",
];

/// The value with all members spelled as the specification does; nothing if they are already.
/// Unknown members stay as they are.
pub fn respelled(value: &Value) -> Option<Value> {
    (!is_spelled(value)).then(|| spelled(value.clone()))
}

fn is_spelled(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| canonical(name) == name && is_spelled(value)),
        Value::Array(items) => items.iter().all(is_spelled),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn spelled(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut spelled = Map::new();
            for (name, value) in members {
                let known = canonical(&name);
                // The exact name wins over another spelling of it.
                if known == name || !spelled.contains_key(known) {
                    spelled.insert(known.to_owned(), self::spelled(value));
                }
            }
            Value::Object(spelled)
        }
        Value::Array(items) => items.into_iter().map(spelled).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
    }
}

fn canonical(name: &str) -> &str {
    if NAMES.binary_search(&name).is_ok() {
        return name;
    }
    let known = NAMES.iter().find(|known| known.eq_ignore_ascii_case(name));
    known.map_or(name, |known| known)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_in_order_and_its_names_differ_by_more_than_case() {
        assert!(NAMES.is_sorted());
        let mut folded: Vec<_> = NAMES.iter().map(|name| name.to_ascii_lowercase()).collect();
        folded.sort();
        folded.dedup();
        assert_eq!(folded.len(), NAMES.len());
    }

    #[test]
    fn members_are_spelled_as_the_specification_does_and_values_stay() {
        let config = json!({
            "Ignition": {"VERSION": "3.2.0"},
            "storage": {"Files": [{"PATH": "/Etc/A", "path": "/etc/a", "Owner": 1}]},
        });
        let spelled = json!({
            "ignition": {"version": "3.2.0"},
            "storage": {"files": [{"path": "/etc/a", "Owner": 1}]},
        });
        assert_eq!(respelled(&config).as_ref(), Some(&spelled));
        assert_eq!(respelled(&spelled), None);
        let read = crate::Config::read(&config.to_string()).unwrap();
        assert_eq!(read.json(), &spelled);
    }
}
