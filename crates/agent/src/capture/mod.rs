//! A machine written down, so that its inventory can be taken again elsewhere.

mod disguise;
mod scrub;

use std::path::Path;

use muster_machine::{Machine, Node, Record, Recorder};

use crate::inventory;

pub use scrub::Scrub;

/// Folders whose files are kept although today's inventory does not look at all of them.
const ALSO: &[&str] = &["/sys/class/dmi/id"];
/// Folders with a folder for each device, likewise.
const ALSO_EACH: &[&str] = &["/sys/block", "/sys/class/net"];

/// Everything the inventory looks at, and a little more for the inventories of tomorrow.
pub fn capture(machine: &dyn Machine) -> Record {
    let recorder = Recorder::new(machine);
    let found = inventory::collect(&recorder);
    inventory::huge_pages(&recorder);
    let seen: &dyn Machine = &recorder;
    for folder in ALSO {
        files(seen, folder);
    }
    for folder in ALSO_EACH {
        for name in seen.names(folder) {
            files(seen, &format!("{folder}/{name}"));
        }
    }
    let mut record = recorder.record();
    let vendors: Vec<String> = found
        .gpus
        .into_iter()
        .flatten()
        .filter_map(|gpu| gpu.vendor_id)
        .collect();
    shorten_pci_names(&mut record, &vendors);
    record
}

fn files(machine: &dyn Machine, folder: &str) {
    // Listed around the recorder's back would be listed incompletely; read through it all.
    for name in machine.names(folder) {
        let path = format!("{folder}/{name}");
        if matches!(
            machine.kind(Path::new(&path)),
            Ok(muster_machine::Kind::File)
        ) {
            let _ = machine.read(Path::new(&path));
        }
    }
}

/// The database of PCI names is large, and only a few of its vendors are in the machine.
fn shorten_pci_names(record: &mut Record, vendors: &[String]) {
    let databases: Vec<_> = record
        .tree
        .nodes()
        .filter(|(path, _)| path.ends_with("pci.ids"))
        .filter_map(|(path, node)| match node {
            Node::File(content) => Some((path.to_owned(), content.clone())),
            Node::Directory
            | Node::Link(_)
            | Node::Block(_)
            | Node::Other
            | Node::Unreadable(_) => None,
        })
        .collect();
    for (path, content) in databases {
        let mut kept = String::new();
        let mut wanted = false;
        for line in String::from_utf8_lossy(&content).lines() {
            if !line.starts_with(['\t', '#']) {
                wanted = vendors
                    .iter()
                    .any(|vendor| line.starts_with(vendor.as_str()));
            }
            if wanted && !line.starts_with("\t\t") && !line.starts_with('#') {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        record.tree.insert(path, Node::File(kept.into_bytes()));
    }
}

#[cfg(test)]
mod tests;
