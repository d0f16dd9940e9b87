//! The Debian package on a machine where systemd runs: installed, started, upgraded with its data,
//! removed and purged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use muster_image::Customization;
use muster_testbed::{Os, evidence_of};
use muster_vm::{
    Boot, Evidence, Machine, Network, Offer,
    program::{command, run},
};
use serde_json::json;

use crate::scene::{BOOT, customized, key, log_in};

const NUMBER: u8 = 43;
const NEWER: &str = "9.9.9";
/// A live system is read-only below /usr, where packages go.
const WRITABLE: &str = "mkdir -p /run/usr/upper /run/usr/work && mount -t overlay overlay \
    -o lowerdir=/usr,upperdir=/run/usr/upper,workdir=/run/usr/work /usr";
/// The image of the stand-in leaves out what dpkg knows about the files of its packages. Folders that every
/// system has belong to one of them, or dpkg would remove them with the last package that it knows.
const PACKAGE_MANAGER: &str = "mkdir -p /var/lib/dpkg/info && echo 1 >/var/lib/dpkg/info/format && \
    printf '%s\\n' /. /etc /usr /var /var/lib >/var/lib/dpkg/info/base-files.list";
/// Waits for the service, and asks it with the CA that it made.
const ASK: &str = r#"ask() { curl --silent --show-error --fail --retry 60 --retry-delay 1 --retry-all-errors \
    --cacert /var/lib/muster/tls/ca.crt "https://localhost:8090$1"; }"#;

#[test]
#[ignore = "starts virtual machines; run `make stories`"]
fn the_package_installs_starts_upgrades_and_goes_under_systemd() -> Result<()> {
    let evidence = evidence_of("packages")?;
    let mut network = Network::new(&evidence)?;
    let ignition = json!({
        "ignition": {"version": "3.1.0"},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": [key(&evidence)?]}]},
    });
    let customization = Customization {
        ignition: Some(ignition.to_string().into()),
        ..Customization::default()
    };
    let image = customized(&Os::ready()?, &evidence, &customization)?;
    let mut machine = Machine::numbered("server", NUMBER, Boot::Cd(image));
    machine.memory_mib = 4096;
    network.serve(&Offer::default(), &[&machine])?;
    let mut machine = machine.start(&network, &evidence)?;
    let shell = Shell {
        network: &network,
        evidence: &evidence,
    };
    machine.wait_until("the machine to let us in", BOOT, |_| {
        Ok(shell.run("true").ok())
    })?;
    shell.run(WRITABLE)?;
    shell.run(PACKAGE_MANAGER)?;
    let (current, newer) = (package(&evidence, None)?, package(&evidence, Some(NEWER))?);
    shell.copy(&current, "/run/muster.deb")?;
    shell.copy(&newer, "/run/newer.deb")?;

    shell.run("dpkg --install /run/muster.deb")?;
    let idle = shell.run("systemctl is-active muster || true")?;
    assert_eq!(idle.trim(), "inactive", "an installation starts nothing");
    shell.run("systemctl enable --now muster")?;
    shell.run(&format!("{ASK}; ask /ready"))?;
    let user = shell.run("ps -o user= -p $(systemctl show -P MainPID muster)")?;
    assert_eq!(user.trim(), "muster");
    // Something to keep: the first user's password is known to the journal alone.
    let login = shell.run("journalctl -u muster -o cat | grep 'first login'")?;
    assert!(login.contains("password"), "{login}");
    let kept = "sha256sum /var/lib/muster/tls/ca.crt /var/lib/muster/first-user.hash";
    let before = shell.run(kept)?;

    let process = "systemctl show -P MainPID muster";
    let first = shell.run(process)?;
    shell.run("dpkg --install /run/newer.deb")?;
    shell.run(&format!("{ASK}; ask /ready"))?;
    assert_ne!(first, shell.run(process)?, "the new program runs");
    assert_eq!(before, shell.run(kept)?);

    shell.run("dpkg --remove muster")?;
    let gone = shell.run("systemctl is-active muster || true; test ! -e /usr/bin/muster")?;
    assert_ne!(gone.trim(), "active");
    assert_eq!(before, shell.run(kept)?, "data stays");
    shell.run("dpkg --purge muster && test ! -e /var/lib/muster")?;
    Ok(())
}

/// The package of the programs that were built, of this or another version.
fn package(evidence: &Evidence, version: Option<&str>) -> Result<PathBuf> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let out = evidence.part(version.unwrap_or("current"))?;
    let mut build = command(format!("{root}/packaging/build"));
    build
        .args(["--quick", "--only", "packages", "--out"])
        .arg(out.folder());
    if let Some(version) = version {
        build.env("VERSION", version);
    }
    run(build.arg("x86_64")).context("making the package")?;
    for entry in fs::read_dir(out.folder())? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "deb") {
            return Ok(path);
        }
    }
    bail!("no package was made")
}

/// Commands on the machine, as root.
struct Shell<'a> {
    network: &'a Network,
    evidence: &'a Evidence,
}

impl Shell<'_> {
    fn run(&self, script: &str) -> Result<String> {
        let mut ssh = log_in(self.network, self.evidence, NUMBER);
        let quoted = script.replace('\'', r"'\''");
        run(ssh.arg(format!("sudo bash -c '{quoted}'")))
    }

    fn copy(&self, file: &Path, to: &str) -> Result<()> {
        let mut ssh = log_in(self.network, self.evidence, NUMBER);
        ssh.arg(format!("sudo tee {to} >/dev/null"));
        let status = ssh.stdin(fs::File::open(file)?).status()?;
        ensure!(
            status.success(),
            "copying {} ended with {status}",
            file.display()
        );
        Ok(())
    }
}
