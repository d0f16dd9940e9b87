//! Why an installation cannot be prepared.

use muster_assets::{
    host_configs::HostConfigError, ignition_configs::IgnitionError, patches::PatchError,
    pki::PkiError, plan::PlanError,
};
use muster_documents::findings::Report;
use muster_ignition::Faults;
use muster_model::VersionError;

use crate::Error;

/// What keeps the files of a cluster from being made. The text is for its user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// By the rules for a file of that name.
    #[error("the install-config cannot be used:\n{0}")]
    InstallConfig(Box<Report>),
    /// The release or a setting that it does not have.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Keys or certificates, such as those that were handed in.
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The manifests of the user and the generated ones do not fit together.
    #[error(transparent)]
    Bootstrap(#[from] IgnitionError),
    /// Ignition would refuse what this service adds.
    #[error("the config of the bootstrap host would be refused: {0}")]
    BootstrapConfig(#[from] Faults),
    /// A patch of the user.
    #[error(transparent)]
    Patch(#[from] PatchError),
    /// The config of a role.
    #[error(transparent)]
    Role(#[from] HostConfigError),
    /// The config of a host, such as for what its override says.
    #[error("host {host}: {fault}")]
    Host {
        /// Its name.
        host: String,
        /// What is wrong.
        fault: HostConfigError,
    },
    /// A host would wait for its config without end.
    #[error(
        "host {host}: it is to join machine config pool {pool}, and no manifest of the cluster makes \
         that pool; add a manifest with a MachineConfigPool of that name"
    )]
    NoSuchPool {
        /// Its name.
        host: String,
        /// The pool.
        pool: String,
    },
    /// Manifests of operators depend on it.
    #[error("version {version}: {fault}")]
    Version {
        /// As stored.
        version: String,
        /// What is wrong with it.
        fault: VersionError,
    },
    /// Disks could not be unlocked.
    #[error("disk_encryption.tang_servers cannot be read: {0}; set them again")]
    TangServers(serde_json::Error),
    /// A description of a host was replaced by one that is not YAML.
    #[error("{path} cannot be read: {cause}")]
    Manifest {
        /// Which file.
        path: String,
        /// What is wrong with it.
        cause: serde_yaml_ng::Error,
    },
    /// A manifest of ours.
    #[error("a manifest cannot be written: {0}")]
    Unwritable(serde_yaml_ng::Error),
    /// Whatever the cluster is, this must not happen.
    #[error("{0}; this is a bug in the service")]
    Bug(&'static str),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Bug(_) | Fault::Unwritable(_) => Self::internal(fault.to_string()),
            Fault::InstallConfig(_)
            | Fault::Plan(_)
            | Fault::Pki(_)
            | Fault::Bootstrap(_)
            | Fault::BootstrapConfig(_)
            | Fault::Patch(_)
            | Fault::Role(_)
            | Fault::Host { .. }
            | Fault::NoSuchPool { .. }
            | Fault::Version { .. }
            | Fault::TangServers(_)
            | Fault::Manifest { .. } => Self::conflict(fault.to_string()),
        }
    }
}
