//! `muster deploy …`: files that run the service under podman or Kubernetes.
//!
//! Pure functions from options to YAML; the files in `deploy/` are what they print for usual choices,
//! and a test keeps them current.

mod kubernetes;
mod podman;
mod site_files;
mod yaml;

use std::{fs, path::PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

pub use kubernetes::Kubernetes;
pub use podman::Podman;

/// Print or write files that run the service under podman or Kubernetes.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub struct Deploy {
    /// Write the files into this folder instead of printing them
    #[arg(long, short, value_name = "DIR", global = true)]
    output: Option<PathBuf>,
    #[command(subcommand)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum Target {
    /// A pod for `podman kube play`, and a quadlet that lets systemd run it.
    Podman(Podman),
    /// Manifests for a cluster: one replica with a volume, or several on PostgreSQL and S3.
    Kubernetes(Kubernetes),
}

/// A file to write: its name and its text.
type Files = Vec<(&'static str, String)>;

/// The image of this release, as `podman load` names it.
fn own_image() -> String {
    format!("localhost/muster:{}", env!("CARGO_PKG_VERSION"))
}

/// Prints the files, or writes them and says what to do next.
pub fn run(deploy: &Deploy) -> anyhow::Result<String> {
    let (files, next) = match &deploy.target {
        Target::Podman(podman) => (podman.files()?, podman::NEXT),
        Target::Kubernetes(kubernetes) => (kubernetes.files()?, kubernetes::NEXT),
    };
    let Some(folder) = &deploy.output else {
        // What one command can take in one go; the quadlet is for a folder.
        return Ok(files.into_iter().take(1).map(|(_, text)| text).collect());
    };
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut lines = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        lines.push(path.display().to_string());
    }
    lines.push(next.replace("DIR", &folder.display().to_string()));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// Compares a file in `deploy/` with what is printed now; `BLESS=1` writes it.
    pub fn is_current(name: &str, text: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let path = root.join("deploy").join(name);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "deploy/{name} is not current; `make bless` writes it"
        );
    }
}
