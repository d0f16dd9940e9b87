//! Secrets with what machines of each role start from.

use serde_json::{Value, json};

use super::{Source, data, object};
use muster_documents::install_config::types::PlatformName;

const NAMESPACE: &str = "openshift-machine-api";

pub(super) fn objects(source: Source<'_>) -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    for (role, config) in source.pointers.roles() {
        let path = format!("openshift/99_openshift-cluster-api_{role}-user-data-secret.yaml");
        let secret = object(
            "v1",
            "Secret",
            NAMESPACE,
            &name(source, role),
            json!({
                "type": "Opaque",
                "data": { "disableTemplating": data("true\n"), "userData": data(config) },
            }),
        );
        objects.push((path, secret));
    }
    objects
}

/// Bare metal machines are distinguished by the machine config operator, which renames theirs.
pub(super) fn name(source: Source<'_>, role: &str) -> String {
    let baremetal = source.plan.platform() == PlatformName::BareMetal;
    let managed = match role {
        "arbiter" => true,
        "worker" => baremetal && source.plan.has_machine_api(),
        _ => baremetal,
    };
    format!("{role}-user-data{}", if managed { "-managed" } else { "" })
}
