//! Changes to manifests of other authors: lists of operations in the form of RFC 6902,
//! as YAML. A file `x.yaml.patch_01` changes `x.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::file::File;
use muster_documents::{
    spanned_yaml::{self, Node, Value as Written},
    yaml,
};

/// The two directories in the order in which their patches are applied and targets looked for.
const FOLDERS: [&str; 2] = ["openshift", "manifests"];

/// A patch that cannot be applied.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("patch {patch} cannot be applied: {why}")]
pub struct PatchError {
    /// The file of the patch.
    pub patch: String,
    /// What is in the way.
    pub why: String,
}

/// One operation.
#[derive(Debug, Deserialize)]
pub struct Change {
    op: Op,
    path: Pointer,
    from: Option<Pointer>,
    #[serde(default)]
    value: Value,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Op {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

/// A JSON pointer.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Pointer(String);

impl TryFrom<String> for Pointer {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.is_empty() || text.starts_with('/') {
            Ok(Self(text))
        } else {
            Err(format!(
                "{text:?} is not a JSON pointer; one looks like /spec/replicas"
            ))
        }
    }
}

/// The operations of a patch.
///
/// # Errors
/// What is wrong with its form.
pub fn read(patch: &[u8]) -> Result<Vec<Change>, String> {
    let form = |cause: &dyn std::fmt::Display| {
        format!("it is no list of operations in the form of RFC 6902 (op, path …): {cause}")
    };
    // Read twice: errors of the first reading name the line.
    serde_yaml_ng::from_slice::<Vec<Change>>(patch).map_err(|cause| form(&cause))?;
    let document = document(patch).map_err(|cause| form(&cause))?;
    let changes: Vec<Change> = serde_json::from_value(document).map_err(|cause| form(&cause))?;
    let lacks_source =
        |change: &&Change| matches!(change.op, Op::Move | Op::Copy) && change.from.is_none();
    match changes.iter().find(lacks_source) {
        Some(change) => Err(format!("{}: move and copy need `from`", change.path.0)),
        None => Ok(changes),
    }
}

/// The file that a patch of this name changes; nothing for other files.
#[must_use]
pub fn target(name: &str) -> Option<&str> {
    let (target, _) = name.rsplit_once(".patch")?;
    let ends = |ending| target.ends_with(ending);
    (ends(".yaml") || ends(".yml")).then_some(target)
}

/// Applies all patches among the files, by path, and takes them away.
pub fn apply(files: &mut BTreeMap<String, File>) -> Result<(), PatchError> {
    for folder in FOLDERS {
        let patches: Vec<(String, String)> = files
            .keys()
            .filter_map(|path| {
                let name = path.strip_prefix(folder)?.strip_prefix('/')?;
                Some((path.clone(), target(name)?.to_owned()))
            })
            .collect();
        for (path, target) in patches {
            let Some(patch) = files.remove(&path) else {
                continue;
            };
            let fault = |why: String| PatchError {
                patch: path.clone(),
                why,
            };
            let place = FOLDERS
                .iter()
                .map(|folder| format!("{folder}/{target}"))
                .find(|place| files.contains_key(place));
            let Some(file) = place.and_then(|place| files.get_mut(&place)) else {
                return Err(fault(format!("there is no manifest {target} to change")));
            };
            file.content = patched(&file.content, &patch.content)
                .map_err(fault)?
                .into_bytes();
        }
    }
    Ok(())
}

fn patched(content: &[u8], patch: &[u8]) -> Result<String, String> {
    let changes = read(patch)?;
    let mut object = document(content)
        .map_err(|cause| format!("the manifest is not one YAML document: {cause}"))?;
    for change in &changes {
        change
            .make(&mut object)
            .map_err(|why| format!("{}: {why}", change.path.0))?;
    }
    Ok(yaml::text(&object))
}

/// Reads a document as the tools of a cluster do: for them `yes`, `on` and the like are switches
/// unless they are quoted.
fn document(text: &[u8]) -> Result<Value, serde_yaml_ng::Error> {
    let mut value = serde_yaml_ng::from_slice(text)?;
    let written = spanned_yaml::parse(&String::from_utf8_lossy(text));
    if let Some(root) = &written.root {
        set_switches(&mut value, root);
    }
    Ok(value)
}

fn set_switches(value: &mut Value, written: &Node) {
    match (value, &written.value) {
        (Value::Array(items), Written::Sequence(nodes)) => {
            for (item, node) in items.iter_mut().zip(nodes) {
                set_switches(item, node);
            }
        }
        (Value::Object(members), Written::Mapping(entries)) => {
            for entry in entries {
                if let Some(member) = members.get_mut(&entry.key) {
                    set_switches(member, &entry.value);
                }
            }
        }
        (value @ Value::String(_), Written::Scalar(scalar)) => {
            if let Some(switch) = scalar.as_bool() {
                *value = Value::Bool(switch);
            }
        }
        _ => {}
    }
}

impl Change {
    fn make(&self, object: &mut Value) -> Result<(), String> {
        match self.op {
            Op::Add => add(object, &self.path.0, self.value.clone()),
            Op::Remove => take(object, &self.path.0).map(drop),
            Op::Replace => {
                let place = object.pointer_mut(&self.path.0).ok_or(ABSENT)?;
                *place = self.value.clone();
                Ok(())
            }
            Op::Test => match object.pointer(&self.path.0) {
                Some(found) if *found == self.value => Ok(()),
                Some(_) => Err("the value there is another one than the test expects".to_owned()),
                None => Err(ABSENT.to_owned()),
            },
            Op::Copy => {
                let value = object.pointer(self.from()).ok_or(ABSENT)?.clone();
                add(object, &self.path.0, value)
            }
            Op::Move => {
                let value = take(object, self.from())?;
                add(object, &self.path.0, value)
            }
        }
    }

    /// Where a move or copy takes its value; [`read`] saw to it that they say so.
    fn from(&self) -> &str {
        self.from.as_ref().map_or("", |from| from.0.as_str())
    }
}

const ABSENT: &str = "there is nothing";

fn split(path: &str) -> Result<(&str, String), String> {
    let (parent, last) = path
        .rsplit_once('/')
        .ok_or("a path begins with a slash, as in /spec/replicas")?;
    Ok((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *object = value;
        return Ok(());
    }
    let (parent, last) = split(path)?;
    match object.pointer_mut(parent).ok_or(ABSENT)? {
        Value::Object(members) => {
            members.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let place = last.parse().ok().filter(|place| *place <= items.len());
            items.insert(place.ok_or("the list has no such place")?, value);
        }
        _ => return Err("what is above it is neither an object nor a list".to_owned()),
    }
    Ok(())
}

fn take(object: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = split(path)?;
    let taken = match object.pointer_mut(parent).ok_or(ABSENT)? {
        Value::Object(members) => members.remove(&last),
        Value::Array(items) => last
            .parse()
            .ok()
            .filter(|place| *place < items.len())
            .map(|place: usize| items.remove(place)),
        _ => None,
    };
    taken.ok_or_else(|| ABSENT.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &str)]) -> BTreeMap<String, File> {
        list.iter()
            .map(|(path, text)| ((*path).to_owned(), File::public(*path, *text)))
            .collect()
    }

    #[test]
    fn switches_of_yaml_1_1_are_switches_unless_they_are_quoted() {
        let content = b"a: on\nb: 'on'\nc: [no, text]\n";
        let patch = b"- {op: add, path: /d, value: yes}\n- {op: add, path: /e, value: 'yes'}\n";
        let expected = "a: true\nb: 'on'\nc:\n- false\n- text\nd: true\ne: 'yes'\n";
        assert_eq!(patched(content, patch).unwrap(), expected);
    }

    #[test]
    fn patches_change_their_target_in_order_and_go() {
        let mut all = files(&[
            ("manifests/a.yml", "spec:\n  list: [1, 2]\n  old: x\n"),
            (
                "manifests/a.yml.patch_2",
                "[{op: replace, path: /spec/m, value: 2}]",
            ),
            (
                "openshift/a.yml.patch_1",
                "- {op: add, path: /spec/m, value: 1}\n- {op: add, path: /spec/list/-, value: 3}\n\
                 - {op: remove, path: /spec/list/0}\n- {op: move, from: /spec/old, path: /spec/new}\n\
                 - {op: test, path: /spec/new, value: x}\n",
            ),
        ]);
        apply(&mut all).unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(
            all["manifests/a.yml"].text(),
            "spec:\n  list:\n  - 2\n  - 3\n  m: 2\n  new: x\n"
        );
    }

    #[test]
    fn what_cannot_be_applied_is_named() {
        for (patch, words) in [
            (
                "[{op: replace, path: /b, value: 1}]",
                "/b: there is nothing",
            ),
            ("[{op: test, path: /a, value: 2}]", "another one"),
            ("[{op: add, path: /l/7, value: 2}]", "no such place"),
            ("[{op: add, path: /a/b, value: 2}]", "neither an object"),
            ("{op: add}", "no list of operations"),
            ("[{op: add, path: a}]", "not a JSON pointer"),
            ("[{op: move, path: /a}]", "need `from`"),
        ] {
            let mut all = files(&[
                ("openshift/a.yaml", "a: 1\nl: []\n"),
                ("openshift/a.yaml.patch", patch),
            ]);
            let fault = apply(&mut all).unwrap_err().to_string();
            assert!(fault.contains(words), "{fault}");
            assert!(fault.contains("openshift/a.yaml.patch"), "{fault}");
        }
        let mut lost = files(&[("openshift/a.yaml.patch", "[]")]);
        let fault = apply(&mut lost).unwrap_err();
        assert!(fault.why.contains("no manifest a.yaml"), "{fault}");
    }
}
