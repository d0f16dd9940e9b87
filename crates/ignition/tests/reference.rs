//! Asks Ignition itself: does it accept what we accept, and does it merge as we merge?
//!
//! Ignition (Debian package `ignition`) is run in its fetch stage with a config that has the
//! other inside; what it stores for its later stages is the merged config.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use muster_ignition::{Builder, Config, Version, file, unit, user};
use proptest::{
    prelude::*,
    test_runner::{Config as Runs, TestRunner},
};
use serde_json::{Map, Value, json};

const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

fn run(program: &mut Command) -> String {
    let output = program
        .output()
        .unwrap_or_else(|cause| panic!("{program:?}: {cause}; run scripts/prepare test"));
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    // Configs in its log are long.
    let last: String = text
        .lines()
        .filter(|line| line.len() < 500)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(output.status.success(), "{program:?}: {last}");
    text.into_owned()
}

/// One stage of Ignition, with everything it keeps in `folder`.
fn stage(folder: &Path, stage: &str, root: &Path) -> Command {
    let mut ignition = Command::new(IGNITION);
    ignition
        .args(["-stage", stage, "-platform", "file", "-log-to-stdout"])
        .arg("-config-cache")
        .arg(folder.join("cache.json"))
        .arg("-state-file")
        .arg(folder.join("state"))
        .arg("-neednet")
        .arg(folder.join("neednet"))
        .arg("-root")
        .arg(root)
        .env("IGNITION_CONFIG_FILE", folder.join("config.ign"))
        .env("IGNITION_SYSTEM_CONFIG_DIR", folder.join("system"));
    ignition
}

/// What Ignition makes of a config with another laid over it.
fn merged_by_ignition(folder: &Path, parent: &Config, child: &Config) -> Value {
    let mut parent = parent.json().clone();
    let source = file::resource(child.to_text().as_bytes()).source;
    parent["ignition"]["config"] = json!({"merge": [{"source": source}]});
    fs::write(folder.join("config.ign"), parent.to_string()).unwrap();
    run(&mut stage(folder, "fetch", folder));
    let cache = folder.join("cache.json");
    let mut merged: Value = serde_json::from_slice(&fs::read(&cache).unwrap()).unwrap();
    fs::remove_file(cache).unwrap();
    merged["ignition"]["config"] = Value::Null;
    essence(merged)
}

/// Without what says nothing (null, empty) and without the version, which Ignition raises.
fn essence(value: Value) -> Value {
    let says_something = |value: &Value| match value {
        Value::Null => false,
        Value::Array(entries) => !entries.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .into_iter()
                .filter(|(name, _)| name != "version")
                .map(|(name, member)| (name, essence(member)))
                .filter(|(_, member)| says_something(member))
                .collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(Map::from_iter(members))
        }
        Value::Array(entries) => Value::Array(entries.into_iter().map(essence).collect()),
        other => other,
    }
}

/// Some of the words, each once.
fn some(words: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    proptest::sample::subsequence(words, 0..=words.len()).prop_shuffle()
}

fn maybe(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    proptest::option::of(value).prop_map(|value| value.unwrap_or(Value::Null))
}

fn resource() -> impl Strategy<Value = Value> {
    let source = maybe(prop_oneof![Just(json!("data:,a")), Just(json!("data:,b"))]);
    let compression = maybe(prop_oneof![Just(json!("gzip")), Just(json!(""))]);
    (source, compression)
        .prop_map(|(source, compression)| json!({"source": source, "compression": compression}))
}

/// Paths spread over files, directories and links.
fn storage() -> impl Strategy<Value = Value> {
    let node = (
        0..4_u8,
        maybe((0..0o777).prop_map(|mode| json!(mode))),
        resource(),
        proptest::collection::vec(resource(), 0..3),
        maybe(any::<bool>().prop_map(Value::from)),
    );
    let nodes = proptest::collection::vec(node, 4);
    let raids = some(&["r0", "r1"]).prop_flat_map(|names| {
        proptest::collection::vec(some(&["-x", "-y"]), names.len()).prop_map(move |options| {
            let both = names.iter().zip(options);
            both.map(|(name, options)| {
                json!({"name": name, "level": "raid1",
                "devices": ["/dev/a", "/dev/b"], "options": options})
            })
            .collect::<Vec<_>>()
        })
    });
    let filesystems = some(&["/dev/a", "/dev/b"]).prop_map(|devices| {
        devices
            .iter()
            .map(|device| {
                json!({"device": device, "format": "xfs",
            "path": format!("/mnt{device}"), "options": ["-z"]})
            })
            .collect::<Vec<_>>()
    });
    (nodes, raids, filesystems).prop_map(|(nodes, raids, filesystems)| {
        let (mut files, mut directories, mut links) = (vec![], vec![], vec![]);
        for (index, (kind, mode, contents, append, overwrite)) in nodes.into_iter().enumerate() {
            let path = format!("/n{index}");
            match kind {
                0 => files.push(json!({"path": path, "mode": mode, "contents": contents})),
                1 => files.push(json!({"path": path, "append": append.iter()
                    .filter(|resource| !resource["source"].is_null()).collect::<Vec<_>>()})),
                2 => directories.push(json!({"path": path, "mode": mode, "overwrite": overwrite})),
                _ => links.push(json!({"path": path, "target": "/n9", "hard": overwrite})),
            }
        }
        json!({"files": files, "directories": directories, "links": links, "raid": raids,
            "filesystems": filesystems})
    })
}

fn units() -> impl Strategy<Value = Value> {
    let entry = (
        maybe(any::<bool>().prop_map(Value::from)),
        maybe(prop_oneof![
            Just(json!("[Unit]\nA=1\n")),
            Just(json!("[Unit]\nA=2\n"))
        ]),
        some(&["a.conf", "b.conf"]),
    );
    (
        some(&["a.service", "b.socket", "c.timer"]),
        proptest::collection::vec(entry, 3),
    )
        .prop_map(|(names, entries)| {
            let both = names.iter().zip(entries);
            both.map(|(name, (enabled, contents, dropins))| {
                let dropins: Vec<_> = dropins
                    .iter()
                    .map(|name| json!({"name": name, "contents": contents}))
                    .collect();
                json!({"name": name, "enabled": enabled, "contents": contents, "dropins": dropins})
            })
            .collect()
        })
}

fn config() -> impl Strategy<Value = Config> {
    let version = prop_oneof![Just("3.1.0"), Just("3.2.0"), Just("3.3.0")];
    let users = (
        some(&["core", "ops"]),
        some(&["k1", "k2", "k3"]),
        some(&["sudo", "wheel"]),
    );
    let arguments = (some(&["a=1", "b"]), some(&["c", "d=2"]));
    let proxy = (
        maybe(Just(json!("http://p:1"))),
        some(&["a", "b", "10.0.0.0/8"]),
    );
    let all = (
        version,
        storage(),
        units(),
        users,
        arguments,
        proxy,
        any::<bool>(),
    );
    all.prop_map(|(version, storage, units, users, arguments, proxy, swap)| {
        let users: Vec<_> = users
            .0
            .iter()
            .map(|name| {
                json!({"name": name,
            "sshAuthorizedKeys": users.1, "groups": users.2})
            })
            .collect();
        let mut config = json!({
            "ignition": {"version": version, "proxy": {"httpProxy": proxy.0, "noProxy": proxy.1}},
            "passwd": {"users": users},
            "storage": storage,
            "systemd": {"units": units},
        });
        if version == "3.3.0" {
            let (yes, no) = if swap {
                arguments.clone()
            } else {
                (arguments.1, arguments.0)
            };
            config["kernelArguments"] = json!({"shouldExist": yes, "shouldNotExist": no});
        }
        Config::from_json(&config).unwrap()
    })
}

#[test]
fn ignition_merges_as_we_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut runner = TestRunner::new(Runs {
        cases: 150,
        failure_persistence: None,
        ..Runs::default()
    });
    runner
        .run(&(config(), config()), |(parent, child)| {
            let theirs = merged_by_ignition(folder.path(), &parent, &child);
            let ours = parent
                .with(child)
                .expect("valid parts of this shape fit together");
            prop_assert_eq!(essence(ours.json().clone()), theirs);
            Ok(())
        })
        .unwrap();
}

proptest! {
    #[test]
    fn nothing_laid_over_anything_changes_nothing(parent in config()) {
        let empty = Config::read(r#"{"ignition":{"version":"3.0.0"}}"#).unwrap();
        let under = empty.clone().with(parent.clone()).unwrap();
        prop_assert_eq!(essence(under.json().clone()), essence(parent.json().clone()));
        let over = parent.clone().with(empty).unwrap();
        prop_assert_eq!(over.to_text(), parent.to_text());
    }

    #[test]
    fn what_the_child_says_is_what_counts(parent in config(), child in config()) {
        let merged = parent.with(child.clone()).unwrap();
        for list in ["files", "directories", "links"] {
            let entries = |config: &Config| {
                config.json()["storage"][list].as_array().cloned().unwrap_or_default()
            };
            for wanted in entries(&child) {
                let found = entries(&merged);
                let found = found.iter().find(|entry| entry["path"] == wanted["path"]).unwrap();
                for member in ["mode", "overwrite", "target", "hard"] {
                    if wanted.get(member).is_some_and(|value| !value.is_null()) {
                        prop_assert_eq!(&found[member], &wanted[member]);
                    }
                }
            }
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text: String, cut in 0..400_usize) {
        let _ = Config::read(&text);
        let whole = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [
            {"path": "/a", "mode": 1, "contents": {"source": "data:,a", "compression": "gzip"}}]},
            "systemd": {"units": [{"name": "a.service", "contents": "[A]\n"}]}}).to_string();
        let _ = Config::read(whole.get(..cut).unwrap_or(&whole));
    }
}

#[test]
fn ignition_validate_accepts_what_the_builder_makes() {
    let folder = tempfile::tempdir().unwrap();
    for version in [Version::V3_0, Version::V3_1, Version::V3_2, Version::V3_3] {
        let mut builder = Builder::new(version);
        builder
            .file(file::text("/etc/motd", 0o644, "hello: %ü\n"))
            .file(file::bytes("/etc/noise", 0o600, &[0, 255, 10]))
            .file(file::packed("/usr/local/bin/tool", 0o755, &[7; 100_000]))
            .unit(unit::enabled(
                "a.service",
                "[Service]\nExecStart=/bin/true\n",
            ))
            .unit(unit::with_dropin(
                unit::known("b.service"),
                "c.conf",
                "[Service]\nA=1\n",
            ))
            .user(user::with_keys("core", ["ssh-ed25519 AAAA a"]))
            .link("/etc/link", "/etc/motd")
            .directory("/var/lib/d", 0o700);
        let path = folder.path().join("config.ign");
        fs::write(&path, builder.finish().unwrap().to_text()).unwrap();
        run(Command::new("ignition-validate").arg(path));
    }
}

#[test]
fn ignition_writes_the_files_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Builder::new(Version::V3_1);
    let noise: Vec<u8> = (0..10_000_u32).flat_map(u32::to_le_bytes).collect();
    builder
        .file(file::text("/etc/motd", 0o644, "ü % \" \\ + & = : @ ~ #?\n"))
        .file(file::bytes("/etc/noise", 0o600, &noise))
        .file(file::packed("/usr/local/bin/tool", 0o755, &noise));
    let config = builder.finish().unwrap();
    let folder = folder.path();
    let (base, root) = (folder.join("system/base.d"), folder.join("root"));
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/passwd"), "root:x:0:0::/root:/bin/sh\n").unwrap();
    fs::write(root.join("etc/group"), "root:x:0:\n").unwrap();
    fs::write(folder.join("config.ign"), config.to_text()).unwrap();
    // A config of the system's own is the parent of the one the user brings.
    let mut system = Builder::new(Version::V3_1);
    system
        .file(file::text("/etc/motd", 0o600, "the system's\n"))
        .file(file::packed("/usr/local/bin/agent", 0o755, &noise));
    fs::create_dir_all(&base).unwrap();
    fs::write(
        base.join("50-agent.ign"),
        system.finish().unwrap().to_text(),
    )
    .unwrap();
    run(&mut stage(folder, "fetch", &root));
    // Its last act is to label what it wrote, for which this bare folder has no SELinux policy.
    let output = stage(folder, "files", &root).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || text.contains("failed to handle relabeling"),
        "{text}"
    );
    let read = |path: &str| fs::read(root.join(path)).unwrap();
    assert_eq!(read("etc/motd"), "ü % \" \\ + & = : @ ~ #?\n".as_bytes());
    assert_eq!(read("etc/noise"), noise);
    assert_eq!(read("usr/local/bin/tool"), noise);
    assert_eq!(read("usr/local/bin/agent"), noise);
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode("usr/local/bin/agent"), 0o755);
    assert_eq!(mode("etc/noise"), 0o600);
}
