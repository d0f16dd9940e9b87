//! The tasks round the decisions: each watches what its decision depends on, and acts.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use muster_model::HostStage;
use serde_json::{Value, json};
use tokio::time::sleep;
use tracing::{debug, info, warn};

use crate::{
    approval, bare_metal,
    chain::chain,
    context::Context,
    csr::{self, Answer},
    dns::{self, Holder},
    end::{End, is_complete},
    hosts::{Cluster, Host},
    kube::{Kind, KubeError, Mirror, Objects, Patch, condition, items, text},
    labels, mcs,
    nodes::{self, Node},
    operators::{CLUSTER_VERSION, Report},
    reboots,
    service::is_final,
};

const MCS_NAMESPACE: &str = "openshift-machine-config-operator";
/// Attempts to restart the DNS operator.
const DNS_RESTARTS: u32 = 5;
/// How far back the log of the machine-config server is read.
const MCS_LOG: Duration = Duration::from_secs(300);

fn read_nodes(objects: Option<Arc<Objects>>) -> Vec<Node> {
    let objects = objects.unwrap_or_default();
    objects.values().map(|object| Node::read(object)).collect()
}

/// Stages of hosts that follow from nodes, and the taint of missing cloud providers.
pub async fn follow_nodes(context: Arc<Context>, credentials: bool) {
    let (mut mirror, mut view) = (context.nodes.clone(), context.view());
    // Refusals are repeated only when what the service knows of the host has changed.
    let mut refused = BTreeSet::new();
    loop {
        let mut limit = context.pace.resync;
        let nodes = read_nodes(mirror.take());
        if let Some(cluster) = view.take() {
            for (host, stage) in nodes::due(&cluster.hosts, &nodes, cluster.single_node) {
                let attempt = (host.id, host.status.clone(), host.stage, stage);
                if refused.contains(&attempt) {
                    continue;
                }
                match context.report_stage(host, stage).await {
                    Ok(()) => {
                        let is_own = |node: &&Node| {
                            nodes::host_of(node, &cluster.hosts)
                                .is_some_and(|one| one.id == host.id)
                        };
                        if stage == HostStage::Done
                            && context.options.notify_num_reboots
                            && let Some(node) = nodes.iter().find(is_own)
                        {
                            let (context, host) = (Arc::clone(&context), host.clone());
                            let node = node.name.clone();
                            tokio::spawn(async move {
                                reboots::report(&context, &host, &node).await;
                            });
                        }
                    }
                    // The bootstrap host and the installer report stages too.
                    Err(error) if is_final(&error) => {
                        debug!(host = host.name(), %stage, error = %chain(&error), "stage was refused");
                        refused.insert(attempt);
                    }
                    Err(error) => {
                        warn!(host = host.name(), %stage, error = %chain(&error), "stage not delivered, retrying");
                        limit = context.pace.retry;
                        break;
                    }
                }
            }
            let (platform, version) = (&cluster.platform, &context.options.openshift_version);
            if nodes::untaints(platform, context.agent_based, version, credentials) {
                let removed = untaint(&context, &nodes).await;
                if !removed {
                    limit = context.pace.retry;
                }
            }
        }
        context.wake(&mut [&mut mirror], &mut view, limit).await;
    }
}

/// Whether it worked. A node that is ready is left to its cloud provider, unless there will be none.
async fn untaint(context: &Context, nodes: &[Node]) -> bool {
    let mut removed = true;
    let ours = |node: &&Node| context.agent_based || !node.ready;
    for node in nodes.iter().filter(ours) {
        let Some(patch) = &node.untaint else { continue };
        let at = Kind::NODE.named(&node.name);
        match context.kube.patch(&at, Patch::Json, patch).await {
            Ok(_) => context.record.note(format!(
                "Removed the taint of the missing cloud provider from node {}",
                node.name
            )),
            Err(error) => {
                info!(node = node.name, error = %chain(&error), "taint not removed, retrying");
                removed = false;
            }
        }
    }
    removed
}

/// Stage `Configuring`, from the log of the machine-config server.
pub async fn follow_machine_configs(context: Arc<Context>) {
    let mut view = context.view();
    loop {
        let cluster = view.take();
        if let Some(cluster) = &cluster
            && mcs::waiting(&cluster.hosts, cluster.single_node)
                .next()
                .is_some()
        {
            match mcs_log(&context).await {
                Ok(log) => {
                    let callers = mcs::callers(&log);
                    let single = cluster.single_node;
                    for host in mcs::configuring(&cluster.hosts, &callers, single) {
                        let stage = HostStage::Configuring;
                        if let Err(error) = context.report_stage(host, stage).await {
                            debug!(host = host.name(), error = %chain(&error), "stage was refused");
                        }
                    }
                }
                Err(error) => {
                    debug!(error = %chain(&error), "log of the machine-config server not read")
                }
            }
            sleep(context.pace.resync).await;
        } else {
            view.changed().await;
        }
    }
}

async fn mcs_log(context: &Context) -> Result<String, KubeError> {
    let labels = "k8s-app=machine-config-server";
    let (pods, _) = context
        .kube
        .list(Kind::POD, Some(MCS_NAMESPACE), labels)
        .await?;
    let mut all = String::new();
    for pod in pods {
        let at = Kind::POD.within(MCS_NAMESPACE, text(&pod, "/metadata/name"));
        match context.kube.pod_log(&at, Some(MCS_LOG)).await {
            Ok(log) => all.push_str(&String::from_utf8_lossy(&log)),
            // One that is starting has none.
            Err(error) => debug!(%at, error = %chain(&error), "log not read"),
        }
        all.push('\n');
    }
    Ok(all)
}

/// Approves the requests of kubelets on known hosts; what is left alone is reported once.
pub async fn approve_requests(context: Arc<Context>) {
    let mut requests = Mirror::start(context.kube.clone(), Kind::CSR, None);
    let (mut nodes, mut view) = (context.nodes.clone(), context.view());
    let mut reported = BTreeSet::new();
    loop {
        let listed = requests.take().unwrap_or_default();
        let names = nodes.take().map(|nodes| nodes.keys().cloned().collect());
        let mut failed = false;
        // Without the list of nodes nothing can be said about who exists.
        if let (Some(cluster), Some(names)) = (view.take(), names) {
            for (name, request) in &*listed {
                match csr::answer(request, &cluster.hosts, &names) {
                    Answer::Skip => {}
                    Answer::Approve(node) => {
                        failed |= !approve(&context, name, &node, &cluster.hosts, &names).await;
                    }
                    Answer::Leave(reason) => {
                        if reported.insert(text(request, "/metadata/uid").to_owned()) {
                            leave(&context, name, request, &reason).await;
                        }
                    }
                }
            }
        }
        let limit = match failed {
            true => context.pace.retry,
            false => context.pace.resync,
        };
        let mut mirrors = [&mut requests, &mut nodes];
        context.wake(&mut mirrors, &mut view, limit).await;
    }
}

/// Whether it worked.
async fn approve(
    context: &Context,
    name: &str,
    node: &str,
    hosts: &[Host],
    nodes: &BTreeSet<String>,
) -> bool {
    match approval::approve(&context.kube, name, node, hosts, nodes).await {
        Ok(true) => context.record.note(format!(
            "Approved certificate request {name} of node {node}"
        )),
        Ok(false) => {}
        Err(error) => {
            warn!(name, node, error = %chain(&error), "certificate request not approved, retrying");
            return false;
        }
    }
    true
}

async fn leave(context: &Context, name: &str, request: &Value, reason: &str) {
    let user = text(request, "/spec/username");
    let message = format!(
        "Certificate request {name} of {user} was not approved: {reason}. If it is \
         legitimate, approve it with: oc adm certificate approve {name}"
    );
    // A controller that starts again finds the same requests.
    if context.record.contains(&message) {
        return;
    }
    context.record.note(message.clone());
    let event = "certificate_request_not_approved";
    context.event(event, "warning", &message, None).await;
}

/// Labels of nodes.
pub async fn label_nodes(context: Arc<Context>) {
    let (mut mirror, mut view) = (context.nodes.clone(), context.view());
    let mut paused = false;
    loop {
        let listed = mirror.take();
        // Nodes that are not listed yet are not missing.
        if let (Some(cluster), Some(_)) = (view.take(), &listed) {
            let nodes = read_nodes(listed);
            let hosts = &cluster.hosts;
            if labels::complete(hosts, &nodes) {
                // Also if this run did not pause it: an earlier one may have been killed meanwhile.
                if !labels::pauses_workers(hosts) {
                    return;
                }
                if set_paused(&context, false).await {
                    info!("machine config pool of workers goes on");
                    return;
                }
            } else if paused || !labels::pauses_workers(hosts) {
                for (node, patch) in labels::due(hosts, &nodes) {
                    let at = Kind::NODE.named(&node);
                    match context.kube.patch(&at, Patch::Merge, &patch).await {
                        Ok(_) => info!(node, "node labelled"),
                        Err(error) => {
                            info!(node, error = %chain(&error), "node not labelled, retrying")
                        }
                    }
                }
            } else if set_paused(&context, true).await {
                info!("machine config pool of workers rests until nodes are labelled");
                paused = true;
                continue;
            }
        }
        let retry = context.pace.retry;
        context.wake(&mut [&mut mirror], &mut view, retry).await;
    }
}

async fn set_paused(context: &Context, paused: bool) -> bool {
    let at = Kind::MACHINE_CONFIG_POOL.named("worker");
    let patch = json!({"spec": {"paused": paused}});
    let patched = context.kube.patch(&at, Patch::Merge, &patch).await;
    if let Err(error) = &patched {
        info!(error = %chain(&error), paused, "machine config pool not patched, retrying");
    }
    patched.is_ok()
}

/// BareMetalHosts, until none lacks anything.
pub async fn adopt_bare_metal_hosts(context: Arc<Context>) {
    let mut view = context.view();
    view.until(|cluster| cluster.platform == "baremetal").await;
    let of = |kind| Mirror::start(context.kube.clone(), kind, Some(bare_metal::NAMESPACE));
    let (mut hosts, mut machines) = (of(Kind::BARE_METAL_HOST), of(Kind::MACHINE));
    loop {
        let (found, free) = (hosts.take(), machines.take());
        let provisioning = Kind::PROVISIONING.named("provisioning-configuration");
        let managed = context.kube.find(&provisioning).await;
        if let (Some(found), Some(free), Ok(managed)) = (found, free, managed) {
            let plan = bare_metal::plan(
                found.values().map(|host| &**host),
                free.values().map(|machine| &**machine),
                managed.is_some(),
            );
            let mut failed = plan.without_machine > 0;
            for change in &plan.changes {
                match bare_metal::adopt(&context.kube, change).await {
                    Ok(()) => context
                        .record
                        .note(format!("Adopted BareMetalHost {}", change.name)),
                    Err(error) => {
                        failed = true;
                        info!(host = change.name, error = %chain(&error), "BareMetalHost not adopted, retrying");
                    }
                }
            }
            // Without a Provisioning, or without hosts, this may be too early: Metal3 is installed
            // by an operator.
            let early = found.is_empty() || managed.is_none();
            if !failed && (!early || context.is_over()) {
                return;
            }
        }
        let mut mirrors = [&mut hosts, &mut machines];
        context
            .wake(&mut mirrors, &mut view, context.pace.resync)
            .await;
    }
}

/// Frees the address of the DNS service if another service has it.
pub async fn free_dns_address(context: Arc<Context>, install_config: String) {
    let Some(address) = dns::address(&install_config) else {
        warn!("install-config has no service network, the address of DNS is not checked");
        return;
    };
    for _ in 0..context.pace.dns_looks {
        match context.kube.list(Kind::SERVICE, None, "").await {
            Ok((services, _)) => match dns::holder(services.iter(), address) {
                Holder::Dns => return,
                Holder::Free => {}
                Holder::Other(namespace, name) => {
                    if evict(&context, &namespace, &name).await {
                        context.record.note(format!(
                            "Service {namespace}/{name} had the address {address} of DNS and was deleted"
                        ));
                    }
                }
            },
            Err(error) => info!(error = %chain(&error), "services not listed, retrying"),
        }
        sleep(context.pace.dns).await;
    }
    warn!(%address, "the DNS service did not appear");
}

async fn evict(context: &Context, namespace: &str, name: &str) -> bool {
    let at = Kind::SERVICE.within(namespace, name);
    if let Err(error) = context.kube.delete(&at).await {
        warn!(%at, error = %chain(&error), "service not deleted, retrying");
        return false;
    }
    // The operator creates the DNS service again when it starts.
    for _ in 0..DNS_RESTARTS {
        let operator = context.kube.delete_all(Kind::POD, "openshift-dns-operator");
        match operator.await {
            Ok(()) => break,
            Err(error) => warn!(error = %chain(&error), "DNS operator not restarted, retrying"),
        }
        sleep(context.pace.retry).await;
    }
    true
}

/// Waits until a cluster whose service is gone says itself that it is installed, and records how its
/// operators come up.
pub async fn follow_cluster(context: &Context) -> End {
    let of = |kind| Mirror::start(context.kube.clone(), kind, None);
    let (mut versions, mut operators) = (of(Kind::CLUSTER_VERSION), of(Kind::CLUSTER_OPERATOR));
    let (mut mirror, mut view) = (context.nodes.clone(), context.view());
    loop {
        let version = versions
            .take()
            .and_then(|list| list.get("version").cloned());
        for (name, operator) in &*operators.take().unwrap_or_default() {
            record_operator(context, name, &Report::of_cluster_operator(operator));
        }
        if let Some(version) = &version {
            let report = Report::of_cluster_version(version);
            let progress = items(version, "/status/conditions")
                .find(|one| one["type"] == "Progressing")
                .map(|one| text(one, "/message").to_owned());
            let phase = progress.unwrap_or_default();
            context.record.set(|state| state.phase = phase);
            record_operator(context, CLUSTER_VERSION, &report);
        }
        let available = version.is_some_and(|version| condition(&version, "Available", "True"));
        let nodes = read_nodes(mirror.take());
        if is_complete(available, &nodes, context.options.control_plane_count) {
            return End::Installed;
        }
        let mut mirrors = [&mut versions, &mut operators, &mut mirror];
        context
            .wake(&mut mirrors, &mut view, context.pace.resync)
            .await;
        view.take();
    }
}

fn record_operator(context: &Context, name: &str, report: &Report) {
    if context.record.operator(name, report) {
        let status = report.status.as_str();
        context.record.note(format!("Operator {name} is {status}"));
    }
}

/// Waits until no host is on its way any more.
pub async fn await_hosts(context: &Context) {
    let mut view = context.view();
    let late = |host: &&Host| host.is_underway() && host.stage != Some(HostStage::Done);
    let names = |cluster: &Cluster| {
        let names: Vec<String> = cluster
            .hosts
            .iter()
            .filter(late)
            .map(|host| host.name().to_owned())
            .collect();
        names.join(", ")
    };
    if let Some(cluster) = view.take().filter(|cluster| !names(cluster).is_empty()) {
        let message = format!("Waiting for late hosts: {}", names(&cluster));
        context.record.note(message);
    }
    view.until(|cluster| names(cluster).is_empty()).await;
}
