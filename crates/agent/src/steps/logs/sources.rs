//! What is collected: a table of files in the archive and the commands that fill them.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::{Timestamp, tz::TimeZone};
use muster_machine::Task;

use super::{Context, Extent, Request};

/// Of one command's output, this much is kept.
const KEEP: usize = 48 << 20;
/// The end of a journal matters most; this many lines fit into what is kept.
const LINES: &str = "--lines=300000";
const SHORT: Duration = Duration::from_secs(120);
const GATHER: Duration = Duration::from_secs(1800);
/// Where a journal lies that outlives a boot.
const JOURNAL: &str = "/var/log/journal";
/// Makes a bundle of the other machines of a cluster.
pub(super) const GATHER_SCRIPT: &str = "/usr/local/bin/installer-gather.sh";

/// One file of the archive.
pub(super) struct Source {
    pub(super) name: String,
    /// Secrets can be taken out of it.
    pub(super) is_text: bool,
    from: From,
}

enum From {
    /// The outputs of commands, one after the other.
    Commands(Vec<Vec<String>>),
    /// Records of the journal with these words of `journalctl`.
    Journal(Vec<String>),
    /// The journal of a unit, if there is such a unit.
    Unit(&'static str),
    /// A bundle that a script of the installation makes of the other machines.
    Bundle {
        script: Vec<String>,
        result: PathBuf,
    },
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(ToOwned::to_owned).collect()
}

fn commands(name: &str, commands: &[&str]) -> Source {
    Source {
        name: name.to_owned(),
        is_text: true,
        from: From::Commands(commands.iter().map(|command| words(command)).collect()),
    }
}

fn journal(name: &str, filter: &[&str]) -> Source {
    Source {
        name: name.to_owned(),
        is_text: true,
        from: From::Journal(filter.iter().map(|word| (*word).to_owned()).collect()),
    }
}

/// The command that reads the journal. A system that keeps it in memory has none in the usual place,
/// and there `journalctl` knows best where it is.
fn journalctl(context: &Context, filter: &[String]) -> Vec<String> {
    let mut command = words("journalctl --all --no-pager");
    if !context.machine.names(JOURNAL).is_empty() {
        command.extend(["-D".to_owned(), JOURNAL.to_owned()]);
    }
    command.push(LINES.to_owned());
    command.extend(filter.iter().cloned());
    command
}

fn unit(name: &str, unit: &'static str) -> Source {
    Source {
        name: name.to_owned(),
        is_text: true,
        from: From::Unit(unit),
    }
}

/// The files of an archive, in order.
pub(super) fn of(request: &Request, extent: Extent) -> Vec<Source> {
    let (bootstrap, thorough) = (request.bootstrap, request.installer_gather);
    let since = request.since.as_deref();
    let since = since.map(|since| format!("--since={since}"));
    let journal = |name: &str, filter: &[&str]| {
        let all: Vec<&str> = since
            .as_deref()
            .into_iter()
            .chain(filter.iter().copied())
            .collect();
        journal(name, &all)
    };
    let mut sources = vec![
        commands(
            "mount.logs",
            &[
                "lsblk -o NAME,MAJ:MIN,SIZE,TYPE,FSTYPE,KNAME,MODEL,UUID,WWN,HCTL,VENDOR,STATE,TRAN,PKNAME",
                "findmnt --df",
                "ls -l /dev/disk/by-id",
                "ls -l /dev/disk/by-path",
                "pvdisplay -v",
                "vgdisplay -v",
                "lvdisplay -v",
            ],
        ),
        journal("agent.logs", &["TAG=agent"]),
        journal("installer.logs", &["TAG=installer"]),
        unit("ironic-agent.logs", "ironic-agent.service"),
    ];
    if bootstrap {
        sources.push(unit("bootkube.logs", "bootkube.service"));
    }
    if thorough {
        sources.push(commands("dmesg.logs", &["dmesg -T"]));
        sources.push(commands(
            "network.logs",
            &["ip address", "ip route", "ip -6 route", "ip neighbour"],
        ));
        sources.push(commands(
            "coredumps.logs",
            &["coredumpctl list --no-legend"],
        ));
        sources.push(journal("journal.logs", &[]));
    }
    if thorough && bootstrap && extent == Extent::Whole {
        sources.push(bundle(&request.master_ips));
    }
    sources
}

fn bundle(masters: &[IpAddr]) -> Source {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let id = now.strftime("%Y%m%d%H%M%S").to_string();
    let mut script = vec![GATHER_SCRIPT.to_owned(), "--id".to_owned(), id.clone()];
    script.extend(masters.iter().map(ToString::to_string));
    let name = format!("log-bundle-{id}.tar.gz");
    Source {
        is_text: false,
        from: From::Bundle {
            script,
            result: Path::new("/root").join(&name),
        },
        name,
    }
}

impl Source {
    /// Its content, or `None` if it is empty. Trouble goes to `complaints`.
    pub(super) async fn read(
        &self,
        context: &Arc<Context>,
        complaints: &mut Vec<String>,
    ) -> Option<Vec<u8>> {
        match &self.from {
            From::Commands(list) => Some(self.run_all(context, list, complaints).await),
            From::Journal(filter) => {
                let command = journalctl(context, filter);
                Some(self.run_all(context, &[command], complaints).await)
            }
            From::Unit(unit) => {
                let list = words("systemctl list-units --all --no-legend --plain");
                let listed = run(context, &[list, vec![(*unit).to_owned()]].concat(), SHORT)
                    .await
                    .ok()?;
                if listed.trim_ascii().is_empty() {
                    return None;
                }
                let command = journalctl(context, &["-u".into(), (*unit).to_owned()]);
                Some(self.run_all(context, &[command], complaints).await)
            }
            From::Bundle { script, result } => {
                if !context.machine.exists(GATHER_SCRIPT) {
                    complaints.push(format!("{}: {GATHER_SCRIPT} is not there", self.name));
                    return None;
                }
                if let Err(problem) = run(context, script, GATHER).await {
                    complaints.push(format!("{}: {problem}", self.name));
                }
                let content = context.machine.read(result);
                let _ = context.machine.remove(result);
                content
                    .map_err(|cause| complaints.push(format!("{}: {cause}", result.display())))
                    .ok()
            }
        }
    }

    async fn run_all(
        &self,
        context: &Arc<Context>,
        list: &[Vec<String>],
        complaints: &mut Vec<String>,
    ) -> Vec<u8> {
        let mut content = Vec::new();
        for command in list {
            if list.len() > 1 {
                content.extend(format!("== {}\n", command.join(" ")).into_bytes());
            }
            match run(context, command, SHORT).await {
                Ok(output) => content.extend(output),
                Err(problem) => complaints.push(format!("{}: {problem}", self.name)),
            }
        }
        content
    }
}

async fn run(
    context: &Arc<Context>,
    command: &[String],
    limit: Duration,
) -> Result<Vec<u8>, String> {
    let (program, args) = command.split_first().ok_or("no command")?;
    let task = Task::new(program, "collect logs")
        .args(args.iter().cloned())
        .deadline(limit)
        .keep(KEEP);
    let finished = context
        .task(task)
        .await
        .map_err(|cause| cause.to_string())?;
    if finished.succeeded() {
        return Ok(finished.stdout);
    }
    let words = finished.err();
    Err(format!(
        "{} ended with {:?}: {}",
        command.join(" "),
        finished.code,
        words.trim()
    ))
}
