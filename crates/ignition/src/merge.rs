//! Laying one config over another, by Ignition's own rules.
//!
//! Plain values of the child replace those of the parent, objects merge member by member, and
//! lists merge by what makes their entries unique ([`crate::lists`]). Where lists share their
//! keys, the child says what a path or an argument is.

use serde_json::{Map, Value};

use crate::lists::{Identity, identity, key, relatives};

/// `parent` with `child` laid over it. The version is the newer of the two, as both parts must
/// be understood.
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
            drop_replaced(&mut parent, &child);
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
    let identity = identity(name, child.first().or(parent.first()));
    let known = parent.len();
    for entry in child {
        let same = key(&entry, identity).and_then(|wanted| {
            let mut known = parent[..known.min(parent.len())].iter();
            known.position(|known| key(known, identity) == Some(wanted))
        });
        match same {
            // A header without a value is how a child takes one away.
            Some(at) if name == "httpHeaders" && entry["value"].is_null() => {
                parent[at] = Value::Null;
            }
            Some(at) if identity != Identity::Value => {
                parent[at] = member("", parent[at].take(), entry);
            }
            Some(_) => {}
            None => parent.push(entry),
        }
    }
    parent.retain(|entry| !entry.is_null());
    parent
}

fn key_in<'a>(list: &str, entry: &'a Value) -> Option<(&'static str, &'a Value)> {
    key(entry, identity(list, Some(entry)))
}

/// Takes out of the parent's lists what the child makes something else.
fn drop_replaced(parent: &mut Map<String, Value>, child: &Map<String, Value>) {
    for (name, list) in parent {
        let Value::Array(entries) = list else {
            continue;
        };
        for other in relatives(name) {
            let Some(Value::Array(taken)) = child.get(other) else {
                continue;
            };
            entries.retain(|entry| {
                let own = key_in(name, entry);
                own.is_none() || !taken.iter().any(|taken| key_in(other, taken) == own)
            });
        }
    }
}

#[cfg(test)]
mod tests;
