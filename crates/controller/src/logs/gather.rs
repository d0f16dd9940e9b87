//! The state of a cluster as its API shows it, for nodes and images without `oc` and clusters that cannot run
//! another pod. No Secret is read.

use serde_json::Value;
use tracing::info;

use crate::{
    chain::chain,
    context::Context,
    kube::{Access, Kind, Kube, items, text},
};

/// Logs of at most this many containers are collected, failed ones first.
const MOST_LOGS: usize = 60;
/// The end of each.
const LONGEST_LOG: usize = 256 << 10;

const KINDS: &[Kind] = &[
    Kind::NODE,
    Kind::POD,
    Kind::EVENT,
    Kind::CSR,
    Kind::CLUSTER_VERSION,
    Kind::CLUSTER_OPERATOR,
    Kind::MACHINE_CONFIG_POOL,
    Kind::MACHINE,
    Kind::BARE_METAL_HOST,
    Kind::SUBSCRIPTION,
    Kind::CSV,
    Kind::INSTALL_PLAN,
];

/// Files by name. What cannot be read is left out: a part explains more than nothing.
pub async fn collect(context: &Context) -> Vec<(String, Vec<u8>)> {
    let kube = best_access(context).await;
    let mut files = Vec::new();
    for kind in KINDS {
        match kube.list(*kind, None, "").await {
            Ok((objects, _)) => {
                if *kind == Kind::POD {
                    files.extend(logs(&kube, &objects).await);
                }
                let content = serde_json::to_vec_pretty(&objects).unwrap_or_default();
                files.push((format!("cluster-state/{kind}.json"), content));
            }
            Err(error) => info!(%kind, error = %chain(&error), "not collected"),
        }
    }
    files
}

/// An administrator sees more than the account of the controller.
async fn best_access(context: &Context) -> Kube {
    let path = &context.options.node_kubeconfig;
    let other = context.administrator().await.ok();
    let other = other.and_then(|text| Access::parse(text.as_bytes(), path).ok());
    match other.and_then(|access| Kube::new(access).ok()) {
        Some(kube) if kube.version().await.is_ok() => kube,
        _ => context.kube.clone(),
    }
}

async fn logs(kube: &Kube, pods: &[Value]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for (namespace, pod, container) in troubled(pods).take(MOST_LOGS) {
        let at = Kind::POD.within(&namespace, &pod);
        if let Ok(mut log) = kube.container_log(&at, &container).await {
            log.drain(..log.len().saturating_sub(LONGEST_LOG));
            files.push((
                format!("cluster-state/logs/{namespace}/{pod}-{container}.log"),
                log,
            ));
        }
    }
    files
}

/// Containers that started and are not ready though they should be.
fn troubled(pods: &[Value]) -> impl Iterator<Item = (String, String, String)> {
    pods.iter().flat_map(|pod| {
        let own = |pointer| text(pod, pointer).to_owned();
        let done = text(pod, "/status/phase") == "Succeeded";
        items(pod, "/status/containerStatuses")
            .filter(move |status| !done && status["ready"] != true)
            .filter(|status| {
                status["state"].get("waiting").is_none() || status["restartCount"] != 0
            })
            .map(move |status| {
                let container = text(status, "/name").to_owned();
                (own("/metadata/namespace"), own("/metadata/name"), container)
            })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn logs_are_taken_of_containers_that_started_and_are_not_ready() {
        let pod = |name: &str, phase: &str, status: Value| {
            json!({"metadata": {"namespace": "n", "name": name},
                   "status": {"phase": phase, "containerStatuses": [status]}})
        };
        let pods = [
            pod(
                "well",
                "Running",
                json!({"name": "c", "ready": true, "state": {}}),
            ),
            pod(
                "done",
                "Succeeded",
                json!({"name": "c", "ready": false, "state": {}}),
            ),
            pod(
                "new",
                "Pending",
                json!({"name": "c", "ready": false, "restartCount": 0, "state": {"waiting": {}}}),
            ),
            pod(
                "crashing",
                "Running",
                json!({"name": "c", "ready": false, "restartCount": 3, "state": {"waiting": {}}}),
            ),
        ];
        let names: Vec<String> = troubled(&pods).map(|(_, pod, _)| pod).collect();
        assert_eq!(names, ["crashing"]);
    }
}
