//! The agents that go into boot images, one per architecture.
//!
//! Found once at start: in the folder the configuration names, or near the program, or inside it.
//! Packing one takes a moment, so it is done once, in the background; every image then refers to the
//! same bytes. Where there is none, hosts pull the image of `images.agent` if one is configured;
//! otherwise no image is made. The log and the history of the infra-env say so.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use muster_assets::discovery::agent::{self, AgentFault};
use muster_image::View;
use muster_model::{Arch, ArchName};

use crate::inside_program;

/// Name of the executable.
const NAME: &str = "muster-agent";

/// Architectures that agents are built for.
const ARCHITECTURES: [Arch; 2] = [Arch::X86_64, Arch::Arm64];

/// Why hosts of an architecture have no program from us.
#[derive(Debug, thiserror::Error)]
pub enum NoAgent {
    /// None is built for it.
    #[error("there are no agents for {0}")]
    Architecture(ArchName),
    /// Without a setting it is looked for near this program.
    #[error("the folder of this program cannot be found; set images.agent_dir")]
    NoFolder,
    /// It is not where it could be.
    #[error("there is no agents/{arch}/{program} in {}", folder.display())]
    Missing {
        /// Which one.
        arch: Arch,
        /// Its name.
        program: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// A file that has its name is of no use.
    #[error("{place}: {fault}")]
    Unusable {
        /// Where it is.
        place: String,
        /// What is wrong with it.
        fault: AgentFault,
    },
    /// A file that has its name cannot be read.
    #[error("{place}: {cause}")]
    Unreadable {
        /// Where it is.
        place: String,
        /// The refusal.
        cause: io::Error,
    },
    /// One reason for each place.
    #[error("{}", list(.0))]
    Several(Vec<NoAgent>),
}

fn list(reasons: &[NoAgent]) -> String {
    let reasons: Vec<String> = reasons.iter().map(NoAgent::to_string).collect();
    reasons.join("; ")
}

impl NoAgent {
    /// The only reason by itself.
    fn of(mut reasons: Vec<Self>) -> Self {
        match reasons.pop() {
            Some(only) if reasons.is_empty() => only,
            last => {
                reasons.extend(last);
                Self::Several(reasons)
            }
        }
    }
}

/// The agents of a service.
#[derive(Debug, Default)]
pub struct Agents {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    arch: Arch,
    executable: Result<Executable, Arc<NoAgent>>,
    packed: OnceLock<Result<View, Arc<NoAgent>>>,
}

/// Where an agent is.
#[derive(Debug)]
enum Executable {
    File(PathBuf),
    /// In a program.
    Inside(PathBuf, inside_program::Place),
}

impl Executable {
    fn read(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::File(path) => read(path),
            Self::Inside(program, place) => inside_program::read(program, place),
        }
    }
}

impl fmt::Display for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Inside(program, _) => write!(f, "inside {}", program.display()),
        }
    }
}

impl Agents {
    /// Looks for them; says in the log what was found and what was not.
    #[must_use]
    pub fn find(folder: Option<&Path>) -> Self {
        let found = find_each(folder, std::env::current_exe().ok().as_deref());
        let rows = found.into_iter().map(|(arch, executable)| {
            match &executable {
                Ok(path) => {
                    tracing::info!(architecture = %arch, %path, "agent for boot images found");
                }
                Err(why) => {
                    tracing::warn!(architecture = %arch, %why, "no agent for boot images; `make agents` builds it, images.agent_dir says where it is");
                }
            }
            Row {
                arch,
                executable: executable.map_err(Arc::new),
                packed: OnceLock::new(),
            }
        });
        Self {
            rows: rows.collect(),
        }
    }

    /// Packs all of them, for those who ask later.
    pub fn pack(&self) {
        for row in &self.rows {
            if let Err(why) = row.payload()
                && row.executable.is_ok()
            {
                tracing::error!(architecture = %row.arch, %why, "an agent cannot be packed");
            }
        }
    }

    /// The initrd archive with the agent for an architecture.
    ///
    /// # Errors
    /// There is none; says why.
    pub fn payload(&self, architecture: &ArchName) -> Result<View, Arc<NoAgent>> {
        let row = self.rows.iter().find(|row| architecture.is(row.arch));
        row.ok_or_else(|| NoAgent::Architecture(architecture.clone()))?
            .payload()
            .clone()
    }
}

impl Row {
    fn payload(&self) -> &Result<View, Arc<NoAgent>> {
        self.packed.get_or_init(|| {
            let path = self.executable.as_ref().map_err(Clone::clone)?;
            let place = || path.to_string();
            let executable = path.read().map_err(|cause| NoAgent::Unreadable {
                place: place(),
                cause,
            })?;
            let packed = agent::payload(&executable, self.arch);
            let packed = packed.map_err(|fault| NoAgent::Unusable {
                place: place(),
                fault,
            })?;
            Ok(View::bytes(packed))
        })
    }
}

/// The agents that [`Agents::find`] would find, with the architecture of each.
///
/// # Errors
/// One of them cannot be read.
pub fn executables(folder: Option<&Path>) -> io::Result<Vec<(Vec<u8>, Arch)>> {
    let program = std::env::current_exe().ok();
    find_each(folder, program.as_deref())
        .into_iter()
        .filter_map(|(arch, found)| Some((found.ok()?, arch)))
        .map(|(executable, arch)| Ok((executable.read()?, arch)))
        .collect()
}

/// For each architecture the agent, or why there is none. Files come before what is inside the
/// program, so that a newer one can be put beside it.
fn find_each(
    folder: Option<&Path>,
    program: Option<&Path>,
) -> Vec<(Arch, Result<Executable, NoAgent>)> {
    let folders = folders(folder);
    let inside = match (folder, program) {
        (None, Some(program)) => inside_program::list(program)
            .unwrap_or_else(|cause| {
                tracing::warn!(%cause, "the agents inside this program cannot be read");
                Vec::new()
            })
            .into_iter()
            .map(|place| (program, place))
            .collect(),
        _ => Vec::new(),
    };
    let find = |arch: Arch| {
        let file = find_first(&folders, NAME, arch).map(Executable::File);
        let found = file.or_else(|why| {
            let place = inside
                .iter()
                .find(|(_, place)| place.architecture.parse() == Ok(arch));
            let (program, place) = place.ok_or(why)?;
            Ok(Executable::Inside((*program).to_owned(), place.clone()))
        });
        (arch, found)
    };
    ARCHITECTURES.into_iter().map(find).collect()
}

/// A program for hosts of an architecture, found as agents are: in `folder` or, without one, near
/// this program.
///
/// # Errors
/// There is none that such a host could run; says why.
pub fn find_program(folder: Option<&Path>, program: &str, arch: Arch) -> Result<PathBuf, NoAgent> {
    find_first(&folders(folder), program, arch)
}

/// The folder that is named, or those where agents lie without any setting: beside the program (an
/// unpacked archive), above it (a build tree), or where packages put them.
fn folders(named: Option<&Path>) -> Vec<PathBuf> {
    if let Some(named) = named {
        return vec![named.to_owned()];
    }
    let program = std::env::current_exe().ok();
    let beside = program.as_deref().and_then(Path::parent);
    let above = beside.and_then(Path::parent);
    let mut folders: Vec<PathBuf> = [beside, above]
        .into_iter()
        .flatten()
        .map(Path::to_owned)
        .collect();
    folders.extend(above.map(|above| above.join("lib/muster")));
    folders
}

fn find_first(folders: &[PathBuf], program: &str, arch: Arch) -> Result<PathBuf, NoAgent> {
    let mut reasons = Vec::new();
    for folder in folders {
        match find_one(folder, program, arch) {
            Ok(path) => return Ok(path),
            Err(why) => reasons.push(why),
        }
    }
    if reasons.is_empty() {
        return Err(NoAgent::NoFolder);
    }
    Err(NoAgent::of(reasons))
}

/// The first file that a host of this architecture could run; else why there is none.
fn find_one(folder: &Path, program: &str, arch: Arch) -> Result<PathBuf, NoAgent> {
    // Folders may have any of the names of the architecture.
    let mut names = vec![arch.as_str()];
    for name in [arch.rpm(), arch.go()] {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let below = |parent: &str| -> Vec<PathBuf> {
        let folder = folder.join(parent);
        let paths = names.iter().map(|name| folder.join(name).join(program));
        paths.collect()
    };
    // `make agents` and `scripts/build-static` write to the first two.
    let places = ["agents", "programs", ""].into_iter().flat_map(below);
    let mut reasons = Vec::new();
    for path in places.chain([folder.join(program)]) {
        let content = match read(&path) {
            Ok(content) => content,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => continue,
            Err(cause) => {
                let place = path.display().to_string();
                reasons.push(NoAgent::Unreadable { place, cause });
                continue;
            }
        };
        match agent::check(&content, arch) {
            Ok(()) => return Ok(path),
            Err(fault) => {
                let place = path.display().to_string();
                reasons.push(NoAgent::Unusable { place, fault });
            }
        }
    }
    if reasons.is_empty() {
        return Err(NoAgent::Missing {
            arch,
            program: program.to_owned(),
            folder: folder.to_owned(),
        });
    }
    Err(NoAgent::of(reasons))
}

/// The file, unless it is far too large to be an agent.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let size = fs::metadata(path)?.len();
    if size > agent::LARGEST as u64 {
        return Err(io::Error::other(format!(
            "it is {size} bytes large and at most {} make sense; strip it",
            agent::LARGEST
        )));
    }
    fs::read(path)
}

#[cfg(test)]
mod tests {
    use muster_assets::live_programs;
    use muster_image::initrd::Archive;

    use super::*;

    /// The smallest thing that looks like a static executable.
    fn executable(machine: u8) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
        elf.resize(64, 0);
        elf[18] = machine;
        elf
    }

    fn folder(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn each_architecture_has_its_own_and_others_have_none() {
        let folder = folder(&[
            ("agents/x86_64/muster-agent", executable(62)),
            ("agents/aarch64/muster-agent", executable(183)),
        ]);
        let agents = Agents::find(Some(folder.path()));
        for architecture in ["x86_64", "arm64", "aarch64"] {
            let view = agents.payload(&architecture.into()).unwrap();
            let bytes = view.read_exact("the payload", 0, view.len()).unwrap();
            let archive = Archive::read(&bytes).unwrap();
            let name = format!("{}{}", live_programs::FOLDER, agent::PATH);
            assert!(archive.get(&name).is_some(), "{archive:?}");
        }
        let why = agents.payload(&"s390x".into()).unwrap_err();
        assert!(matches!(&*why, NoAgent::Architecture(name) if name.to_string() == "s390x"));
    }

    #[test]
    fn an_agent_for_another_machine_is_passed_over_with_a_reason() {
        let folder = folder(&[
            ("muster-agent", executable(62)),
            ("arm64/muster-agent", b"#!".into()),
        ]);
        let agents = Agents::find(Some(folder.path()));
        assert!(agents.payload(&"x86_64".into()).is_ok());
        let why = agents.payload(&"arm64".into()).unwrap_err();
        let NoAgent::Several(reasons) = &*why else {
            panic!("{why}")
        };
        let is = |fault: fn(&AgentFault) -> bool| {
            reasons.iter().any(
                |reason| matches!(reason, NoAgent::Unusable { fault: found, .. } if fault(found)),
            )
        };
        assert!(is(|fault| matches!(fault, AgentFault::NotElf)), "{why}");
        assert!(
            is(|fault| matches!(fault, AgentFault::OtherMachine { machine: 62, .. })),
            "{why}"
        );
    }

    #[test]
    fn agents_inside_the_program_are_used_where_no_file_is() {
        let folder = folder(&[("bin/agents/x86_64/muster-agent", executable(62))]);
        let program = folder.path().join("bin/muster");
        let both = [("x86_64", executable(62)), ("aarch64", executable(183))];
        fs::write(
            &program,
            inside_program::tests::with_agents(b"program", &both),
        )
        .unwrap();
        let found = find_each(None, Some(&program));
        let inside = |wanted: Arch| {
            let found = found.iter().find(|(arch, _)| *arch == wanted);
            found.and_then(|(_, found)| found.as_ref().ok())
        };
        assert!(matches!(inside(Arch::Arm64), Some(Executable::Inside(..))));
        assert_eq!(
            inside(Arch::Arm64).unwrap().read().unwrap(),
            executable(183)
        );
        // A folder that is named counts alone.
        let named = find_each(Some(&folder.path().join("bin")), Some(&program));
        assert!(matches!(&named[0].1, Ok(Executable::File(_))) && named[1].1.is_err());
    }

    #[test]
    fn an_empty_folder_is_named() {
        let folder = folder(&[]);
        let why = Agents::find(Some(folder.path()))
            .payload(&"arm64".into())
            .unwrap_err();
        assert!(
            why.to_string().contains("agents/arm64/muster-agent"),
            "{why}"
        );
    }
}
