//! The agent inside the image, so that discovery pulls nothing.
//!
//! The executable lies in an initrd archive behind the host's config ([`live_programs`] says how it gets
//! from there to the live system), one for all infra-envs of an architecture.

use muster_model::Arch;

use crate::live_programs::{self, ProgramsError};

/// Where the live system has the agent.
pub const PATH: &str = "/usr/local/bin/agent";

/// Largest executable: a static agent is a few megabytes, and hosts hold it in memory.
pub const LARGEST: usize = 64 * 1024 * 1024;

/// Program header that names a dynamic loader.
const PT_INTERP: u32 = 3;

/// Why an executable cannot be brought onto hosts.
#[derive(Debug, thiserror::Error)]
pub enum AgentFault {
    /// No host has this architecture.
    #[error("there is no agent for {0}")]
    NoSuchHost(Arch),
    /// It would fill the memory of hosts.
    #[error("it is {0} bytes large and at most {LARGEST} make sense; strip it")]
    TooLarge(usize),
    /// Not an executable of a 64-bit Linux.
    #[error("it is no 64-bit ELF executable")]
    NotElf,
    /// It runs on another architecture.
    #[error("it is for another machine than {arch} (ELF machine {machine})")]
    OtherMachine {
        /// The architecture of the hosts.
        arch: Arch,
        /// The machine in its header.
        machine: u16,
    },
    /// It needs libraries that hosts may not have.
    #[error("it is linked dynamically, and hosts have other libraries; build it for a musl target")]
    Dynamic,
    /// Its headers cannot be read.
    #[error("its program headers are damaged")]
    Damaged,
    /// It cannot be packed.
    #[error(transparent)]
    Packing(#[from] ProgramsError),
}

/// The initrd archive that brings the agent onto a host.
///
/// # Errors
/// The executable cannot run on hosts of this architecture.
pub fn payload(executable: &[u8], arch: Arch) -> Result<Vec<u8>, AgentFault> {
    check(executable, arch)?;
    Ok(live_programs::archive(&[(PATH, executable)], &[])?)
}

/// Whether a live system of this architecture can run the executable.
///
/// # Errors
/// It cannot; says why.
pub fn check(executable: &[u8], arch: Arch) -> Result<(), AgentFault> {
    let wanted = arch.elf_machine().ok_or(AgentFault::NoSuchHost(arch))?;
    if executable.len() > LARGEST {
        return Err(AgentFault::TooLarge(executable.len()));
    }
    let elf = Elf(executable);
    let machine = elf.machine().ok_or(AgentFault::NotElf)?;
    if machine != wanted {
        return Err(AgentFault::OtherMachine { arch, machine });
    }
    match elf.needs_loader() {
        Some(false) => Ok(()),
        Some(true) => Err(AgentFault::Dynamic),
        None => Err(AgentFault::Damaged),
    }
}

/// A 64-bit executable.
struct Elf<'a>(&'a [u8]);

impl Elf<'_> {
    fn is_little(&self) -> Option<bool> {
        let known = self.0.starts_with(b"\x7fELF\x02");
        match self.0.get(5)? {
            1 if known => Some(true),
            2 if known => Some(false),
            _ => None,
        }
    }

    fn number(&self, at: usize, bytes: usize) -> Option<u64> {
        let field = self.0.get(at..at.checked_add(bytes)?)?;
        let digits = field.iter().map(|byte| u64::from(*byte));
        Some(if self.is_little()? {
            digits.rev().fold(0, |sum, digit| sum << 8 | digit)
        } else {
            digits.fold(0, |sum, digit| sum << 8 | digit)
        })
    }

    fn machine(&self) -> Option<u16> {
        u16::try_from(self.number(18, 2)?).ok()
    }

    /// Whether a dynamic loader must start it.
    fn needs_loader(&self) -> Option<bool> {
        let start = usize::try_from(self.number(32, 8)?).ok()?;
        let size = usize::try_from(self.number(54, 2)?).ok()?;
        let count = usize::try_from(self.number(56, 2)?).ok()?;
        for index in 0..count {
            let at = start.checked_add(size.checked_mul(index)?)?;
            if self.number(at, 4)? == u64::from(PT_INTERP) {
                return Some(true);
            }
        }
        Some(false)
    }
}
