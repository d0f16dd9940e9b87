//! `oc`, for the few things that the API alone cannot do.
//!
//! No image of ours has it, but every node does. Where the file system of the node is mounted, the
//! node's own is run in there; another image may bring one.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use tokio::{io::AsyncWriteExt, process::Command};
use tracing::warn;
use uuid::Uuid;

use crate::{context::Context, options::ControllerOptions};

/// Where nodes have it.
const ON_NODE: &str = "/usr/bin/oc";
const KUBECONFIG: &str = "kubeconfig";

/// Why there is none, for a log.
pub const MISSING: &str = "`oc` is neither on this node nor in this image";

/// Which program is run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Program {
    /// That of the node, whose file system is mounted here.
    OfNode(PathBuf),
    /// One in this image.
    OfImage(PathBuf),
}

impl Program {
    fn find(options: &ControllerOptions) -> Option<Self> {
        let root = &options.host_root;
        if within(root, Path::new(ON_NODE)).is_file() {
            return Some(Self::OfNode(root.clone()));
        }
        has_program(&options.oc).then(|| Self::OfImage(options.oc.clone()))
    }

    fn command(&self) -> Command {
        match self {
            Self::OfNode(root) => {
                let mut command = Command::new("chroot");
                command.arg(root).arg(ON_NODE);
                command
            }
            Self::OfImage(program) => Command::new(program),
        }
    }

    /// A path of the program as this one reaches it.
    fn outside(&self, path: &Path) -> PathBuf {
        match self {
            Self::OfNode(root) => within(root, path),
            Self::OfImage(_) => path.to_owned(),
        }
    }
}

/// `oc` with the rights of the installation's administrator, and a folder for what it reads and
/// writes. The folder goes with it, because it holds credentials.
#[derive(Debug)]
pub struct Oc {
    program: Program,
    /// As `oc` sees it.
    folder: PathBuf,
}

impl Oc {
    /// Whether there is one.
    pub fn is_available(options: &ControllerOptions) -> bool {
        Program::find(options).is_some()
    }

    /// Looks for the program and leaves it credentials.
    pub async fn prepare(context: &Context) -> Result<Self, String> {
        let options = &context.options;
        let program = Program::find(options).ok_or_else(|| MISSING.to_owned())?;
        let kubeconfig = context.administrator().await?;
        let folder = options.gather_dir.join(Uuid::new_v4().to_string());
        let oc = Self { program, folder };
        let written = oc.write_kubeconfig(&kubeconfig).await;
        written.map_err(|cause| format!("the kubeconfig for `oc` cannot be written: {cause}"))?;
        Ok(oc)
    }

    async fn write_kubeconfig(&self, content: &str) -> std::io::Result<()> {
        let mut folder = tokio::fs::DirBuilder::new();
        folder.recursive(true).mode(0o700);
        folder.create(self.outside("")).await?;
        let mut options = tokio::fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = options.open(self.outside(KUBECONFIG)).await?;
        file.write_all(content.as_bytes()).await?;
        file.flush().await
    }

    /// The program with its credentials, without arguments. It ends when it is no longer waited for.
    pub fn command(&self) -> Command {
        let mut command = self.program.command();
        command
            .arg(format!(
                "--kubeconfig={}",
                self.inside(KUBECONFIG).display()
            ))
            // Its cache.
            .env("HOME", &self.folder)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Where a file in its folder is for `oc`.
    pub fn inside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the same file is for this program.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.program.outside(&self.inside(name))
    }
}

impl Drop for Oc {
    fn drop(&mut self) {
        let folder = self.outside("");
        if let Err(cause) = fs::remove_dir_all(&folder) {
            warn!(folder = %folder.display(), %cause, "folder of `oc` not removed");
        }
    }
}

/// An absolute path below another root.
fn within(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

fn has_program(name: &Path) -> bool {
    if name.is_absolute() {
        return name.is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_of_the_node_runs_in_the_file_system_of_the_node() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("usr/bin")).unwrap();
        fs::create_dir_all(root.path().join("var/tmp/gather/1")).unwrap();
        fs::write(root.path().join("usr/bin/oc"), "").unwrap();
        let mut options = crate::options::tests::options();
        options.host_root = root.path().to_owned();
        let oc = Oc {
            program: Program::find(&options).unwrap(),
            folder: "/var/tmp/gather/1".into(),
        };
        let command = oc.command();
        let words: Vec<&str> = command
            .as_std()
            .get_args()
            .map(|word| word.to_str().unwrap())
            .collect();
        assert_eq!(command.as_std().get_program(), "chroot");
        assert_eq!(
            words,
            [
                root.path().to_str().unwrap(),
                "/usr/bin/oc",
                "--kubeconfig=/var/tmp/gather/1/kubeconfig"
            ]
        );
        let outside = oc.outside("collected");
        assert_eq!(outside, root.path().join("var/tmp/gather/1/collected"));
        drop(oc);
        assert!(!root.path().join("var/tmp/gather/1").exists());
    }

    #[test]
    fn without_the_file_system_of_a_node_it_is_looked_for_in_the_image() {
        let mut options = crate::options::tests::options();
        options.host_root = "/nonexistent".into();
        options.oc = "/bin/sh".into();
        let found = Program::find(&options);
        assert_eq!(found, Some(Program::OfImage("/bin/sh".into())));
        options.oc = "/nonexistent".into();
        assert!(!Oc::is_available(&options));
    }
}
