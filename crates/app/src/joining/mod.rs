//! Hosts that are added to a running cluster, followed until their nodes are ready.
//!
//! The reference stops at the reboot of such a host. Where the kubeconfig of the cluster is known,
//! because it was installed here, and its API is reached, one task per cluster watches its nodes
//! and certificate requests as long as hosts are on their way. A host counts as followed if the
//! list of nodes was current when it reported a stage; all others are left at their reboot, as
//! the reference does, and so are followed ones whose cluster is not reached any more.

mod facts;
mod reach;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use muster_controller::{
    approval, control_plane,
    csr::{self, Answer},
    kube::{Kind, Kube, Mirror, Objects, Patch, text},
    labels, nodes,
};
use muster_engine::progress::{self, JoinReport, StageReport};
use muster_model::{Cluster, ClusterId, Host, HostKey, HostRole, HostStage, HostStatus};
use muster_tracking::joining::{Joiner, Listed, Sight};
use serde_json::Value;
use tokio::{sync::Notify, time::timeout};
use tracing::{debug, info, warn};

use crate::{App, Error, aggregate::Cause, error_chain};

/// How often it is checked that the API still answers.
const CHECK: Duration = Duration::from_secs(60);
/// Between two attempts to reach it.
const RETRY: Duration = Duration::from_secs(10);
/// After this long without an answer hosts are left to themselves.
const UNREACHED: Duration = Duration::from_secs(600);
const ANSWER: Duration = Duration::from_secs(10);
/// So long a host is not done because its Machine cannot be created.
const ADOPTION: Duration = Duration::from_secs(300);

/// The clusters that are watched.
#[derive(Debug, Default)]
pub struct Joining {
    clusters: Mutex<HashMap<ClusterId, Arc<Followed>>>,
}

#[derive(Debug, Default)]
struct Followed {
    touched: Notify,
    touches: AtomicU64,
    /// Its list of nodes was read, and its API answers.
    is_current: AtomicBool,
}

/// How a watch ended.
enum End {
    /// No host is on its way.
    Idle,
    /// There is no way into the cluster.
    NoAccess,
}

impl Joining {
    fn clusters(&self) -> MutexGuard<'_, HashMap<ClusterId, Arc<Followed>>> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether hosts of the cluster can be followed at this moment.
    #[must_use]
    pub fn is_current(&self, id: ClusterId) -> bool {
        let clusters = self.clusters();
        let followed = clusters.get(&id);
        followed.is_some_and(|followed| followed.is_current.load(Ordering::Relaxed))
    }

    /// Ends a watch, unless hosts set out since this count was read.
    fn leave(&self, id: ClusterId, followed: &Followed, touches: u64) -> bool {
        let mut clusters = self.clusters();
        let is_over = followed.touches.load(Ordering::Relaxed) == touches;
        if is_over {
            clusters.remove(&id);
        }
        is_over
    }
}

/// A host of the cluster set out or came further: the cluster is watched from now on.
pub fn touch(app: &Arc<App>, id: ClusterId) {
    if !app.config.cluster.follow_added_hosts {
        return;
    }
    let mut clusters = app.joining.clusters();
    if let Some(followed) = clusters.get(&id) {
        followed.touches.fetch_add(1, Ordering::Relaxed);
        followed.touched.notify_one();
        return;
    }
    let followed = Arc::new(Followed::default());
    clusters.insert(id, Arc::clone(&followed));
    tokio::spawn(run(Arc::clone(app), id, followed));
}

async fn run(app: Arc<App>, id: ClusterId, followed: Arc<Followed>) {
    let mut unreached: Option<Instant> = None;
    loop {
        let touches = followed.touches.load(Ordering::Relaxed);
        let end = follow(&app, id, &followed, &mut unreached).await;
        followed.is_current.store(false, Ordering::Relaxed);
        match end {
            Ok(End::Idle) => {
                if app.joining.leave(id, &followed, touches) {
                    return;
                }
            }
            // The entry stays, so that not every report of a host looks for a kubeconfig again.
            Ok(End::NoAccess) => {
                release(&app, id, "the service has no kubeconfig of the cluster").await;
                return;
            }
            Err(reason) => {
                debug!(cluster = %id, reason, "the API of a cluster is not reached");
                let since = *unreached.get_or_insert_with(Instant::now);
                if since.elapsed() > UNREACHED {
                    let minutes = UNREACHED.as_secs() / 60;
                    let reason = format!(
                        "not followed any more: the API of the cluster was not reached for \
                         {minutes} minutes ({reason})"
                    );
                    release(&app, id, &reason).await;
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Watches the cluster until no host is on its way. Fails if the API is not reached.
async fn follow(
    app: &Arc<App>,
    id: ClusterId,
    followed: &Followed,
    unreached: &mut Option<Instant>,
) -> Result<End, String> {
    let Some(cluster) = under_way(app, id).await? else {
        return Ok(End::Idle);
    };
    let Some(kube) = reach::connect(app, &cluster.0, &cluster.1).await? else {
        return Ok(End::NoAccess);
    };
    let mut nodes = Mirror::start(kube.clone(), Kind::NODE, None);
    let mut requests = Mirror::start(kube.clone(), Kind::CSR, None);
    let mut checked = Instant::now();
    let mut troubles = Troubles::default();
    loop {
        if let (Some(nodes), Some(requests)) = (nodes.take(), requests.take()) {
            if !followed.is_current.swap(true, Ordering::Relaxed) {
                info!(cluster = %id, "following hosts that are added to a cluster");
            }
            *unreached = None;
            let Some((cluster, hosts)) = under_way(app, id).await? else {
                return Ok(End::Idle);
            };
            let seen = Seen {
                nodes: &nodes,
                requests: &requests,
            };
            look(app, &kube, &cluster, &hosts, &seen, &mut troubles).await;
        }
        tokio::select! {
            () = nodes.changed() => {}
            () = requests.changed() => {}
            () = followed.touched.notified() => {}
            () = tokio::time::sleep(CHECK) => {}
        }
        if checked.elapsed() >= CHECK {
            match timeout(ANSWER, kube.version()).await {
                Ok(Ok(_)) => checked = Instant::now(),
                Ok(Err(error)) => return Err(error_chain(&error)),
                Err(_) => return Err("no answer in time".to_owned()),
            }
        }
    }
}

/// The cluster with all its hosts, if one that was added is on its way.
async fn under_way(app: &App, id: ClusterId) -> Result<Option<(Cluster, Vec<Host>)>, String> {
    let loaded = async {
        let cluster = app.cluster(id).await?;
        let hosts = app.store.hosts_of_cluster(id).await?;
        Ok::<_, Error>((cluster, hosts))
    };
    let (cluster, hosts) = match loaded.await {
        Ok(loaded) => loaded,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error_chain(&error)),
    };
    let hosts: Vec<Host> = hosts.iter().map(|row| row.value.as_ref().clone()).collect();
    let is_under_way = hosts.iter().any(is_joining);
    Ok(is_under_way.then(|| (cluster.value.as_ref().clone(), hosts)))
}

fn is_joining(host: &Host) -> bool {
    host.is_day2()
        && matches!(
            host.status,
            HostStatus::Installing
                | HostStatus::InstallingInProgress
                | HostStatus::InstallingPendingUserAction
        )
}

/// Since when the Machine of a host cannot be created.
type Troubles = HashMap<HostKey, Instant>;

/// What the cluster shows.
struct Seen<'a> {
    nodes: &'a Objects,
    requests: &'a Objects,
}

/// Looks at the hosts that have rebooted, and does what follows.
async fn look(
    app: &Arc<App>,
    kube: &Kube,
    cluster: &Cluster,
    hosts: &[Host],
    seen: &Seen<'_>,
    troubles: &mut Troubles,
) {
    let Seen { nodes, requests } = *seen;
    let joiners: Vec<(&Host, Joiner)> = hosts
        .iter()
        .filter(|host| is_joining(host) && host.followed)
        .filter_map(|host| Some((host, facts::joiner(host, cluster)?)))
        .collect();
    if joiners.is_empty() {
        return;
    }
    let approves = app.config.cluster.approve_added_hosts;
    let known: Vec<_> = joiners
        .iter()
        .map(|(_, joiner)| joiner.host.clone())
        .collect();
    if approves {
        approve(kube, &known, nodes, requests).await;
    }
    label(kube, &known, nodes).await;
    let values = |objects: &Objects| {
        objects
            .values()
            .map(|object| Value::clone(object))
            .collect()
    };
    let listed = Listed {
        nodes: values(nodes),
        requests: values(requests),
    };
    for (host, joiner) in &joiners {
        if let Some(mut sight) = listed.sight(joiner, approves) {
            let key = host.key();
            let has_node = matches!(sight.stage, HostStage::Joined | HostStage::Done);
            if has_node && app.config.cluster.adopt_added_hosts {
                let problem = adopt(kube, host, cluster, joiner, nodes).await;
                sight = held_back(sight, key, problem, troubles);
            }
            let report = JoinReport {
                reached: StageReport {
                    stage: Some(sight.stage),
                    info: sight.info,
                },
                waits_for_person: sight.waits_for_person,
            };
            if let Err(error) = report_join(app, key, &report).await {
                warn!(host = %key.host, error = error_chain(&error), "stage of an added host not stored");
            }
        }
    }
}

/// Gives a control-plane node the Machine and the BareMetalHost that those of its cluster have. What
/// went wrong, if something did.
async fn adopt(
    kube: &Kube,
    host: &Host,
    cluster: &Cluster,
    joiner: &Joiner,
    nodes: &Objects,
) -> Option<String> {
    if host.role != HostRole::Master {
        return None;
    }
    let known = std::slice::from_ref(&joiner.host);
    let mut nodes = nodes.values();
    let node = nodes.find(|node| nodes::host_of(&nodes::Node::read(node), known).is_some())?;
    let newcomer = facts::newcomer(host, cluster, node)?;
    match control_plane::adopt(kube, &newcomer).await {
        Ok(done) => {
            for what in done {
                info!(host = %host.id, what, "control-plane node adopted");
            }
            None
        }
        Err(error) => {
            let problem = error_chain(&error);
            warn!(host = %host.id, error = problem, "control-plane node not adopted, retrying");
            Some(problem)
        }
    }
}

/// A host is not done as long as its Machine cannot be created, but not for ever.
fn held_back(
    mut sight: Sight,
    key: HostKey,
    problem: Option<String>,
    troubles: &mut Troubles,
) -> Sight {
    let Some(problem) = problem else {
        troubles.remove(&key);
        return sight;
    };
    let since = troubles.entry(key).or_insert_with(Instant::now);
    if sight.stage == HostStage::Done && since.elapsed() < ADOPTION {
        sight.stage = HostStage::Joined;
    }
    sight.info = format!("{}; its Machine cannot be created: {problem}", sight.info);
    sight
}

/// Approves requests of exactly these hosts.
async fn approve(
    kube: &Kube,
    hosts: &[muster_controller::hosts::Host],
    nodes: &Objects,
    requests: &Objects,
) {
    let names: BTreeSet<String> = nodes.keys().cloned().collect();
    for (name, request) in requests {
        match csr::answer(request, hosts, &names) {
            Answer::Skip => {}
            Answer::Leave(reason) => {
                let user = text(request, "/spec/username");
                debug!(
                    name,
                    user, reason, "certificate request needs manual approval"
                );
            }
            Answer::Approve(node) => {
                match approval::approve(kube, name, &node, hosts, &names).await {
                    Ok(approved) => info!(name, node, approved, "certificate request"),
                    Err(error) => warn!(
                        name,
                        node,
                        error = error_chain(&error),
                        "certificate request not approved"
                    ),
                }
            }
        }
    }
}

/// Sets the labels that users gave to hosts.
async fn label(kube: &Kube, hosts: &[muster_controller::hosts::Host], nodes: &Objects) {
    let nodes: Vec<_> = nodes.values().map(|node| nodes::Node::read(node)).collect();
    for (node, patch) in labels::due(hosts, &nodes) {
        let at = Kind::NODE.named(&node);
        match kube.patch(&at, Patch::Merge, &patch).await {
            Ok(_) => info!(node, "node labelled"),
            Err(error) => warn!(node, error = error_chain(&error), "node not labelled"),
        }
    }
}

async fn report_join(app: &Arc<App>, key: HostKey, report: &JoinReport) -> Result<(), Error> {
    let cause = Cause::internal();
    app.change_host_in_context(key, &cause, |all| {
        let result = {
            let view = all.view(&app.heartbeats)?;
            progress::follow_host(all.host(key)?, &view, report, cause.now)
        };
        all.settle_with(result)
    })
    .await
    .map(drop)
}

/// Leaves followed hosts that have rebooted to themselves.
async fn release(app: &Arc<App>, id: ClusterId, reason: &str) {
    let Ok(Some((_, hosts))) = under_way(app, id).await else {
        return;
    };
    let followed = |host: &&Host| host.followed && is_joining(host);
    for key in hosts.iter().filter(followed).map(Host::key) {
        let cause = Cause::internal();
        let released = app.change_host_in_context(key, &cause, |all| {
            let result = {
                let view = all.view(&app.heartbeats)?;
                progress::release_host(all.host(key)?, &view, reason, cause.now)
            };
            all.settle_with(result)
        });
        match released.await {
            Ok(_) => info!(host = %key.host, reason, "an added host is no longer followed"),
            Err(error) => {
                warn!(host = %key.host, error = error_chain(&error), "added host not released")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_model::{HostId, InfraEnvId};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_host_waits_for_its_machine_but_not_for_ever() {
        let key = HostKey {
            infra_env: InfraEnvId(Uuid::from_u128(1)),
            host: HostId(Uuid::from_u128(2)),
        };
        let ready = || Sight {
            stage: HostStage::Done,
            info: "node m is ready".to_owned(),
            waits_for_person: false,
        };
        let mut troubles = Troubles::default();
        let forbidden = || Some("forbidden".to_owned());
        let held = held_back(ready(), key, forbidden(), &mut troubles);
        assert_eq!(held.stage, HostStage::Joined);
        let reason = "node m is ready; its Machine cannot be created: forbidden";
        assert_eq!(held.info, reason);

        let long_ago = Instant::now().checked_sub(ADOPTION).unwrap();
        troubles.insert(key, long_ago);
        let given_up = held_back(ready(), key, forbidden(), &mut troubles);
        assert_eq!(
            (given_up.stage, given_up.info.as_str()),
            (HostStage::Done, reason)
        );

        assert_eq!(held_back(ready(), key, None, &mut troubles), ready());
        assert!(troubles.is_empty());
    }
}
