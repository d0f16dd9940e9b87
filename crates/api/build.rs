//! Generates the code and data the crate embeds from `contract/`.
//!
//! Three files come out: `contract.json`, the whole contract in one piece for the runtime,
//! `wire.rs`, one Rust type per definition, and `requests.rs`, one function per operation for the
//! client. They are made here and not by hand because they must never disagree with the contract
//! files.

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use schema::Definitions;
use serde::Serialize;
use serde_json::Value;

#[path = "src/contract/schema.rs"]
#[allow(dead_code)]
mod schema;

#[path = "build/requests.rs"]
mod requests;
#[path = "build/wire.rs"]
mod wire;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The merged contract, as `src/contract` reads it.
#[derive(Serialize)]
struct Merged {
    operations: Vec<Value>,
    definitions: Definitions,
}

fn main() -> Outcome<()> {
    println!("cargo::rerun-if-changed=contract");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/contract/schema.rs");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let contract = Merged {
        operations: operations(Path::new("contract/operations"))?,
        definitions: definitions(Path::new("contract/definitions"))?,
    };
    fs::write(out.join("contract.json"), serde_json::to_vec(&contract)?)?;
    let types = wire::generate(&contract.definitions, &contract.operations)?;
    fs::write(out.join("wire.rs"), types)?;
    let requests = requests::generate(&contract.definitions, &contract.operations)?;
    fs::write(out.join("requests.rs"), requests)?;
    Ok(())
}

/// Every operation, tagged with the name of the file it stands in.
fn operations(folder: &Path) -> Outcome<Vec<Value>> {
    let mut all = Vec::new();
    for (noun, text) in yaml_files(folder)? {
        let list: Vec<Value> = serde_yaml_ng::from_str(&text)
            .map_err(|why| format!("operations/{noun}.yaml: {why}"))?;
        for mut operation in list {
            operation["tag"] = Value::from(noun.as_str());
            all.push(operation);
        }
    }
    Ok(all)
}

/// Every definition; a name given twice is an error.
fn definitions(folder: &Path) -> Outcome<Definitions> {
    let mut all = Definitions::new();
    for (noun, text) in yaml_files(folder)? {
        let some: Definitions = serde_yaml_ng::from_str(&text)
            .map_err(|why| format!("definitions/{noun}.yaml: {why}"))?;
        for (name, definition) in some {
            if all.insert(name.clone(), definition).is_some() {
                return Err(format!("definitions/{noun}.yaml: {name} is defined twice").into());
            }
        }
    }
    Ok(all)
}

/// File stem and text of each YAML file, in a fixed order.
fn yaml_files(folder: &Path) -> Outcome<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|why| format!("{}: {why}", folder.display()))? {
        let path = entry?.path();
        if let (Some("yaml"), Some(stem)) = (
            path.extension().and_then(|e| e.to_str()),
            path.file_stem().and_then(|s| s.to_str()),
        ) {
            files.insert(stem.to_owned(), fs::read_to_string(&path)?);
        }
    }
    Ok(files)
}
