//! The last words: how to use the cluster, or what stands in its way.

use std::{fs, io::Write as _, path::Path, time::Duration};

use muster_controller::kube::{Kind as Object, Kube};
use muster_tracking::{kubeconfig, observation::shown};
use tokio::time::{sleep, timeout};

use super::Kind;

const PASSWORD: &str = "auth/kubeadmin-password";
/// For the route of the console to appear.
const CONSOLE: Duration = Duration::from_secs(120);

/// How to use a finished cluster. The kubeconfig gets the authority of its ingress.
pub async fn installed(kube: Option<&Kube>, path: &Path, dir: &Path) -> Vec<String> {
    let mut lines = vec!["The installation is complete".to_owned()];
    if let Some(kube) = kube {
        if let Err(problem) = trust_ingress(kube, path).await {
            lines.push(format!(
                "{} does not trust the ingress of the cluster: {problem}",
                path.display()
            ));
        }
        match timeout(CONSOLE, console(kube)).await {
            Ok(Some(host)) => lines.push(format!("Console: https://{host}")),
            Ok(None) => {}
            Err(_) => lines.push("The console has no address yet".to_owned()),
        }
    }
    lines.push(format!(
        "To use the cluster: export KUBECONFIG={}",
        absolute(path)
    ));
    let password = dir.join(PASSWORD);
    if password.exists() {
        lines.push(format!(
            "To log in to the console: user kubeadmin, password in {}",
            absolute(&password)
        ));
    }
    lines
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
pub async fn failed(kube: Option<&Kube>, kind: Kind) -> Vec<String> {
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
    lines
}
