//! The last words: how to use the cluster, or what stands in its way.

use std::{fs, io::Write as _, path::Path, time::Duration};

use muster_controller::kube::{Kind as Object, Kube};
use muster_tracking::{kubeconfig, observation::shown};
use tokio::time::{sleep, timeout};

use super::Kind;

const PASSWORD: &str = "auth/kubeadmin-password";
/// For the route of the console to appear.
const CONSOLE: Duration = Duration::from_secs(120);

/// The last words twice: for people and programs that read our output, and for the log mode, whose lines
/// pipelines look for that were made for the reference.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// On a terminal, and the details of JSON.
    pub lines: Vec<String>,
    /// Otherwise.
    pub log: Vec<String>,
}

impl Closing {
    /// The same for all.
    pub fn plain(lines: Vec<String>) -> Self {
        Self {
            log: lines.clone(),
            lines,
        }
    }

    fn say(&mut self, line: &str, log: &[&str]) {
        self.lines.push(line.to_owned());
        self.log.extend(log.iter().map(|line| (*line).to_owned()));
    }
}

/// The bootstrap is over.
pub fn bootstrapped(kind: Kind) -> Closing {
    let mut closing = Closing::default();
    match kind {
        Kind::Agent | Kind::ImageBased => closing.say(
            "The bootstrap is complete",
            &[
                "Bootstrap configMap status is complete",
                "cluster bootstrap is complete",
            ],
        ),
        Kind::UserProvisioned => closing.say(
            "The bootstrap is complete; the bootstrap resources can be removed now",
            &["It is now safe to remove the bootstrap resources"],
        ),
    }
    closing
}

/// How to use a finished cluster. The kubeconfig gets the authority of its ingress.
pub async fn installed(kube: Option<&Kube>, path: &Path, dir: &Path, kind: Kind) -> Closing {
    let mut problem = None;
    let mut address = None;
    if let Some(kube) = kube {
        problem = trust_ingress(kube, path).await.err();
        address = Some(timeout(CONSOLE, console(kube)).await);
    }
    let mut closing = Closing::default();
    let heading: &[&str] = match kind {
        Kind::Agent => &["Cluster is installed", "Install complete!"],
        Kind::UserProvisioned | Kind::ImageBased => &["Install complete!"],
    };
    closing.say("The installation is complete", heading);
    if let Some(problem) = problem {
        let line = format!(
            "{} does not trust the ingress of the cluster: {problem}",
            path.display()
        );
        closing.say(&line, &[&line]);
    }
    let kubeconfig = absolute(path);
    closing.log.extend([
        "To access the cluster as the system:admin user when using 'oc', run".to_owned(),
        format!("    export KUBECONFIG={kubeconfig}"),
    ]);
    match address {
        Some(Ok(Some(host))) => closing.say(
            &format!("Console: https://{host}"),
            &[&format!(
                "Access the OpenShift web-console here: https://{host}"
            )],
        ),
        None | Some(Ok(None)) => {}
        Some(Err(_)) => {
            let line = "The console has no address yet";
            closing.say(line, &[line]);
        }
    }
    let line = format!("To use the cluster: export KUBECONFIG={kubeconfig}");
    closing.say(&line, &[]);
    let password = dir.join(PASSWORD);
    if password.exists() {
        let password = absolute(&password);
        closing.say(
            &format!("To log in to the console: user kubeadmin, password in {password}"),
            &[&format!(
                "Login to the console with user: \"kubeadmin\", and the password in {password}"
            )],
        );
    }
    closing
}

fn absolute(path: &Path) -> String {
    let whole = fs::canonicalize(path);
    whole.as_deref().unwrap_or(path).display().to_string()
}

async fn trust_ingress(kube: &Kube, path: &Path) -> Result<(), String> {
    let at = Object::CONFIG_MAP.within("openshift-config-managed", "default-ingress-cert");
    let map = kube.find(&at).await.map_err(|error| error.to_string())?;
    let pem = map
        .as_ref()
        .and_then(|map| map["data"]["ca-bundle.crt"].as_str());
    let Some(pem) = pem else {
        return Err(
            "the ConfigMap openshift-config-managed/default-ingress-cert is missing".into(),
        );
    };
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let Some(changed) = kubeconfig::with_authority(&text, pem)? else {
        return Ok(());
    };
    // A reader sees the old content or the new one, and only its owner sees any.
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| error.to_string())?;
    file.write_all(changed.as_bytes())
        .map_err(|error| error.to_string())?;
    file.persist(path).map_err(|error| error.to_string())?;
    Ok(())
}

/// The host of the console; none if the cluster has no console.
async fn console(kube: &Kube) -> Option<String> {
    let at = Object::ROUTE.within("openshift-console", "console");
    loop {
        match kube.find(&at).await {
            Ok(None) => return None,
            Ok(Some(route)) => {
                let host = route["spec"]["host"].as_str().unwrap_or_default();
                if !host.is_empty() {
                    return Some(shown(host));
                }
            }
            Err(_) => {}
        }
        sleep(Duration::from_secs(2)).await;
    }
}

/// What stands in the way, as far as the cluster says it.
pub async fn failed(kube: Option<&Kube>, kind: Kind) -> Closing {
    let mut lines = Vec::new();
    if let Some(kube) = kube
        && let Ok((operators, _)) = kube.list(Object::CLUSTER_OPERATOR, None, "").await
    {
        for operator in &operators {
            let name = operator["metadata"]["name"].as_str().unwrap_or_default();
            let conditions = operator["status"]["conditions"].as_array();
            for one in conditions.into_iter().flatten() {
                let is = |key: &str| one[key].as_str().unwrap_or_default();
                let usual = [
                    ("Available", "True"),
                    ("Degraded", "False"),
                    ("Progressing", "False"),
                ];
                if is("type") == "Upgradeable" || usual.contains(&(is("type"), is("status"))) {
                    continue;
                }
                lines.push(shown(&format!(
                    "Operator {name}: {}={} {} {}",
                    is("type"),
                    is("status"),
                    is("reason"),
                    is("message")
                )));
            }
        }
    }
    lines.push(match kind {
        Kind::Agent => "Collect logs on the hosts with `agent-gather` (log in as core)".to_owned(),
        Kind::UserProvisioned => {
            "Collect logs on the bootstrap host with `journalctl -u bootkube`".to_owned()
        }
        Kind::ImageBased => {
            "Look at the node with `journalctl -u installation-configuration` (log in \
                             as core), and whether it has found the configuration image"
                .to_owned()
        }
    });
    Closing::plain(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pipelines_find_the_lines_they_look_for() {
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        fs::write(&kubeconfig, "").unwrap();
        fs::create_dir(folder.path().join("auth")).unwrap();
        fs::write(folder.path().join(PASSWORD), "secret").unwrap();
        let closing = installed(None, &kubeconfig, folder.path(), Kind::Agent).await;
        assert_eq!(closing.lines[0], "The installation is complete");
        let log = closing.log.join("\n");
        for line in [
            "Install complete!\n",
            "To access the cluster as the system:admin user when using 'oc', run\n    export KUBECONFIG=/",
            "Login to the console with user: \"kubeadmin\"",
        ] {
            assert!(log.contains(line), "{line} is not in {log}");
        }
        assert!(!log.contains("secret"), "{log}");
        let agent = bootstrapped(Kind::Agent).log;
        assert!(agent.contains(&"cluster bootstrap is complete".to_owned()));
        let other = bootstrapped(Kind::UserProvisioned).log;
        assert_eq!(other, ["It is now safe to remove the bootstrap resources"]);
    }
}
