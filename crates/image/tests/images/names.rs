//! The three name spaces, and what Rock Ridge does to trees that are too deep for the first.

use std::fs;

use muster_image::{
    Iso, View,
    iso9660::{Kind, cut},
};
use tempfile::TempDir;

use crate::{
    samples::noise,
    tools::{OnDisk, all, open, run},
};

const DEEP: &str = "one/two/three/four/five/six/seven/eight/nine/ten";

/// A tree with a deep directory, long names, a link and an empty file.
pub fn image(options: &str) -> Iso {
    let folder = TempDir::new().unwrap();
    let tree = folder.path().join("tree");
    let put = |path: &str, content: &[u8]| {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put("coreos/kargs.json", b"{}");
    put("aaa.large", &noise(1, 100_000));
    put("empty", b"");
    if options.contains("-r") {
        put(&format!("{DEEP}/file"), b"down here");
        put(&long_name(), b"long");
        std::os::unix::fs::symlink("../coreos/kargs.json", tree.join("coreos/link")).unwrap();
    }
    let path = folder.path().join("image.iso");
    let words = format!(
        "-quiet -V test {options} -o {} {}",
        path.display(),
        tree.display()
    );
    run("genisoimage", &words.split_whitespace().collect::<Vec<_>>());
    // The file may go: the image is read into memory.
    Iso::open(View::bytes(all(open(&path).view()))).unwrap()
}

fn long_name() -> String {
    "n".repeat(200)
}

#[test]
fn long_paths_are_found_in_every_name_space() {
    for options in ["", "-J", "-r", "-r -J -joliet-long"] {
        let iso = image(options);
        let found = iso.small_file("coreos/kargs.json", 100).unwrap();
        assert_eq!(found.as_deref(), Some(&b"{}"[..]), "`{options}`");
        assert_eq!(iso.find("empty").unwrap().len(), 0, "`{options}`");
    }
}

#[test]
fn directories_that_were_too_deep_are_shown_where_they_belong() {
    let iso = image("-r");
    let file = iso.small_file(&format!("{DEEP}/file"), 100).unwrap();
    assert_eq!(file.as_deref(), Some(&b"down here"[..]));
    let link = iso.find("coreos/link").unwrap();
    assert_eq!(link.kind, Kind::Link("../coreos/kargs.json".into()));
    assert_eq!(
        iso.small_file(&long_name(), 10).unwrap().as_deref(),
        Some(&b"long"[..])
    );
}

#[test]
fn cutting_a_file_keeps_deep_directories_and_long_names_for_other_readers() {
    for options in ["-r", "-r -J -joliet-long"] {
        let iso = image(options);
        let cut = cut::without(&iso, "aaa.large").unwrap();
        assert!(cut.len() + 90_000 < iso.view().len());
        let paths = |iso: &Iso| -> Vec<String> {
            let all = iso.walk().unwrap().into_iter().map(|(path, _)| path);
            all.filter(|path| path != "aaa.large").collect()
        };
        assert_eq!(paths(&Iso::open(cut.clone()).unwrap()), paths(&iso));
        let files = OnDisk::write(&cut).files_by_xorriso();
        let content = |path: &str| {
            let found = files.iter().find(|(name, _)| name == path);
            found.map(|(_, content)| content.as_slice())
        };
        assert_eq!(
            content(&format!("{DEEP}/file")),
            Some(&b"down here"[..]),
            "`{options}`"
        );
        assert_eq!(content(&long_name()), Some(&b"long"[..]), "`{options}`");
        assert_eq!(content("aaa.large"), None);
    }
}
