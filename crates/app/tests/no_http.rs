//! The application and the rules below it are independent of HTTP: REST, custom resources and node 0
//! can use them alike.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// What belongs to a shell.
const OF_SHELLS: [&str; 6] = [
    "http::",
    "hyper::",
    "StatusCode",
    "error::Failure",
    "muster_service",
    "http_status",
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the source folder can be listed") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Crates without I/O below the application, beside itself.
const CRATES: [&str; 7] = [
    "app",
    "assets",
    "catalog",
    "documents",
    "engine",
    "ignition",
    "model",
];

#[test]
fn no_use_case_and_no_rule_mentions_http() {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut faults = Vec::new();
    let folders = CRATES.map(|name| own.with_file_name(name).join("src"));
    for path in folders.iter().flat_map(|folder| sources(folder)) {
        let text = fs::read_to_string(&path).unwrap();
        let code = |line: &&str| !line.trim_start().starts_with("//");
        for line in text.lines().filter(code) {
            if OF_SHELLS.iter().any(|word| line.contains(word)) {
                faults.push(format!("{}: {line}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn no_http_library_is_a_dependency() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    for library in ["http", "http-body", "hyper", "hyper-util", "reqwest"] {
        let line = format!("\n{library}.workspace");
        assert!(!manifest.contains(&line), "{library}");
    }
}
