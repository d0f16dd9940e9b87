//! How two control-plane nodes switch each other off.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Source, data, object, padded};
use muster_documents::install_config::types::Verification;

pub(super) fn objects(source: Source<'_>) -> Vec<(String, Value)> {
    let pool = source.plan.config.control_plane.as_ref();
    let credentials = pool.map_or(&[][..], |pool| pool.fencing_credentials());
    let count = credentials.len();
    credentials
        .iter()
        .enumerate()
        .map(|(index, credential)| {
            let (suffix, by) = if credential.host_name.is_empty() {
                let mac = credential.mac_address.to_lowercase().replace(':', "");
                let hash = Sha256::digest(mac)
                    .iter()
                    .map(|b| format!("{b:02x}"))
                    .collect();
                (hash, "mac-address")
            } else {
                (credential.host_name.clone(), "hostname")
            };
            let verification = credential
                .certificate_verification
                .unwrap_or(Verification::Enabled);
            let name = format!("fencing-credentials-{suffix}");
            let secret = object(
                "v1",
                "Secret",
                "openshift-etcd",
                &name,
                json!({
                    "type": "Opaque",
                    "metadata": { "annotations": { "openshift.io/fencing-credentials": by } },
                    "data": {
                        "address": data(&credential.address),
                        "certificateVerification": data(verification.word()),
                        "password": data(credential.password.reveal()),
                        "username": data(&credential.username),
                    },
                }),
            );
            let number = padded(index, count);
            let path =
                format!("openshift/99_openshift-etcd_fencing-credentials-secrets-{number}.yaml");
            (path, secret)
        })
        .collect()
}
