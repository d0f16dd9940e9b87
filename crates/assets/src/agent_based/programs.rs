//! The programs inside the image, so that nothing is pulled before the installation starts.
//!
//! They travel as the agent of a discovery image does ([`crate::discovery::agent`]): as files of an
//! Ignition config of the system's own, in an initrd archive behind the user's config. The archive
//! is the same for all clusters of an architecture.

use muster_ignition::{Builder, Version, file};
use muster_image::initrd::Archive;
use muster_model::Arch;

use crate::discovery::agent;

/// What runs on every host.
pub const AGENT: &str = "/usr/local/bin/muster-agent";
/// What runs on the rendezvous host besides.
pub const SERVICE: &str = "/usr/local/bin/muster";

/// Where Ignition finds the config that brings them.
const CONFIG_PATH: &str = "usr/lib/ignition/base.d/40-muster-programs.ign";

/// Names under which the agent is called as well.
const OTHER_NAMES: &[&str] = &["/usr/local/bin/agent", "/usr/local/bin/agent-gather"];

/// The initrd archive that brings both programs onto a host.
///
/// # Errors
/// One of them cannot run on hosts of this architecture.
pub fn payload(agent: &[u8], service: &[u8], arch: Arch) -> Result<Vec<u8>, String> {
    let mut builder = Builder::new(Version::V3_2);
    for (path, program) in [(AGENT, agent), (SERVICE, service)] {
        agent::check(program, arch).map_err(|why| format!("{path}: {why}"))?;
        builder.file(file::packed(path, 0o755, program));
    }
    for name in OTHER_NAMES {
        builder.link(name, AGENT);
    }
    let config = builder.finish().map_err(|faults| faults.to_string())?;
    let mut archive = Archive::default();
    archive.put(CONFIG_PATH, 0o100_644, config.to_text());
    archive.gzip().map_err(|cause| cause.to_string())
}
