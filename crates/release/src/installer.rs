//! The release's own `openshift-install`: the generator for releases without a profile here.
//!
//! Which of the payload's installers runs here is a question of its version, its architecture and
//! this machine's; [`Installer::run`] then runs it where it can do no harm.

mod run;
mod sandbox;

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use muster_model::Arch;

pub use run::{Files, Run};

use crate::{Error, ImageRef, Release, TOOLS, Tool, client::this_machine};

/// Since this release the usual installer knows every platform.
const ONE_FOR_ALL: (u64, u64) = (4, 16);

/// Installers for machines of another architecture than the release.
const ARTIFACTS: &[(Arch, Tool)] = &[
    (
        Arch::X86_64,
        Tool {
            name: "openshift-install",
            component: "installer-artifacts",
            path: "/usr/share/openshift/linux_amd64/openshift-install",
            is_installer: true,
        },
    ),
    (
        Arch::Arm64,
        Tool {
            name: "openshift-install",
            component: "installer-artifacts",
            path: "/usr/share/openshift/linux_arm64/openshift-install",
            is_installer: true,
        },
    ),
];

/// An installer that was taken out of its payload.
#[derive(Debug)]
pub struct Installer {
    program: PathBuf,
    name: &'static str,
    version: String,
    image: ImageRef,
}

/// Why the release's installer made nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallerError {
    /// It cannot be taken out of the payload.
    #[error(transparent)]
    Payload(#[from] Error),
    /// The payload has none for this machine.
    #[error(
        "release {version} is for {release} and has no openshift-install for this machine ({here}); \
         take its multi-architecture payload, or run this on a machine of that architecture"
    )]
    Architecture {
        /// Version of the release.
        version: String,
        /// What it is for.
        release: &'static str,
        /// What we run on.
        here: &'static str,
    },
    /// What the payload calls an installer is for another machine.
    #[error("{what} of release {version} cannot run here: {why}")]
    Foreign {
        /// Component and path.
        what: String,
        /// Version of the release.
        version: String,
        /// What it is instead.
        why: String,
    },
    /// This machine gives it no place without a network.
    #[error(
        "the release's installer runs without network, in namespaces of its own, and this machine \
         makes none ({0}); allow user namespaces or run this as root, or let the installer use the \
         network with --installer-network"
    )]
    NoSandbox(String),
    /// It ended with an error.
    #[error("{command} {}{}", ended(*status), quoted(output))]
    Failed {
        /// What was run.
        command: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines it wrote.
        output: Vec<String>,
    },
    /// It did not end.
    #[error(
        "{command} did not end within {} s and was stopped{}",
        timeout.as_secs(),
        quoted(output)
    )]
    TimedOut {
        /// What was run.
        command: String,
        /// How long it was waited for.
        timeout: Duration,
        /// The last lines it wrote.
        output: Vec<String>,
    },
    /// It left something that is not a file of a sensible size.
    #[error("the release's installer left {path}, which is {why}; nothing of it was taken over")]
    Odd {
        /// Below its directory.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The system refuses.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        // As a shell reports it.
        (Some(code @ 129..=159), _) => format!("was killed by signal {}", code - 128),
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

fn quoted(output: &[String]) -> String {
    match output.is_empty() {
        true => "; it said nothing".to_owned(),
        false => format!("; the last it said:\n  {}", output.join("\n  ")),
    }
}

impl Release {
    /// Takes the installer that runs on this machine out of the payload, into a folder.
    ///
    /// # Errors
    /// When there is none for this machine, or it cannot be read or written.
    pub async fn installer(&self, fips: bool, folder: &Path) -> Result<Installer, InstallerError> {
        let here = this_machine().ok_or_else(|| InstallerError::Foreign {
            what: "openshift-install".to_owned(),
            version: self.version().to_string(),
            why: format!("there is none for {}", std::env::consts::ARCH),
        })?;
        let (major, minor, _) = self.version().base();
        let tool = choose((major, minor), self.arch(), here, fips).ok_or_else(|| {
            InstallerError::Architecture {
                version: self.version().to_string(),
                release: self.arch().go(),
                here: here.go(),
            }
        })?;
        let arch = match self.arch() {
            Arch::Multi => here,
            one => one,
        };
        let program = folder.join(tool.name);
        let taken = self.extract_tool(tool, Some(arch), &program).await;
        match taken {
            // Only newer payloads carry installers for other architectures.
            Err(Error::NoSuchComponent { .. }) if tool.component == "installer-artifacts" => {
                return Err(InstallerError::Architecture {
                    version: self.version().to_string(),
                    release: self.arch().go(),
                    here: here.go(),
                });
            }
            other => _ = other?,
        }
        let foreign = |why: String| InstallerError::Foreign {
            what: format!("{} in component {}", tool.path, tool.component),
            version: self.version().to_string(),
            why,
        };
        runs_on(&program, here)
            .map_err(|source| InstallerError::System {
                what: program.display().to_string(),
                source,
            })?
            .map_err(foreign)?;
        Ok(Installer {
            program,
            name: tool.name,
            version: self.version().to_string(),
            image: self.image().pinned(),
        })
    }
}

impl Installer {
    /// Version of its release.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its release, by digest.
    pub fn image(&self) -> &ImageRef {
        &self.image
    }
}

/// The installer of a release for a machine.
fn choose(version: (u64, u64), release: Arch, here: Arch, fips: bool) -> Option<&'static Tool> {
    if release != Arch::Multi && release != here {
        let found = ARTIFACTS.iter().find(|(arch, _)| *arch == here);
        return found.map(|(_, tool)| tool);
    }
    let name = match (version < ONE_FOR_ALL, fips) {
        (true, _) => "openshift-baremetal-install",
        (false, true) => "openshift-install-fips",
        (false, false) => "openshift-install",
    };
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Whether a file is a program for this machine; if not, what it is.
fn runs_on(program: &Path, here: Arch) -> io::Result<Result<(), String>> {
    let mut head = [0; 20];
    let read = File::open(program)?.read(&mut head)?;
    let head = &head[..read];
    if head.starts_with(b"#!") {
        return Ok(Ok(()));
    }
    if head.len() < 20 || !head.starts_with(b"\x7fELF") {
        return Ok(Err("it is not a program for Linux".to_owned()));
    }
    let number = [head[18], head[19]];
    let number = match head[5] {
        2 => u16::from_be_bytes(number),
        _ => u16::from_le_bytes(number),
    };
    let mut known = Arch::ALL.iter().copied();
    let found = known.find(|arch| arch.elf_machine() == Some(number));
    Ok(match found {
        Some(arch) if arch == here => Ok(()),
        Some(arch) => Err(format!(
            "it is a program for {}, and this machine is {}",
            arch.go(),
            here.go()
        )),
        None => Err(format!("it is a program for a machine of kind {number}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installer_is_chosen_by_release_and_machine() {
        let (x86, arm) = (Arch::X86_64, Arch::Arm64);
        let rows = [
            ((4, 14), x86, x86, false, "baremetal-installer"),
            ((4, 16), x86, x86, false, "installer"),
            ((4, 20), x86, x86, true, "baremetal-installer"),
            ((5, 0), Arch::Multi, arm, false, "installer"),
            ((4, 20), arm, x86, false, "installer-artifacts"),
            ((4, 20), Arch::S390x, arm, true, "installer-artifacts"),
        ];
        for (version, release, here, fips, component) in rows {
            let tool = choose(version, release, here, fips).map(|tool| tool.component);
            assert_eq!(tool, Some(component), "{version:?} {release:?} {here:?}");
        }
        assert_eq!(choose((4, 20), x86, Arch::S390x, false), None);
    }

    #[test]
    fn programs_for_other_machines_are_known_by_their_head() {
        let folder = tempfile::tempdir().expect("a folder");
        let checked = |bytes: &[u8]| {
            let path = folder.path().join("program");
            std::fs::write(&path, bytes).expect("writes");
            runs_on(&path, Arch::X86_64).expect("reads")
        };
        let elf = |order: u8, machine: [u8; 2]| {
            let mut head = b"\x7fELF\x02".to_vec();
            head.push(order);
            head.resize(18, 0);
            head.extend(machine);
            head
        };
        assert_eq!(checked(b"#!/bin/sh\n"), Ok(()));
        assert_eq!(checked(&elf(1, [62, 0])), Ok(()));
        assert!(checked(&elf(1, [183, 0])).is_err_and(|why| why.contains("arm64")));
        assert!(checked(&elf(2, [0, 22])).is_err_and(|why| why.contains("s390x")));
        assert!(checked(b"\x7fELF").is_err());
        assert!(checked(b"").is_err_and(|why| why.contains("not a program")));
    }
}
