//! The start of an installation, and the arrival of its generated files.

use muster_model::{
    Cluster, ClusterStatus, FeatureUse, Host, HostKey, HostRole, HostStatus, Timestamp,
};
use uuid::Uuid;

use crate::{
    draft::Draft,
    events, history,
    inventory::{self, Inventory},
    refresh, roles,
    rules::triggers::{self, Trigger},
    settings::Settings,
    view::{ClusterView, Decision, HostView, Job, Refused},
};

/// Starts the installation of a ready cluster: fixes roles, chooses the bootstrap host and
/// asks for the files.
///
/// # Errors
/// A conflict when the cluster is not ready, with the reason its validations give; invalid when
/// one host cannot be installed although every host has reported.
pub fn start(
    view: &ClusterView<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    // Evaluate first: what was seen may be older than the question.
    draft.absorb(refresh(view, settings, now));
    draft.jobs.clear();
    if !triggers::fits(
        triggers::cluster::ROWS,
        Trigger::PrepareForInstallation,
        &draft.cluster,
    ) {
        return Err(unusable_host(&draft).unwrap_or_else(|| not_ready(&draft.cluster)));
    }
    fix_roles(&mut draft, settings);
    choose_lead(&mut draft)?;
    report_ignored(&mut draft);
    let cluster = &mut draft.cluster;
    cluster.schedulable_masters_forced_true = roles::masters_must_work(cluster, &draft.hosts);
    cluster.install_started_at = Some(now);
    let id = cluster.id;
    draft
        .fire_cluster(Trigger::PrepareForInstallation, "")
        .map_err(|not| not.or(|| not_ready(view.cluster)))?;
    draft
        .jobs
        .extend([Job::DeleteLogs(id), Job::MakeClusterFiles(id)]);
    follow(draft, view, settings, now)
}

fn not_ready(cluster: &Cluster) -> Refused {
    Refused::conflict(format!(
        "cluster {} is {}, not ready: {} {}",
        cluster.name,
        cluster.status,
        cluster.status_info,
        cluster.validations_info.as_deref().unwrap_or_default()
    ))
}

/// The host that stands in the way of an installation whose roles could be fixed now. Clients know
/// this one as a bad request; while hosts are still unknown, waiting helps, and it is a conflict.
fn unusable_host(draft: &Draft<'_>) -> Option<Refused> {
    let hosts = &draft.hosts;
    let reported = hosts.iter().all(|host| Inventory::known(host).is_some());
    let open = hosts.iter().any(|host| host.role == HostRole::AutoAssign);
    if !(draft.cluster.status.accepts_changes() && reported && open) {
        return None;
    }
    let unusable = |host: &&Host| host.status != HostStatus::Known && !host.is_day2();
    let host = hosts.iter().find(unusable)?;
    Some(Refused::invalid(format!(
        "host {} is {} and cannot be installed: {}",
        inventory::hostname(host),
        host.status,
        host.status_info
    )))
}

/// What was suggested becomes what is; it stays so after a cancel or a reset.
fn fix_roles(draft: &mut Draft<'_>, settings: &Settings) {
    // With three hosts there is nothing to choose.
    let chosen = draft.hosts.len() > 3
        && draft
            .hosts
            .iter()
            .any(|host| host.role == HostRole::AutoAssign);
    record_use(&mut draft.cluster, AUTO_ROLES, chosen);
    if settings.leave_roles_open {
        let inventories: Vec<_> = draft.hosts.iter().map(|h| Inventory::of(h).ok()).collect();
        for (index, role) in roles::suggest(&draft.cluster, &draft.hosts, &inventories, settings) {
            draft.hosts[index].suggested_role = role;
        }
    }
    for host in &mut draft.hosts {
        host.installer_version = Some(settings.images.installer.clone());
        // Logs of before are deleted; those of this installation must be requested.
        host.logs_info = None;
        host.logs_started_at = None;
        host.logs_collected_at = None;
        if host.role == HostRole::AutoAssign {
            host.role = host.suggested_role;
        }
    }
}

/// Roles that the service chose, among the features in use.
const AUTO_ROLES: &str = "auto assign role";

/// Validations that the user ignores, among the features in use.
const IGNORED: &str = "Validations have been ignored for this cluster";

fn record_use(cluster: &mut Cluster, name: &str, used: bool) {
    if used {
        let usage = FeatureUse::of(name);
        cluster.feature_usage.insert(name.to_owned(), usage);
    } else {
        cluster.feature_usage.remove(name);
    }
}

/// Exactly one host leads, whatever flags earlier topologies left behind.
fn choose_lead(draft: &mut Draft<'_>) -> Result<(), Refused> {
    let Some(lead) = roles::choose_bootstrap(&draft.hosts) else {
        return Err(Refused::conflict(
            "no control plane host is ready to be the bootstrap host",
        ));
    };
    for (index, host) in draft.hosts.iter_mut().enumerate() {
        if index != lead {
            host.bootstrap = false;
        } else if !host.bootstrap {
            host.bootstrap = true;
            let message = format!("Host {}: is the bootstrap host", inventory::hostname(host));
            let kind = events::HOST_BOOTSTRAP_SET;
            let event = history::about_host(kind, host, draft.now, message);
            draft.events.push(event);
        }
    }
    Ok(())
}

/// Lets hosts follow at once, so that the next poll already brings work.
fn follow(
    draft: Draft<'_>,
    view: &ClusterView<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let mut draft = draft;
    let (cluster, hosts) = (draft.cluster.clone(), draft.hosts.clone());
    let after = ClusterView {
        cluster: &cluster,
        hosts: hosts
            .iter()
            .map(|host| HostView {
                host,
                last_seen: view
                    .host(host.key())
                    .map_or(host.checked_in_at, |seen| seen.last_seen),
            })
            .collect(),
    };
    let mut more = refresh(&after, settings, now);
    let wake_at = more.wake_at;
    more.jobs.clear();
    draft.absorb(more);
    Ok(Decision {
        wake_at,
        ..draft.finish()
    })
}

fn report_ignored(draft: &mut Draft<'_>) {
    let cluster = &draft.cluster;
    let lists = [
        &cluster.ignored_host_validations,
        &cluster.ignored_cluster_validations,
    ];
    let any = lists.iter().any(|list| {
        list.as_deref()
            .is_some_and(|text| !matches!(text, "" | "[]"))
    });
    record_use(&mut draft.cluster, IGNORED, any);
    let cluster = &draft.cluster;
    if any {
        let message = "The installation starts although validations are ignored; the result may not be supported";
        let kind = events::VALIDATIONS_IGNORED;
        let event = history::about_cluster(kind, cluster, draft.now, message);
        draft.events.push(event);
    }
}

/// The files of the cluster are stored.
///
/// News of an attempt that was given up meanwhile, or reported before, change nothing.
pub fn files_ready(
    view: &ClusterView<'_>,
    openshift_cluster_id: Option<Uuid>,
    now: Timestamp,
) -> Decision {
    let mut draft = Draft::of(view, now);
    if !awaits_files(&draft.cluster) {
        return Decision::default();
    }
    if openshift_cluster_id.is_some() {
        draft.cluster.openshift_cluster_id = openshift_cluster_id;
    }
    draft.cluster.preparation.status = Some("success".to_owned());
    draft.cluster.preparation.reason = Some("The files of the cluster are ready".to_owned());
    let message = format!(
        "The preparation of cluster {} continues: its files are ready",
        draft.cluster.name
    );
    let kind = events::CLUSTER_PREPARE_INSTALLATION_STARTED;
    let event = history::about_cluster(kind, &draft.cluster, now, message);
    draft.events.push(event);
    draft.finish()
}

/// The files of the cluster cannot be made.
pub fn files_failed(view: &ClusterView<'_>, reason: &str, now: Timestamp) -> Decision {
    let mut draft = Draft::of(view, now);
    if !awaits_files(&draft.cluster) {
        return Decision::default();
    }
    draft.cluster.preparation.status = Some("failed".to_owned());
    draft.cluster.preparation.reason = Some(reason.to_owned());
    let message = format!(
        "The installation of cluster {} could not be prepared: {reason}",
        draft.cluster.name
    );
    let kind = events::PREPARE_INSTALLATION_FAILED;
    let event = history::about_cluster(kind, &draft.cluster, now, message);
    draft.events.push(event);
    draft.finish()
}

/// The cluster prepares and the result of making its files is not known yet.
#[must_use]
pub fn awaits_files(cluster: &Cluster) -> bool {
    cluster.status == ClusterStatus::PreparingForInstallation
        && !matches!(
            cluster.preparation.status.as_deref(),
            Some("success" | "failed")
        )
}

/// The final kubeconfig is stored (the ingress CA arrived).
///
/// # Errors
/// Invalid unless the cluster is finalizing or installed.
pub fn kubeconfig_uploaded(view: &ClusterView<'_>, now: Timestamp) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    if !matches!(
        draft.cluster.status,
        ClusterStatus::Finalizing | ClusterStatus::Installed
    ) {
        return Err(Refused::invalid(format!(
            "cluster {} is {}; the ingress certificate is accepted while it is finalizing",
            draft.cluster.id, draft.cluster.status
        )));
    }
    draft.cluster.kubeconfig_uploaded = true;
    Ok(draft.finish())
}

/// Starts the installation of a day-2 host.
///
/// # Errors
/// Missing when the host is not bound to this cluster, a conflict when it is no day-2 host or not
/// known.
pub fn start_host(
    view: &ClusterView<'_>,
    key: HostKey,
    settings: &Settings,
    now: Timestamp,
) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    draft.absorb(refresh(view, settings, now));
    let Some(index) = draft.hosts.iter().position(|host| host.key() == key) else {
        return Err(Refused::missing(format!(
            "host {} is not bound to cluster {}",
            key.host, view.cluster.id
        )));
    };
    let host = &mut draft.hosts[index];
    if !host.is_day2() {
        return Err(Refused::conflict(format!(
            "host {} is part of the cluster's own installation; install the cluster instead",
            host.id
        )));
    }
    if host.role == HostRole::AutoAssign {
        host.role = HostRole::Worker;
        host.suggested_role = HostRole::Worker;
    }
    host.installer_version = Some(settings.images.installer.clone());
    host.followed = false;
    let (id, status, info) = (host.id, host.status, host.status_info.clone());
    draft
        .fire_host(index, Trigger::InstallHost, "")
        .map_err(|not| {
            not.or(|| Refused::conflict(format!("host {id} is {status}, not known: {info}")))
        })?;
    draft.jobs.push(Job::MakeHostFiles(key));
    Ok(draft.finish())
}

/// Opens an installed cluster for more hosts: it becomes a day-2 cluster. The hosts it has stay
/// what they are.
///
/// # Errors
/// Invalid unless it is a cluster of its own that is installed.
pub fn allow_add_hosts(view: &ClusterView<'_>, now: Timestamp) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    draft
        .fire_cluster(Trigger::AllowAddHosts, "")
        .map_err(|not| {
            not.or(|| {
                Refused::invalid(format!(
                    "cluster {} is {}; hosts can be added once its own installation is done",
                    view.cluster.name, view.cluster.status
                ))
            })
        })?;
    Ok(draft.finish())
}
