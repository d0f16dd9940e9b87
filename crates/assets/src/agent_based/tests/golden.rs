//! What hosts of every shape get, file by file, from a fixed seed: reviewed when it changes.

use std::{fmt::Write, fs, path::Path, process::Command};

use muster_ignition::Config;

use super::{AGENT_CONFIG, INSTALL_CONFIG, Shape, made, shapes};

/// Longer files are described by their size.
const SHOWN: usize = 6000;

/// The config in words: everything but keys, certificates and manifests, which have goldens of their own.
fn described(config: &Config) -> String {
    let mut text = String::new();
    let typed = config.typed().unwrap();
    for user in typed.passwd.unwrap().users.unwrap() {
        let keys = user.ssh_authorized_keys.unwrap_or_default();
        let hash = user
            .password_hash
            .is_some_and(|hash| hash.starts_with("$2"));
        let _ = writeln!(text, "user {} keys={} bcrypt={hash}", user.name, keys.len());
    }
    for file in typed.storage.unwrap().files.unwrap() {
        let mode = file.mode.unwrap();
        let _ = writeln!(text, "file {} {mode:04o}", file.path);
        let content = config.file(&file.path).unwrap().unwrap();
        let content = String::from_utf8_lossy(&content);
        let is_elsewhere = file.path.starts_with("/etc/assisted/manifests/");
        if content.contains("-----BEGIN ") {
            let blocks = content.matches("-----BEGIN ").count();
            let _ = writeln!(text, "    ({blocks} PEM blocks)");
        } else if is_elsewhere {
            text.push_str("    (as in the golden manifests)\n");
        } else if content.len() > SHOWN {
            let _ = writeln!(text, "    ({} bytes)", content.len());
        } else {
            for line in content.lines() {
                let _ = writeln!(text, "    {}", masked(line));
            }
        }
    }
    for unit in typed.systemd.unwrap().units.unwrap() {
        let state = match unit.enabled {
            Some(true) => "enabled",
            Some(false) => "disabled",
            None => "as it is",
        };
        let _ = writeln!(text, "unit {} {state}", unit.name);
        for line in unit.contents.unwrap_or_default().lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// Tokens, seeds and hashes follow from the seed; only that they are there is interesting.
fn masked(line: &str) -> String {
    let is_long = |word: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "+/=_-.$".contains(c);
        word.len() > 50 && word.chars().all(plain) && !word.contains("://")
    };
    let ends = ['"', '=', ' ', ',', ':'];
    let mut out = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(ends).map_or(rest.len(), |at| at + 1);
        let (word, after) = rest.split_at(end);
        let bare = word.trim_end_matches(ends);
        match is_long(bare) {
            true => out.push_str(&word.replace(bare, "***")),
            false => out.push_str(word),
        }
        rest = after;
    }
    out
}

fn config_of(shape: &Shape) -> Config {
    let files = [
        (INSTALL_CONFIG, &*shape.install),
        (AGENT_CONFIG, shape.agent),
    ];
    made(&files).2
}

#[test]
fn every_shape_becomes_an_ignition_config_that_ignition_accepts() {
    let folder = tempfile::tempdir().unwrap();
    for shape in shapes() {
        let config = config_of(&shape);
        let file = folder.path().join(format!("{}.ign", shape.name));
        fs::write(&file, config.to_text()).unwrap();
        let output = Command::new("ignition-validate").arg(&file).output();
        let output = output.expect("ignition-validate; `scripts/prepare test` installs it");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.trim().is_empty(),
            "{}: {said}",
            shape.name
        );

        let described = described(&config);
        let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden-agent-based")
            .join(format!("{}.ignition.txt", shape.name));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, &described).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        assert!(
            described == expected,
            "{} differs; run with BLESS=1 and review the diff:\n{}",
            shape.name,
            similar::TextDiff::from_lines(&expected, &described).unified_diff()
        );
    }
}

#[test]
fn long_words_are_masked_and_short_ones_are_shown() {
    let token = "e".repeat(60);
    assert_eq!(masked(&format!("A={token}")), "A=***");
    assert_eq!(
        masked(&format!("{{\"seed\":\"{token}\",\"b\":1}}")),
        "{\"seed\":\"***\",\"b\":1}"
    );
    assert_eq!(
        masked("URL=https://192.168.111.80:8090/"),
        "URL=https://192.168.111.80:8090/"
    );
}
