//! Making and removing the files an installation needs.
//!
//! They are real ([`crate::preparation`]) unless the service was started with
//! `DUMMY_IGNITION`: then everything but the install-config and the manifests that the service
//! adds is a placeholder that says so.

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;
use muster_assets::file::File;
use muster_model::{Cluster, ClusterId, Host, HostKey, HostStatus};
use serde_json::Value;
use uuid::Uuid;

use super::{kubeconfig, kubeconfig::KubeconfigError, placeholders, places};
use crate::{
    App, Error,
    clusters::install_config,
    preparation::{self, Made, Outcome},
};

/// Makes all files of a cluster that is being prepared.
///
/// May be repeated, after a crash or because the credentials are requested early: ids, keys and
/// password stay as they were made first, the rest follows the records.
pub async fn generate(app: &Arc<App>, id: ClusterId) -> Result<Outcome, Error> {
    if app.config.features.dummy_ignition {
        generate_placeholders(app, id).await
    } else {
        preparation::prepare(app, id).await
    }
}

async fn generate_placeholders(app: &Arc<App>, id: ClusterId) -> Result<Outcome, Error> {
    // Two generators at once would mix two identities.
    let _turn = app.driver.turn(id).await;
    let cluster = app.cluster(id).await?;
    let hosts = app.store.every_host_of_cluster(id).await?;
    let config = install_config::yaml_of_cluster(app, &cluster).await?;
    let identity = Identity::kept_or_new(app, &cluster).await?;

    let ignition = |name: String| {
        let title = name.trim_end_matches(".ign");
        let content = placeholders::ignition(title).to_string();
        File::public(name, content)
    };
    let mut names: BTreeSet<String> = ["bootstrap.ign", "master.ign", "worker.ign"]
        .map(str::to_owned)
        .into();
    for host in &hosts {
        let name = places::host_ignition(host);
        if name.starts_with("arbiter") {
            names.insert("arbiter.ign".to_owned());
        }
        names.insert(name);
    }
    let mut files: Vec<File> = names.into_iter().map(ignition).collect();
    let kept = Files { app, cluster: id }.get(places::PASSWORD).await?;
    let password = match kept {
        Some(password) => password.to_vec(),
        None => placeholders::password(&mut rand::rng()).into_bytes(),
    };
    let metadata = placeholders::metadata(&cluster, identity.cluster_id, &identity.infra_id);
    files.extend([
        File::public(places::INSTALL_CONFIG, config),
        File::public(
            places::KUBECONFIG_NOINGRESS,
            kubeconfig::placeholder(&cluster),
        ),
        File::public(places::METADATA, metadata.to_string()),
        File::public(places::PASSWORD, password),
    ]);
    // Manifests of the service cost nothing to make, so they are real.
    let hosts: Vec<Arc<Host>> = hosts.iter().map(|row| Arc::clone(&row.value)).collect();
    let made = Made {
        files,
        system_manifests: preparation::system_manifests(app, &cluster, &hosts)?,
        cluster_id: identity.cluster_id,
    };
    made.store(app, id).await?;
    Ok(Outcome::Made(identity.cluster_id))
}

/// Makes the Ignition config of a host that joins a running cluster.
pub async fn generate_for_host(app: &Arc<App>, key: HostKey) -> Result<(), Error> {
    let host = app.host(key).await?;
    let cluster = host.cluster.ok_or_else(|| {
        Error::conflict(format!(
            "host {} belongs to no cluster; bind it to one first",
            key.host
        ))
    })?;
    let cluster = app.cluster(cluster).await?;
    make_for_host(app, &host, &cluster).await.map(drop)
}

/// The Ignition config of a host, by its name. That of a host which joins a running cluster costs
/// nothing to make, so it is made here if a crash came between its installation and its file.
pub async fn host_ignition_of(
    app: &App,
    host: &Host,
    cluster: &Cluster,
) -> Result<(String, Option<Bytes>), Error> {
    let name = places::host_ignition(host);
    let files = Files {
        app,
        cluster: cluster.id,
    };
    let found = files.get(&name).await?;
    let installs = matches!(
        host.status,
        HostStatus::Installing | HostStatus::InstallingInProgress
    );
    if found.is_some() || !host.is_day2() || !installs {
        return Ok((name, found));
    }
    let made = make_for_host(app, host, cluster).await?;
    Ok((name, Some(made)))
}

async fn make_for_host(app: &App, host: &Host, cluster: &Cluster) -> Result<Bytes, Error> {
    let name = places::host_ignition(host);
    let config = if app.config.features.dummy_ignition {
        placeholders::ignition(name.trim_end_matches(".ign")).to_string()
    } else {
        preparation::host_config(host, cluster)?
    };
    let files = Files {
        app,
        cluster: cluster.id,
    };
    files.put(&name, config.clone()).await?;
    Ok(config.into())
}

/// Removes what was made for a cluster; logs and the user's manifests stay.
pub async fn delete_generated(app: &Arc<App>, id: ClusterId) -> Result<(), Error> {
    for folder in [places::all_generated(id)?, places::system_manifests(id)?] {
        app.blobs.delete_prefix(&folder).await?;
    }
    Ok(())
}

/// Takes the certificate authority of the cluster's ingress in and stores the final
/// kubeconfig. Once that exists, nothing more is looked at: controllers repeat themselves.
pub async fn finish_kubeconfig(app: &Arc<App>, id: ClusterId, pem: &str) -> Result<(), Error> {
    let files = Files { app, cluster: id };
    let done = places::generated(id, places::KUBECONFIG)?;
    if app.blobs.exists(&done).await? {
        return Ok(());
    }
    let first = files
        .get(places::KUBECONFIG_NOINGRESS)
        .await?
        .ok_or_else(|| {
            Error::conflict(format!(
                "cluster {id} has no {} to add the ingress certificate to; was it installed here?",
                places::KUBECONFIG_NOINGRESS
            ))
        })?;
    let finished = kubeconfig::with_authority(&first, pem).map_err(|error| match error {
        KubeconfigError::Certificate(_) => Error::invalid(error.to_string()),
        KubeconfigError::Stored(_) => Error::internal(error.to_string()),
    })?;
    files.put(places::KUBECONFIG, finished).await
}

/// What distinguishes this attempt of a cluster from all others.
struct Identity {
    cluster_id: Uuid,
    infra_id: String,
}

impl Identity {
    async fn kept_or_new(app: &App, cluster: &Cluster) -> Result<Self, Error> {
        let files = Files {
            app,
            cluster: cluster.id,
        };
        let kept = files.get(places::METADATA).await?;
        Ok(kept
            .and_then(|text| Self::read(&text))
            .unwrap_or_else(|| Self {
                cluster_id: Uuid::new_v4(),
                infra_id: placeholders::infra_id(&cluster.name, &mut rand::rng()),
            }))
    }

    fn read(metadata: &[u8]) -> Option<Self> {
        let metadata: Value = serde_json::from_slice(metadata).ok()?;
        Some(Self {
            cluster_id: metadata["clusterID"].as_str()?.parse().ok()?,
            infra_id: metadata["infraID"].as_str()?.to_owned(),
        })
    }
}

/// The generated files of one cluster.
struct Files<'a> {
    app: &'a App,
    cluster: ClusterId,
}

impl Files<'_> {
    async fn put(&self, name: &str, content: String) -> Result<(), Error> {
        let path = places::generated(self.cluster, name)?;
        Ok(self.app.blobs.put(&path, content.into()).await?)
    }

    async fn get(&self, name: &str) -> Result<Option<bytes::Bytes>, Error> {
        let path = places::generated(self.cluster, name)?;
        Ok(self.app.blobs.get(&path).await?)
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{ClusterKind, ClusterStatus, Timestamp};

    use super::*;

    #[test]
    fn an_identity_is_read_back_from_the_metadata_it_was_written_to() {
        let id = ClusterId(Uuid::from_u128(1));
        let status = ClusterStatus::Ready;
        let cluster = Cluster::blank(id, ClusterKind::Cluster, "lab", status, "a", Timestamp(0));
        let text = placeholders::metadata(&cluster, Uuid::from_u128(7), "lab-x2x2x").to_string();
        let identity = Identity::read(text.as_bytes()).unwrap();
        assert_eq!(identity.cluster_id, Uuid::from_u128(7));
        assert_eq!(identity.infra_id, "lab-x2x2x");
        assert!(Identity::read(b"{\"clusterID\": 7}").is_none());
    }
}
