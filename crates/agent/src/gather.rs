//! `muster-agent gather`, which hosts have as `agent-gather`: everything that shows why a host or
//! an agent-based installation does not get on, in one archive without secrets.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use clap::Args;
use muster_machine::{Kind, Machine, Task};

use crate::steps::logs::{Bundle, Redactor};

/// Files and folders that are collected; folders with all below them.
const PLACES: &[&str] = &[
    "/etc/assisted",
    "/etc/containers/registries.conf",
    "/etc/chrony.conf",
    "/etc/resolv.conf",
    "/etc/mtab",
    "/etc/issue.d",
    "/etc/systemd/system",
    "/etc/NetworkManager/system-connections",
    "/usr/local/share/assisted-service",
    "/usr/local/share/start-cluster",
    "/run/agent-installer",
    "/var/log/agent",
    "/var/log/openshift",
    "/var/lib/muster/status.json",
];

/// Programs whose output is collected, and the name it gets.
const COMMANDS: &[(&str, &str)] = &[
    (
        "journal.txt",
        "journalctl --all --no-pager -o short-precise",
    ),
    ("dmesg", "dmesg"),
    ("units", "systemctl list-units --all --no-pager"),
    ("ipaddr", "ip address"),
    ("iplink", "ip -s link"),
    ("iproute", "ip route show table all"),
    ("ip6route", "ip -6 route show table all"),
    ("nmcli", "nmcli --show-secrets no device show"),
    ("lsblk", "lsblk --output-all"),
    ("df", "df -h"),
    ("chronyc", "chronyc -n sources"),
    ("container-status", "podman ps --all"),
];

/// Most bytes of one file, and of all: the live system lives in memory.
const LARGEST_FILE: usize = 64 << 20;
const LARGEST_SUM: usize = 512 << 20;
const DEEPEST: usize = 8;
const LIMIT: Duration = Duration::from_secs(120);

/// Collect what shows why this host does not get on, without secrets.
#[derive(Debug, Args)]
pub struct Gather {
    /// Write the archive to standard output instead of a file
    #[arg(short = 'O')]
    to_stdout: bool,
    /// Folder for the archive
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

impl Gather {
    /// Collects, and returns the name of the file if there is one.
    ///
    /// # Errors
    /// The archive cannot be written.
    pub fn run(&self, machine: &dyn Machine) -> anyhow::Result<Option<PathBuf>> {
        if self.to_stdout {
            let mut out = std::io::stdout().lock();
            collect(machine, &mut out).context("writing to standard output")?;
            return Ok(None);
        }
        let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%SUTC");
        let path = self.dir.join(format!("agent-gather-{stamp}.tar.gz"));
        let writing = || format!("writing {}", path.display());
        let mut file = private_file(&path).with_context(writing)?;
        collect(machine, &mut file).with_context(writing)?;
        Ok(Some(path))
    }
}

fn private_file(path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

fn collect(machine: &dyn Machine, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let redactor = Redactor::new(None);
    let mut bundle = Bundle::new("agent-gather".to_owned());
    let mut trouble = Vec::new();
    let mut room = LARGEST_SUM;
    for (name, line) in COMMANDS {
        let mut words = line.split_whitespace();
        let task = Task::new(
            words.next().unwrap_or_default(),
            "collect the state of this host",
        )
        .args(words)
        .deadline(LIMIT)
        .keep(LARGEST_FILE);
        match machine.run(&task) {
            Ok(done) => {
                let mut content = done.stdout;
                content.extend(done.stderr);
                add(&mut bundle, &redactor, name, content, &mut room, out)?;
            }
            Err(error) => trouble.push(format!("{line}: {error}")),
        }
    }
    let mut files = Vec::new();
    for place in PLACES {
        walk(machine, Path::new(place), 0, &mut files);
    }
    for path in files {
        match machine.read_start(&path, LARGEST_FILE) {
            Ok(content) => {
                let name = path.display().to_string();
                let name = name.trim_start_matches('/');
                add(&mut bundle, &redactor, name, content, &mut room, out)?;
            }
            Err(error) => trouble.push(format!("{}: {error}", path.display())),
        }
    }
    if room == 0 {
        trouble.push(format!(
            "more than {} MiB: the rest was left out",
            LARGEST_SUM >> 20
        ));
    }
    trouble.push(String::new());
    out.write_all(&bundle.add("trouble.txt", trouble.join("\n").as_bytes()))?;
    out.write_all(&bundle.finish())
}

fn add(
    bundle: &mut Bundle,
    redactor: &Redactor,
    name: &str,
    content: Vec<u8>,
    room: &mut usize,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    if content.len() > *room {
        *room = 0;
        return Ok(());
    }
    *room -= content.len();
    out.write_all(&bundle.add(name, &redactor.clean(content)))
}

/// Regular files below a place; nothing that is a key by its name.
fn walk(machine: &dyn Machine, path: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let is_secret = path
        .extension()
        .is_some_and(|ending| ["key", "pem", "hash"].iter().any(|one| ending == *one));
    match machine.kind(path) {
        Ok(Kind::File) if !is_secret => files.push(path.to_owned()),
        Ok(Kind::Directory) if depth < DEEPEST => {
            for name in machine.names(path) {
                walk(machine, &path.join(name), depth + 1, files);
            }
        }
        Ok(Kind::File | Kind::Directory | Kind::Block | Kind::Other) | Err(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, io::Read as _};

    use flate2::read::GzDecoder;
    use muster_machine::{Finished, Simulated};

    use super::*;

    #[test]
    fn the_archive_has_state_and_configuration_and_no_secret() {
        let machine = Simulated::default();
        let put = |path: &str, text: &str| {
            let path = Path::new(path);
            machine
                .make_directory(path.parent().unwrap(), 0o755)
                .unwrap();
            machine.write(path, text.as_bytes(), 0o600).unwrap();
        };
        let secrets =
            "USER_AUTH_TOKEN=hidden1\nWATCHER_AUTH_TOKEN=hidden2\nNODE_ZERO_IP=10.0.0.1\n";
        put("/etc/assisted/rendezvous-host.env", secrets);
        put(
            "/etc/assisted/manifests/pull-secret.yaml",
            r#"x: {"auth":"hidden3"}"#,
        );
        put(
            "/etc/assisted/hostconfig/a/fencing-credentials.yaml",
            "credentials:\n- hostname: a\n  password: hidden4\n",
        );
        put("/opt/agent/tls/cluster-seed.json", "hidden5");
        put("/etc/assisted/extra-manifests/a.key", "hidden6");
        machine.on(["ip", "address"], Finished::with_output("2: ens3"));
        let mut archive = Vec::new();
        collect(&machine, &mut archive).unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(GzDecoder::new(&*archive))
            .entries()
            .unwrap()
        {
            let mut entry = entry.unwrap();
            let name = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.insert(name, text);
        }
        assert_eq!(files["agent-gather/ipaddr"], "2: ens3");
        let settings = &files["agent-gather/etc/assisted/rendezvous-host.env"];
        assert!(settings.contains("NODE_ZERO_IP=10.0.0.1"), "{settings}");
        let all = format!("{files:?}");
        assert!(!all.contains("hidden"), "{all}");
        assert!(files["agent-gather/trouble.txt"].contains("lsblk"));
    }
}
