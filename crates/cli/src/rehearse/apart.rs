//! A network namespace of one's own for the whole run: nothing of a rehearsal can reach the
//! network of this machine, and nothing of it stays.

use std::os::unix::process::CommandExt;

use anyhow::{Context, Result, bail};
use muster_vm::program::{command, run};

/// Says to the second start of the program that it is inside.
pub const INSIDE: &str = "--inside";

/// Begins this program again in a namespace of its own. Returns only if that fails.
pub fn enter() -> Result<()> {
    let root = rustix::process::geteuid().is_root();
    // A user who is not root becomes it inside, where that means little.
    let flags: &[&str] = if root {
        &["--net"]
    } else {
        &["--user", "--map-root-user", "--net"]
    };
    if let Err(error) = run(command("unshare").args(flags).arg("true")) {
        bail!("a network namespace cannot be made here ({error:#}); run it as root");
    }
    let program = std::env::current_exe().context("the path of this program")?;
    let mut again = command("unshare");
    again.args(flags).arg("--").arg(program);
    again.args(std::env::args_os().skip(1)).arg(INSIDE);
    // There is no proxy in there.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        again.env_remove(name).env_remove(name.to_ascii_lowercase());
    }
    Err(again.exec()).context("starting in a network namespace")
}
