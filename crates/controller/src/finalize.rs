//! The last part of an installation: operators, the ingress CA, manifests of operators, and the
//! report that all is done.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use http::StatusCode;
use muster_api::{client::ClientError, requests::DownloadClusterFilesFileName as FileName};
use muster_model::FinalizingStage as Stage;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

use crate::{
    chain::chain,
    context::Context,
    kube::{Access, Kind, Kube, KubeError, Mirror, condition, items, text},
    logs::{self, Trouble},
    manifests,
    operators::{self, CLUSTER_VERSION, CONSOLE, Failures, Monitored, Report, Status},
};

const MARKETPLACE: &str = "openshift-marketplace";
const INGRESS_NAMESPACE: &str = "openshift-config-managed";
const INGRESS: &str = "openshift-config-managed/default-ingress-cert";

/// Operators of users that did not become available.
pub type Failed = Vec<String>;

/// Brings the installation to the end with the help of the service.
///
/// # Errors
/// The service refused a report that cannot be left out.
pub async fn with_service(context: &Arc<Context>) -> Result<Failed, ClientError> {
    let mut view = context.view();
    let finalizing = |status: &str| matches!(status, "finalizing" | "installed");
    view.until(|cluster| finalizing(&cluster.status)).await;
    enter(context, Stage::WaitingForClusterOperators).await;
    let limit = context.pace.operators;
    match timeout(limit, built_in(context)).await {
        Ok(ended) => ended?,
        Err(_) => {
            fail(
                context,
                format!("Operators are not available after {limit:?}"),
            )
            .await;
            // The service decides what follows.
            return std::future::pending().await;
        }
    }
    enter(context, Stage::AddingRouterCa).await;
    ingress_ca(context).await;
    let failed = lifecycle_managed(context).await?;
    enter(context, Stage::Done).await;
    let outcome = Ok(());
    let posted = || context.service.complete(&outcome, json!({}));
    context.insist("completion", posted).await?;
    context.record.note("Reported the end of the installation");
    Ok(failed)
}

/// Reports that the installation failed, with the state of all operators, and hands over what
/// explains it: the service may never say so itself.
async fn fail(context: &Context, reason: String) {
    context.record.note(reason.clone());
    let data = summary(context).await;
    let outcome = Err(reason);
    let posted = || context.service.complete(&outcome, data.clone());
    if let Err(error) = context.insist("failure", posted).await {
        warn!(error = %chain(&error), "failure not reported");
    }
    logs::upload_last(context, Some(&Trouble::General)).await;
}

/// Reports a stage. One that comes late, because the service ended the installation meanwhile, is
/// refused, and nothing depends on it.
async fn enter(context: &Context, stage: Stage) {
    context
        .record
        .set(|state| state.phase = stage.as_str().to_owned());
    let posted = context.insist("finalizing stage", || context.service.finalizing(stage));
    match posted.await {
        Ok(()) => context.record.note(format!("Finalizing: {stage}")),
        Err(error) => info!(%stage, error = %chain(&error), "finalizing stage was refused"),
    }
    context.look_again();
}

/// Operators of one kind that the service monitors, with the status it has stored for each.
async fn monitored(context: &Context, olm: bool) -> Result<Vec<Monitored>, ClientError> {
    let list = context
        .insist("operators", || context.service.operators())
        .await?;
    Ok(list.into_iter().filter(|one| one.olm == olm).collect())
}

/// Reports what is new, and remembers it.
async fn report(context: &Context, operator: &mut Monitored, report: &Report) {
    context.record.operator(&operator.name, report);
    if !report.is_news(operator) {
        return;
    }
    let name = operator.name.as_str();
    let posted = context.insist("operator", || context.service.report_operator(name, report));
    match posted.await {
        Ok(()) => context
            .record
            .note(format!("Operator {name} is {}", report.status.as_str())),
        // It will not be accepted next time either, and the rest can still be done.
        Err(error) => warn!(name, error = %chain(&error), "state of an operator was refused"),
    }
    operator.status = Some(report.status);
    operator.message.clone_from(&report.message);
}

/// Operators of the release, until those that count are available.
async fn built_in(context: &Context) -> Result<(), ClientError> {
    let mut list = Mirror::start(context.kube.clone(), Kind::CLUSTER_OPERATOR, None);
    let mut versions = Mirror::start(context.kube.clone(), Kind::CLUSTER_VERSION, None);
    let mut view = context.view();
    let mut monitored = monitored(context, false).await?;
    loop {
        let (objects, version) = (list.take(), versions.take());
        let version = version.and_then(|list| list.get("version").cloned());
        view.take();
        if let (Some(objects), Some(version)) = (objects, version) {
            let mut waiting = Vec::new();
            for operator in &mut monitored {
                let (seen, counts) = match operator.name.as_str() {
                    CLUSTER_VERSION => (
                        Some(Report::of_cluster_version(&version)),
                        context.options.check_cluster_version,
                    ),
                    name => (
                        objects
                            .get(name)
                            .map(|one| Report::of_cluster_operator(one)),
                        name != CONSOLE || operators::has_console(&version),
                    ),
                };
                if let Some(seen) = seen.filter(|_| counts || operator.name == CLUSTER_VERSION) {
                    report(context, operator, &seen).await;
                }
                if counts && operator.status != Some(Status::Available) {
                    waiting.push(operator.name.clone());
                }
            }
            if waiting.is_empty() {
                return Ok(());
            }
            let phase = format!(
                "{}: {}",
                Stage::WaitingForClusterOperators,
                waiting.join(", ")
            );
            context.record.set(|state| state.phase = phase);
        }
        let mut mirrors = [&mut list, &mut versions];
        context
            .wake(&mut mirrors, &mut view, context.pace.resync)
            .await;
    }
}

/// The state of every operator of the release, for a failed installation.
pub async fn summary(context: &Context) -> Value {
    match context.kube.list(Kind::CLUSTER_OPERATOR, None, "").await {
        Ok((list, _)) => json!({"CLUSTER_OPERATORS_REPORT": operators::summary(list.iter())}),
        Err(error) => {
            warn!(error = %chain(&error), "cluster operators not listed");
            json!({})
        }
    }
}

async fn ingress_ca(context: &Context) {
    let namespace = Some(INGRESS_NAMESPACE);
    let mut maps = Mirror::start(context.kube.clone(), Kind::CONFIG_MAP, namespace);
    loop {
        maps.take();
        if let Some(map) = maps.get(INGRESS) {
            let pem = text(&map, "/data/ca-bundle.crt");
            if !pem.is_empty() {
                match context.service.ingress_ca(pem).await {
                    Ok(()) => {
                        context.record.note("Handed over the ingress CA");
                        return;
                    }
                    // A service that does not see the cluster finalizing yet says 400.
                    Err(error) => {
                        warn!(error = %chain(&error), "ingress CA not delivered, retrying")
                    }
                }
            }
        }
        let _ = timeout(context.pace.retry, maps.changed()).await;
    }
}

/// Subscriptions and what came of them.
struct Lifecycle {
    subscriptions: Mirror,
    csvs: Mirror,
}

impl Lifecycle {
    fn start(context: &Context) -> Self {
        let of = |kind| Mirror::start(context.kube.clone(), kind, None);
        Self {
            subscriptions: of(Kind::SUBSCRIPTION),
            csvs: of(Kind::CSV),
        }
    }

    fn csv(&self, namespace: &str, subscription: &str) -> Option<Arc<Value>> {
        let subscription = self
            .subscriptions
            .get(&format!("{namespace}/{subscription}"))?;
        match text(&subscription, "/status/currentCSV") {
            "" => None,
            csv => self.csvs.get(&format!("{namespace}/{csv}")),
        }
    }

    async fn changed(&mut self, context: &Context) {
        let mut view = context.view();
        view.take();
        let mut mirrors = [&mut self.subscriptions, &mut self.csvs];
        context
            .wake(&mut mirrors, &mut view, context.pace.retry)
            .await;
    }

    fn take(&mut self) {
        self.subscriptions.take();
        self.csvs.take();
    }
}

/// Operators that a user chose. Their failure is reported and does not fail the installation.
async fn lifecycle_managed(context: &Context) -> Result<Failed, ClientError> {
    let first = Stage::WaitingForOlmOperatorsCsvInitialization;
    let mut operators = monitored(context, true).await?;
    if operators.is_empty() {
        return Ok(Vec::new());
    }
    enter(context, first).await;
    let mut olm = Lifecycle::start(context);
    initialized(context, &mut olm, &operators).await;
    // The service gave up those that have no CSV now; the others go on without them.
    let mut absent = BTreeSet::new();
    for operator in &mut operators {
        if olm
            .csv(&operator.namespace, &operator.subscription)
            .is_none()
        {
            give_up(context, operator).await;
            absent.insert(operator.name.clone());
        }
    }
    if absent.len() < operators.len() {
        enter(context, Stage::ApplyingOlmManifests).await;
        apply_custom(context, &absent).await;
        enter(context, Stage::WaitingForOlmOperatorsCsv).await;
        follow_csvs(context, &mut olm, &mut operators).await;
    }
    let mut failed = Vec::new();
    for operator in &mut operators {
        give_up(context, operator).await;
        if operator.status == Some(Status::Failed) {
            failed.push(operator.name.clone());
        }
    }
    Ok(failed)
}

/// Whether there is nothing more to be expected from it.
fn is_settled(operator: &Monitored) -> bool {
    matches!(operator.status, Some(Status::Available | Status::Failed))
}

/// An operator that has neither become available nor failed did not come in time.
async fn give_up(context: &Context, operator: &mut Monitored) {
    if !is_settled(operator) {
        let late = Report {
            status: Status::Failed,
            message: format!("Not available in time: {}", operator.message),
            version: String::new(),
        };
        report(context, operator, &late).await;
    }
}

fn gave_up(context: &Context, stage: Stage) -> bool {
    let cluster = context.view().take();
    let gave_up = cluster.is_some_and(|cluster| cluster.gave_up(stage.as_str()));
    if gave_up {
        context.record.note(format!("The service gave up: {stage}"));
    }
    gave_up
}

/// Waits until every operator has its CSV, or the service gave up.
async fn initialized(context: &Context, olm: &mut Lifecycle, operators: &[Monitored]) {
    loop {
        olm.take();
        let missing: Vec<&Monitored> = operators
            .iter()
            .filter(|one| !is_settled(one))
            .filter(|one| olm.csv(&one.namespace, &one.subscription).is_none())
            .collect();
        if missing.is_empty() || gave_up(context, Stage::WaitingForOlmOperatorsCsvInitialization) {
            return;
        }
        for operator in missing {
            clean_up(context, &operator.namespace, &operator.subscription).await;
        }
        olm.changed(context).await;
    }
}

/// Removes what failed and would not be tried again: jobs that unpack bundles, install plans.
async fn clean_up(context: &Context, namespace: &str, subscription: &str) {
    let removed = async {
        let (jobs, _) = context.kube.list(Kind::JOB, Some(MARKETPLACE), "").await?;
        for job in jobs.iter().filter(|job| {
            job["status"]["failed"].as_u64() > Some(0) || condition(job, "Failed", "True")
        }) {
            let at = Kind::JOB.within(MARKETPLACE, text(job, "/metadata/name"));
            info!(%at, "removing a failed job");
            context.kube.delete(&at).await?;
        }
        let (plans, _) = context
            .kube
            .list(Kind::INSTALL_PLAN, Some(namespace), "")
            .await?;
        for plan in plans.iter().filter(|plan| {
            let mut owners = items(plan, "/metadata/ownerReferences");
            text(plan, "/status/phase") == "Failed"
                && owners.any(|one| one["kind"] == "Subscription" && one["name"] == subscription)
        }) {
            let at = Kind::INSTALL_PLAN.within(namespace, text(plan, "/metadata/name"));
            info!(%at, "removing a failed install plan");
            context.kube.delete(&at).await?;
        }
        Ok::<(), KubeError>(())
    };
    if let Err(error) = removed.await
        && !error.is_missing()
    {
        info!(error = %chain(&error), "failed jobs and install plans not removed, retrying");
    }
}

/// Applies all manifests but those of absent operators, again from the first if one fails, until
/// the service gives up.
async fn apply_custom(context: &Context, absent: &BTreeSet<String>) {
    loop {
        let file = context.service.file(FileName::CustomManifestsJson).await;
        let applied = match file.map_err(|error| error.to_string()) {
            Ok(file) => match manifests::of_service(&file) {
                Ok(named) => apply_present(context, &named, absent).await,
                Err(cause) => Err(cause),
            },
            Err(cause) => Err(cause),
        };
        match applied {
            Ok(()) => return,
            Err(cause) => warn!(cause, "manifests of operators not applied, retrying"),
        }
        if gave_up(context, Stage::ApplyingOlmManifests) {
            return;
        }
        sleep(context.pace.retry).await;
    }
}

/// Applies what can be applied; one operator's manifests do not wait for another's.
async fn apply_present(
    context: &Context,
    named: &[(String, Vec<Value>)],
    absent: &BTreeSet<String>,
) -> Result<(), String> {
    let mut failed = Vec::new();
    for (_, objects) in named.iter().filter(|(name, _)| !absent.contains(name)) {
        if let Err(cause) = apply_all(context, objects).await {
            failed.push(cause);
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("; ")),
    }
}

async fn apply_all(context: &Context, objects: &[Value]) -> Result<(), String> {
    for object in objects {
        let name = || {
            format!(
                "{} {}",
                text(object, "/kind"),
                text(object, "/metadata/name")
            )
        };
        let applied = match context.kube.apply(object).await {
            Err(error) if error.code() == Some(StatusCode::FORBIDDEN) => {
                as_administrator(context).await?.apply(object).await
            }
            applied => applied,
        };
        applied.map_err(|error| format!("{}: {}", name(), chain(&error)))?;
        context.record.note_once(format!("Applied {}", name()));
    }
    Ok(())
}

/// The API with the rights of the installation's administrator: our own account has only those it
/// needs for duties that are known beforehand.
async fn as_administrator(context: &Context) -> Result<Kube, String> {
    let unusable = |cause: &dyn std::error::Error| format!("administrator's kubeconfig: {cause}");
    let kubeconfig = context.administrator().await?;
    let access = Access::parse(kubeconfig.as_bytes(), &context.options.node_kubeconfig);
    Kube::new(access.map_err(|cause| unusable(&cause))?).map_err(|cause| unusable(&cause))
}

/// Follows CSVs until each is available or failed for good, or the service gave up.
async fn follow_csvs(context: &Context, olm: &mut Lifecycle, operators: &mut [Monitored]) {
    let mut failures = Failures::new(context.pace.csv_failures, context.pace.csv);
    loop {
        olm.take();
        let mut settled = true;
        for operator in operators.iter_mut() {
            if let Some(csv) = olm.csv(&operator.namespace, &operator.subscription)
                && !is_settled(operator)
            {
                let seen = failures.report(&operator.name, &csv, Instant::now());
                report(context, operator, &seen).await;
            }
            settled &= is_settled(operator);
        }
        if settled || gave_up(context, Stage::WaitingForOlmOperatorsCsv) {
            return;
        }
        olm.changed(context).await;
    }
}

/// Applies the manifests of operators where there is no service: they are in a ConfigMap.
pub async fn without_service(context: &Context) {
    let at = Kind::CONFIG_MAP.within(&context.options.namespace, "olm-operator-manifests");
    // From before the first look, so that an end in the middle of a look is not slept through.
    let mut view = context.view();
    let described = loop {
        match context.kube.find(&at).await {
            Ok(Some(map)) => match manifests::of_config_map(&map) {
                Ok(described) => break described,
                Err(cause) => warn!(cause, "manifests of operators are unreadable"),
            },
            // Nothing was chosen, or it is not there yet.
            Ok(None) if context.is_over() => return,
            Ok(None) => {}
            Err(error) if matches!(error.code().map(|code| code.as_u16()), Some(401 | 403)) => {
                warn!(error = %chain(&error), "manifests of operators may not be read");
                return;
            }
            Err(error) => {
                info!(error = %chain(&error), "manifests of operators not read, retrying")
            }
        }
        context.wake(&mut [], &mut view, context.pace.resync).await;
    };
    let mut olm = Lifecycle::start(context);
    let mut left: BTreeMap<&str, _> = described.iter().map(|one| (&*one.name, one)).collect();
    while !left.is_empty() {
        olm.take();
        let mut done = Vec::new();
        for (name, operator) in &left {
            if olm
                .csv(&operator.namespace, &operator.subscription)
                .is_none()
            {
                clean_up(context, &operator.namespace, &operator.subscription).await;
                continue;
            }
            match apply_all(context, &operator.manifests).await {
                Ok(()) => done.push(*name),
                Err(cause) => info!(name, cause, "manifests not applied, retrying"),
            }
        }
        for name in done {
            left.remove(name);
        }
        if !left.is_empty() {
            olm.changed(context).await;
        }
    }
    context
        .record
        .note("Applied the manifests of all operators");
}
