//! A machine to run the picking script on: a folder with its own /etc, /sys and /proc and the
//! programs of this one, entered in a mount namespace of its own.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use muster_assets::static_network::{SCRIPT, SCRIPT_PATH, carried};
use muster_model::HostNetwork;

use crate::{run, said};

/// Where a profile ends up, in the initrd and in the live system.
pub const INITRD: &str = "etc/coreos-firstboot-network";
pub const LIVE: &str = "etc/NetworkManager/system-connections";

pub struct Machine {
    root: tempfile::TempDir,
}

impl Machine {
    /// A machine with these cards (kernel name, address) that carries these networks.
    pub fn new(cards: &[(&str, &str)], networks: &[HostNetwork]) -> Self {
        let machine = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for (name, address) in cards.iter().chain(&[("lo", "00:00:00:00:00:00")]) {
            machine.write(
                &format!("sys/class/net/{name}/address"),
                &format!("{address}\n"),
            );
        }
        for file in carried(networks).unwrap() {
            machine.write(&file.path, &file.text);
        }
        machine.write(SCRIPT_PATH, SCRIPT);
        machine.make_executable(SCRIPT_PATH);
        // Nothing here comes up late.
        machine.write("shortcuts/sleep", "#!/bin/bash\nexit 0\n");
        machine.make_executable("shortcuts/sleep");
        machine.write("proc/sys/kernel/hostname", "localhost\n");
        machine
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()))
    }

    /// Names in a folder, sorted; none if there is no such folder.
    pub fn list(&self, path: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path(path)) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    fn make_executable(&self, path: &str) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the script there; gives what it said.
    pub fn pick(&self) -> String {
        let root = self.root.path();
        let mut steps = String::from("set -e\n");
        for folder in ["bin", "lib", "lib64", "usr/bin", "usr/lib", "usr/lib64"] {
            if Path::new("/").join(folder).exists() {
                let at = root.join(folder);
                fs::create_dir_all(&at).unwrap();
                steps.push_str(&format!("mount --bind /{folder} {}\n", at.display()));
            }
        }
        fs::create_dir_all(root.join("dev")).unwrap();
        steps.push_str(&format!(
            "mount --bind /dev {}\n",
            root.join("dev").display()
        ));
        steps.push_str(&format!(
            "exec chroot {} /usr/bin/env PATH=/shortcuts:/usr/bin:/bin {SCRIPT_PATH}\n",
            root.display()
        ));
        let output = run(Command::new("unshare").args(["--mount", "bash", "-c", &steps]));
        assert!(output.status.success(), "{}", said(&output));
        said(&output)
    }
}
