//! What a person in front of the rendezvous host sees: texts below `/etc/issue.d`, and files that
//! other programs read.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use muster_model::Cluster;

use crate::gate::Gate;

/// Most reasons on a screen.
const MOST_REASONS: usize = 15;
/// Longest reason in characters.
const LONGEST_REASON: usize = 300;

/// Where these files are.
#[derive(Clone, Debug)]
pub struct Console {
    /// Usually `/etc/issue.d`.
    pub issues: PathBuf,
    /// Usually `/run/agent-installer`.
    pub run: PathBuf,
}

impl Console {
    /// Shows the state of the installation. Trouble with a console never stops an installation.
    pub fn show(&self, cluster: &Cluster, gate: &Gate, failures: &[String]) {
        let failed = lines(failures);
        let shown = [
            (
                self.issues.join("90_start-install.issue"),
                text(cluster, gate),
            ),
            (
                self.issues.join("80_host-config.issue"),
                match failures.is_empty() {
                    true => String::new(),
                    false => format!("Host configuration cannot be applied:\n{failed}"),
                },
            ),
            (self.run.join("host-config-failures"), failed),
        ];
        let mut differs = false;
        for (path, text) in shown {
            match put(&path, &text) {
                Ok(changed) => differs |= changed,
                Err(error) => {
                    tracing::debug!(path = %path.display(), %error, "console text not written")
                }
            }
        }
        if differs {
            let mut reload = Command::new("agetty");
            reload
                .arg("--reload")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            // Consoles without agetty show it at the next log-in.
            if let Ok(mut child) = reload.spawn() {
                std::thread::spawn(move || child.wait());
            }
        }
    }
}

fn lines(list: &[String]) -> String {
    let mut text = String::new();
    for reason in list.iter().take(MOST_REASONS) {
        let clean = reason.chars().map(|c| if c.is_control() { ' ' } else { c });
        text.extend(clean.take(LONGEST_REASON));
        text.push('\n');
    }
    if list.len() > MOST_REASONS {
        text.push_str(&format!("… and {} more\n", list.len() - MOST_REASONS));
    }
    text
}

/// The text of the installation.
fn text(cluster: &Cluster, gate: &Gate) -> String {
    // A backslash would be an escape of agetty.
    let text = match gate {
        Gate::Waiting(reasons) => {
            let reasons: Vec<String> = reasons.iter().map(|reason| format!("- {reason}")).collect();
            format!(
                "The installation has not started. Waiting for:\n{}",
                lines(&reasons)
            )
        }
        Gate::Open => "All hosts are ready. The installation is starting.\n".to_owned(),
        Gate::Underway if cluster.imported => {
            format!(
                "This host is being installed for cluster {}.\n",
                cluster.name
            )
        }
        Gate::Over if cluster.imported => format!(
            "This host is installed and reboots to join cluster {}. Approve its two certificate \
             requests there.\n",
            cluster.name
        ),
        Gate::Underway => format!(
            "The installation of cluster {} is under way: {} ({} %)\n",
            cluster.name, cluster.status, cluster.progress.total
        ),
        Gate::Over => format!("Cluster {} is installed.\n", cluster.name),
    };
    text.replace('\\', "/")
}

/// Puts a text in place as a whole, if it differs; an empty one removes the file.
fn put(path: &Path, text: &str) -> io::Result<bool> {
    let old = fs::read(path).unwrap_or_default();
    if old == text.as_bytes() {
        return Ok(false);
    }
    if text.is_empty() {
        return fs::remove_file(path).map(|()| true);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let new = path.with_extension("new");
    fs::write(&new, text)?;
    fs::rename(&new, path)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterId, ClusterKind, ClusterStatus, Timestamp};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn texts_come_and_go_and_are_harmless() {
        let folder = tempfile::tempdir().unwrap();
        let console = Console {
            issues: folder.path().join("issue.d"),
            run: folder.path().join("run"),
        };
        let id = ClusterId(Uuid::from_u128(9));
        let (kind, status) = (ClusterKind::Cluster, ClusterStatus::Ready);
        let cluster = Cluster::blank(id, kind, "lab", status, "admin", Timestamp(0));
        let failures = vec!["a: no \u{1b}[2Jdisk\\n".to_owned()];
        console.show(&cluster, &Gate::Waiting(failures.clone()), &failures);
        let issue = fs::read_to_string(console.issues.join("90_start-install.issue")).unwrap();
        assert!(issue.contains("- a: no"), "{issue}");
        assert!(!issue.contains(['\u{1b}', '\\']), "{issue}");
        assert!(console.run.join("host-config-failures").exists());
        console.show(&cluster, &Gate::Open, &[]);
        assert!(!console.run.join("host-config-failures").exists());
        assert!(!console.issues.join("80_host-config.issue").exists());
    }
}
