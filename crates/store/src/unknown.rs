//! Members of a stored document that its type does not have.
//!
//! A newer program, a replica that is already updated or a person may have put them there. They
//! are found when a document is read, travel with its [`crate::Row`], and are put back into the
//! text when the row is written: a change of one member never costs another. There are hardly
//! ever any, so all the work is done only then.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};
use serde_ignored::Path;
use serde_json::Value;

/// What a type had no place for; usually nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unknown(Option<Arc<[Member]>>);

#[derive(Clone, Debug)]
struct Member {
    /// From the document down to the object it is in.
    within: Vec<Step>,
    name: String,
    value: Value,
}

#[derive(Clone, Debug)]
enum Step {
    Name(String),
    Place(usize),
}

/// Reads a document and what it has no place for.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> serde_json::Result<(T, Unknown)> {
    let mut paths = Vec::new();
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_ignored::deserialize(&mut json, |path| paths.push(steps(&path)))?;
    json.end()?;
    if paths.is_empty() {
        return Ok((value, Unknown::default()));
    }
    let whole: Value = serde_json::from_str(text)?;
    let members = paths.into_iter().filter_map(|mut within| {
        let Some(Step::Name(name)) = within.pop() else {
            return None;
        };
        let value = find(&whole, &within)?.get(&name)?.clone();
        Some(Member {
            within,
            name,
            value,
        })
    });
    Ok((value, Unknown(Some(members.collect()))))
}

impl Unknown {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Puts the members that were in `before` into the text of the changed document. One whose
    /// object is gone goes with it.
    pub(crate) fn put_back<T: Serialize>(
        &self,
        before: &T,
        text: &str,
    ) -> serde_json::Result<String> {
        let before = serde_json::to_value(before)?;
        let changed: Value = serde_json::from_str(text)?;
        let mut merged = changed.clone();
        for member in self.0.iter().flat_map(|members| members.iter()) {
            let object = follow(&before, &changed, &member.within)
                .and_then(|path| find_mut(&mut merged, &path))
                .and_then(Value::as_object_mut);
            if let Some(object) = object {
                object
                    .entry(&member.name)
                    .or_insert_with(|| member.value.clone());
            }
        }
        serde_json::to_string(&merged)
    }
}

fn steps(path: &Path<'_>) -> Vec<Step> {
    match path {
        Path::Root => Vec::new(),
        Path::Seq { parent, index } => with(parent, Step::Place(*index)),
        Path::Map { parent, key } => with(parent, Step::Name(key.clone())),
        // These have no place of their own in JSON.
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => steps(parent),
    }
}

fn with(parent: &Path<'_>, step: Step) -> Vec<Step> {
    let mut all = steps(parent);
    all.push(step);
    all
}

fn find<'a>(value: &'a Value, path: &[Step]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Name(name) => value.get(name),
        Step::Place(place) => value.get(place),
    })
}

fn find_mut<'a>(value: &'a mut Value, path: &[Step]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match step {
        Step::Name(name) => value.get_mut(name),
        Step::Place(place) => value.get_mut(place),
    })
}

/// Where an object of `before` is in `changed`. An element of a list is found by being the same;
/// one that was edited, by its place in a list of the same length.
fn follow(before: &Value, changed: &Value, path: &[Step]) -> Option<Vec<Step>> {
    let (mut before, mut changed) = (before, changed);
    let mut found = Vec::with_capacity(path.len());
    for step in path {
        let step = match step {
            Step::Name(_) => step.clone(),
            Step::Place(place) => {
                let (old, new) = (before.as_array()?, changed.as_array()?);
                let same = new.iter().position(|one| Some(one) == old.get(*place));
                let edited = (old.len() == new.len()).then_some(*place);
                Step::Place(same.or(edited)?)
            }
        };
        before = find(before, std::slice::from_ref(path.get(found.len())?))?;
        changed = find(changed, std::slice::from_ref(&step))?;
        found.push(step);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Outer {
        name: String,
        inner: Option<Inner>,
        list: Vec<Inner>,
    }

    #[derive(Clone, Debug, Serialize, Deserialize)]
    struct Inner {
        size: u32,
    }

    fn rewritten(stored: &Value, change: impl FnOnce(&mut Outer)) -> Value {
        let (before, unknown): (Outer, _) = read(&stored.to_string()).unwrap();
        let mut changed = before.clone();
        change(&mut changed);
        let text = serde_json::to_string(&changed).unwrap();
        let text = unknown.put_back(&before, &text).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    fn stored() -> Value {
        json!({
            "name": "a", "colour": {"r": 1},
            "inner": {"size": 1, "depth": 2},
            "list": [{"size": 1}, {"size": 2, "depth": [3]}, {"size": 3}],
        })
    }

    #[test]
    fn members_a_type_does_not_have_survive_a_change_of_others() {
        let mut expected = stored();
        expected["name"] = json!("b");
        expected["inner"]["size"] = json!(9);
        expected["list"][1]["size"] = json!(7);
        let found = rewritten(&stored(), |outer| {
            outer.name = "b".into();
            outer.inner.as_mut().unwrap().size = 9;
            outer.list[1].size = 7;
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn they_follow_an_element_that_moves_and_go_with_an_object_that_goes() {
        let found = rewritten(&stored(), |outer| {
            outer.inner = None;
            outer.list.remove(0);
        });
        let expected = json!({
            "name": "a", "colour": {"r": 1}, "inner": null,
            "list": [{"size": 2, "depth": [3]}, {"size": 3}],
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn a_document_the_type_knows_whole_has_none() {
        let text = json!({"name": "a", "inner": null, "list": []}).to_string();
        assert!(read::<Outer>(&text).unwrap().1.is_empty());
        assert!(
            read::<Outer>(&format!("{text} x")).is_err(),
            "rubbish behind it"
        );
    }
}
