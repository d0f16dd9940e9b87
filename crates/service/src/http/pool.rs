//! What the token of a late-binding pool may access of a cluster.
//!
//! All machines of an infra-env share the token of its image. Where hosts are bound one by one,
//! that token says nothing about which of them calls, so it must not open what gives power over a
//! cluster. It keeps what the reference's installer and controller need to report and to install;
//! a machine with a token of its own is held to the cluster it is bound to instead.

use muster_api::contract::Operation;
use muster_auth::{Denied, Principal, Scope};
use muster_model::{ClusterId, HostStatus, InfraEnvId};

use super::admission::denied;
use crate::{http::Failure, service::Shared};

/// What it takes for the token of a pool to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    /// Some host of the pool belongs to the cluster, which was checked before.
    Membership,
    /// The pool's bootstrap host of that cluster is being installed.
    Bootstrap,
    /// The token of a machine or a user.
    OwnToken,
}

fn needs(operation: &str, query: &str) -> Needs {
    let mut files = url::form_urlencoded::parse(query.as_bytes())
        .filter(|(name, _)| name == "file_name")
        .map(|(_, file)| file);
    match operation {
        "V2DownloadClusterCredentials" => Needs::OwnToken,
        "V2DownloadClusterFiles" => match (files.next().as_deref(), files.next()) {
            (Some("custom_manifests.json"), None) => Needs::Membership,
            (Some("bootstrap.ign"), None) => Needs::Bootstrap,
            (_, _) => Needs::OwnToken,
        },
        _ => Needs::Membership,
    }
}

/// Refuses secrets of a cluster to the token of a pool.
///
/// # Errors
/// 404, as if there were no such file.
pub async fn check(
    app: &Shared,
    caller: &Principal,
    operation: &Operation,
    cluster: Option<ClusterId>,
    query: &str,
) -> Result<(), Failure> {
    let (Some(Scope::InfraEnv(pool)), Some(cluster), false) =
        (caller.scope(), cluster, caller.is_admin())
    else {
        return Ok(());
    };
    let passes = match needs(&operation.id, query) {
        Needs::Membership => true,
        Needs::Bootstrap => {
            is_early_bound(app, pool, cluster).await? || bootstraps(app, pool, cluster).await?
        }
        Needs::OwnToken => is_early_bound(app, pool, cluster).await?,
    };
    if passes {
        Ok(())
    } else {
        Err(denied(Denied::not_found()))
    }
}

/// Whether all hosts of the infra-env belong to the cluster, so that it does not matter which.
async fn is_early_bound(
    app: &Shared,
    pool: InfraEnvId,
    cluster: ClusterId,
) -> Result<bool, Failure> {
    let infra_env = app.store.infra_env(pool).await?;
    Ok(infra_env.is_some_and(|infra_env| infra_env.cluster == Some(cluster)))
}

async fn bootstraps(app: &Shared, pool: InfraEnvId, cluster: ClusterId) -> Result<bool, Failure> {
    let hosts = app.store.hosts_of_infra_env(pool).await;
    Ok(hosts?.iter().any(|host| {
        host.cluster == Some(cluster)
            && host.bootstrap
            && matches!(
                host.status,
                HostStatus::Installing
                    | HostStatus::InstallingInProgress
                    | HostStatus::InstallingPendingUserAction
            )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_opens_what_an_installation_needs_and_no_credentials() {
        let files = "V2DownloadClusterFiles";
        for (operation, query, needed) in [
            (
                "V2DownloadClusterCredentials",
                "file_name=kubeconfig",
                Needs::OwnToken,
            ),
            (files, "file_name=install-config.yaml", Needs::OwnToken),
            (files, "", Needs::OwnToken),
            (files, "file_name=bootstrap.ign", Needs::Bootstrap),
            (
                files,
                "file_name=bootstrap.ign&file_name=metadata.json",
                Needs::OwnToken,
            ),
            (files, "file_name=custom_manifests.json", Needs::Membership),
            ("v2GetCluster", "", Needs::Membership),
        ] {
            assert_eq!(needs(operation, query), needed, "{operation} {query}");
        }
    }
}
