//! What all duties share: the API, the service, and the newest state of both.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use muster_api::client::ClientError;
use muster_model::HostStage;
use tokio::{
    sync::{Notify, OnceCell, watch},
    time::sleep,
};
use tracing::{debug, info, warn};

use crate::{
    chain::chain,
    end::{End, Watchdog},
    hosts::{Cluster, Host},
    kube::{Kind, Kube, Mirror},
    options::{ControllerOptions, Pace},
    record::Record,
    service::{Service, is_final},
};

/// Shared by all duties.
#[derive(Debug)]
pub struct Context {
    /// What was asked.
    pub options: ControllerOptions,
    /// How long to wait for what.
    pub pace: Pace,
    /// The Kubernetes API.
    pub kube: Kube,
    /// The service.
    pub service: Service,
    /// What happened so far.
    pub record: Record,
    /// The service disappears with the node it runs on.
    pub agent_based: bool,
    /// All nodes.
    pub nodes: Mirror,
    view: watch::Sender<Option<Arc<Cluster>>>,
    look: Notify,
    over: watch::Sender<bool>,
    administrator: OnceCell<String>,
}

impl Context {
    /// Starts to follow nodes.
    #[must_use]
    pub fn new(
        options: ControllerOptions,
        pace: Pace,
        kube: Kube,
        service: Service,
        record: Record,
        agent_based: bool,
    ) -> Self {
        let nodes = Mirror::start(kube.clone(), Kind::NODE, None);
        Self {
            options,
            pace,
            kube,
            service,
            record,
            agent_based,
            nodes,
            view: watch::Sender::new(None),
            look: Notify::new(),
            over: watch::Sender::new(false),
            administrator: OnceCell::new(),
        }
    }

    /// The cluster is installed: what waits for something that may never come can end.
    pub fn conclude(&self) {
        self.over.send_replace(true);
    }

    /// Whether [`Context::conclude`] was called.
    #[must_use]
    pub fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// A kubeconfig with the rights of the installation's administrator: that of the service, which
    /// is kept because the service may go, else that of this node.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn administrator(&self) -> Result<String, String> {
        let of_service = || async { self.service.kubeconfig().await };
        let refused = match self.administrator.get_or_try_init(of_service).await {
            Ok(kubeconfig) => return Ok(kubeconfig.clone()),
            Err(error) => chain(&error).to_string(),
        };
        let path = &self.options.node_kubeconfig;
        tokio::fs::read_to_string(path).await.map_err(|cause| {
            let path = path.display();
            format!("kubeconfig of the service: {refused}; {path}: {cause}")
        })
    }

    /// The cluster as it is known, which changes.
    #[must_use]
    pub fn view(&self) -> View {
        View {
            cluster: self.view.subscribe(),
            over: self.over.subscribe(),
        }
    }

    /// Replaces what is known; readers are woken only if it differs.
    pub fn publish(&self, cluster: Cluster) {
        self.record
            .set(|state| state.hosts.clone_from(&cluster.hosts));
        self.view.send_if_modified(|view| {
            let differs = view.as_deref() != Some(&cluster);
            if differs {
                *view = Some(Arc::new(cluster));
            }
            differs
        });
    }

    /// Asks the service for the cluster until the installation is over.
    pub async fn follow_service(&self) -> End {
        let mut watchdog = Watchdog::default();
        loop {
            let answer = self.service.cluster().await;
            let end = watchdog.look(match &answer {
                Ok(cluster) => Ok(cluster),
                Err(error) => Err(error.status()),
            });
            self.record
                .set(|state| state.service_reachable = answer.is_ok());
            match answer {
                Ok(cluster) => self.publish(cluster),
                Err(error) => {
                    debug!(error = %chain(&error), "service did not return the cluster");
                    if error.status() == Some(StatusCode::UNAUTHORIZED) {
                        self.service.renew_token();
                    }
                }
            }
            match end {
                Some(end) if !self.agent_based => return end,
                // The cluster says so itself, and a service that is being shut down does not know.
                Some(_) | None => {}
            }
            let again = self.look.notified();
            let _ = tokio::time::timeout(self.pace.service, again).await;
        }
    }

    /// Makes the next look at the service happen now.
    pub fn look_again(&self) {
        self.look.notify_one();
    }

    /// Reports a stage of a host. Where no service can be expected only the record gets it.
    ///
    /// # Errors
    /// The service refused, or did not answer though it should.
    pub async fn report_stage(&self, host: &Host, stage: HostStage) -> Result<(), ClientError> {
        let message = || format!("Host {} reached stage {stage}", host.name());
        match self.service.report_stage(host, stage).await {
            Ok(()) => {}
            // 409: it is further already, or was cancelled.
            Err(error) if self.agent_based && error.status() != Some(StatusCode::CONFLICT) => {
                debug!(error = %chain(&error), "stage is only recorded");
            }
            Err(error) => {
                if !is_final(&error) {
                    // The service learns of it when it is back; the cluster knows it now.
                    self.record.note_once(message());
                    self.record.stage(host.id, stage);
                }
                return Err(error);
            }
        }
        self.record.note_once(message());
        self.view.send_if_modified(|view| {
            let Some(view) = view else { return false };
            let cluster = Arc::make_mut(view);
            for known in cluster.hosts.iter_mut().filter(|one| one.id == host.id) {
                known.stage = Some(stage);
            }
            true
        });
        self.record.stage(host.id, stage);
        self.look_again();
        Ok(())
    }

    /// Calls the service until it answers; a refusal that would be repeated is an error.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn insist<T, F>(
        &self,
        what: &str,
        mut call: impl FnMut() -> F,
    ) -> Result<T, ClientError>
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        loop {
            match call().await {
                Err(error) if !is_final(&error) => {
                    warn!(error = %chain(&error), what, "call of the service failed, retrying");
                    sleep(self.pace.retry).await;
                }
                answer => return answer,
            }
        }
    }

    /// Waits for the first of these: a change of a list, of the cluster, the end, or the time.
    pub async fn wake(&self, mirrors: &mut [&mut Mirror], view: &mut View, limit: Duration) {
        let changed = async {
            let waiting: Vec<_> = mirrors
                .iter_mut()
                .map(|mirror| Box::pin(mirror.changed()))
                .collect();
            first(waiting).await;
        };
        tokio::select! {
            () = changed => {}
            () = view.changed() => {}
            () = sleep(limit) => {}
        }
    }

    /// Logs an event at the service once, best effort.
    pub async fn event(&self, name: &str, severity: &str, message: &str, host: Option<&Host>) {
        if let Err(error) = self.service.event(name, severity, message, host).await {
            info!(error = %chain(&error), name, "event not delivered");
        }
    }
}

/// The first of several futures that ends.
async fn first<F: Future<Output = ()> + Unpin>(mut waiting: Vec<F>) {
    if waiting.is_empty() {
        return std::future::pending().await;
    }
    std::future::poll_fn(|context| {
        let ended = waiting
            .iter_mut()
            .any(|one| std::pin::Pin::new(one).poll(context).is_ready());
        match ended {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

/// The cluster as it is known.
#[derive(Clone, Debug)]
pub struct View {
    cluster: watch::Receiver<Option<Arc<Cluster>>>,
    over: watch::Receiver<bool>,
}

impl View {
    /// What is known at present, and marks it as seen.
    pub fn take(&mut self) -> Option<Arc<Cluster>> {
        self.over.mark_unchanged();
        self.cluster.borrow_and_update().clone()
    }

    /// Waits until it differs from what was taken last, or the installation is over since then.
    pub async fn changed(&mut self) {
        let ended = tokio::select! {
            ended = self.cluster.changed() => ended,
            ended = self.over.changed() => ended,
        };
        if ended.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until the cluster satisfies a condition.
    pub async fn until(&mut self, condition: impl Fn(&Cluster) -> bool) -> Arc<Cluster> {
        loop {
            if let Some(cluster) = self.take().filter(|cluster| condition(cluster)) {
                return cluster;
            }
            self.changed().await;
        }
    }
}
