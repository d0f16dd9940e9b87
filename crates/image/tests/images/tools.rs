//! Independent programs that verify the images.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use muster_image::{Iso, Source, View};
use tempfile::TempDir;

/// Runs a program and returns what it printed; it must succeed.
pub fn run(program: &str, arguments: &[impl AsRef<OsStr>]) -> String {
    let output = attempt(program, arguments);
    assert!(
        output.status.success(),
        "{program} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a program, whatever comes of it.
pub fn attempt(program: &str, arguments: &[impl AsRef<OsStr>]) -> Output {
    let path = format!(
        "{}:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    );
    Command::new(program)
        .args(arguments)
        .env("PATH", path)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; `scripts/prepare test` installs it"))
}

/// Opens an image file.
pub fn open(path: &Path) -> Iso {
    let file = std::fs::File::open(path).unwrap();
    Iso::open(View::of(Source::file(file).unwrap())).unwrap()
}

/// All bytes of a view.
pub fn all(view: &View) -> Vec<u8> {
    view.read_exact("a view", 0, view.len()).unwrap()
}

/// A view in a file of its own.
pub struct OnDisk {
    _folder: TempDir,
    pub path: PathBuf,
}

impl OnDisk {
    pub fn write(view: &View) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("image.iso");
        let mut file = std::fs::File::create(&path).unwrap();
        std::io::copy(&mut view.reader(), &mut file).unwrap();
        Self {
            _folder: folder,
            path,
        }
    }

    fn text(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Every file as libisofs sees it, with its content.
    pub fn files_by_xorriso(&self) -> Vec<(String, Vec<u8>)> {
        let folder = TempDir::new().unwrap();
        let to = folder.path().join("tree");
        run(
            "osirrox",
            &["-indev", self.text(), "-extract", "/", to.to_str().unwrap()],
        );
        run("chmod", &["-R", "u+rwX", to.to_str().unwrap()]);
        let mut files = Vec::new();
        collect(&to, &to, &mut files);
        files.sort();
        files
    }

    /// One file through the Joliet tree, as cdrkit sees it.
    pub fn file_by_isoinfo(&self, path: &str) -> Vec<u8> {
        attempt("isoinfo", &["-J", "-i", self.text(), "-x", path]).stdout
    }

    /// Boot images and partitions, in the words of xorriso.
    pub fn boot_report(&self) -> String {
        let report = ["-report_el_torito", "plain", "-report_system_area", "plain"];
        let arguments = [&["-indev", self.text()][..], &report].concat();
        run("xorriso", &arguments)
    }

    /// What sgdisk finds wrong, without the numbers.
    pub fn complaints_about_gpt(&self) -> Vec<String> {
        let output = attempt("sgdisk", &["-v", self.text()]);
        let text = [output.stdout, output.stderr].concat();
        let lines = String::from_utf8_lossy(&text).into_owned();
        let serious = |line: &&str| {
            [
                "Problem", "Warning", "Caution", "Error", "CRC", "invalid", "damaged",
            ]
            .iter()
            .any(|word| line.contains(word))
        };
        lines.lines().filter(serious).map(str::to_owned).collect()
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
}
