//! The programs inside the image, so that nothing is pulled before the installation starts.
//!
//! They travel as the agent of a discovery image does, in an initrd archive behind the user's config
//! ([`live_programs`]), which is the same for all clusters of an architecture.

use muster_model::Arch;

use crate::{
    discovery::agent::{self, AgentFault},
    live_programs,
};

/// What runs on every host.
pub const AGENT: &str = "/usr/local/bin/muster-agent";
/// What runs on the rendezvous host besides.
pub const SERVICE: &str = "/usr/local/bin/muster";

/// Names under which the agent is called as well.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("/usr/local/bin/agent", AGENT),
    ("/usr/local/bin/agent-gather", AGENT),
];

/// Why a program cannot be brought onto hosts.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {fault}")]
pub struct ProgramFault {
    /// Where hosts would have it.
    pub path: &'static str,
    /// What is wrong with it.
    pub fault: AgentFault,
}

/// The initrd archive that brings both programs onto a host.
///
/// # Errors
/// One of them cannot run on hosts of this architecture.
pub fn payload(agent: &[u8], service: &[u8], arch: Arch) -> Result<Vec<u8>, ProgramFault> {
    let programs = [(AGENT, agent), (SERVICE, service)];
    for (path, program) in programs {
        agent::check(program, arch).map_err(|fault| ProgramFault { path, fault })?;
    }
    live_programs::archive(&programs, OTHER_NAMES).map_err(|fault| ProgramFault {
        path: live_programs::FOLDER,
        fault: fault.into(),
    })
}
