//! Documents made from code are committed, and must say what the code says.
//! `make bless` rewrites them; review the diff.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use muster_engine::events::{EVENTS, Owner};

const HEAD: &str = "# Settings\n\nMade by `make bless` from `crates/config/src/sections`; do not edit.\n\n\
Precedence, lowest first: default, `muster.toml`, environment, flag. Every key also has its own variable\n\
(`server.listen` is `MUSTER_SERVER_LISTEN`), which overrides the names that the reference uses.\n\
`muster serve --print-config` shows the effective values and where they came from.\n\n";

#[test]
fn the_page_of_settings_is_current() {
    is_current("settings", &format!("{HEAD}{}", muster_config::markdown()));
}

#[test]
fn the_pages_about_rules_are_current() {
    for topic in [
        "states",
        "validations",
        "events",
        "steps",
        "parity",
        "agent-config",
        "image-based-config",
        "image-based-installation-config",
        "install-config",
    ] {
        is_current(topic, &explained(topic));
    }
}

#[test]
fn nothing_the_reference_knows_is_missing() {
    let page = explained("parity");
    let missing: Vec<&str> = page
        .lines()
        .filter(|line| line.contains("MISSING"))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(page.lines().filter(|line| line.starts_with("| `")).count() > 200);
}

#[test]
fn the_map_of_crates_says_what_each_depends_on() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let mut crates: BTreeMap<String, String> = std::fs::read_dir(root.join("crates"))
        .unwrap()
        .map(|folder| folder.unwrap().path())
        .filter(|folder| folder.join("Cargo.toml").is_file())
        .map(|folder| {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            (name, own_dependencies(&manifest))
        })
        .collect();
    let mut faults = Vec::new();
    let map = page
        .lines()
        .enumerate()
        .skip_while(|(_, line)| *line != "## Map");
    for (number, line) in map.skip(1).take_while(|(_, line)| !line.starts_with("## ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let Some(name) = cells[0]
            .strip_prefix("| `")
            .and_then(|cell| cell.strip_suffix('`'))
        else {
            continue;
        };
        let place = format!("ARCHITECTURE.md:{}", number + 1);
        match crates.remove(name) {
            None => faults.push(format!(
                "{place}: there is no crates/{name}; remove this line"
            )),
            Some(depends) if cells.get(2) != Some(&depends.as_str()) => faults.push(format!(
                "{place}: the third column of `{name}` must be: {depends}"
            )),
            Some(_) => {}
        }
    }
    faults.extend(crates.into_iter().map(|(name, depends)| {
        format!("ARCHITECTURE.md: add to the table in \"Map\": | `{name}` | (job) | {depends} | (may touch) |")
    }));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The crates of this workspace that a manifest names as dependencies, as the map lists them.
fn own_dependencies(manifest: &str) -> String {
    let normal = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let names: BTreeSet<String> = normal
        .filter_map(|line| line.strip_prefix("muster-"))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .map(|name| format!("`{name}`"))
        .collect();
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[test]
fn the_journeys_name_modules_that_exist_and_pass_each_once() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let journeys = page
        .lines()
        .enumerate()
        .skip_while(|(_, line)| *line != "## Five journeys")
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    let mut passed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut journey, mut faults) = (String::new(), Vec::new());
    for (number, line) in journeys {
        if let Some(heading) = line.strip_prefix("### ") {
            heading.clone_into(&mut journey);
            continue;
        }
        let quoted = line.split('`').skip(1).step_by(2);
        for module in quoted.filter(|text| text.contains("::")) {
            let path = module.split("::").collect::<Vec<_>>();
            let path = format!("crates/{}/src/{}", path[0], path[1..].join("/"));
            let files = [format!("{path}.rs"), format!("{path}/mod.rs")];
            let place = format!("ARCHITECTURE.md:{}", number + 1);
            if !files.iter().any(|file| root.join(file).is_file()) {
                faults.push(format!("{place}: there is no module {module}"));
            }
            if !passed
                .entry(journey.clone())
                .or_default()
                .insert(module.to_owned())
            {
                faults.push(format!("{place}: {module} is passed twice in {journey:?}"));
            }
        }
    }
    assert_eq!(passed.len(), 5, "{:?}", passed.keys());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_catalogue_of_events_names_who_emits_them() {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let service = sources(&crates.join("app/src")) + &sources(&crates.join("service/src"));
    let engine = sources(&crates.join("engine/src"));
    for kind in EVENTS {
        let literal = format!("\"{}\"", kind.name);
        let constant = kind.name.to_uppercase();
        let emitted_in = |text: &str| text.contains(&literal) || text.contains(&constant);
        match kind.owner {
            Owner::Service => assert!(emitted_in(&service), "{} is never emitted", kind.name),
            Owner::Engine => assert!(emitted_in(&engine), "{} is never emitted", kind.name),
            Owner::Unused => assert!(
                !emitted_in(&service) && !emitted_in(&engine),
                "{} is emitted although it is marked unused",
                kind.name
            ),
            // Clients choose their names themselves.
            Owner::Client => {}
        }
    }
}

/// The code below a folder, without the catalogue itself.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            text += &sources(&path);
        } else if !path.ends_with("engine/src/events.rs") {
            text += &std::fs::read_to_string(&path).expect("code is text");
        }
    }
    text
}

fn explained(topic: &str) -> String {
    let muster = std::process::Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["explain", topic, "--markdown"])
        .output()
        .expect("muster runs");
    assert!(muster.status.success());
    String::from_utf8(muster.stdout).expect("it prints text")
}

fn is_current(page: &str, wanted: &str) {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let path = docs.join(format!("{page}.md"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/{page}.md is out of date; run `make bless` and review the diff"
    );
}

/// What stands before the list in the manual.
const LIST: &str =
    "<!-- the list below is made by `make bless` from `muster simulate --list` -->\n\n";

#[test]
fn the_manual_lists_the_topologies_and_faults_there_are() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulate.md");
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let (written, _) = found
        .split_once(LIST)
        .expect("docs/simulate.md has a place for the list");
    let wanted = format!("{written}{LIST}{}", muster_sim::list());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(
        found == wanted,
        "docs/simulate.md is out of date; run `make bless` and review the diff"
    );
}
