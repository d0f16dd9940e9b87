//! The schema and the rules in words, for `muster explain install-config`.

use std::fmt::Write;

use super::{
    RULES,
    schema::{Field, Kind, each_field, wording::plain_path},
};
use crate::findings::nearest;

/// Tells about one field (`networking.machineNetwork`, or just `machineNetwork` if that is clear),
/// or about the whole file.
///
/// # Errors
/// There is no such field, or there are several; says which might be meant.
pub fn explain(wanted: Option<&str>) -> Result<String, String> {
    let Some(wanted) = wanted.map(str::trim).filter(|wanted| !wanted.is_empty()) else {
        let mut text = "install-config.yaml: what a cluster is installed from.\n\n".to_owned();
        each_field(&mut |path, field| {
            if !path.contains('.') {
                text += &line(field);
            }
        });
        text += "\n`muster explain install-config <field>` tells more, for example about platform.baremetal.\n";
        return Ok(text);
    };
    let (path, field) = find(&plain_path(wanted))?;
    Ok(describe(&path, field))
}

/// The page of the manual: every field and every rule.
#[must_use]
pub fn page() -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "## Fields\n\n| field | type | when left out | meaning |\n|---|---|---|---|"
    );
    each_field(&mut |path, field| {
        if !matches!(field.kind, Kind::Foreign) {
            let mut about = field.about.to_owned();
            if let Some(since) = field.since {
                let _ = write!(about, " From release {since}.");
            }
            if let Some(instead) = field.instead {
                let _ = write!(about, " Deprecated: `{instead}`.");
            }
            let kind = field.kind.told().replace('|', "\\|");
            let _ = writeln!(text, "| `{path}` | {kind} | {} | {about} |", field.default);
        }
    });
    let _ = writeln!(
        text,
        "\n## Rules\n\n| rule | field | what must hold |\n|---|---|---|"
    );
    for rule in RULES.iter() {
        let _ = writeln!(text, "| {} | `{}` | {} |", rule.name, rule.path, rule.text);
    }
    text
}

fn find(wanted: &str) -> Result<(String, &'static Field), String> {
    let mut all: Vec<(String, &'static Field)> = Vec::new();
    each_field(&mut |path, field| all.push((plain_path(path), field)));
    if let Some(exact) = all
        .iter()
        .find(|(path, _)| path.eq_ignore_ascii_case(wanted))
    {
        return Ok(exact.clone());
    }
    let tail = format!(".{}", wanted.to_ascii_lowercase());
    let ends: Vec<&(String, &Field)> = all
        .iter()
        .filter(|(path, _)| path.to_ascii_lowercase().ends_with(&tail))
        .collect();
    match &ends[..] {
        [one] => Ok((*one).clone()),
        [] => {
            let near = nearest(wanted, all.iter().map(|(path, _)| &**path))
                .or_else(|| nearest(wanted, all.iter().map(|(_, field)| field.name)));
            let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            Err(format!("install-config has no field {wanted:?}{hint}"))
        }
        several => {
            let paths: Vec<&str> = several.iter().map(|(path, _)| &**path).collect();
            Err(format!(
                "several fields are called {wanted:?}: {}",
                paths.join(", ")
            ))
        }
    }
}

fn describe(path: &str, field: &'static Field) -> String {
    let mut text = format!("{path}  <{}>\n\n  {}\n", field.kind.told(), field.about);
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(text, "  {name:<14} {value}");
        }
    };
    row("when left out:", field.default);
    let since = field.since.map(|since| format!("release {since}"));
    row("known from:", &since.unwrap_or_default());
    row("instead write:", field.instead.unwrap_or_default());
    let below: Vec<&Field> = field.kind.fields().iter().collect();
    if !below.is_empty() {
        text += "\nFields:\n";
        for field in below {
            text += &line(field);
        }
    }
    let about = |rule_path: &str| rule_path == path || below_of(rule_path, path);
    let rules: Vec<_> = RULES.iter().filter(|rule| about(rule.path)).collect();
    if !rules.is_empty() {
        text += "\nRules:\n";
        for rule in rules {
            let _ = writeln!(text, "  {:<24} {}", rule.name, rule.text);
        }
    }
    text
}

fn below_of(inner: &str, outer: &str) -> bool {
    inner
        .strip_prefix(outer)
        .is_some_and(|rest| rest.starts_with('.'))
}

fn line(field: &Field) -> String {
    let old = match field.instead {
        Some(instead) => format!(" (deprecated: {instead})"),
        None => String::new(),
    };
    format!("  {:<32} {}{old}\n", field.name, field.about)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_told_with_type_default_and_rules() {
        let told = explain(Some("networking.clusterNetwork")).unwrap();
        for part in [
            "list of mapping",
            "10.128.0.0/14",
            "hostPrefix",
            "host-prefix",
        ] {
            assert!(told.contains(part), "{part} is missing in\n{told}");
        }
    }

    #[test]
    fn a_field_is_found_by_its_last_name_and_a_slip_is_answered() {
        assert_eq!(
            explain(Some("machineNetwork")),
            explain(Some("NETWORKING.machinenetwork[0]"))
        );
        assert!(
            explain(Some("apiVIPs"))
                .unwrap_err()
                .contains("platform.vsphere.apiVIPs")
        );
        assert!(
            explain(Some("machineNetwrok"))
                .unwrap_err()
                .contains("did you mean")
        );
        assert!(explain(None).unwrap().contains("pullSecret"));
    }
}
