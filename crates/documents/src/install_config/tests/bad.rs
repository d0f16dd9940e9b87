//! Each rule is broken once; the report must name the right place and the fix.

use std::{collections::BTreeSet, fmt::Write};

use muster_model::MinorVersion;

use super::{
    bad_cases::{CASES, Case, With},
    corpus, good, load_with,
};
use crate::{
    findings::Report,
    install_config::{FipsHost, Given, Method, RULES, types::Architecture},
};

/// Rules that are tried elsewhere, with the reason.
const ELSEWHERE: &[&str] = &[
    // Needs a certificate; see `certificates_are_read`.
    "trust-bundle-authority",
];

/// Hosts that install release 4.`minor` themselves.
fn agent_of(minor: u32) -> Given {
    Given {
        method: Method::Agent,
        release: Some(MinorVersion::new(4, minor)),
        ..Given::default()
    }
}

pub(super) fn given(with: With) -> Given {
    let given = Given::default();
    match with {
        With::Nothing => given,
        With::Agent => Given {
            method: Method::Agent,
            ..given
        },
        With::Cluster => Given {
            method: Method::Cluster,
            ..given
        },
        With::Arm64Release => Given {
            release_architecture: Some(Architecture::Arm64),
            ..given
        },
        With::Release419 => Given {
            release: Some(MinorVersion::new(4, 19)),
            ..given
        },
        With::Agent417 => agent_of(17),
        With::Agent419 => agent_of(19),
        With::Agent421 => agent_of(21),
        With::FipsBypassed => Given {
            fips_host: FipsHost::Bypassed,
            ..given
        },
    }
}

fn report_of(case: &Case) -> Report {
    let mut tree = corpus::tree(case.base.0, case.base.1);
    for (path, yaml) in case.set {
        corpus::set(&mut tree, path, yaml);
    }
    match load_with(&corpus::text(&tree), given(case.with)) {
        Ok(loaded) => loaded.report,
        Err(report) => report,
    }
}

#[test]
fn every_broken_rule_is_reported_at_its_field_with_line_and_fix() {
    let mut reported = String::new();
    let mut missed = Vec::new();
    for case in CASES {
        let report = report_of(case);
        let _ = writeln!(
            reported,
            "# {}-{} {:?} {:?}\n{report}",
            case.base.0, case.base.1, case.with, case.set
        );
        let found = report
            .findings()
            .iter()
            .find(|f| f.rule == case.rule && f.path == case.at);
        let Some(found) = found else {
            missed.push(format!("{case:?}\n{report}"));
            continue;
        };
        assert!(found.help.len() > 5, "{found:?}");
        let place = report.place(found);
        assert!(
            place.line >= 1 && place.line <= report.shown().lines().count(),
            "{found:?}"
        );
        // The line is that of the field, or of the nearest one that is written.
        let line = report.shown().lines().nth(place.line - 1).unwrap();
        let names: Vec<&str> = case
            .at
            .split(['.', '[', ']'])
            .filter(|n| !n.is_empty())
            .collect();
        let named = |name: &&str| line.to_lowercase().contains(&name.to_lowercase());
        let near = names.iter().any(named) || case.at.contains('[') || place.line == 1;
        assert!(near, "{case:?} reported at `{line}`\n{report}");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    good::golden("bad.txt", &reported);
}

#[test]
fn every_size_of_a_control_plane_is_accepted_from_its_first_release_on() {
    let preview = ("featureSet", "TechPreviewNoUpgrade");
    let four = ("controlPlane.replicas", "4");
    let five = ("controlPlane.replicas", "5");
    type Accepted = (
        &'static str,
        &'static str,
        u32,
        Vec<(&'static str, &'static str)>,
    );
    let accepted: [Accepted; 7] = [
        ("baremetal", "compact", 18, vec![four]),
        ("external", "compact", 18, vec![five]),
        ("none", "highly-available", 18, vec![five]),
        ("baremetal", "arbiter", 19, vec![preview]),
        ("none", "arbiter", 22, vec![]),
        ("baremetal", "two-node", 20, vec![preview]),
        ("none", "two-node", 22, vec![]),
    ];
    for (platform, topology, minor, changes) in accepted {
        let mut tree = corpus::tree(platform, topology);
        for (path, yaml) in changes {
            corpus::set(&mut tree, path, yaml);
        }
        if let Err(report) = load_with(&corpus::text(&tree), agent_of(minor)) {
            panic!("{platform} {topology} 4.{minor}:\n{report}");
        }
    }
}

#[test]
fn no_rule_is_left_unbroken() {
    let broken: BTreeSet<&str> = CASES.iter().map(|case| case.rule).collect();
    let left: Vec<&str> = RULES
        .iter()
        .map(|rule| rule.name)
        .filter(|name| !broken.contains(name) && !ELSEWHERE.contains(name))
        // Those of restored nodes are broken in the tests of `image_based_config`.
        .filter(|name| !name.starts_with("image-based-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_slip_in_the_form_gives_one_error_and_not_a_shower() {
    for case in CASES.iter().filter(|case| case.rule == "type") {
        let report = report_of(case);
        let errors = report.count(crate::findings::Severity::Error);
        assert_eq!(errors, 1, "{report}");
    }
}

#[test]
fn all_faults_of_a_file_are_reported_at_once() {
    let mut tree = corpus::tree("baremetal", "compact");
    for (path, yaml) in [
        ("baseDomain", "UPPER"),
        ("fips", "maybe"),
        ("networking.machineNetwork", "[{cidr: 192.168.10.1/24}]"),
        ("platform.baremetal.hosts[0].bootMode", "uefi"),
        ("pullSecret", "'{}'"),
        ("nonsense", "1"),
    ] {
        corpus::set(&mut tree, path, yaml);
    }
    let report = load_with(&corpus::text(&tree), Given::default()).unwrap_err();
    let rules: BTreeSet<&str> = report.findings().iter().map(|f| f.rule).collect();
    for rule in [
        "base-domain",
        "type",
        "network-address",
        "allowed-word",
        "pull-secret",
        "unknown-field",
    ] {
        assert!(rules.contains(rule), "{rule} is missing in\n{report}");
    }
}

#[test]
fn rules_have_names_of_their_own_and_fields_that_exist() {
    let mut names = BTreeSet::new();
    let mut paths = BTreeSet::new();
    crate::install_config::schema::DOCUMENT.each_field(&mut |path, _| {
        paths.insert(path.replace("[]", ""));
    });
    for rule in RULES.iter() {
        assert!(names.insert(rule.name), "two rules {}", rule.name);
        for path in rule.reads.iter().chain([&rule.path]) {
            assert!(paths.contains(*path), "{}: no field {path}", rule.name);
        }
        assert!(rule.text.ends_with('.'), "{}", rule.name);
    }
}

#[test]
fn unknown_keys_are_warnings_where_another_tool_runs_us() {
    let mut tree = corpus::tree("none", "compact");
    corpus::set(&mut tree, "futureField", "1");
    let lenient = Given {
        unknown_keys: crate::install_config::UnknownKeys::Warn,
        ..Given::default()
    };
    let text = corpus::text(&tree);
    assert!(load_with(&text, Given::default()).is_err());
    let loaded = load_with(&text, lenient).unwrap();
    assert_eq!(loaded.report.findings()[0].rule, "unknown-field");
}

/// A trust bundle of these certificates, and what is reported about it.
fn bundle_report(bundle: &str) -> Vec<(&'static str, String)> {
    let mut tree = corpus::tree("none", "compact");
    let quoted = serde_json::to_string(bundle).unwrap();
    corpus::set(&mut tree, "additionalTrustBundle", &quoted);
    let report = match load_with(&corpus::text(&tree), Given::default()) {
        Ok(loaded) => loaded.report,
        Err(report) => report,
    };
    let findings = report.findings().iter();
    findings.map(|f| (f.rule, f.message.clone())).collect()
}

#[test]
fn certificates_are_read() {
    let authority = include_str!("../../../testdata/install-config/authority.pem");
    let leaf = include_str!("../../../testdata/install-config/leaf.pem");
    assert_eq!(
        bundle_report(&format!("# ours\n{authority}\n{authority}")),
        []
    );
    let reported = bundle_report(&format!("{authority}{leaf}"));
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert_eq!(reported[0].0, "trust-bundle-authority");
    assert!(reported[0].1.contains("mirror.lab"), "{reported:?}");
    let reported = bundle_report(&format!("{authority} "));
    assert_eq!(reported[0].0, "trust-bundle", "{reported:?}");
    let cut = authority.replace("MII", "");
    assert_eq!(bundle_report(&cut)[0].0, "trust-bundle");
}
