//! Claims about laying configs over each other. How Ignition itself does it is asked in
//! `tests/reference.rs`.

use serde_json::json;

use super::*;

#[test]
fn entries_with_the_same_key_merge_and_new_ones_are_appended() {
    let parent = json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [{"path": "/a", "mode": 420}, {"path": "/b", "mode": 420}]},
        "systemd": {"units": [{"name": "x.service", "enabled": true, "contents": "old"}]},
    });
    let child = json!({
        "ignition": {"version": "3.1.0"},
        "storage": {"files": [{"path": "/b", "mode": 384, "contents": {"source": "data:,x"}},
                              {"path": "/c"}]},
        "systemd": {"units": [{"name": "x.service", "contents": "new",
                               "dropins": [{"name": "y.conf"}]}]},
    });
    let merged = merge(parent, child);
    assert_eq!(
        merged["storage"]["files"],
        json!([
            {"path": "/a", "mode": 420},
            {"path": "/b", "mode": 384, "contents": {"source": "data:,x"}},
            {"path": "/c"},
        ])
    );
    assert_eq!(
        merged["systemd"]["units"],
        json!([{"name": "x.service", "enabled": true, "contents": "new",
                "dropins": [{"name": "y.conf"}]}])
    );
}

#[test]
fn a_path_that_becomes_a_link_is_no_file_any_more() {
    let parent = json!({"storage": {"files": [{"path": "/a"}, {"path": "/b"}]}});
    let child = json!({"storage": {"links": [{"path": "/a", "target": "/b"}]}});
    let merged = merge(parent, child);
    assert_eq!(merged["storage"]["files"], json!([{"path": "/b"}]));
    assert_eq!(merged["storage"]["links"][0]["target"], "/b");
}

#[test]
fn an_argument_that_must_not_exist_is_not_wanted_any_more() {
    let parent = json!({"kernelArguments": {"shouldExist": ["a", "b"]}});
    let child = json!({"kernelArguments": {"shouldNotExist": ["a"]}});
    let merged = merge(parent, child);
    assert_eq!(
        merged["kernelArguments"],
        json!({"shouldExist": ["b"], "shouldNotExist": ["a"]})
    );
}

#[test]
fn lists_of_words_unite_and_option_lists_are_joined() {
    let parent = json!({"passwd": {"users": [
        {"name": "core", "groups": ["sudo"], "sshAuthorizedKeys": ["a", "b"]}]},
        "storage": {"raid": [{"name": "r", "options": ["-x"]}]}});
    let child = json!({"passwd": {"users": [
        {"name": "core", "sshAuthorizedKeys": ["b", "c"]}, {"name": "ops"}]},
        "storage": {"raid": [{"name": "r", "options": ["-x"]}]}});
    let merged = merge(parent, child);
    assert_eq!(
        merged["passwd"]["users"],
        json!([{"name": "core", "groups": ["sudo"], "sshAuthorizedKeys": ["a", "b", "c"]},
               {"name": "ops"}])
    );
    assert_eq!(merged["storage"]["raid"][0]["options"], json!(["-x", "-x"]));
}

#[test]
fn the_newer_version_of_either_config_wins_and_null_changes_nothing() {
    let with = |version: &str| json!({"ignition": {"version": version}});
    for (parent, child) in [("3.1.0", "3.2.0"), ("3.2.0", "3.0.0")] {
        assert_eq!(
            merge(with(parent), with(child))["ignition"]["version"],
            "3.2.0"
        );
    }
    let child = json!({"ignition": {"version": null}, "passwd": null});
    assert_eq!(merge(with("3.1.0"), child), with("3.1.0"));
}

#[test]
fn a_header_without_value_is_taken_away() {
    let config = |headers: Value| {
        json!({"ignition": {"config": {"merge": [
            {"source": "http://a", "httpHeaders": headers}]}}})
    };
    let parent = config(json!([{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]));
    let child = config(json!([{"name": "A", "value": null}]));
    let merged = merge(parent, child);
    let headers = &merged["ignition"]["config"]["merge"][0]["httpHeaders"];
    assert_eq!(*headers, json!([{"name": "B", "value": "2"}]));
}
