//! Names of hosts.

use std::sync::LazyLock;

use regex::Regex;

use crate::Invalid;

/// Longest name: kubelet and certificates allow no more.
const MAX: usize = 63;

/// Names that every machine has already.
const FORBIDDEN: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
];

static NAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[a-z0-9][a-z0-9-]{0,62}(?:[.][a-z0-9-]{1,63})*$")
        .expect("the pattern is fixed and valid")
});

/// Checks a name a user wants to give.
///
/// # Errors
/// It cannot be the name of a node.
pub fn check(name: &str) -> Result<(), Invalid> {
    if name.len() > MAX {
        return Err(format!(
            "host_name has {} characters, at most {MAX} are allowed",
            name.len()
        )
        .into());
    }
    if !NAME.is_match(name) {
        return Err(format!(
            "host_name {name:?} is not a host name: use lower case letters, digits and hyphens, in \
             parts separated by dots, beginning with a letter or digit"
        )
        .into());
    }
    if FORBIDDEN.contains(&name) {
        return Err(format!(
            "host_name {name:?} is not specific to a machine; choose another name"
        )
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_nodes_pass_and_others_do_not() {
        for good in ["a", "node-1", "a.b.example", "1node", &"a".repeat(63)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let bad = [
            "",
            "-a",
            "A",
            "a..b",
            "a_b",
            "a.",
            "localhost",
            "localhost6",
            &"a".repeat(64),
        ];
        for bad in bad {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
