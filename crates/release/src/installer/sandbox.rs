//! Where a foreign program runs: processes of its own that die with it, and no network unless it
//! may have one.

use std::process::Stdio;

use tokio::process::Command;

use super::InstallerError;

/// A user who may make user namespaces needs no other right; root may do without.
const WAYS: &[&[&str]] = &[&["--user", "--map-root-user"], &[]];

/// What makes the namespaces.
const UNSHARE: &str = "unshare";

/// The first process of the namespace: it reports by its exit code how the program ended, also if a
/// signal ended it, which `unshare` itself does not pass on reliably.
const FIRST: &str = r#""$@"; exit $?"#;

/// A command that runs a program in the strictest place this machine has.
///
/// # Errors
/// When it may have no network and this machine has no such place.
pub async fn command(program: &std::path::Path, network: bool) -> Result<Command, InstallerError> {
    let mut refused = String::new();
    for way in WAYS {
        let mut wrapped = Command::new(UNSHARE);
        wrapped.args(*way).args(["--pid", "--fork", "--kill-child"]);
        if !network {
            wrapped.arg("--net");
        }
        match try_out(&wrapped).await {
            Ok(()) => {
                wrapped.args(["--", "sh", "-c", FIRST, "sh"]).arg(program);
                return Ok(wrapped);
            }
            Err(why) => refused = why,
        }
    }
    match network {
        true => Ok(Command::new(program)),
        false => Err(InstallerError::NoSandbox(refused)),
    }
}

/// Whether the namespaces can be made.
async fn try_out(command: &Command) -> Result<(), String> {
    let mut probe = Command::new(UNSHARE);
    probe
        .args(command.as_std().get_args())
        .args(["--", "true"])
        .stdin(Stdio::null());
    let output = probe
        .output()
        .await
        .map_err(|cause| format!("{UNSHARE}: {cause}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
