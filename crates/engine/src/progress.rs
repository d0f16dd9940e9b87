//! Progress: stage reports of hosts and of the controller, and percentages.
//!
//! Percentages are floating-point products cut to integers, in the order clients have always
//! seen them; integer arithmetic would differ by one here and there.

use muster_model::{
    Cluster, ClusterStatus, FinalizingStage, Host, HostStage, HostStatus, Timestamp,
};

use crate::{
    checks, deadlines,
    draft::Draft,
    events, figures, history, inventory, operators,
    rules::triggers::{self, Not, Trigger},
    view::{ClusterView, Decision, Refused},
};

/// Status of a day-2 host that is not watched any more.
const REBOOTED: &str =
    "The host has rebooted and will join the cluster; approve its certificate requests there";

/// What a host says about its installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StageReport {
    /// The stage; may be missing in an empty report.
    pub stage: Option<HostStage>,
    /// Detail.
    pub info: String,
}

/// Takes in a host's stage report.
///
/// `view` is the host's cluster; a host that is not bound has none and is refused.
///
/// # Errors
/// Invalid for an unbound host or a missing stage, a conflict when the host is not installing, or
/// the stage is not one of its own or lies behind.
pub fn report_host(
    host: &Host,
    view: Option<&ClusterView<'_>>,
    report: &StageReport,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let Some(view) = view else {
        return Err(Refused::invalid(format!(
            "host {} belongs to no cluster, so it cannot be installing",
            host.id
        )));
    };
    let present_info = host.progress.info.as_deref().unwrap_or_default();
    let same_stage = report.stage == host.progress.stage;
    if same_stage && report.info == present_info {
        return Ok(Decision::default());
    }
    let Some(stage) = report.stage else {
        return Err(Refused::invalid("a progress report needs current_stage"));
    };
    let mut draft = Draft::of(view, now);
    let Some(index) = draft.hosts.iter().position(|h| h.key() == host.key()) else {
        return Err(Refused::invalid(format!(
            "host {} is not bound to this cluster",
            host.id
        )));
    };
    if same_stage {
        let progress = &mut draft.hosts[index].progress;
        progress.info = Some(report.info.clone());
        progress.stage_updated_at = Some(now);
        report_stage(&mut draft, index, stage, &report.info);
        return Ok(draft.finish());
    }
    check_stage(host, view.cluster, stage)?;
    let not_installing = |not: Not| {
        not.or(|| {
            Refused::conflict(format!(
                "host {} is {}; progress is only accepted while it is installing",
                host.id, host.status
            ))
        })
    };
    if stage == HostStage::Failed {
        // The last real stage stays, so that users see how far the host came.
        let reason = if report.info.is_empty() {
            "Failed".to_owned()
        } else {
            format!("Failed - {}", report.info)
        };
        draft
            .fire_host(index, Trigger::HostReportedFailure, &reason)
            .map_err(not_installing)?;
    } else {
        let said = store_stage(&mut draft, index, stage, &report.info);
        draft
            .fire_host(index, Trigger::HostProgressChanged, &said)
            .map_err(not_installing)?;
    }
    report_stage(&mut draft, index, stage, &report.info);
    let (after, now) = (&draft.hosts[index], draft.now);
    // A failed host keeps its last stage; a day-2 host is done when it reboots.
    let reached = if stage == HostStage::Failed {
        stage
    } else {
        after.progress.stage.unwrap_or(stage)
    };
    let mut measured: Vec<_> = figures::of_stage(host, reached, now).into_iter().collect();
    if matches!(reached, HostStage::Done | HostStage::Failed) {
        measured.extend(figures::of_hardware(after, reached, now));
    }
    draft.events.extend(measured);
    if !view.cluster.is_day2() {
        count_hosts(&mut draft.cluster, &draft.hosts);
    }
    Ok(draft.finish())
}

/// What the cluster it joins shows of a host that has rebooted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinReport {
    /// Stage and detail.
    pub reached: StageReport,
    /// It goes on when a person has done something, however long that takes.
    pub waits_for_person: bool,
}

/// Takes in what the cluster shows of a day-2 host. What lies behind, or is known, changes nothing.
///
/// # Errors
/// A conflict when the host is not installing.
pub fn follow_host(
    host: &Host,
    view: &ClusterView<'_>,
    report: &JoinReport,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let (Some(stage), Some(present)) = (report.reached.stage, host.progress.stage) else {
        return Ok(Decision::default());
    };
    let list = stages(host, view.cluster);
    let place = |stage| list.iter().position(|one| *one == stage);
    let left_live_system = place(present) >= place(HostStage::Rebooting);
    if !host.followed || !left_live_system || place(stage) < place(present) {
        return Ok(Decision::default());
    }
    let known = host.progress.info.as_deref() == Some(report.reached.info.as_str());
    if stage == present && known {
        let moved = deadlines::stage_moved(host);
        if !report.waits_for_person || now.since(moved) < deadlines::FROZEN_CLOCK_STEP {
            return Ok(Decision::default());
        }
        let mut draft = Draft::of(view, now);
        for same in draft.hosts.iter_mut().filter(|one| one.key() == host.key()) {
            same.progress.stage_updated_at = Some(now);
        }
        return Ok(draft.finish());
    }
    report_host(host, Some(view), &report.reached, now)
}

/// Stops watching a day-2 host that has rebooted: from here on it is the cluster's.
///
/// # Errors
/// A conflict when the host is not installing.
pub fn release_host(
    host: &Host,
    view: &ClusterView<'_>,
    reason: &str,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let rebooted = checks::host::past_reboot(host.progress.stage);
    if !host.followed || !rebooted || host.status != HostStatus::InstallingInProgress {
        return Ok(Decision::default());
    }
    let mut draft = Draft::of(view, now);
    let Some(index) = draft.hosts.iter().position(|h| h.key() == host.key()) else {
        return Ok(Decision::default());
    };
    let progress = &mut draft.hosts[index].progress;
    progress.stage = Some(HostStage::Done);
    progress.info = Some(reason.to_owned());
    progress.percentage = 100;
    progress.stage_started_at = Some(now);
    progress.stage_updated_at = Some(now);
    progress.stage_timed_out = false;
    draft
        .fire_host(index, Trigger::HostProgressChanged, REBOOTED)
        .map_err(|not| {
            not.or(|| Refused::conflict(format!("host {} is {}", host.id, host.status)))
        })?;
    report_stage(&mut draft, index, HostStage::Done, reason);
    Ok(draft.finish())
}

/// A stage must be one of the host's own and must not lie behind. A host that is not installing
/// is left to the table, which refuses it.
fn check_stage(host: &Host, cluster: &Cluster, stage: HostStage) -> Result<(), Refused> {
    let installing = triggers::fits(triggers::host::ROWS, Trigger::HostProgressChanged, host);
    let Some(present) = host
        .progress
        .stage
        .filter(|_| installing && stage != HostStage::Failed)
    else {
        return Ok(());
    };
    let list = stages(host, cluster);
    let Some(new) = list.iter().position(|s| *s == stage) else {
        return Err(Refused::conflict(format!(
            "stage {:?} does not exist for a {}",
            stage.as_str(),
            host.effective_role()
        )));
    };
    if list
        .iter()
        .position(|s| *s == present)
        .is_some_and(|old| new < old)
    {
        return Err(Refused::conflict(format!(
            "stage {:?} comes before the current one, {:?}",
            stage.as_str(),
            present.as_str()
        )));
    }
    Ok(())
}

/// Notes the stage and answers what is to be said about it.
fn store_stage(draft: &mut Draft<'_>, index: usize, stage: HostStage, info: &str) -> String {
    let now = draft.now;
    let host = &mut draft.hosts[index];
    // Unless the service watches the cluster, nothing is heard of a day-2 host after its reboot.
    let last_word = host.is_day2() && stage == HostStage::Rebooting && !host.followed;
    let percentage = percentage(host, &draft.cluster, stage);
    let stage = if last_word { HostStage::Done } else { stage };
    host.progress.stage = Some(stage);
    host.progress.info = Some(info.to_owned());
    host.progress.percentage = if stage == HostStage::Done {
        100
    } else {
        percentage
    };
    host.progress.stage_started_at = Some(now);
    host.progress.stage_updated_at = Some(now);
    host.progress.stage_timed_out = false;
    if last_word {
        REBOOTED.to_owned()
    } else {
        stage.to_string()
    }
}

fn report_stage(draft: &mut Draft<'_>, index: usize, stage: HostStage, info: &str) {
    let host = &draft.hosts[index];
    let detail = if info.is_empty() {
        String::new()
    } else {
        format!(": {info}")
    };
    let message = format!(
        "Host {}: reached installation stage {stage}{detail}",
        inventory::hostname(host)
    );
    let kind = events::HOST_INSTALL_PROGRESS_UPDATED;
    let event = history::about_host(kind, host, draft.now, message);
    draft.events.push(event);
}

/// The stages a host goes through, in order, as far as they are reported here: those of a day-2 host
/// end with its reboot, unless its cluster is watched.
#[must_use]
pub fn stages(host: &Host, cluster: &Cluster) -> &'static [HostStage] {
    let (single_node, day2) = (cluster.is_single_node(), host.is_day2());
    if day2 && host.followed {
        HostStage::expected(host.role, false, false, false)
    } else {
        HostStage::expected(host.role, host.bootstrap, single_node, day2)
    }
}

fn percentage(host: &Host, cluster: &Cluster, stage: HostStage) -> i64 {
    let list = stages(host, cluster);
    match list.iter().position(|s| *s == stage) {
        Some(index) => ((index + 1) as f64 / list.len() as f64 * 100.0) as i64,
        None => 0,
    }
}

/// Recomputes the share of the hosts and the total; neither falls during one attempt, though
/// hosts may leave it.
pub(crate) fn count_hosts(cluster: &mut Cluster, hosts: &[Host]) {
    let (mut done, mut all) = (0_usize, 0_usize);
    for host in hosts {
        let list = stages(host, cluster);
        all += list.len();
        done += host
            .progress
            .stage
            .and_then(|stage| list.iter().position(|s| *s == stage))
            .map_or(0, |index| index + 1);
    }
    let installing = if all == 0 {
        0.0
    } else {
        (done as f64 / all as f64 * 100.0).floor()
    };
    let progress = &mut cluster.progress;
    let installing = installing.max(progress.installing as f64);
    progress.installing = installing as i64;
    let others = (0.1 * progress.preparing as f64 + 0.15 * progress.finalizing as f64).floor();
    progress.total = if cluster.status == ClusterStatus::Installed {
        100
    } else {
        progress
            .total
            .max(((0.7 * installing).floor() + others) as i64)
    };
}

/// Recomputes the share of the operators and the total; the total never falls.
pub(crate) fn count_operators(cluster: &mut Cluster) {
    let all = cluster.monitored_operators.iter().flatten().count();
    let done = cluster
        .monitored_operators
        .iter()
        .flatten()
        .filter(|o| operators::is_settled(o))
        .count();
    if all == 0 {
        return;
    }
    let finalizing = (done as f64 / all as f64 * 100.0).floor();
    let progress = &mut cluster.progress;
    let others = (0.1 * progress.preparing as f64 + 0.7 * progress.installing as f64).floor();
    let total = ((0.15 * finalizing).floor() + others) as i64;
    if total >= progress.total {
        progress.finalizing = finalizing as i64;
        progress.total = total;
    }
}

/// Takes in the finalizing stage the controller reports.
///
/// # Errors
/// Invalid unless the cluster is installing or finalizing.
pub fn report_finalizing(
    view: &ClusterView<'_>,
    stage: FinalizingStage,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    if !draft.cluster.status.is_installing() {
        return Err(Refused::invalid(format!(
            "cluster {} is {}; a finalizing stage is only accepted during an installation",
            draft.cluster.id, draft.cluster.status
        )));
    }
    if draft.cluster.progress.finalizing_stage == Some(stage) {
        return Ok(Decision::default());
    }
    draft.cluster.progress.finalizing_stage = Some(stage);
    draft.cluster.progress.finalizing_stage_started_at = Some(now);
    draft.cluster.progress.finalizing_stage_timed_out = false;
    let message = format!(
        "Cluster {} reached finalizing stage {stage}",
        draft.cluster.name
    );
    let kind = events::CLUSTER_FINALIZING_STAGE_UPDATED;
    let event = history::about_cluster(kind, &draft.cluster, now, message);
    draft.events.push(event);
    Ok(draft.finish())
}
