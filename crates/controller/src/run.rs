//! From the start of the controller to its end.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use muster_api::client::{ClientError, Proxies};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};
use tracing::{info, warn};

use crate::{
    chain::chain,
    context::Context,
    dns, duties,
    end::End,
    finalize,
    hosts::Cluster,
    kube::{Access, AccessError, Kind, Kube, KubeError, text},
    logs::{self, Trouble},
    options::{ControllerOptions, Pace},
    record::Record,
    service::{Service, now},
};

const READY: &str = "AssistedControllerIsReady";
const AGENT_BASED: &str = "agent-installer";
const UNKNOWN_INVOKER: &str = "assisted-service";

/// Why the controller cannot work; its job will start it again.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The Kubernetes API cannot be called.
    #[error("no access to the Kubernetes API")]
    Access(#[from] AccessError),
    /// The Kubernetes API refused something that is needed to start.
    #[error("starting")]
    Kube(#[from] KubeError),
    /// The service cannot be called.
    #[error("no access to the service")]
    Service(#[from] ClientError),
    /// Neither was ready in time.
    #[error("not ready after {0:?}: {1}")]
    NotReady(Duration, String),
}

/// Runs the controller in the cluster it finds itself in.
///
/// # Errors
/// It cannot work.
pub async fn start(options: ControllerOptions) -> Result<End, Failure> {
    let kube = Kube::new(Access::find(&options.kubeconfig)?)?;
    run(options, Pace::default(), kube).await
}

/// Runs the controller.
///
/// # Errors
/// It cannot work.
pub async fn run(options: ControllerOptions, pace: Pace, kube: Kube) -> Result<End, Failure> {
    let mut directions = options.directions();
    directions.proxies = proxies(&kube).await?;
    let service = Service::new(directions, options.cluster_id)?;
    let agent_based = invoker(&kube).await? == AGENT_BASED;
    let record = Record::load(&kube, &options.namespace).await?;
    let install_config = install_config(&kube).await?;
    info!(cluster = %options.cluster_id, agent_based, "controller started");

    let context = Context::new(options, pace, kube, service, record, agent_based);
    let context = Arc::new(context);
    // A controller that starts again knows the hosts, and they need not wait for the service.
    let known = recorded(&context, &install_config);
    if !known.hosts.is_empty() {
        context.publish(known);
    }
    let mut duties = start_duties(&context, &install_config);
    let mut errands = start_errands(&context);
    become_ready(&context, &install_config).await?;
    let shared = Arc::clone(&context);
    duties.spawn(async move { logs::upload_regularly(&shared).await });

    let (end, failed) = match agent_based {
        true => (without_service(&context).await, Vec::new()),
        false => with_service(&context).await,
    };
    conclude(&context, &end).await;
    if end == End::Installed {
        let limit = match agent_based {
            true => context.pace.leftovers,
            false => context.pace.farewell,
        };
        let late = async {
            let errands = async { while errands.join_next().await.is_some() {} };
            tokio::join!(errands, duties::await_hosts(&context));
        };
        if timeout(limit, late).await.is_err() {
            context
                .record
                .note("Not all hosts and objects were finished in time");
        }
    }
    errands.shutdown().await;
    duties.shutdown().await;
    finish(&context, &end, failed).await;
    Ok(end)
}

/// What goes on as long as the installation.
fn start_duties(context: &Arc<Context>, install_config: &str) -> JoinSet<()> {
    let credentials = dns::platform(install_config).is_some_and(|(_, credentials)| credentials);
    let mut duties = JoinSet::new();
    duties.spawn(duties::follow_nodes(Arc::clone(context), credentials));
    duties.spawn(duties::follow_machine_configs(Arc::clone(context)));
    duties.spawn(duties::approve_requests(Arc::clone(context)));
    duties.spawn(duties::free_dns_address(
        Arc::clone(context),
        install_config.to_owned(),
    ));
    let shared = Arc::clone(context);
    duties.spawn(async move {
        let (kube, namespace) = (&shared.kube, &shared.options.namespace);
        shared.record.keep(kube, namespace, &shared.pace).await;
    });
    duties
}

/// What ends by itself, and is waited for after the end of the installation.
fn start_errands(context: &Arc<Context>) -> JoinSet<()> {
    let mut errands = JoinSet::new();
    errands.spawn(duties::label_nodes(Arc::clone(context)));
    errands.spawn(duties::adopt_bare_metal_hosts(Arc::clone(context)));
    if context.agent_based {
        let shared = Arc::clone(context);
        errands.spawn(async move { finalize::without_service(&shared).await });
    }
    errands
}

/// Follows the service to the end; finalizing runs beside it. Also returns the operators that
/// failed.
async fn with_service(context: &Arc<Context>) -> (End, Vec<String>) {
    let shared = Arc::clone(context);
    let mut finalizing = tokio::spawn(async move { finalize::with_service(&shared).await });
    let end = context.follow_service().await;
    // The service may see the end before it has got the last reports.
    let limit = match end {
        End::Installed => context.pace.farewell,
        End::Cancelled | End::Failed(_) | End::Gone | End::Unauthorized => Duration::ZERO,
    };
    let finished = timeout(limit, &mut finalizing).await;
    finalizing.abort();
    let failed = match finished {
        Ok(Ok(Ok(failed))) => failed,
        Ok(Ok(Err(error))) => {
            warn!(error = %chain(&error), "finalizing ended early");
            Vec::new()
        }
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    (end, failed)
}

/// Follows the cluster to the end, and the service as long as there is one.
async fn without_service(context: &Arc<Context>) -> End {
    tokio::select! {
        end = duties::follow_cluster(context) => end,
        end = context.follow_service() => end,
    }
}

/// Records the end, so that it is known whatever happens to this program.
async fn conclude(context: &Context, end: &End) {
    let outcome = match end {
        End::Installed => "installed",
        End::Cancelled => "cancelled",
        End::Failed(_) => "failed",
        End::Gone => "the service does not know the cluster",
        End::Unauthorized => "the service does not accept the token",
    };
    context.record.set(|state| {
        state.phase.clear();
        state.outcome = Some(outcome.to_owned());
    });
    let cause = match end {
        End::Failed(reason) => format!(": {reason}"),
        End::Installed | End::Cancelled | End::Gone | End::Unauthorized => String::new(),
    };
    context
        .record
        .note(format!("The installation is over: {outcome}{cause}"));
    write_record(context).await;
    if *end == End::Installed {
        context.conclude();
    }
}

async fn write_record(context: &Context) {
    let namespace = &context.options.namespace;
    if let Err(error) = context.record.write(&context.kube, namespace).await {
        warn!(error = %chain(&error), "record not written");
    }
}

async fn finish(context: &Context, end: &End, failed: Vec<String>) {
    write_record(context).await;
    if let End::Failed(reason) = end {
        let outcome = Err(reason.clone());
        let data = finalize::summary(context).await;
        let posted = context.insist("failure", || {
            context.service.complete(&outcome, data.clone())
        });
        match timeout(context.pace.last_logs, posted).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(error = %chain(&error), "failure not reported"),
            Err(_) => warn!("failure not reported: the service does not answer"),
        }
    }
    match end {
        // Nothing accepts them.
        End::Gone | End::Unauthorized => {}
        _ if context.agent_based => {}
        End::Failed(_) => logs::upload_last(context, Some(&Trouble::General)).await,
        End::Installed | End::Cancelled => {
            let trouble = (!failed.is_empty()).then_some(Trouble::Operators(failed));
            logs::upload_last(context, trouble.as_ref()).await;
        }
    }
}

/// Waits until service and API answer, and creates the event that the bootstrap host waits for.
async fn become_ready(context: &Context, install_config: &str) -> Result<(), Failure> {
    // On a single node the service has gone before this program could start.
    let alone = context.agent_based && context.options.control_plane_count == 1;
    let limit = match (alone, context.agent_based) {
        (true, _) => Duration::ZERO,
        (false, true) => context.pace.readiness_without_service,
        (false, false) => context.pace.readiness,
    };
    let began = Instant::now();
    let cluster = loop {
        let cluster = context.service.cluster().await;
        match cluster {
            Ok(cluster) => break Some(cluster),
            // `follow_service` ends the controller.
            Err(error)
                if error
                    .status()
                    .is_some_and(|code| matches!(code.as_u16(), 401 | 404)) =>
            {
                break None;
            }
            Err(error) if began.elapsed() >= limit => {
                if !context.agent_based {
                    return Err(Failure::NotReady(limit, chain(&error).to_string()));
                }
                info!(error = %chain(&error), "going on without the service");
                break None;
            }
            Err(error) => info!(error = %chain(&error), "service is not ready"),
        }
        sleep(context.pace.retry.min(Duration::from_secs(1))).await;
    };
    if context.agent_based && cluster.is_some() {
        // For later: the service goes away with its node.
        if let Err(cause) = context.administrator().await {
            info!(cause, "administrator's kubeconfig not fetched");
        }
    }
    let cluster = cluster.unwrap_or_else(|| recorded(context, install_config));
    context.publish(cluster);
    let namespace = Some(context.options.namespace.as_str());
    loop {
        let announced = async {
            context.kube.list(Kind::NODE, None, "").await?;
            context
                .kube
                .create(Kind::EVENT, namespace, &ready_event(context))
                .await
        };
        match announced.await {
            Ok(_) => break,
            // An earlier run of this job created it.
            Err(error) if error.is_conflict() => break,
            Err(error) if began.elapsed() >= context.pace.readiness => {
                return Err(Failure::Kube(error));
            }
            Err(error) => info!(error = %chain(&error), "Kubernetes API is not ready"),
        }
        sleep(context.pace.retry.min(Duration::from_secs(1))).await;
    }
    context.record.note("The controller is ready");
    Ok(())
}

/// What an earlier run knew, for installations whose service is gone.
fn recorded(context: &Context, install_config: &str) -> Cluster {
    let platform = dns::platform(install_config);
    Cluster {
        platform: platform.map(|(name, _)| name).unwrap_or_default(),
        single_node: context.options.control_plane_count == 1,
        hosts: context.record.state().hosts,
        ..Cluster::default()
    }
}

fn ready_event(context: &Context) -> Value {
    let namespace = &context.options.namespace;
    let now = now();
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": READY, "namespace": namespace},
        "involvedObject": {"kind": "Namespace", "namespace": namespace, "name": namespace},
        "reason": READY,
        "message": "The controller of the installation is ready",
        "type": "Normal",
        "source": {"component": "assisted-installer-controller"},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    })
}

/// Who started the installation. Only an answer counts: one that is missed would make the
/// controller wait for the wrong end.
async fn invoker(kube: &Kube) -> Result<String, KubeError> {
    let at = Kind::CONFIG_MAP.within("openshift-config", "openshift-install-manifests");
    match kube.get(&at).await {
        Ok(map) => Ok(text(&map, "/data/invoker").to_owned()),
        Err(error) if is_refusal(&error) => {
            warn!(error = %chain(&error), "invoker is unknown");
            Ok(UNKNOWN_INVOKER.to_owned())
        }
        Err(error) => Err(error),
    }
}

async fn install_config(kube: &Kube) -> Result<String, KubeError> {
    let at = Kind::CONFIG_MAP.within("kube-system", "cluster-config-v1");
    match kube.get(&at).await {
        Ok(map) => Ok(text(&map, "/data/install-config").to_owned()),
        Err(error) if is_refusal(&error) => {
            warn!(error = %chain(&error), "install-config not read");
            Ok(String::new())
        }
        Err(error) => Err(error),
    }
}

/// It is not there, or not for this account; asking again changes nothing.
fn is_refusal(error: &KubeError) -> bool {
    error.is_missing() || error.code() == Some(StatusCode::FORBIDDEN)
}

/// Proxies of the cluster, for the way to the service.
async fn proxies(kube: &Kube) -> Result<Option<Proxies>, KubeError> {
    let proxy = kube.find(&Kind::PROXY.named("cluster")).await?;
    let proxy = proxy.unwrap_or_default();
    let of = |name: &str| text(&proxy, &format!("/status/{name}")).to_owned();
    let proxies = Proxies {
        http: of("httpProxy"),
        https: of("httpsProxy"),
        except: of("noProxy"),
    };
    Ok((!proxies.http.is_empty() || !proxies.https.is_empty()).then_some(proxies))
}
