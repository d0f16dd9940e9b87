//! The table in words, for `muster explain`.

use muster_catalog::{Operator, operators::selection::dependencies};

use super::OPERATOR_CHECKS;

/// One operator, explained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Its name in requests, such as `odf`.
    pub name: &'static str,
    /// The name people know it by.
    pub title: &'static str,
    /// The id of its validation, of hosts and clusters alike.
    pub id: &'static str,
    /// What the validation asks.
    pub asks: &'static str,
    /// Operators that come with it.
    pub dependencies: Vec<String>,
    /// Where it cannot run.
    pub limits: Vec<String>,
    /// How long it may take to become available.
    pub timeout_seconds: u32,
}

/// Every operator, sorted by the id of its validation.
#[must_use]
pub fn explained() -> Vec<Explained> {
    let explain = |check: &super::OperatorCheck| Explained {
        name: check.operator.as_str(),
        title: check.operator.title(),
        id: check.id,
        asks: check.asks,
        dependencies: needed(check.operator),
        limits: limits(check.operator),
        timeout_seconds: check.operator.timeout_seconds(),
    };
    OPERATOR_CHECKS.iter().map(explain).collect()
}

fn needed(operator: Operator) -> Vec<String> {
    let always = dependencies(operator, false);
    let alone = dependencies(operator, true);
    let only_alone = alone.iter().filter(|needed| !always.contains(needed));
    always
        .iter()
        .map(ToString::to_string)
        .chain(only_alone.map(|needed| format!("{needed} (single node)")))
        .collect()
}

fn limits(operator: Operator) -> Vec<String> {
    let text = |(major, minor)| format!("{major}.{minor}");
    let (many, alone) = (operator.first_version(false), operator.first_version(true));
    let version = many.map(|first| match alone {
        Some(alone) if alone != first => format!(
            "OpenShift {} or later (single node: {})",
            text(first),
            text(alone)
        ),
        _ => format!("OpenShift {} or later", text(first)),
    });
    let absent: Vec<&str> = operator.absent_on().map(|arch| arch.as_str()).collect();
    let architecture = (!absent.is_empty()).then(|| format!("not on {}", absent.join(", ")));
    version.into_iter().chain(architecture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Explained {
        let found = explained().into_iter().find(|one| one.name == name);
        found.unwrap_or_else(|| panic!("{name} is not explained"))
    }

    #[test]
    fn limits_and_dependencies_are_listed_with_their_exceptions() {
        assert_eq!(
            of("lvm").limits,
            [
                "OpenShift 4.15 or later (single node: 4.11)",
                "not on ppc64le, s390x"
            ]
        );
        assert_eq!(of("odf").dependencies, ["lso"]);
        assert_eq!(of("openshift-ai").dependencies, ["lvm (single node)"]);
        assert_eq!(
            of("numaresources").id,
            "numa-resources-requirements-satisfied"
        );
        assert!(of("oadp").limits.is_empty());
    }

    #[test]
    fn every_sentence_is_one() {
        for one in explained() {
            assert!(
                one.asks.ends_with('.') && one.asks.len() > 20,
                "{}",
                one.name
            );
        }
    }
}
