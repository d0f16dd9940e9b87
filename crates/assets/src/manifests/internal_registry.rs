//! Log-in of the registry inside the cluster that holds the release.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::{Source, data, object};
use crate::kubeadmin::hash;
use crate::plan::Plan;

const USER: &str = "openshift";
const PORT: u16 = 22625;

pub(super) fn auth_secret(source: Source<'_>) -> Option<Value> {
    let plan = source.plan;
    let password = password(plan)?;
    let salt = plan.entropy.bytes("internal-registry-salt");
    let line = format!("{USER}:{}\n", hash(&password, salt));
    let namespace = "openshift-machine-config-operator";
    Some(object(
        "v1",
        "Secret",
        namespace,
        "internal-release-image-registry-auth",
        json!({
            "type": "Opaque",
            "data": { "htpasswd": data(line), "password": data(password) },
        }),
    ))
}

/// Nothing where the cluster has no such registry.
fn password(plan: &Plan) -> Option<String> {
    let wanted = plan.has_internal_release_image() && plan.profile.internal_release_image_auth;
    wanted.then(|| STANDARD.encode(plan.entropy.bytes::<32>("internal-registry-password")))
}

/// The pull secret of the bootstrap host: the user's, and the log-in of the inner registry.
pub(crate) fn bootstrap_pull_secret(plan: &Plan) -> String {
    let own = plan.config.pull_secret.reveal();
    let (Some(password), Ok(mut secret)) = (password(plan), serde_json::from_str::<Value>(own))
    else {
        return own.to_owned();
    };
    let registry = format!("api-int.{}:{PORT}", plan.config.cluster_domain());
    secret["auths"][registry] = json!({ "auth": STANDARD.encode(format!("{USER}:{password}")) });
    secret.to_string()
}
