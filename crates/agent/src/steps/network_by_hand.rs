//! Networks that a person set up on the live system, on its console with `nmtui` or with the reference's
//! `agent-tui`.
//!
//! The installed system would start without them. What the service delivers is not looked for: it asks
//! for that itself.

use std::path::Path;

use muster_machine::Task;
use tracing::{info, warn};

use super::Context;

const PROFILES: &str = "/etc/NetworkManager/system-connections";

/// Whether NetworkManager has a profile that was stored since this system started. Those from kernel
/// arguments and from the image are older.
pub(super) async fn is_there(context: &Context) -> bool {
    match since_start(context).await {
        Ok(files) => {
            let own = files.lines().find(|file| is_profile(context, file));
            if let Some(file) = own {
                info!(file, "this network was set up here; it is installed too");
            }
            own.is_some()
        }
        Err(cause) => {
            warn!(cause, "networks set up on this system are not looked for");
            false
        }
    }
}

async fn since_start(context: &Context) -> Result<String, String> {
    let ask = Task::new("systemctl", "see when this system started").args([
        "show",
        "--timestamp=unix",
        "--property=UserspaceTimestamp",
        "--value",
    ]);
    let started = output(context, ask).await?;
    let find = Task::new("find", "find networks set up on this system").args([
        PROFILES,
        "-maxdepth",
        "1",
        "-type",
        "f",
        "-newermt",
        started.trim(),
    ]);
    output(context, find).await
}

async fn output(context: &Context, task: Task) -> Result<String, String> {
    let program = task.program.clone();
    match context.task(task).await {
        Ok(finished) if finished.succeeded() => Ok(finished.out()),
        Ok(finished) => Err(format!("{program}: {}", finished.err().trim())),
        Err(cause) => Err(cause.to_string()),
    }
}

fn is_profile(context: &Context, file: &str) -> bool {
    let text = context.machine.text(Path::new(file));
    text.is_some_and(|text| text.lines().any(|line| line.trim() == "[connection]"))
}

#[cfg(test)]
mod tests {
    use muster_machine::{Finished, Simulated};

    use super::*;
    use crate::steps::tests::on;

    fn machine(found: &str) -> Simulated {
        let machine = Simulated::default();
        machine.on(
            ["systemctl", "show"],
            Finished::with_output("@1763588815\n"),
        );
        machine.on(["find"], Finished::with_output(found));
        machine.change(|tree| {
            tree.line(format!("{PROFILES}/a.nmconnection"), "[connection]\nid=a");
            tree.line(format!("{PROFILES}/notes"), "my notes");
        });
        machine
    }

    #[tokio::test]
    async fn only_profiles_stored_since_the_start_count() {
        for (found, expected) in [
            ("", false),
            ("/etc/NetworkManager/system-connections/notes\n", false),
            (
                "/etc/NetworkManager/system-connections/notes\n\
                 /etc/NetworkManager/system-connections/a.nmconnection\n",
                true,
            ),
        ] {
            let (context, machine) = on(machine(found));
            assert_eq!(is_there(&context).await, expected, "{found}");
            let find = machine.ran().pop().unwrap();
            assert_eq!(find[find.len() - 2..], ["-newermt", "@1763588815"]);
        }
    }

    #[tokio::test]
    async fn a_system_that_does_not_say_when_it_started_has_none() {
        let machine = machine("/etc/NetworkManager/system-connections/a.nmconnection\n");
        machine.on(["systemctl", "show"], Finished::failed(1, "unknown option"));
        let (context, machine) = on(machine);
        assert!(!is_there(&context).await);
        assert!(machine.ran().iter().all(|words| words[0] != "find"));
    }
}
