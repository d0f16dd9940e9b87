//! Laying one config over another, by Ignition's own rules.
//!
//! Plain values of the child replace those of the parent, objects merge member by member, and
//! lists merge by the key that makes their entries unique. Files, directories and links share
//! one key space: a path is one thing only, and the child says which.

use serde_json::{Map, Value};

/// How two lists become one.
enum ListRule {
    /// Entries with the same value of the first of these members are merged.
    ByMember(&'static [&'static str]),
    /// All of the parent's, then all of the child's.
    Concatenated,
    /// As before, each value once.
    Union,
}

const NODES: &[&str] = &["files", "directories", "links"];

fn rule(list: &str, entry: Option<&Value>) -> ListRule {
    match list {
        "append" | "options" | "mountOptions" => ListRule::Concatenated,
        _ if !entry.is_some_and(Value::is_object) => ListRule::Union,
        "files" | "directories" | "links" => ListRule::ByMember(&["path"]),
        "disks" | "filesystems" => ListRule::ByMember(&["device"]),
        "partitions" => ListRule::ByMember(&["number", "label"]),
        "merge" | "certificateAuthorities" => ListRule::ByMember(&["source"]),
        "tang" => ListRule::ByMember(&["url"]),
        _ => ListRule::ByMember(&["name"]),
    }
}

/// `parent` with `child` laid over it. The version is the newer of the two, as both parts must
/// be understood.
#[must_use]
pub fn merge(parent: Value, child: Value) -> Value {
    let version = |config: &Value| config["ignition"]["version"].as_str().map(str::to_owned);
    let newest = version(&parent).max(version(&child));
    let mut merged = member("", parent, child);
    if let (Some(version), Some(head)) = (newest, merged.get_mut("ignition")) {
        head["version"] = Value::String(version);
    }
    merged
}

fn member(name: &str, parent: Value, child: Value) -> Value {
    match (parent, child) {
        (parent, Value::Null) => parent,
        (Value::Object(mut parent), Value::Object(child)) => {
            if name == "storage" {
                drop_replaced_nodes(&mut parent, &child);
            }
            Value::Object(objects(parent, child))
        }
        (Value::Array(parent), Value::Array(child)) => Value::Array(lists(name, parent, child)),
        (_, child) => child,
    }
}

fn objects(mut parent: Map<String, Value>, child: Map<String, Value>) -> Map<String, Value> {
    for (name, value) in child {
        let before = parent.get_mut(&name).map_or(Value::Null, Value::take);
        let merged = member(&name, before, value);
        if merged.is_null() {
            parent.shift_remove(&name);
        } else {
            parent.insert(name, merged);
        }
    }
    parent
}

fn lists(name: &str, mut parent: Vec<Value>, child: Vec<Value>) -> Vec<Value> {
    match rule(name, child.first().or(parent.first())) {
        ListRule::Concatenated => parent.extend(child),
        ListRule::Union => {
            for value in child {
                if !parent.contains(&value) {
                    parent.push(value);
                }
            }
        }
        ListRule::ByMember(members) => {
            for entry in child {
                let same = parent.iter().position(|known| {
                    key(known, members).is_some_and(|known| Some(known) == key(&entry, members))
                });
                match same {
                    // A header without a value is how a child takes one away.
                    Some(at) if name == "httpHeaders" && entry["value"].is_null() => {
                        parent.remove(at);
                    }
                    Some(at) => parent[at] = member("", parent[at].take(), entry),
                    None => parent.push(entry),
                }
            }
        }
    }
    parent
}

/// What makes an entry unique: the first of the members that says something.
fn key<'a>(entry: &'a Value, members: &[&'static str]) -> Option<(&'static str, &'a Value)> {
    members.iter().find_map(|member| {
        let value = entry
            .get(member)
            .filter(|value| !value.is_null() && **value != 0)?;
        Some((*member, value))
    })
}

/// Takes out of the parent's lists what the child makes something else.
fn drop_replaced_nodes(parent: &mut Map<String, Value>, child: &Map<String, Value>) {
    let paths = |list: &str| {
        let nodes = child
            .get(list)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        nodes
            .filter_map(|node| node["path"].as_str())
            .collect::<Vec<_>>()
    };
    for list in NODES {
        let Some(Value::Array(nodes)) = parent.get_mut(*list) else {
            continue;
        };
        for other in NODES.iter().filter(|other| *other != list) {
            let taken = paths(other);
            nodes.retain(|node| {
                node["path"]
                    .as_str()
                    .is_none_or(|path| !taken.contains(&path))
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn entries_with_the_same_key_merge_and_new_ones_are_appended() {
        let parent = json!({
            "ignition": {"version": "3.1.0"},
            "storage": {"files": [{"path": "/a", "mode": 420}, {"path": "/b", "mode": 420}]},
            "systemd": {"units": [{"name": "x.service", "enabled": true, "contents": "old"}]},
        });
        let child = json!({
            "ignition": {"version": "3.1.0"},
            "storage": {"files": [{"path": "/b", "mode": 384, "contents": {"source": "data:,x"}},
                                  {"path": "/c"}]},
            "systemd": {"units": [{"name": "x.service", "contents": "new",
                                   "dropins": [{"name": "y.conf"}]}]},
        });
        let merged = merge(parent, child);
        assert_eq!(
            merged["storage"]["files"],
            json!([
                {"path": "/a", "mode": 420},
                {"path": "/b", "mode": 384, "contents": {"source": "data:,x"}},
                {"path": "/c"},
            ])
        );
        assert_eq!(
            merged["systemd"]["units"],
            json!([{"name": "x.service", "enabled": true, "contents": "new",
                    "dropins": [{"name": "y.conf"}]}])
        );
    }

    #[test]
    fn a_path_that_becomes_a_link_is_no_file_any_more() {
        let parent = json!({"storage": {"files": [{"path": "/a"}, {"path": "/b"}]}});
        let child = json!({"storage": {"links": [{"path": "/a", "target": "/b"}]}});
        let merged = merge(parent, child);
        assert_eq!(merged["storage"]["files"], json!([{"path": "/b"}]));
        assert_eq!(merged["storage"]["links"][0]["target"], "/b");
    }

    #[test]
    fn lists_of_words_unite_and_option_lists_are_joined() {
        let parent = json!({"passwd": {"users": [
            {"name": "core", "groups": ["sudo"], "sshAuthorizedKeys": ["a", "b"]}]},
            "storage": {"raid": [{"name": "r", "options": ["-x"]}]}});
        let child = json!({"passwd": {"users": [
            {"name": "core", "sshAuthorizedKeys": ["b", "c"]}, {"name": "ops"}]},
            "storage": {"raid": [{"name": "r", "options": ["-x"]}]}});
        let merged = merge(parent, child);
        assert_eq!(
            merged["passwd"]["users"],
            json!([{"name": "core", "groups": ["sudo"], "sshAuthorizedKeys": ["a", "b", "c"]},
                   {"name": "ops"}])
        );
        assert_eq!(merged["storage"]["raid"][0]["options"], json!(["-x", "-x"]));
    }

    #[test]
    fn the_newer_version_wins_whoever_has_it_and_null_says_nothing() {
        let with = |version: &str| json!({"ignition": {"version": version}});
        for (parent, child) in [("3.1.0", "3.2.0"), ("3.2.0", "3.0.0")] {
            assert_eq!(
                merge(with(parent), with(child))["ignition"]["version"],
                "3.2.0"
            );
        }
        let child = json!({"ignition": {"version": null}, "passwd": null});
        assert_eq!(merge(with("3.1.0"), child), with("3.1.0"));
    }

    #[test]
    fn a_header_without_value_is_taken_away() {
        let config = |headers: Value| {
            json!({"ignition": {"config": {"merge": [
                {"source": "http://a", "httpHeaders": headers}]}}})
        };
        let parent = config(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
        let child = config(json!([{"name": "A", "value": null}]));
        let merged = merge(parent, child);
        let headers = &merged["ignition"]["config"]["merge"][0]["httpHeaders"];
        assert_eq!(*headers, json!([{"name": "B", "value": "2"}]));
    }
}
