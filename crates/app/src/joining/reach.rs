//! Connecting to the API of a cluster that was installed here.
//!
//! Its name may be unknown to the name servers of the service, so the virtual addresses and the
//! control-plane nodes are tried as well; the certificate must be that of the name in any case.

use std::{net::IpAddr, path::Path};

use muster_controller::kube::{Access, Kube};
use muster_model::{Cluster, Host, HostRole};
use tokio::time::timeout;

use super::{ANSWER, facts};
use crate::{
    App, error_chain,
    files::{generated, places},
};

/// How many addresses are tried.
const ADDRESSES: usize = 8;

/// A way that works; none if the service has no kubeconfig with credentials.
pub async fn connect(app: &App, cluster: &Cluster, hosts: &[Host]) -> Result<Option<Kube>, String> {
    let Some(kubeconfig) = kubeconfig(app, cluster).await? else {
        return Ok(None);
    };
    // Ours hold everything inline: no file beside it is looked for.
    let access = Access::parse(&kubeconfig, Path::new("/nonexistent/kubeconfig"));
    let access = access.map_err(|error| error_chain(&error))?;
    if !access.has_credentials() {
        return Ok(None);
    }
    let others = addresses(cluster, hosts).into_iter().take(ADDRESSES);
    let ways = std::iter::once(access.clone()).chain(others.map(|address| access.at(address)));
    let mut problems = Vec::new();
    for way in ways {
        let server = way.server().to_owned();
        let problem = match Kube::new(way) {
            Err(error) => error_chain(&error),
            Ok(kube) => match timeout(ANSWER, kube.version()).await {
                Ok(Ok(_)) => return Ok(Some(kube)),
                Ok(Err(error)) => error_chain(&error),
                Err(_) => "no answer in time".to_owned(),
            },
        };
        problems.push(format!("{server}: {problem}"));
    }
    Err(problems.join("; "))
}

async fn kubeconfig(app: &App, cluster: &Cluster) -> Result<Option<Vec<u8>>, String> {
    for name in [places::KUBECONFIG, places::KUBECONFIG_NOINGRESS] {
        let path = generated(cluster.id, name).map_err(|error| error.to_string())?;
        let found = app.blobs.get(&path).await;
        if let Some(bytes) = found.map_err(|error| error_chain(&error))? {
            return Ok(Some(bytes.to_vec()));
        }
    }
    Ok(None)
}

/// Where else the API answers.
fn addresses(cluster: &Cluster, hosts: &[Host]) -> Vec<IpAddr> {
    let vips = cluster.api_vips.iter().flatten();
    let vips = vips.map(|vip| vip.ip);
    let nodes = hosts
        .iter()
        .filter(|host| !host.is_day2() && host.effective_role() == HostRole::Master)
        .flat_map(facts::addresses);
    vips.chain(nodes).collect()
}
