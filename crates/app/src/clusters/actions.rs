//! What is done with a cluster as a whole: install, cancel, reset, open for more hosts; and
//! what the controller inside it reports.

use std::sync::Arc;

use muster_engine::{
    ClusterView, Decision, Refused, cancel as cancellation, install as installation, progress,
    reset as resetting,
};
use muster_model::{
    ClusterId, ClusterStatus, Event, EventScope, FinalizingStage, LogsState, Severity,
};

use crate::{App, Error, aggregate::Cause, files};

/// Runs a rule of the engine on the cluster and stores what it decides.
async fn decide(
    app: &Arc<App>,
    id: ClusterId,
    cause: &Cause,
    rule: impl Fn(&ClusterView<'_>) -> Result<Decision, Refused>,
) -> Result<(), Error> {
    app.change_cluster(id, cause, |all| {
        let result = rule(&all.view(&app.heartbeats)?);
        all.settle_with(result)
    })
    .await
    .map(|_| ())
}

/// Starts the installation.
pub async fn install(app: &Arc<App>, id: ClusterId, cause: &Cause) -> Result<(), Error> {
    decide(app, id, cause, |view| {
        installation::start(view, &app.rules.of(Some(view.cluster)), cause.now)
    })
    .await?;
    app.metrics.installations_started.inc();
    Ok(())
}

/// Cancels the installation.
pub async fn cancel(app: &Arc<App>, id: ClusterId, cause: &Cause) -> Result<(), Error> {
    decide(app, id, cause, |view| cancellation::cancel(view, cause.now)).await
}

/// Returns the cluster to the state before its installation.
pub async fn reset(app: &Arc<App>, id: ClusterId, cause: &Cause) -> Result<(), Error> {
    decide(app, id, cause, |view| resetting::reset(view, cause.now)).await
}

/// Opens an installed cluster for more hosts.
pub async fn allow_add_hosts(app: &Arc<App>, id: ClusterId, cause: &Cause) -> Result<(), Error> {
    decide(app, id, cause, |view| {
        installation::allow_add_hosts(view, cause.now)
    })
    .await
}

/// Keeps the operators that an older controller reports as failed at the end. Completes nothing:
/// the rules decide that.
pub async fn report_failed_operators(
    app: &Arc<App>,
    id: ClusterId,
    failed: &[String],
    cause: &Cause,
) -> Result<(), Error> {
    app.change_cluster(id, cause, |all| {
        if !failed.is_empty() {
            let scope = EventScope {
                cluster: Some(id),
                ..EventScope::default()
            };
            let message = format!("Operators that failed: {}", failed.join(", "));
            all.events.push(Event::new(
                "cluster_operator_report",
                Severity::Info,
                scope,
                cause.now,
                message,
            ));
        }
        Ok(())
    })
    .await
    .map(drop)
}

/// The controller has reached a stage of finalizing.
pub async fn report_finalizing(
    app: &Arc<App>,
    id: ClusterId,
    stage: FinalizingStage,
    cause: &Cause,
) -> Result<(), Error> {
    decide(app, id, cause, |view| {
        progress::report_finalizing(view, stage, cause.now)
    })
    .await
}

/// How far the collection of the controller's logs has come.
pub async fn report_logs_state(
    app: &Arc<App>,
    id: ClusterId,
    state: LogsState,
    cause: &Cause,
) -> Result<(), Error> {
    app.change_cluster(id, cause, |all| {
        let cluster = all.cluster_mut()?;
        cluster.logs_info = Some(state);
        if state == LogsState::Requested {
            cluster.controller_logs_started_at = Some(cause.now);
        }
        Ok(())
    })
    .await
    .map(drop)
}

/// Takes the certificate of the cluster's ingress. The kubeconfig is finished before the fact is
/// stored, so a repeated upload after a crash in between simply does it again.
pub async fn add_ingress_certificate(
    app: &Arc<App>,
    id: ClusterId,
    pem: &str,
    cause: &Cause,
) -> Result<(), Error> {
    let cluster = app.cluster(id).await?;
    if !matches!(
        cluster.status,
        ClusterStatus::Finalizing | ClusterStatus::Installed
    ) {
        return Err(Error::invalid(format!(
            "cluster {} is {}; the ingress certificate is accepted while it is finalizing",
            cluster.name, cluster.status
        )));
    }
    files::finish_kubeconfig(app, id, pem).await?;
    decide(app, id, cause, |view| {
        installation::kubeconfig_uploaded(view, cause.now)
    })
    .await
}
