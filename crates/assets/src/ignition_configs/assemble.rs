//! `bootstrap.ign`: everything the bootstrap host is made of, in one config.

use muster_ignition::{Builder, Config, spec};

use super::content::{addition, file};
use super::{IgnitionError, Pointers, VERSION};
use crate::bootstrap::{self, MOTD};
use crate::file::File;
use crate::kubeconfig::ON_BOOTSTRAP;
use crate::manifests::overrides;
use crate::pki::{Key, Pki, PkiError};
use crate::plan::Plan;

/// Where the bootstrap host keeps its work.
const ASSETS: &str = "/opt/openshift";

/// Two ways to start a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A machine of its own that goes away afterwards.
    Bootstrap,
    /// The only node, which bootstraps itself from a live system.
    InPlace,
}

/// Puts the config together from manifests (generated and the user's) and certificates.
pub fn bootstrap(
    plan: &Plan,
    pki: &Pki,
    pointers: &Pointers,
    mut manifests: Vec<File>,
    kind: Kind,
) -> Result<Config, IgnitionError> {
    let disk = plan.config.bootstrap_in_place.as_ref();
    let has_disk = disk.is_some_and(|in_place| !in_place.installation_disk.is_empty());
    if kind == Kind::InPlace && !(has_disk && plan.config.control_plane_replicas() == 1) {
        return Err(IgnitionError::NotInPlace);
    }
    let in_place = kind == Kind::InPlace;
    manifests.extend(pointers.customizations()?);
    let own = bootstrap::files(plan, &manifests, in_place);
    let manifests = overrides::apply(manifests, plan.extras.unmanaged_image_policy)?;

    let mut builder = Builder::new(VERSION);
    builder.user(core(plan, pki));
    builder.file(addition("/etc/motd", 0o644, MOTD));
    for each in &own {
        builder.file(file("", each));
    }
    for each in manifests.files.iter().chain([&manifests.patch]) {
        builder.file(file(ASSETS, each));
    }
    for each in kubeconfigs(plan, pki).iter().chain(&pki.bootstrap_files()?) {
        builder.file(file(ASSETS, each));
    }
    for each in bound_key(plan)? {
        builder.file(file(ASSETS, &each));
    }
    for unit in bootstrap::units(plan, in_place) {
        builder.unit(unit);
    }
    let name = if in_place {
        "the node"
    } else {
        "the bootstrap host"
    };
    builder
        .finish()
        .map_err(|faults| IgnitionError::Config(name, faults))
}

/// The user who may log in: the owner of the cluster, and those who collect logs.
fn core(plan: &Plan, pki: &Pki) -> spec::User {
    let mut user = spec::User::new("core".to_owned());
    let keys = [Some(plan.config.ssh_key.clone()), pki.bootstrap_ssh()];
    user.ssh_authorized_keys = Some(
        keys.into_iter()
            .flatten()
            .filter(|key| !key.is_empty())
            .collect(),
    );
    user
}

fn kubeconfigs(plan: &Plan, pki: &Pki) -> Vec<File> {
    let domain = plan.config.cluster_domain();
    let name = &plan.config.metadata.name;
    ON_BOOTSTRAP
        .iter()
        .filter_map(|row| Some(File::secret(row.path, row.render(name, &domain, pki)?)))
        .collect()
}

/// The key for bound tokens that the user brought, with its public half.
fn bound_key(plan: &Plan) -> Result<Vec<File>, IgnitionError> {
    let Some(pem) = &plan.extras.bound_service_account_key else {
        return Ok(Vec::new());
    };
    let name = "bound-service-account-signing-key";
    let key = Key::from_pem(name, pem).map_err(PkiError::from)?;
    let public = key.public_pem().map_err(PkiError::from)?;
    Ok(vec![
        File::secret(format!("tls/{name}.key"), pem.as_str()),
        File::secret(format!("tls/{name}.pub"), public),
    ])
}
