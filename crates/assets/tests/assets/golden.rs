//! What is generated, kept for review: manifests as files, Ignition as a listing, and of the one
//! long script what differs from case to case.
//!
//! `BLESS=1 cargo test -p muster-assets golden` rewrites the directories; review the diff.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use muster_assets::file::File;
use muster_assets::workdir::Target;
use similar::TextDiff;

use crate::cases::{CASES, Directory, folder, ignition, unpacked};

/// The case whose `bootkube.sh` is kept whole; the others keep their difference to it.
const WHOLE: &str = "baremetal-highly-available";

#[test]
fn every_platform_and_topology_is_generated_as_reviewed() {
    let mut cases = Vec::new();
    for (name, version) in CASES {
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        let mut directory = Directory::with(name);
        for file in directory.create(Target::Manifests, version).write {
            files.insert(file.path.clone(), file.text());
        }
        let (directory, config) = ignition(name, version);
        for path in ["metadata.json", "worker.ign", "master.ign", "arbiter.ign"] {
            if directory.files.contains_key(path) {
                files.insert(path.to_owned(), directory.text(path) + "\n");
            }
        }
        let all = unpacked(&config);
        files.insert("bootstrap.txt".to_owned(), listing(&all, config.json()));
        cases.push((name, files, bootkube(&all)));
    }
    let (_, _, whole) = cases.iter().find(|(name, ..)| **name == WHOLE).unwrap();
    let whole = whole.clone();
    let mut wrong = Vec::new();
    for (name, mut files, script) in cases {
        if *name == WHOLE {
            files.insert("bootkube.sh".to_owned(), script);
        } else {
            files.insert("bootkube.diff".to_owned(), difference(&whole, &script));
        }
        wrong.extend(compare(&folder("golden").join(name), &files));
    }
    assert!(
        wrong.is_empty(),
        "differs from review (BLESS=1 to take over):\n{}",
        wrong.join("\n")
    );
}

fn bootkube(files: &[File]) -> String {
    files
        .iter()
        .find(|file| file.path.ends_with("/bootkube.sh"))
        .unwrap()
        .text()
}

fn difference(whole: &str, script: &str) -> String {
    TextDiff::from_lines(whole, script)
        .unified_diff()
        .context_radius(2)
        .header(WHOLE, "this case")
        .to_string()
}

fn listing(files: &[File], json: &serde_json::Value) -> String {
    let mut out = String::from("files:\n");
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_by(|a, b| a.path.cmp(&b.path));
    for file in sorted {
        writeln!(
            out,
            "  {:04o} {:>6} {}",
            file.mode,
            file.content.len(),
            file.path
        )
        .unwrap();
    }
    out.push_str("units:\n");
    for unit in json["systemd"]["units"].as_array().unwrap() {
        let state = if unit["enabled"] == true {
            "enabled"
        } else {
            "-"
        };
        writeln!(out, "  {} {state}", unit["name"].as_str().unwrap()).unwrap();
        for dropin in unit["dropins"].as_array().into_iter().flatten() {
            writeln!(out, "    {}", dropin["name"].as_str().unwrap()).unwrap();
        }
    }
    out
}

fn compare(folder: &Path, files: &BTreeMap<String, String>) -> Vec<String> {
    if std::env::var_os("BLESS").is_some() {
        let _ = fs::remove_dir_all(folder);
        for (path, text) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (path, text) in files {
        let path = folder.join(path);
        match fs::read_to_string(&path) {
            Ok(known) if known == *text => {}
            Ok(_) => wrong.push(format!("changed: {}", path.display())),
            Err(_) => wrong.push(format!("new:     {}", path.display())),
        }
    }
    let known = walk(folder, folder);
    let gone = known.into_iter().filter(|path| !files.contains_key(path));
    wrong.extend(gone.map(|path| format!("gone:    {}", folder.join(path).display())));
    wrong
}

fn walk(root: &Path, folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(walk(root, &path));
        } else {
            found.push(
                path.strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned(),
            );
        }
    }
    found
}
