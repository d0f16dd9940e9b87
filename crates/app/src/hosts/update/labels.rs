//! Labels of the node a host becomes, in Kubernetes' syntax.

use std::{collections::BTreeMap, sync::LazyLock};

use muster_api::wire;
use regex::Regex;

use crate::Invalid;

/// Longest name and longest value.
const MAX_NAME: usize = 63;
/// Longest prefix of a key.
const MAX_PREFIX: usize = 253;

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$")
        .expect("the pattern is fixed and valid")
});
static PREFIX: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$")
        .expect("the pattern is fixed and valid")
});

/// Reads the labels a user sent; they replace all earlier ones.
///
/// # Errors
/// Everything that Kubernetes would refuse.
pub fn read(given: &[wire::NodeLabelParams]) -> Result<BTreeMap<String, String>, Invalid> {
    let mut labels = BTreeMap::new();
    let mut faults = Vec::new();
    for label in given {
        let key = label.key.clone().unwrap_or_default();
        let value = label.value.clone().unwrap_or_default();
        if !is_key(&key) {
            faults.push(format!(
                "node_labels: {key:?} is not a label key; write name or prefix/name, the name of at \
                 most {MAX_NAME} letters, digits, '-', '_' and '.'"
            ));
        }
        if !(value.is_empty() || is_name(&value)) {
            faults.push(format!(
                "node_labels: {value:?} (of {key:?}) is not a label value; use at most {MAX_NAME} \
                 letters, digits, '-', '_' and '.', with a letter or digit at both ends"
            ));
        }
        labels.insert(key, value);
    }
    if faults.is_empty() {
        Ok(labels)
    } else {
        Err(faults.join("; ").into())
    }
}

fn is_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => {
            prefix.len() <= MAX_PREFIX && PREFIX.is_match(prefix) && is_name(name)
        }
        None => is_name(key),
    }
}

fn is_name(text: &str) -> bool {
    text.len() <= MAX_NAME && NAME.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(key: &str, value: &str) -> wire::NodeLabelParams {
        wire::NodeLabelParams {
            key: Some(key.to_owned()),
            value: Some(value.to_owned()),
        }
    }

    #[test]
    fn labels_follow_the_syntax_of_kubernetes() {
        let good = [
            label("a", ""),
            label("node-role.kubernetes.io/infra", ""),
            label("b_c.d", "E-1"),
        ];
        assert_eq!(read(&good).unwrap().len(), 3);
        assert_eq!(read(&[]), Ok(BTreeMap::new()));
        let long = "a".repeat(64);
        for (key, value) in [
            ("", "a"),
            ("a/b/c", ""),
            ("/a", ""),
            ("-a", ""),
            ("A.B/c", ""),
            (&long, ""),
            ("a", &long),
            ("a", "b c"),
        ] {
            assert!(read(&[label(key, value)]).is_err(), "{key} {value}");
        }
    }

    #[test]
    fn all_faults_come_at_once() {
        let refusal = read(&[label("-a", "-b"), label("c d", "")]).unwrap_err();
        assert!(
            ["\"-a\" is no", "\"-b\"", "\"c d\""]
                .iter()
                .all(|part| refusal.contains(part)),
            "{refusal}"
        );
    }
}
