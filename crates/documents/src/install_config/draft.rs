//! An install-config in the making: fields are set one by one, then it is written with a comment
//! above each part that says what it is for.

use serde_json::{Map, Value, json};

use super::schema::{DOCUMENT, Field, Kind, ROOT};
use crate::schema::wording::plain_path;

/// Fields in the order they were set.
#[derive(Clone, Default)]
pub struct Draft {
    root: Value,
}

impl Draft {
    /// A file that says only which version of the format it is.
    #[must_use]
    pub fn new() -> Self {
        Self {
            root: json!({ "apiVersion": "v1" }),
        }
    }

    /// Sets the field at a path such as `compute[0].replicas` to a text, which is read as YAML
    /// unless the field holds text anyway.
    ///
    /// # Errors
    /// Says what is wrong with the path or the text.
    pub fn set_text(&mut self, path: &str, text: &str) -> Result<(), String> {
        let value = match kind_of(path) {
            Some(
                Kind::Text | Kind::OnlyText | Kind::Secret | Kind::Cidr | Kind::Ip | Kind::Word(_),
            ) => json!(text),
            _ => serde_yaml_ng::from_str(text)
                .map_err(|cause| format!("{path}: {text:?} is not YAML: {cause}"))?,
        };
        self.set(path, value)
    }

    /// Sets the field at a path, making what is missing on the way.
    ///
    /// # Errors
    /// Says what is wrong with the path.
    pub fn set(&mut self, path: &str, value: Value) -> Result<(), String> {
        let mut here = &mut self.root;
        for step in steps(path)? {
            here = match step {
                Step::Name(name) => {
                    if !here.is_object() {
                        *here = Value::Object(Map::new());
                    }
                    match here {
                        Value::Object(map) => map.entry(name).or_insert(Value::Null),
                        _ => return Err(format!("{path}: not a field")),
                    }
                }
                Step::Entry(index) => {
                    if !here.is_array() {
                        *here = Value::Array(Vec::new());
                    }
                    match here {
                        Value::Array(list) if index <= list.len() => {
                            if index == list.len() {
                                list.push(Value::Null);
                            }
                            &mut list[index]
                        }
                        _ => {
                            return Err(format!(
                                "{path}: entry {index} comes before the ones below it"
                            ));
                        }
                    }
                }
            };
        }
        *here = value;
        Ok(())
    }

    /// Whether something was set at a top-level field.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.root.get(name).is_some()
    }

    /// The file, in the order of the schema, with comments.
    ///
    /// # Errors
    /// None that a draft could cause.
    pub fn to_yaml(&self) -> Result<String, serde_yaml_ng::Error> {
        let mut text = String::from(
            "# Made by `muster create install-config`; every field is explained by\n# `muster explain install-config <field>`.\n",
        );
        let Value::Object(map) = &self.root else {
            return Ok(text);
        };
        let known = ROOT
            .iter()
            .filter_map(|field| Some((Some(field), field.name, map.get(field.name)?)));
        let unknown = map
            .iter()
            .filter(|(name, _)| !ROOT.iter().any(|field| field.name == **name));
        let unknown = unknown.map(|(name, value)| (None, &**name, value));
        for (field, name, value) in known.chain(unknown) {
            if let Some(field) = field {
                text += &comment(field);
            }
            let mut one = Map::new();
            one.insert(name.to_owned(), value.clone());
            text += &serde_yaml_ng::to_string(&one)?;
        }
        Ok(text)
    }
}

/// It may hold a pull secret.
impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Draft").finish_non_exhaustive()
    }
}

enum Step {
    Name(String),
    Entry(usize),
}

/// Longest list a path may reach into.
const LONGEST: usize = 10_000;

fn steps(path: &str) -> Result<Vec<Step>, String> {
    let bad = || format!("{path:?} is not a path such as compute[0].replicas");
    let mut steps = Vec::new();
    for part in path.split('.') {
        let mut pieces = part.split('[');
        let name = pieces.next().filter(|name| !name.is_empty());
        steps.push(Step::Name(name.ok_or_else(bad)?.to_owned()));
        for index in pieces {
            let index = index.strip_suffix(']').and_then(|index| index.parse().ok());
            let index = index.filter(|index| *index < LONGEST).ok_or_else(bad)?;
            steps.push(Step::Entry(index));
        }
    }
    Ok(steps)
}

fn kind_of(path: &str) -> Option<Kind> {
    let (wanted, is_entry) = (plain_path(path), path.ends_with(']'));
    let mut found = None;
    DOCUMENT.each_field(&mut |path, field| {
        if plain_path(path) == wanted {
            found = Some(match field.kind {
                Kind::List(kind) if is_entry => *kind,
                kind => kind,
            });
        }
    });
    found
}

fn comment(field: &Field) -> String {
    format!("\n# {}\n", field.about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_written_in_order_with_comments() {
        let mut draft = Draft::new();
        draft.set_text("compute[0].name", "worker").unwrap();
        draft.set_text("compute[0].replicas", "0").unwrap();
        draft.set_text("metadata.name", "0123").unwrap();
        draft.set_text("platform.none", "{}").unwrap();
        draft
            .set_text("networking.serviceNetwork[0]", "172.30.0.0/16")
            .unwrap();
        let yaml = draft.to_yaml().unwrap();
        assert!(yaml.contains("\n# Where the cluster lives"), "{yaml}");
        assert!(yaml.find("metadata:") < yaml.find("compute:"), "{yaml}");
        assert!(yaml.contains("name: '0123'"), "{yaml}");
        assert!(yaml.contains("replicas: 0"), "{yaml}");
    }

    #[test]
    fn paths_that_are_none_are_refused() {
        let mut draft = Draft::new();
        for path in ["", ".a", "a[", "a[x]", "a[1]", "a[99999999999]"] {
            assert!(draft.set_text(path, "1").is_err(), "{path}");
        }
        assert!(draft.set_text("fips", "[").is_err());
    }
}
