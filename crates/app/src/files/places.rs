//! Where the files of a cluster lie in the file store.

use muster_model::{ClusterId, Host, HostId, HostRole};
use muster_store::BlobPath;

use crate::Error;

/// What the bootstrap host boots with.
pub const BOOTSTRAP: &str = "bootstrap.ign";
/// What the controller inside the new cluster applies once its operators run.
pub const CUSTOM_MANIFESTS: &str = "custom_manifests.json";
/// The rendered install-config.
pub const INSTALL_CONFIG: &str = "install-config.yaml";
/// Names the cluster and its ids.
pub const METADATA: &str = "metadata.json";
/// Password of the first administrator.
pub const PASSWORD: &str = "kubeadmin-password";
/// Access to the API before the ingress has certificates of its own.
pub const KUBECONFIG_NOINGRESS: &str = "kubeconfig-noingress";
/// Access to the API.
pub const KUBECONFIG: &str = "kubeconfig";

/// A generated file.
pub fn generated(cluster: ClusterId, name: &str) -> Result<BlobPath, Error> {
    path(&[&cluster.to_string(), "files", name])
}

/// All generated files.
pub fn all_generated(cluster: ClusterId) -> Result<BlobPath, Error> {
    path(&[&cluster.to_string(), "files"])
}

/// All manifests the service made.
pub fn system_manifests(cluster: ClusterId) -> Result<BlobPath, Error> {
    path(&[&cluster.to_string(), "manifests", "system"])
}

/// The last logs a host sent.
pub fn host_logs(cluster: ClusterId, host: HostId) -> Result<BlobPath, Error> {
    path(&[
        &cluster.to_string(),
        "logs",
        &host.to_string(),
        "logs.tar.gz",
    ])
}

/// Where all logs of a cluster and its hosts are.
pub fn logs(cluster: ClusterId) -> Result<BlobPath, Error> {
    path(&[&cluster.to_string(), "logs"])
}

/// The last logs the controller inside the cluster sent.
pub fn controller_logs(cluster: ClusterId) -> Result<BlobPath, Error> {
    path(&[&cluster.to_string(), "logs", "controller", "logs.tar.gz"])
}

/// What a host's own Ignition config is called.
pub fn host_ignition(host: &Host) -> String {
    let role = match host.effective_role() {
        HostRole::Bootstrap => HostRole::Master,
        HostRole::AutoAssign => HostRole::Worker,
        role @ (HostRole::Master | HostRole::Arbiter | HostRole::Worker) => role,
    };
    format!("{role}-{}.ign", host.id)
}

fn path(segments: &[&str]) -> Result<BlobPath, Error> {
    Ok(BlobPath::new(segments)?)
}
