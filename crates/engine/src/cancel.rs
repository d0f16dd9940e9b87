//! The user stops an installation.
//!
//! The reference refuses when a single host cannot be cancelled; here such hosts are left
//! where they are, because they are not installing anyway.

use muster_model::Timestamp;

use crate::{
    draft::Draft,
    events, history, inventory,
    reset::{each_host, nothing_to},
    rules::triggers::Trigger,
    view::{ClusterView, Decision, Refused},
};

const REASON: &str = "The user cancelled the installation";

/// Cancels the installation.
///
/// # Errors
/// A conflict when none is under way.
pub fn cancel(view: &ClusterView<'_>, now: Timestamp) -> Result<Decision, Refused> {
    let mut draft = Draft::of(view, now);
    draft
        .fire_cluster(Trigger::CancelInstallation, REASON)
        .map_err(|not| {
            not.or(|| {
                nothing_to(
                    "cancel",
                    view.cluster,
                    events::CANCEL_INSTALLATION_FAILED,
                    now,
                )
            })
        })?;
    let message = format!(
        "The installation of cluster {} was cancelled",
        draft.cluster.name
    );
    let kind = events::CLUSTER_INSTALLATION_CANCELED;
    draft
        .events
        .push(history::about_cluster(kind, &draft.cluster, now, message));
    each_host(&mut draft, Trigger::CancelInstallation, REASON, |host| {
        let message = format!("Host {}: installation cancelled", inventory::hostname(host));
        history::about_host(events::HOST_INSTALLATION_CANCELLED, host, now, message)
    });
    Ok(draft.finish())
}
