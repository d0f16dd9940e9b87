//! Claims about what a config must look like.

use serde_json::json;

use super::*;
use crate::{Config, Version};

fn refusal(text: &str) -> String {
    Config::read(text).unwrap_err().to_string()
}

#[test]
fn what_is_no_config_is_refused() {
    for (text, wanted) in [
        ("{}", "missing field `ignition`"),
        ("[]", "not an Ignition config"),
        ("nothing", "not JSON"),
        ("", "not JSON"),
        (r#"{"ignition":{}}"#, "missing field `version`"),
        (r#"{"ignition":{"version":"2.2.0"}}"#, "2.2.0"),
        (
            r#"{"ignition":{"version":"3.4.0-experimental"}}"#,
            "write one of",
        ),
        (
            "{\"ignition\":{\"version\":\"3.1.0\"},\n\"storage\":{\"files\":{}}}",
            "line 2",
        ),
        (
            r#"{"ignition":{"version":"3.1.0"},"storage":{"files":[{"path":7}]}}"#,
            "expected a string",
        ),
    ] {
        assert!(refusal(text).contains(wanted), "{text}: {}", refusal(text));
    }
}

#[test]
fn a_tower_of_brackets_is_refused() {
    let tower = format!(
        r#"{{"ignition":{{"version":"3.1.0"}},"x":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert!(
        refusal(&tower).contains("recursion limit"),
        "{}",
        refusal(&tower)
    );
}

#[test]
fn every_version_of_the_third_generation_and_unknown_members_pass() {
    for version in Version::ALL {
        let config = json!({"ignition": {"version": version.as_str()}, "later": {}});
        let config = Config::from_json(&config).unwrap();
        assert_eq!(config.version(), version);
        assert_eq!(config.unknown_members(), ["$.later"]);
    }
}

#[test]
fn all_faults_come_at_once() {
    let config = json!({
        "ignition": {"version": "3.2.0"},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["k", "k"]}, {"name": ""}]},
        "storage": {
            "files": [
                {"path": "etc/motd", "mode": 99999, "contents": {"source": "nowhere"}},
                {"path": "/a", "contents": {"source": "data:nothing"}},
            ],
            "links": [{"path": "/a", "target": ""}],
        },
        "systemd": {"units": [
            {"name": "a", "contents": "hello"},
            {"name": "b.service", "dropins": [{"name": "x"}]},
            {"name": "../b.service"},
        ]},
    });
    let found = Config::from_json(&config).unwrap_err();
    let wanted = [
        "passwd.users.sshAuthorizedKeys: a value occurs twice",
        "an entry has an empty name",
        "begin with /",
        "4095",
        "URL",
        "no comma",
        "storage: path \"/a\" occurs twice",
        "no target",
        "kind",
        "line 1",
        ".conf",
        "has a / in it",
    ];
    for wanted in wanted {
        assert!(
            found.iter().any(|fault| fault.contains(wanted)),
            "{wanted}: {found:#?}"
        );
    }
    assert_eq!(found.iter().count(), wanted.len(), "{found:#?}");
}

#[test]
fn units_are_read_as_systemd_reads_them() {
    let good = "# why\n[Service]\nExecStart=/bin/a \\\n  --flag \\\n  b\n\n[Install]\nWantedBy=c\n";
    assert_eq!(stray_line(good), None);
    assert_eq!(stray_line("[Service]\nExecStart\n"), Some(2));
    assert_eq!(stray_line("Key=value\n"), Some(1));
}

#[test]
fn what_may_hold_a_secret_is_not_repeated() {
    let text = json!({"ignition": {"version": "3.2.0", "config": {"merge": [
        {"source": "http://u:hush@a"}, {"source": "http://u:hush@a"}]}}})
    .to_string();
    assert!(!refusal(&text).contains("hush"));
}
