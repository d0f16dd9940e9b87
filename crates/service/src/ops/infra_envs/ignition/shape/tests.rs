//! Claims about what a config must look like.

use serde_json::json;

use super::*;

fn faults_of(text: &str) -> String {
    serde_json::from_str(text)
        .map(|value| faults(&value).join("; "))
        .unwrap()
}

#[test]
fn what_is_no_config_is_refused() {
    for (text, wanted) in [
        ("{}", "missing field `ignition`"),
        ("[]", "not an Ignition config"),
        (r#"{"ignition":{}}"#, "missing field `version`"),
        (r#"{"ignition":{"version":"2.2.0"}}"#, "2.2.0"),
        (r#"{"ignition":{"version":"9.9.0"}}"#, "9.9.0"),
        (
            r#"{"ignition":{"version":"3.1.0"},"storage":{"files":{}}}"#,
            "expected a sequence",
        ),
    ] {
        assert!(
            faults_of(text).contains(wanted),
            "{text}: {}",
            faults_of(text)
        );
    }
}

#[test]
fn every_version_of_the_third_generation_and_unknown_members_pass() {
    for version in VERSIONS {
        let config = json!({"ignition": {"version": version}, "kernelArguments": {}});
        assert_eq!(faults(&config), Vec::<String>::new(), "{version}");
    }
}

#[test]
fn all_faults_come_at_once() {
    let config = json!({
        "ignition": {"version": "3.2.0"},
        "storage": {
            "files": [
                {"path": "etc/motd", "mode": 99999, "contents": {"source": "nowhere"}},
                {"path": "/a", "contents": {"source": "data:nothing"}},
            ],
            "links": [{"path": "/a"}],
        },
        "systemd": {"units": [
            {"name": "a", "contents": "hello"},
            {"name": "b.service", "dropins": [{"name": "x"}]},
        ]},
    });
    let found = faults(&config);
    let wanted = [
        "begin with /",
        "4095",
        "URL",
        "no comma",
        "twice",
        "no target",
        "kind",
        "line 1",
        ".conf",
    ];
    for wanted in wanted {
        assert!(
            found.iter().any(|fault| fault.contains(wanted)),
            "{wanted}: {found:#?}"
        );
    }
    assert_eq!(found.len(), wanted.len(), "{found:#?}");
}

#[test]
fn units_are_read_as_systemd_reads_them() {
    let good = "# why\n[Service]\nExecStart=/bin/a \\\n  --flag \\\n  b\n\n[Install]\nWantedBy=c\n";
    assert_eq!(stray_line(good), None);
    assert_eq!(stray_line("[Service]\nExecStart\n"), Some(2));
    assert_eq!(stray_line("Key=value\n"), Some(1));
}
